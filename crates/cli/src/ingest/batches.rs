//! Rows of the text formats, gathered into record batches.

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use super::source::Source;
use super::text::BadValue;
use super::{BATCH_BYTES, BATCH_ROWS};
use crate::failure::{Context as _, Result};

/// A row as it was read.
#[derive(Debug)]
pub(super) struct Row<T> {
    pub(super) content: T,
    /// The line it starts on, from 1.
    pub(super) line: u64,
    /// Bytes of text in it.
    pub(super) length: usize,
}

/// A file of rows.
pub(super) trait Rows {
    /// One of them.
    type Content;

    fn source(&self) -> &Source;

    /// The columns of the batches.
    fn schema(&self) -> &SchemaRef;

    /// The next row; `None` at the end.
    fn next(&mut self) -> Result<Option<Row<Self::Content>>>;

    /// Values of all columns; the row of an error is its place in `rows`.
    fn columns(&self, rows: &[Row<Self::Content>]) -> Result<Vec<ArrayRef>, BadValue>;
}

/// Record batches of a file of rows. Nothing comes after an error.
#[derive(Debug)]
pub(super) struct TextBatches<R> {
    rows: R,
    done: bool,
}

impl<R: Rows> TextBatches<R> {
    pub(super) fn new(rows: R) -> Self {
        Self { rows, done: false }
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut rows = Vec::new();
        let mut bytes = 0;
        while rows.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some(row) = self.rows.next()? else {
                self.done = true;
                break;
            };
            bytes += row.length;
            rows.push(row);
        }
        let Some(first) = rows.first() else { return Ok(None) };
        let source = self.rows.source();
        let columns = self.rows.columns(&rows).map_err(|BadValue { row, column, reason }| {
            source.at_line(rows.get(row).unwrap_or(first).line, format!("column {column}: {reason}"))
        })?;
        let batch = RecordBatch::try_new(self.rows.schema().clone(), columns);
        Ok(Some(batch.with_context(|| format!("cannot load {} from line {}", source.path.display(), first.line))?))
    }
}

impl<R: Rows> Iterator for TextBatches<R> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let batch = self.read_batch().transpose();
        self.done |= matches!(batch, Some(Err(_)) | None);
        batch
    }
}
