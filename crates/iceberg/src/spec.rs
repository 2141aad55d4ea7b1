//! The spec's types, from the `iceberg` crate: the only module that names it.
//!
//! Its I/O, cryptography, transactions and catalogs are not used, and its arrow version does not leave this module.

pub use iceberg::spec::{
    DataContentType, Datum, EncryptedKey, FormatVersion, ListType, Literal, MAIN_BRANCH, MapType, NestedField,
    NestedFieldRef, NullOrder, Operation, PartitionField, PartitionSpec, PartitionSpecRef, PrimitiveLiteral,
    PrimitiveType, Schema, SchemaRef, Snapshot, SnapshotReference, SnapshotRetention, SortDirection, SortField,
    SortOrder, Struct, StructType, Summary, TableMetadata, TableMetadataBuilder, TableMetadataRef, Transform, Type,
    UnboundPartitionField, UnboundPartitionSpec,
};
pub use iceberg::{NamespaceIdent, TableCreation, TableIdent, TableRequirement, TableUpdate};
