//! DataFusion's Parquet source, with what a table's files need besides.
//!
//! All scheduling is DataFusion's, and so is reading and pruning Parquet; [`crate::avro`] reads Avro. This wrapper gives each file its own column mapping and its
//! deletes, names the file in every error, and keeps those filters out of the reader that it could not apply to a column
//! made from something else than one column of the file.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetRowSelection;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::{ProjectionExpr, ProjectionExprs};
use datafusion::physical_expr::utils::reassign_expr_columns;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::StreamExt;
use futures::stream::BoxStream;
use lakelock_iceberg::manifest::FileFormat;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::{Error, ErrorKind};
use object_store::ObjectStore;
use parquet::arrow::arrow_reader::RowSelection;

use crate::avro::{AvroFiles, AvroPart};
use crate::columns::{FieldIdAdapterFactory, TableColumns};
use crate::deletes::{EqualityFilter, FileDeletes, ScanDeletes};
use crate::error::{external, while_reading};
use crate::metadata_columns::MetadataColumn;
use crate::reader::FileToRead;

/// Reads the data files of a table.
#[derive(Clone)]
pub(crate) struct DataFileSource {
    parquet: Arc<dyn FileSource>,
    /// For files with equality deletes: the same with all columns, those that only such deletes compare included.
    comparing: Option<Arc<dyn FileSource>>,
    columns: TableColumns,
    deletes: Arc<ScanDeletes>,
    avro: Arc<AvroFiles>,
    batch_size: Option<usize>,
}

impl DataFileSource {
    pub(crate) fn new(
        parquet: Arc<dyn FileSource>,
        comparing: Option<Arc<dyn FileSource>>,
        columns: TableColumns,
        deletes: Arc<ScanDeletes>,
        avro: Arc<AvroFiles>,
    ) -> Self {
        Self { parquet, comparing, columns, deletes, avro, batch_size: None }
    }

    fn with(&self, parquet: Arc<dyn FileSource>, comparing: Option<Arc<dyn FileSource>>) -> Arc<dyn FileSource> {
        Arc::new(Self { parquet, comparing, ..self.clone() })
    }

    /// The source for files with equality deletes: the query's columns, and after them those to compare.
    fn comparing(&self) -> Result<Arc<dyn FileSource>> {
        let parts = self.comparing.as_ref().zip(self.deletes.equality()).zip(self.parquet.projection());
        let Some(((source, equality), own)) = parts else { return Err(internal("equality deletes were not planned")) };
        let schema = source.table_schema().table_schema();
        let own = own.iter().map(|column| {
            let expr = reassign_expr_columns(Arc::clone(&column.expr), schema)?;
            Ok(ProjectionExpr::new(expr, column.alias.clone()))
        });
        let compared = equality.columns().iter().map(|name| {
            let column = Column::new_with_schema(name, schema)?;
            Ok(ProjectionExpr::new(Arc::new(column), format!("{name} (compared)")))
        });
        let all = own.chain(compared).collect::<Result<Vec<_>>>()?;
        let projected = source.try_pushdown_projection(&ProjectionExprs::new(all))?;
        projected.ok_or_else(|| internal("the Parquet source takes no projection"))
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
        Err(internal("data files are read by morsels, not by an opener"))
    }

    fn create_morselizer(
        &self,
        object_store: Arc<dyn ObjectStore>,
        base_config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        // It is cloned for each file: without the list of all files.
        let config = FileScanConfigBuilder::from(base_config.clone()).with_file_groups(Vec::new()).build();
        Ok(Box::new(DataFileMorselizer(Arc::new(Opener { source: self.clone(), object_store, config, partition }))))
    }

    fn table_schema(&self) -> &TableSchema {
        self.parquet.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        let comparing = self.comparing.as_ref().map(|source| source.with_batch_size(batch_size));
        let parquet = self.parquet.with_batch_size(batch_size);
        Arc::new(Self { parquet, comparing, batch_size: Some(batch_size), ..self.clone() })
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
        let pushed = filters.into_iter().zip(&can).filter_map(|(filter, can)| can.then_some(filter));
        let pushed: Vec<_> = pushed.collect();
        let comparing = match &self.comparing {
            Some(source) => {
                let same = source.try_pushdown_filters(pushed.clone(), config)?.updated_node;
                Some(same.unwrap_or_else(|| Arc::clone(source)))
            }
            None => None,
        };
        let result = self.parquet.try_pushdown_filters(pushed, config)?;
        let mut answers = result.filters.into_iter();
        let answers = can.iter().map(|can| if *can { answers.next() } else { None }.unwrap_or(PushedDown::No));
        Ok(FilterPushdownPropagation {
            filters: answers.collect(),
            updated_node: result.updated_node.map(|parquet| self.with(parquet, comparing)),
        })
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        eq_properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        // Files with equality deletes need not be read in this order: it is a hint, unless files are sorted already.
        let sorted = self.parquet.try_pushdown_sort(order, eq_properties)?;
        Ok(sorted.map(|parquet| self.with(parquet, self.comparing.clone())))
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.parquet.reorder_files(files)
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        let projected = self.parquet.try_pushdown_projection(projection)?;
        Ok(projected.map(|parquet| self.with(parquet, self.comparing.clone())))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.parquet.apply_expressions(f)
    }
}

