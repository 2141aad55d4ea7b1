//! Manifests and manifest lists: their entries, and their Avro forms (format versions 1 to 3).
//!
//! The entries are our own plain structures, not the `iceberg` crate's: bounds stay as bytes until somebody compares
//! them, key metadata is a secret type, and what inheritance fills in is explicit.
//! Format: <https://iceberg.apache.org/spec/#manifests>.
//!
//! Where Java's bytes differ from the specification, Java's are written and both are read: partition values of type
//! `fixed` have their length before them, and UUIDs are ordered as two signed halves in partition summaries, which
//! makes those bounds useless for anything but Java's own order.

mod avro_schema;
mod codec;
mod container;
mod entry;
mod inspect;
mod list;
mod manifest_file;
mod reader;
mod record;
mod select;
mod statistics;
mod summary;
#[cfg(test)]
mod tests;
mod value;
mod writer;

pub use codec::Codec;
pub use entry::{DataFile, FileContent, FileFormat, ManifestEntry, ManifestStatus};
pub use inspect::manifest_list_to_json;
pub use list::{
    ManifestListHeader, assign_first_row_ids, decode_manifest_list, encode_manifest_list, read_manifest_list,
};
pub use manifest_file::{FieldSummary, ManifestContent, ManifestFile};
pub use reader::Manifest;
pub(crate) use select::{EntryFilter, Selected, select_entries};
pub(crate) use statistics::{ColumnStatistics, FileStatistics};
pub use writer::{EncodedManifest, ManifestOptions, ManifestWriter};

use record::ByteBuf;
