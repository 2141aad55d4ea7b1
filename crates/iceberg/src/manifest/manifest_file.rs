//! What a manifest list says of one manifest.

use crate::encryption::EncodedKeyMetadata;

/// One entry of a manifest list.
#[derive(Debug, Clone)]
pub struct ManifestFile {
    /// Full location.
    pub manifest_path: String,
    /// Length in storage, in bytes: ciphertext if it is encrypted.
    pub manifest_length: u64,
    /// The partition spec of its files.
    pub partition_spec_id: i32,
    /// Data or delete files.
    pub content: ManifestContent,
    /// Sequence number of the snapshot that added the manifest.
    pub sequence_number: i64,
    /// The least data sequence number of its live files.
    pub min_sequence_number: i64,
    /// The snapshot that added the manifest.
    pub added_snapshot_id: i64,
    /// Entries with status added; `None` in old version 1 lists.
    pub added_files_count: Option<u32>,
    /// Entries with status existing.
    pub existing_files_count: Option<u32>,
    /// Entries with status deleted.
    pub deleted_files_count: Option<u32>,
    /// Rows in added files.
    pub added_rows_count: Option<u64>,
    /// Rows in existing files.
    pub existing_rows_count: Option<u64>,
    /// Rows in deleted files.
    pub deleted_rows_count: Option<u64>,
    /// A summary per partition field, in the order of the spec.
    pub partitions: Option<Vec<FieldSummary>>,
    /// What opens the manifest; `None` for a plaintext one.
    pub key_metadata: Option<EncodedKeyMetadata>,
    /// `_row_id` of the first row of the first file without one; `None` for delete manifests.
    pub first_row_id: Option<i64>,
}

/// What a manifest's files hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestContent {
    /// Data files.
    Data = 0,
    /// Delete files.
    Deletes = 1,
}

/// The values of one partition field over a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldSummary {
    /// Whether a file has null.
    pub contains_null: bool,
    /// Whether a file has NaN; `None` when not recorded.
    pub contains_nan: Option<bool>,
    /// Least value that is neither null nor NaN, in single-value binary form.
    pub lower_bound: Option<Vec<u8>>,
    /// Greatest value that is neither null nor NaN, in single-value binary form.
    pub upper_bound: Option<Vec<u8>>,
}
