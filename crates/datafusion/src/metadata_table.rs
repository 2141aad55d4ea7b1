//! Metadata tables in DataFusion.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::TableType;
use datafusion::error::Result;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_datasource::memory::MemorySourceConfig;
use lakelock_iceberg::metadata_table::MetadataTable;
use lakelock_iceberg::{Table, TableVersion};

use crate::error::external;

/// A [`MetadataTable`] of a table, read when it is scanned.
#[derive(Debug, Clone)]
pub struct MetadataTableProvider {
    table: Table,
    kind: MetadataTable,
    version: Option<TableVersion>,
    schema: SchemaRef,
}

impl MetadataTableProvider {
    /// A provider of a metadata table, of a version of the table if there is one.
    ///
    /// # Errors
    /// As [`MetadataTable::schema`], and when this metadata table is not of one version.
    pub fn try_new(table: Table, kind: MetadataTable, version: Option<TableVersion>) -> lakelock_iceberg::Result<Self> {
        let schema = kind.schema(&table)?;
        if let Some(version) = &version {
            kind.snapshot(&table, Some(version))?;
        }
        Ok(Self { table, kind, version, schema })
    }
}

#[async_trait]
impl TableProvider for MetadataTableProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let batches = self.kind.read(&self.table, self.version.as_ref()).await.map_err(external)?;
        Ok(MemorySourceConfig::try_new_exec(&[batches], self.schema(), projection.cloned())?)
    }
}
