//! `insert into`: rows become data files, and one append of them all is committed.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::exec_err;
use datafusion::datasource::sink::DataSink;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::StreamExt;
use lakelock_catalog::{Catalog, ErrorKind, commit};
use lakelock_iceberg::Table;
use lakelock_iceberg::commit::AppendFiles;
use lakelock_iceberg::manifest::DataFile;
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};

use crate::error::external;
use crate::interrupt::Interrupt;

/// Appends the rows of one statement to a table: all of them or, if something fails, none.
pub(crate) struct AppendSink {
    table: Table,
    schema: SchemaRef,
    catalog: Arc<dyn Catalog>,
}

impl AppendSink {
    pub(crate) fn new(table: Table, schema: SchemaRef, catalog: Arc<dyn Catalog>) -> Self {
        Self { table, schema, catalog }
    }

    async fn write_files(
        &self,
        rows: SendableRecordBatchStream,
        context: &TaskContext,
    ) -> Result<(u64, Vec<DataFile>)> {
        let mut writer = DataFileWriter::new(&self.table, WriteOptions::default()).map_err(external)?;
        let written = tokio::select! {
            written = self.write_rows(&mut writer, rows) => written,
            () = Interrupt::stopped(context.session_config()) => exec_err!("interrupted: nothing was inserted"),
        };
        if let Err(e) = written {
            writer.abort().await;
            return Err(e);
        }
        let rows = writer.rows();
        Ok((rows, writer.close().await.map_err(external)?))
    }

    async fn write_rows(&self, writer: &mut DataFileWriter, mut rows: SendableRecordBatchStream) -> Result<()> {
        while let Some(batch) = rows.next().await {
            writer.write(self.named(&batch?)?).await.map_err(external)?;
        }
        Ok(())
    }

    /// The batch with the table's column names: SQL says which column is which by their order.
    fn named(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let schema = batch.schema();
        let fields = schema.fields().iter().zip(self.schema.fields());
        let fields: Vec<_> = fields.map(|(field, own)| field.as_ref().clone().with_name(own.name())).collect();
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), batch.columns().to_vec())?)
    }

    async fn delete(&self, files: &[String]) {
        for file in files {
            if let Err(error) = self.table.io().storage().delete(file).await {
                tracing::warn!(%file, %error, "a data file of a failed insert is left behind");
            }
        }
    }
}

#[async_trait]
impl DataSink for AppendSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, data: SendableRecordBatchStream, context: &Arc<TaskContext>) -> Result<u64> {
        let (rows, files) = self.write_files(data, context).await?;
        if rows == 0 {
            return Ok(0);
        }
        let locations: Vec<_> = files.iter().map(|file| file.file_path.clone()).collect();
        let append = AppendFiles::new(files);
        if let Err(e) = commit(self.catalog.as_ref(), self.table.identifier(), &append).await {
            // After that one the files may be part of the table.
            if e.kind() != ErrorKind::UnknownOutcome {
                self.delete(&locations).await;
            }
            return Err(external(e));
        }
        Ok(rows)
    }
}

impl DisplayAs for AppendSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AppendSink(table={})", self.table.identifier())
    }
}

impl fmt::Debug for AppendSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppendSink").field("table", self.table.identifier()).finish_non_exhaustive()
    }
}
