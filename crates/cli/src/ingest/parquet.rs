//! Parquet as record batches, as they are: the writer of the table's files converts what loses nothing.

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::BATCH_ROWS;
use super::source::{Progress, Source};
use crate::failure::{Context as _, Result};

/// Record batches of a Parquet file.
#[derive(Debug)]
pub(super) struct ParquetBatches {
    source: Source,
    reader: ParquetRecordBatchReader,
    progress: Progress,
    rows: u64,
    rows_read: u64,
}

impl ParquetBatches {
    pub(super) fn open(source: &Source, progress: &Progress) -> Result<Self> {
        let builder = builder(source)?;
        let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
        let reader = builder.with_batch_size(BATCH_ROWS).build().with_context(|| cannot_read(source))?;
        Ok(Self { source: source.clone(), reader, progress: progress.clone(), rows, rows_read: 0 })
    }

    /// The share of the file's bytes that so many rows stand for.
    fn share(&self, rows: u64) -> u64 {
        let share = u128::from(self.source.bytes) * u128::from(rows) / u128::from(self.rows.max(1));
        u64::try_from(share).unwrap_or(self.source.bytes)
    }
}

impl Iterator for ParquetBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        if let Ok(batch) = &batch {
            let before = self.share(self.rows_read);
            self.rows_read += batch.num_rows() as u64;
            self.progress.add(self.share(self.rows_read) - before);
        }
        Some(batch.with_context(|| cannot_read(&self.source)))
    }
}

/// A file's schema.
pub(super) fn schema(source: &Source) -> Result<Schema> {
    Ok(builder(source)?.schema().as_ref().clone())
}

fn builder(source: &Source) -> Result<ParquetRecordBatchReaderBuilder<std::fs::File>> {
    ParquetRecordBatchReaderBuilder::try_new(source.open()?).with_context(|| cannot_read(source))
}

fn cannot_read(source: &Source) -> String {
    format!("cannot read {} as Parquet", source.path.display())
}
