//! One file to read.

use std::sync::Arc;

use lakelock_crypto::StandardKeyMetadata;

use crate::manifest::{DataFile, FileContent, FileFormat};
use crate::spec::PartitionSpecRef;

/// A data file that may hold matching rows, and what is needed to read it. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct FileScanTask {
    pub(crate) data_file: Arc<DataFile>,
    pub(crate) spec: PartitionSpecRef,
    pub(crate) key: Option<StandardKeyMetadata>,
    pub(crate) data_sequence_number: Option<i64>,
    pub(crate) deletes: Vec<Arc<FileScanTask>>,
}

impl FileScanTask {
    /// The file with its partition, and with the statistics that [were asked for](super::TableScan::with_statistics).
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

    /// The delete files that apply: what is left of the rows are those that none of them deletes. Each is a task too, as it
    /// needs the same to be read; files that several data files share are shared.
    ///
    /// They are either one deletion vector or any number of position delete files, and any number of equality delete
    /// files. The rows of an equality delete file delete those of older data files alone, which this one is.
    #[must_use]
    pub fn deletes(&self) -> &[Arc<FileScanTask>] {
        &self.deletes
    }

    /// Rows of the file that no delete file deletes, if the manifests tell: not with position or equality delete files.
    #[must_use]
    pub fn live_record_count(&self) -> Option<u64> {
        match self.deletes.as_slice() {
            [] => Some(self.record_count()),
            [vector] if vector.is_deletion_vector() => self.record_count().checked_sub(vector.record_count()),
            _ => None,
        }
    }

    /// Whether this is a deletion vector.
    #[must_use]
    pub fn is_deletion_vector(&self) -> bool {
        self.data_file.content == FileContent::PositionDeletes && self.data_file.file_format == FileFormat::Puffin
    }
}