/// Reads each file with its own column mapping, once its deletes are loaded.
#[derive(Debug)]
struct DataFileMorselizer(Arc<Opener>);

impl Morselizer for DataFileMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let Some(to_read) = file.extension::<FileToRead>() else {
            return Err(internal(&format!("file {} is not part of a table scan", file.path())));
        };
        if to_read.task.deletes().is_empty() {
            return self.0.open(file, FileDeletes { selection: None, equality: None });
        }
        let task = Arc::clone(&to_read.task);
        Ok(Box::new(LoadingDeletes { opener: Arc::clone(&self.0), task, file }))
    }
}

/// Opens files.
struct Opener {
    source: DataFileSource,
    object_store: Arc<dyn ObjectStore>,
    config: FileScanConfig,
    partition: usize,
}

impl Opener {
    fn open(&self, file: PartitionedFile, deletes: FileDeletes) -> Result<Box<dyn MorselPlanner>> {
        let Some(to_read) = file.extension::<FileToRead>() else {
            return Err(internal(&format!("file {} is not part of a table scan", file.path())));
        };
        let task = Arc::clone(&to_read.task);
        let context = Arc::new(FileContext { location: task.location().into(), deleted: deletes.equality });
        let adapter = FieldIdAdapterFactory::new(self.source.columns.clone(), Arc::clone(&task));
        let mut config = self.config.clone();
        let source = if context.deleted.is_some() {
            // What the reader counts may be deleted yet.
            config.limit = None;
            self.source.comparing()?
        } else {
            Arc::clone(&self.source.parquet)
        };
        if task.data_file().file_format == FileFormat::Avro {
            let selection = deletes.selection.map(|selection| RowSelection::clone(&selection));
            let range = file.range.map(|range| range.start.unsigned_abs()..range.end.unsigned_abs());
            let (files, batch_size) = (Arc::clone(&self.source.avro), self.source.batch_size);
            let part = AvroPart { files, task, range, source, adapter, selection, batch_size };
            return Ok(Box::new(OfFile { context, inner: part.planner() }));
        }
        config.expr_adapter_factory = Some(Arc::new(adapter));
        let file = match deletes.selection {
            Some(selection) => file.with_extension(ParquetRowSelection::new(RowSelection::clone(&selection))),
            None => file,
        };
        let planner = source
            .create_morselizer(Arc::clone(&self.object_store), &config, self.partition)
            .and_then(|morselizer| morselizer.plan_file(file))
            .map_err(|e| context.failed(e))?;
        Ok(Box::new(OfFile { context, inner: planner }))
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opener").field("partition", &self.partition).finish_non_exhaustive()
    }
}

/// A file whose deletes are to be loaded first.
#[derive(Debug)]
struct LoadingDeletes {
    opener: Arc<Opener>,
    task: Arc<FileScanTask>,
    file: PartitionedFile,
}

impl MorselPlanner for LoadingDeletes {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self { opener, task, file } = *self;
        Ok(Some(MorselPlan::new().with_pending_planner(async move {
            let deletes = opener.source.deletes.of(&task).await?;
            opener.open(file, deletes)
        })))
    }
}

/// What is done to all that comes of a file.
#[derive(Debug)]
struct FileContext {
    location: Arc<str>,
    deleted: Option<Arc<EqualityFilter>>,
}

impl FileContext {
    /// Names the file.
    fn failed(&self, error: DataFusionError) -> DataFusionError {
        while_reading("data file", &self.location, error)
    }

    fn live(&self, batch: Result<RecordBatch>) -> Result<RecordBatch> {
        let batch = batch.map_err(|e| self.failed(e))?;
        match &self.deleted {
            Some(deleted) => deleted.apply(&batch),
            None => Ok(batch),
        }
    }
}

/// A planner or a morsel of a file.
#[derive(Debug)]
struct OfFile<T> {
    context: Arc<FileContext>,
    inner: T,
}

impl<T> OfFile<T> {
    fn new(context: &Arc<FileContext>, inner: T) -> Self {
        Self { context: Arc::clone(context), inner }
    }
}

impl MorselPlanner for OfFile<Box<dyn MorselPlanner>> {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let context = self.context;
        let Some(mut plan) = self.inner.plan().map_err(|e| context.failed(e))? else { return Ok(None) };
        let morsels =
            plan.take_morsels().into_iter().map(|inner| Box::new(OfFile::new(&context, inner)) as _).collect();
        let planners =
            plan.take_ready_planners().into_iter().map(|inner| Box::new(OfFile::new(&context, inner)) as _).collect();
        let mut named = MorselPlan::new().with_morsels(morsels).with_planners(planners);
        if let Some(pending) = plan.take_pending_planner() {
            named.set_pending_planner(async move {
                let inner = pending.await.map_err(|e| context.failed(e))?;
                Ok(Box::new(OfFile::new(&context, inner)) as _)
            });
        }
        Ok(Some(named))
    }
}

impl Morsel for OfFile<Box<dyn Morsel>> {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let context = self.context;
        self.inner.into_stream().map(move |batch| context.live(batch)).boxed()
    }
}

fn internal(message: &str) -> DataFusionError {
    external(Error::new(ErrorKind::Internal, message))
}
