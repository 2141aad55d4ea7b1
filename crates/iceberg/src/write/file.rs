//! One data file while it is written.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef as ArrowSchemaRef;
use lakelock_crypto::StandardKeyMetadata;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, compute_leaves};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::TypePtr;
use rayon::prelude::*;

use super::body::Body;
use super::metrics::{FileMetrics, FloatMetrics, MetricsConfig};
use super::settings::Settings;
use super::upload::Upload;
use crate::encryption::{EncodedKeyMetadata, EncryptingFileIO};
use crate::manifest::{DataFile, FileContent, FileFormat};
use crate::spec::{SchemaRef, Struct};
use crate::{Error, ErrorKind, Result};

/// Rows before the first look at the size of a row group, and at most between two.
const ROWS_BEFORE_CHECK: usize = 100;
const ROWS_BETWEEN_CHECKS: usize = 10_000;
/// What a column writer holds besides what it tells, such as the state of its compressor.
const COLUMN_OVERHEAD: usize = 64 * 1024;

/// What all data files of a writer have in common.
#[derive(Debug)]
pub(super) struct FileTemplate {
    pub(super) schema: SchemaRef,
    pub(super) arrow_schema: ArrowSchemaRef,
    pub(super) parquet_schema: TypePtr,
    pub(super) settings: Settings,
    pub(super) metrics: MetricsConfig,
    pub(super) spec_id: i32,
}

/// A data file that takes rows.
///
/// Rows are encoded, compressed and encrypted at once, and kept until their row group is full; then it goes on its way
/// to the store.
pub(super) struct OpenFile {
    template: Arc<FileTemplate>,
    location: String,
    partition: Struct,
    key: Option<StandardKeyMetadata>,
    body: Body,
    /// Of the row group in progress; empty when there is none.
    columns: Vec<ArrowColumnWriter>,
    group_rows: usize,
    rows: u64,
    rows_to_check: usize,
    floats: FloatMetrics,
    upload: Upload,
}

impl OpenFile {
    /// Begins a file. Nothing is in the store until [`Self::close`].
    pub(super) fn create(
        template: &Arc<FileTemplate>,
        io: &EncryptingFileIO,
        location: String,
        partition: Struct,
        key: Option<StandardKeyMetadata>,
    ) -> Result<Self> {
        if key.is_none() && io.manager().is_encrypting() {
            return Err(Error::new(ErrorKind::Internal, format!("no key for {location} in an encrypted table")));
        }
        let upload = Upload::new(io.storage(), &location)?;
        let properties = template.settings.writer_properties().build();
        let body = Body::new(&template.parquet_schema, &template.arrow_schema, properties, key.as_ref())
            .map_err(|e| encoding_failed(&location, e))?;
        Ok(Self {
            template: Arc::clone(template),
            location,
            partition,
            key,
            body,
            columns: Vec::new(),
            group_rows: 0,
            rows: 0,
            rows_to_check: ROWS_BEFORE_CHECK,
            floats: FloatMetrics::default(),
            upload,
        })
    }

    /// Adds rows of the table's schema, up to the next look at the size, and returns how many.
    pub(super) async fn write(&mut self, rows: &RecordBatch) -> Result<usize> {
        let taken = rows.num_rows().min(self.rows_to_check);
        let rows = rows.slice(0, taken);
        self.encode(&rows).map_err(|e| encoding_failed(&self.location, e))?;
        self.floats.add(self.template.schema.as_struct(), rows.columns());
        self.rows += taken as u64;
        self.group_rows += taken;
        self.rows_to_check -= taken;
        if self.rows_to_check == 0 {
            self.check_size().await?;
        }
        Ok(taken)
    }

    /// The length the file would have if it were closed now, roughly.
    pub(super) fn length(&self) -> usize {
        usize::try_from(self.body.bytes_written()).unwrap_or(usize::MAX).saturating_add(self.group_length())
    }

    /// Bytes held in memory, roughly.
    pub(super) fn memory(&self) -> usize {
        self.group_memory() + self.upload.memory()
    }

