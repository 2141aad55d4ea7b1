//! DataFusion's Parquet source, with what a table's files need besides.
//!
//! All reading, pruning and scheduling is DataFusion's. This wrapper gives each file its own column mapping, names the
//! file in every error, and keeps those filters out of the reader that it could not apply to a column made from
//! something else than one column of the file.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::StreamExt;
use futures::stream::BoxStream;
use lakelock_iceberg::{Error, ErrorKind};
use object_store::ObjectStore;

use crate::columns::{FieldIdAdapterFactory, InitialDefaults};
use crate::error::{external, while_reading};
use crate::metadata_columns::MetadataColumn;
use crate::reader::FileToRead;

/// Reads the Parquet files of a table.
#[derive(Clone)]
pub(crate) struct DataFileSource {
    parquet: Arc<dyn FileSource>,
    defaults: Arc<InitialDefaults>,
}

impl DataFileSource {
    pub(crate) fn new(parquet: Arc<dyn FileSource>, defaults: Arc<InitialDefaults>) -> Self {
        Self { parquet, defaults }
    }

    fn with(&self, parquet: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self { parquet, defaults: Arc::clone(&self.defaults) })
    }

    /// Whether each column that a filter names is one column of the file, or none, and not a floating-point one: Parquet's
    /// bounds leave NaN out, which the engine takes for greater than every number, so that it would prune such rows away.
    fn can_be_pushed_down(&self, filter: &Arc<dyn PhysicalExpr>) -> bool {
        let schema = self.table_schema().table_schema();
        let mut can = true;
        let walked = filter.apply(|expr| {
            if let Some(column) = expr.downcast_ref::<Column>() {
                can &= schema.field_with_name(column.name()).is_ok_and(|field| {
                    let r#type = field.data_type();
                    MetadataColumn::of(field).is_none() && !r#type.is_nested() && !r#type.is_floating()
                });
            }
            Ok(if can { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        });
        can && walked.is_ok()
    }
}

impl FileSource for DataFileSource {
    fn create_file_opener(&self, _: Arc<dyn ObjectStore>, _: &FileScanConfig, _: usize) -> Result<Arc<dyn FileOpener>> {
        Err(external(Error::new(ErrorKind::Internal, "data files are read by morsels, not by an opener")))
    }

    fn create_morselizer(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        // It is cloned for each file: without the list of all files.
        let config = FileScanConfigBuilder::from(base_config.clone()).with_file_groups(Vec::new()).build();
        Ok(Box::new(DataFileMorselizer { source: self.clone(), object_store, config, partition }))
    }

    fn table_schema(&self) -> &TableSchema {
        self.parquet.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        self.with(self.parquet.with_batch_size(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.parquet.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.parquet.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.parquet.metrics()
    }

    fn file_type(&self) -> &str {
        self.parquet.file_type()
    }

    fn fmt_extra(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.parquet.fmt_extra(t, f)
    }

    fn supports_repartitioning(&self) -> bool {
        self.parquet.supports_repartitioning()
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let can: Vec<bool> = filters.iter().map(|filter| self.can_be_pushed_down(filter)).collect();
        let pushed = filters.into_iter().zip(&can).filter_map(|(filter, can)| can.then_some(filter)).collect();
        let result = self.parquet.try_pushdown_filters(pushed, config)?;
        let mut answers = result.filters.into_iter();
        let answers = can.iter().map(|can| if *can { answers.next() } else { None }.unwrap_or(PushedDown::No));
        Ok(FilterPushdownPropagation {
            filters: answers.collect(),
            updated_node: result.updated_node.map(|parquet| self.with(parquet)),
        })
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        eq_properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        Ok(self.parquet.try_pushdown_sort(order, eq_properties)?.map(|parquet| self.with(parquet)))
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.parquet.reorder_files(files)
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        Ok(self.parquet.try_pushdown_projection(projection)?.map(|parquet| self.with(parquet)))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.parquet.apply_expressions(f)
    }
}

/// Reads each file with its own column mapping.
struct DataFileMorselizer {
    source: DataFileSource,
    object_store: Arc<dyn ObjectStore>,
    config: FileScanConfig,
    partition: usize,
}

impl fmt::Debug for DataFileMorselizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataFileMorselizer").field("partition", &self.partition).finish_non_exhaustive()
    }
}

impl Morselizer for DataFileMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let Some(to_read) = file.extension::<FileToRead>() else {
            let message = format!("file {} is not part of a table scan", file.path());
            return Err(external(Error::new(ErrorKind::Internal, message)));
        };
        let task = Arc::clone(&to_read.task);
        let location: Arc<str> = task.location().into();
        let adapter = FieldIdAdapterFactory::new(Arc::clone(&self.source.defaults), task);
        let mut config = self.config.clone();
        config.expr_adapter_factory = Some(Arc::new(adapter));
        let parquet = &self.source.parquet;
        let planner = parquet
            .create_morselizer(Arc::clone(&self.object_store), &config, self.partition)
            .and_then(|morselizer| morselizer.plan_file(file))
            .map_err(|e| while_reading(&location, e))?;
        Ok(Box::new(Named { location, inner: planner }))
    }
}

/// Names the file in the errors of a planner or a morsel.
#[derive(Debug)]
struct Named<T> {
    location: Arc<str>,
    inner: T,
}

impl<T> Named<T> {
    fn new(location: &Arc<str>, inner: T) -> Self {
        Self { location: Arc::clone(location), inner }
    }
}

impl MorselPlanner for Named<Box<dyn MorselPlanner>> {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let location = self.location;
        let Some(mut plan) = self.inner.plan().map_err(|e| while_reading(&location, e))? else { return Ok(None) };
        let morsels =
            plan.take_morsels().into_iter().map(|inner| Box::new(Named::new(&location, inner)) as _).collect();
        let planners =
            plan.take_ready_planners().into_iter().map(|inner| Box::new(Named::new(&location, inner)) as _).collect();
        let mut named = MorselPlan::new().with_morsels(morsels).with_planners(planners);
        if let Some(pending) = plan.take_pending_planner() {
            named.set_pending_planner(async move {
                let inner = pending.await.map_err(|e| while_reading(&location, e))?;
                Ok(Box::new(Named::new(&location, inner)) as _)
            });
        }
        Ok(Some(named))
    }
}

impl Morsel for Named<Box<dyn Morsel>> {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let location = self.location;
        self.inner.into_stream().map(move |batch| batch.map_err(|e| while_reading(&location, e))).boxed()
    }
}
