//! The spec's types, from the `iceberg` crate: the only module that names it.
//!
//! Its I/O, cryptography, transactions and catalogs are not used, and its arrow version does not leave this module.

pub use iceberg::spec::{
    BlobMetadata, DataContentType, Datum, EncryptedKey, FormatVersion, ListType, Literal, MAIN_BRANCH, MapType,
    MetadataLog, NestedField, NestedFieldRef, NullOrder, Operation, PartitionField, PartitionSpec, PartitionSpecRef,
    PartitionStatisticsFile, PrimitiveLiteral, PrimitiveType, Schema, SchemaRef, Snapshot, SnapshotLog, SnapshotRef,
    SnapshotReference, SnapshotRetention, SortDirection, SortField, SortOrder, SortOrderRef, StatisticsFile, Struct,
    StructType, Summary, TableMetadata, TableMetadataBuilder, TableMetadataRef, Transform, Type, UnboundPartitionField,
    UnboundPartitionSpec,
};
pub use iceberg::{NamespaceIdent, TableCreation, TableIdent, TableRequirement, TableUpdate};
