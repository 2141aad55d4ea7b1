//! Manifests and manifest lists: their entries, and their Avro forms (format versions 1 to 3).
//!
//! The entries are our own plain structures, not the `iceberg` crate's: bounds stay as bytes until somebody compares
//! them, key metadata is a secret type, and what inheritance fills in is explicit.
//! Format: <https://iceberg.apache.org/spec/#manifests>.

mod entry;
mod manifest_file;

pub use entry::{DataFile, FileContent, FileFormat, ManifestEntry, ManifestStatus};
pub use manifest_file::{FieldSummary, ManifestContent, ManifestFile};