    /// Of which so many are for the row group in progress.
    pub(super) fn group_memory(&self) -> usize {
        self.columns.iter().map(|column| column.memory_size() + COLUMN_OVERHEAD).sum()
    }

    /// Ends the row group in progress and sends it on its way.
    pub(super) async fn flush(&mut self) -> Result<()> {
        self.end_row_group().map_err(|e| encoding_failed(&self.location, e))?;
        self.send().await
    }

    /// Ends the file. It is in the store, whole, when this returns.
    pub(super) async fn close(mut self) -> Result<DataFile> {
        let footer = self.finish_parquet().map_err(|e| encoding_failed(&self.location, e))?;
        self.send().await?;
        let length = self.body.bytes_written();
        let Self { template, location, partition, key, rows, floats, upload, .. } = self;
        upload.finish().await?;
        let metrics = FileMetrics::new(&template.schema, &template.metrics, &footer, &floats);
        Ok(DataFile {
            column_sizes: Some(metrics.column_sizes),
            value_counts: Some(metrics.value_counts),
            null_value_counts: Some(metrics.null_value_counts),
            nan_value_counts: Some(metrics.nan_value_counts),
            lower_bounds: Some(metrics.lower_bounds),
            upper_bounds: Some(metrics.upper_bounds),
            key_metadata: key.map(|key| EncodedKeyMetadata::from(&key.with_file_length(length))),
            split_offsets: Some(metrics.split_offsets),
            sort_order_id: Some(0),
            ..DataFile::new(FileContent::Data, location, FileFormat::Parquet, template.spec_id, partition, rows, length)
        })
    }

    /// Gives the file up, leaving nothing behind in the store.
    pub(super) async fn abort(self) {
        self.upload.abort().await;
    }

    /// Encodes all columns, each on a thread of its own as far as there are any.
    fn encode(&mut self, rows: &RecordBatch) -> ParquetResult<()> {
        if self.columns.is_empty() {
            self.columns = self.body.begin_row_group()?;
        }
        let mut leaves = Vec::with_capacity(self.columns.len());
        for (field, column) in self.template.arrow_schema.fields().iter().zip(rows.columns()) {
            leaves.extend(compute_leaves(field, column)?);
        }
        self.columns.par_iter_mut().zip(leaves).try_for_each(|(column, leaf)| column.write(&leaf))
    }

    /// Ends the row group if it is full, and decides when to look again.
    async fn check_size(&mut self) -> Result<()> {
        let (length, full) = (self.group_length(), self.template.settings.row_group_size);
        let per_row = (length / self.group_rows.max(1)).max(1);
        // As Java does: a row group that two more rows could make too large is full.
        if length + 2 * per_row > full {
            self.rows_to_check = ROWS_BEFORE_CHECK;
            return self.flush().await;
        }
        self.rows_to_check = ((full - length) / per_row / 2).clamp(1, ROWS_BETWEEN_CHECKS);
        Ok(())
    }

    fn group_length(&self) -> usize {
        self.columns.iter().map(ArrowColumnWriter::get_estimated_total_bytes).sum()
    }

    fn end_row_group(&mut self) -> ParquetResult<()> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        self.group_rows = 0;
        let chunks = columns.into_par_iter().map(ArrowColumnWriter::close).collect::<ParquetResult<Vec<_>>>()?;
        self.body.end_row_group(chunks)
    }

    fn finish_parquet(&mut self) -> ParquetResult<ParquetMetaData> {
        self.end_row_group()?;
        self.body.finish()
    }

    async fn send(&mut self) -> Result<()> {
        for piece in self.body.take().map_err(|e| encoding_failed(&self.location, e))? {
            self.upload.put(piece).await?;
        }
        Ok(())
    }
}

fn encoding_failed(location: &str, source: ParquetError) -> Error {
    Error::new(ErrorKind::Internal, format!("the rows of {location} cannot be encoded as Parquet")).with_source(source)
}
