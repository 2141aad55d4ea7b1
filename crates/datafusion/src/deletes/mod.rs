//! Applies a scan's delete files: <https://iceberg.apache.org/spec/#delete-formats>.
//!
//! Deleted positions become a selection of rows before anything is decoded, so that what is deleted is not read where
//! whole pages or row groups are, and positions and row ids stay those of the file. Equality deletes are a filter on the
//! batches that come out. Each delete file is loaded once in a scan, when the first file that needs it is opened.

mod equality;
mod load;
mod positions;

use std::sync::Arc;

use datafusion::error::Result;
use lakelock_iceberg::encryption::EncryptingFileIO;
use lakelock_iceberg::manifest::FileContent;
use lakelock_iceberg::scan::FileScanTask;
use parquet::arrow::arrow_reader::RowSelection;

pub(crate) use self::equality::{EqualityDeletes, EqualityFilter};
use self::load::DeleteFileReader;
use self::positions::PositionDeletes;
use crate::avro::AvroFiles;
use crate::footer_cache::FooterCache;

/// Delete files read at a time for one data file.
const CONCURRENCY: usize = 8;

/// The deletes of one scan, shared by all of its files.
#[derive(Debug)]
pub(crate) struct ScanDeletes {
    reader: DeleteFileReader,
    positions: PositionDeletes,
    equality: Option<EqualityDeletes>,
}

/// What is to be done with one data file.
#[derive(Debug)]
pub(crate) struct FileDeletes {
    /// The rows to read; all of them without one.
    pub(crate) selection: Option<Arc<RowSelection>>,
    /// What to drop of the rows read.
    pub(crate) equality: Option<Arc<EqualityFilter>>,
}

impl ScanDeletes {
    pub(crate) fn new(
        io: EncryptingFileIO,
        footers: Arc<FooterCache>,
        avro: Arc<AvroFiles>,
        equality: Option<EqualityDeletes>,
    ) -> Self {
        Self { reader: DeleteFileReader::new(io, footers, avro), positions: PositionDeletes::default(), equality }
    }

    /// What equality deletes compare.
    pub(crate) fn equality(&self) -> Option<&EqualityDeletes> {
        self.equality.as_ref()
    }

    /// Loads what applies to a data file.
    pub(crate) async fn of(&self, task: &FileScanTask) -> Result<FileDeletes> {
        let is_equality = |delete: &Arc<FileScanTask>| delete.data_file().content == FileContent::EqualityDeletes;
        let (equality, positions): (Vec<_>, Vec<_>) = task.deletes().iter().cloned().partition(is_equality);
        let selection = match positions.as_slice() {
            [] => None,
            positions => Some(self.positions.selection(&self.reader, task, positions).await?),
        };
        let equality = match &self.equality {
            Some(deletes) if !equality.is_empty() => Some(Arc::new(deletes.filter(&self.reader, task).await?)),
            _ => None,
        };
        Ok(FileDeletes { selection, equality })
    }
}
