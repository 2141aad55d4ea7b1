//! What a manifest says of one file.

use std::collections::BTreeMap;

use crate::encryption::EncodedKeyMetadata;
use crate::spec::Struct;

/// One entry of a manifest.
#[derive(Debug, Clone)]
pub struct ManifestEntry {
    /// Whether the file was added, kept or removed.
    pub status: ManifestStatus,
    /// The snapshot that added the file, or removed it if the status is deleted. Readers fill in what is inherited.
    pub snapshot_id: Option<i64>,
    /// Data sequence number. Readers fill in what is inherited.
    pub sequence_number: Option<i64>,
    /// File sequence number: of the snapshot that added the file. Readers fill in what is inherited.
    pub file_sequence_number: Option<i64>,
    /// The file.
    pub data_file: DataFile,
}

/// What the manifest's snapshot did with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestStatus {
    /// Kept from an earlier snapshot.
    Existing = 0,
    /// Added by this snapshot.
    Added = 1,
    /// Removed by this snapshot: not part of the table any more.
    Deleted = 2,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileContent {
    /// Rows.
    Data = 0,
    /// Positions of deleted rows, or a deletion vector.
    PositionDeletes = 1,
    /// Values of deleted rows.
    EqualityDeletes = 2,
}

/// A file's format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Apache Avro.
    Avro,
    /// Apache ORC.
    Orc,
    /// Apache Parquet.
    Parquet,
    /// Puffin, which holds deletion vectors.
    Puffin,
}

/// A data or delete file with its statistics. Map keys are field ids.
#[derive(Debug, Clone)]
pub struct DataFile {
    /// What it holds.
    pub content: FileContent,
    /// Full location.
    pub file_path: String,
    /// Its format.
    pub file_format: FileFormat,
    /// The partition spec it was written with (from the manifest's header; not stored per file).
    pub spec_id: i32,
    /// Partition values in the order of that spec's fields.
    pub partition: Struct,
    /// Rows in it.
    pub record_count: u64,
    /// Length in storage, in bytes: ciphertext if it is encrypted.
    pub file_size_in_bytes: u64,
    /// Bytes in storage per column, encryption included.
    pub column_sizes: Option<BTreeMap<i32, i64>>,
    /// Values per column, nulls and NaN included.
    pub value_counts: Option<BTreeMap<i32, i64>>,
    /// Nulls per column.
    pub null_value_counts: Option<BTreeMap<i32, i64>>,
    /// NaN values per column.
    pub nan_value_counts: Option<BTreeMap<i32, i64>>,
    /// Lower bounds in the spec's single-value binary form, possibly truncated.
    pub lower_bounds: Option<BTreeMap<i32, Vec<u8>>>,
    /// Upper bounds in the spec's single-value binary form, possibly truncated and incremented.
    pub upper_bounds: Option<BTreeMap<i32, Vec<u8>>>,
    /// What opens the file; `None` for a plaintext one.
    pub key_metadata: Option<EncodedKeyMetadata>,
    /// Where a reader may split the file, in bytes.
    pub split_offsets: Option<Vec<i64>>,
    /// Fields compared by an equality delete file.
    pub equality_ids: Option<Vec<i32>>,
    /// The sort order the file was written in.
    pub sort_order_id: Option<i32>,
    /// `_row_id` of the first row. Readers fill in what is inherited.
    pub first_row_id: Option<i64>,
    /// The data file that all deletes in a delete file refer to.
    pub referenced_data_file: Option<String>,
    /// Where a deletion vector starts in its file, in plaintext bytes.
    pub content_offset: Option<i64>,
    /// Length of a deletion vector in its file, in plaintext bytes.
    pub content_size_in_bytes: Option<i64>,
}

impl DataFile {
    /// A file of which no more than this is known: no statistics, no key, and nothing that not all files have.
    #[must_use]
    pub fn new(
        content: FileContent,
        file_path: impl Into<String>,
        file_format: FileFormat,
        spec_id: i32,
        partition: Struct,
        record_count: u64,
        file_size_in_bytes: u64,
    ) -> Self {
        Self {
            content,
            file_path: file_path.into(),
            file_format,
            spec_id,
            partition,
            record_count,
            file_size_in_bytes,
            column_sizes: None,
            value_counts: None,
            null_value_counts: None,
            nan_value_counts: None,
            lower_bounds: None,
            upper_bounds: None,
            key_metadata: None,
            split_offsets: None,
            equality_ids: None,
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        }
    }
}
