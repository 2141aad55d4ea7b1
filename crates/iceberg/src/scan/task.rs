//! One file to read.

use lakelock_crypto::StandardKeyMetadata;

use crate::manifest::DataFile;
use crate::spec::PartitionSpecRef;

/// A data file that may hold matching rows, and what is needed to read it.
#[derive(Debug, Clone)]
pub struct FileScanTask {
    pub(crate) data_file: DataFile,
    pub(crate) spec: PartitionSpecRef,
    pub(crate) key: Option<StandardKeyMetadata>,
    pub(crate) data_sequence_number: Option<i64>,
}

impl FileScanTask {
    /// The file with its statistics and its partition.
    #[must_use]
    pub fn data_file(&self) -> &DataFile {
        &self.data_file
    }

    /// Full location.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.data_file.file_path
    }

    /// The partition spec that the file's partition belongs to.
    #[must_use]
    pub fn spec(&self) -> &PartitionSpecRef {
        &self.spec
    }

    /// What opens the file: `None` for a plaintext file, which the table may have.
    #[must_use]
    pub fn key(&self) -> Option<&StandardKeyMetadata> {
        self.key.as_ref()
    }

    /// Rows in the file.
    #[must_use]
    pub fn record_count(&self) -> u64 {
        self.data_file.record_count
    }

    /// `_row_id` of the first row: `None` in a table without row lineage, whose rows have no ids.
    #[must_use]
    pub fn first_row_id(&self) -> Option<i64> {
        self.data_file.first_row_id
    }

    /// The sequence number of the snapshot that the rows date from.
    #[must_use]
    pub fn data_sequence_number(&self) -> Option<i64> {
        self.data_sequence_number
    }
}
