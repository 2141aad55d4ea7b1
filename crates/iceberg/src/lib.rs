//! Apache Iceberg v3 tables that are encrypted, byte-compatible with the Java implementation.
//!
//! | to do this | use |
//! |---|---|
//! | load, inspect a table | [`Table`], [`metadata::TableDocument`] |
//! | wrap and unwrap a table's keys | [`encryption::EncryptionManager`], [`encryption::StandardEncryptionManager`] |
//! | open and write a table's files | [`encryption::EncryptingFileIO`] |
//! | read and write manifests and manifest lists | [`manifest`] |
//! | plan a scan | [`scan::TableScan`] |
//! | find an earlier version | [`TableVersion`], [`Table::snapshot_at`] |
//! | show metadata as rows | [`metadata_table::MetadataTable`] |
//! | read deletion vectors | [`deletes`] |
//! | read Avro data and delete files | [`avro::AvroFile`] |
//! | convert between Iceberg's and Arrow's schemas | [`arrow_schema`] |
//! | read schemas and partition specs that a person typed | [`schema_text`] |
//! | write data files | [`write::DataFileWriter`] |
//! | commit | [`commit::AppendFiles`], [`commit::TableAction`] |
//!
//! Who may know what: `spec` alone names the `iceberg` crate; `manifest`, `metadata` and `encryption` know no
//! Parquet; `write` and `scan` know nothing of catalogs, which apply a [`commit::TableCommit`] to what they hold.

pub mod arrow_schema;
pub mod avro;
pub mod commit;
pub mod deletes;
pub mod encryption;
mod error;
pub mod manifest;
pub mod metadata;
pub mod metadata_table;
pub mod name_mapping;
pub mod opaque;
mod properties;
pub mod scan;
pub mod schema_text;
pub mod spec;
mod table;
mod transform;
mod version;
pub mod write;

pub use error::{Error, ErrorKind, Result};
pub use table::Table;
pub use version::TableVersion;
