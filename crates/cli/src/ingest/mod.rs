//! Files that people have (CSV, JSON lines, Parquet) as record batches of a table's schema.
//!
//! Text that is no value of its column's type is an error, which names the file, the line and the column; types of
//! Parquet files are converted by the table's writer. Memory is bounded by a batch, whatever the file's size.

mod batches;
mod candidates;
mod columns;
mod csv;
mod csv_records;
mod infer;
mod json;
mod json_lines;
mod json_value;
mod parquet;
mod source;
mod text;

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

pub(crate) use csv::CsvOptions;
pub(crate) use infer::infer_schema;
pub(crate) use source::{FileFormat, Progress, Source};

use batches::TextBatches;

use crate::failure::Result;

/// Rows of a text format that are converted at once.
const BATCH_ROWS: usize = 8192;
/// Text that is converted at once, if its rows are long.
const BATCH_BYTES: usize = 8 << 20;
/// A single row of a text format has an end before this.
const ROW_LIMIT: usize = 64 << 20;

/// Record batches of one file.
pub(crate) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

/// Opens a file. Text becomes values of the columns of `schema`, the table's; batches have the columns that the file has.
pub(crate) fn open(source: &Source, schema: &SchemaRef, options: &CsvOptions, progress: &Progress) -> Result<Batches> {
    Ok(match source.format {
        FileFormat::Csv => Box::new(TextBatches::new(csv::CsvRows::open(source, schema, options, progress)?)),
        FileFormat::Json => Box::new(TextBatches::new(json_lines::JsonRows::open(source, schema, progress)?)),
        FileFormat::Parquet => Box::new(parquet::ParquetBatches::open(source, progress)?),
    })
}
