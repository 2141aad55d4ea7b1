//! Reads delete files.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{Field, FieldRef, Schema};
use datafusion::error::{DataFusionError, Result};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lakelock_iceberg::arrow_schema::field_id;
use lakelock_iceberg::avro::{AvroRead, Wanted};
use lakelock_iceberg::encryption::EncryptingFileIO;
use lakelock_iceberg::manifest::FileFormat;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::{Error, ErrorKind};
use parquet::arrow::ProjectionMask;
use parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;

use crate::avro::AvroFiles;
use crate::columns::InitialDefaults;
use crate::conform::Conform;
use crate::error::{external, while_reading};
use crate::footer_cache::FooterCache;
use crate::reader::{FileToRead, KeyedReader};
use crate::stored_file::Shared;

/// Rows of an Avro delete file in a batch.
const AVRO_BATCH_SIZE: usize = 8192;

/// Opens delete files, each with its own key.
#[derive(Debug)]
pub(super) struct DeleteFileReader {
    io: EncryptingFileIO,
    footers: Arc<FooterCache>,
    avro: Arc<AvroFiles>,
}

impl DeleteFileReader {
    pub(super) fn new(io: EncryptingFileIO, footers: Arc<FooterCache>, avro: Arc<AvroFiles>) -> Self {
        Self { io, footers, avro }
    }

    pub(super) fn io(&self) -> &EncryptingFileIO {
        &self.io
    }

    /// The columns with the field ids of `fields`, as their types and in their order, batch by batch.
    pub(super) async fn columns(
        &self,
        file: &Arc<FileScanTask>,
        fields: &[FieldRef],
        defaults: &InitialDefaults,
    ) -> Result<BoxStream<'static, Result<Vec<ArrayRef>>>> {
        let failed = {
            let location = file.location().to_owned();
            move |e: DataFusionError| while_reading("delete file", &location, e)
        };
        if file.data_file().file_format == FileFormat::Avro {
            let batches = self.avro_columns(file, fields, defaults).await.map_err(&failed)?;
            return Ok(batches.map_err(failed).boxed());
        }
        let (store, path) = self.io.storage().resolve(file.location()).map_err(external)?;
        // Delete files are Iceberg's own, and have ids.
        let to_read = FileToRead { task: Arc::clone(file), store, path, mapping: None, shared: Shared::default() };
        let reader = KeyedReader::open(to_read, Arc::clone(&self.footers));
        let builder = ParquetRecordBatchStreamBuilder::new(reader).await.map_err(|e| failed(e.into()))?;
        let (roots, conforms) = find(file, builder.schema(), fields, defaults)?;
        let mask = ProjectionMask::roots(builder.parquet_schema(), roots.iter().copied());
        // Batches hold the columns in the file's order.
        let mut order = roots.clone();
        order.sort_unstable();
        let places: Vec<usize> = roots.iter().filter_map(|root| order.iter().position(|at| at == root)).collect();
        let batches = builder.with_projection(mask).build().map_err(|e| failed(e.into()))?;
        let batches = batches.map_err(DataFusionError::from).and_then(move |batch| {
            let columns = places.iter().zip(&conforms).map(|(at, conform)| conform.apply(batch.column(*at)));
            std::future::ready(columns.collect::<Result<Vec<_>>>())
        });
        Ok(batches.map_err(failed).boxed())
    }

    async fn avro_columns(
        &self,
        file: &Arc<FileScanTask>,
        fields: &[FieldRef],
        defaults: &InitialDefaults,
    ) -> Result<BoxStream<'static, Result<Vec<ArrayRef>>>> {
        let opened = self.avro.open(file, &Wanted::of(&fields.to_vec().into())).await?;
        let (columns, conforms) = find(file, opened.schema(), fields, defaults)?;
        let read =
            AvroRead { columns, range: 0..u64::MAX, batch_size: AVRO_BATCH_SIZE, record_count: file.record_count() };
        let rows = opened.rows(read).await.map_err(external)?.map_err(external);
        let columns = rows.and_then(move |rows| {
            let columns = rows.batch.columns().iter().zip(&conforms).map(|(column, conform)| conform.apply(column));
            std::future::ready(columns.collect::<Result<Vec<_>>>())
        });
        Ok(columns.boxed())
    }
}

/// Where the fields are in a file, and how they become what they should be.
fn find(
    file: &FileScanTask,
    schema: &Schema,
    fields: &[FieldRef],
    defaults: &InitialDefaults,
) -> Result<(Vec<usize>, Vec<Conform>)> {
    let found = schema.fields().iter().enumerate().filter_map(|(at, field)| Some((field_id(field)?, at)));
    let found: HashMap<i32, usize> = found.collect();
    let mut roots = Vec::with_capacity(fields.len());
    let mut conforms = Vec::with_capacity(fields.len());
    for field in fields {
        let at = field_id(field).and_then(|id| found.get(&id)).ok_or_else(|| missing(file, field))?;
        let conform = Conform::plan(schema.field(*at), field, defaults);
        conforms.push(conform.map_err(|e| while_reading("delete file", file.location(), e))?);
        roots.push(*at);
    }
    Ok((roots, conforms))
}

fn missing(file: &FileScanTask, field: &Field) -> DataFusionError {
    let message = format!("delete file {} has no column {}", file.location(), field.name());
    external(Error::new(ErrorKind::InvalidData, message))
}
