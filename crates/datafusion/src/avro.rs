//! Reads the Avro files of a table beside its Parquet files.
//!
//! What DataFusion's Parquet source was told of the query (the columns, the filter, how large batches are) holds for these
//! files too; columns are found and conformed by the same adapter. There are no statistics in the files to prune by: what
//! the filter does not want is dropped when it has been read.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::datasource::physical_plan::FileSource;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_adapter::PhysicalExprAdapterFactory;
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use lakelock_iceberg::avro::{AvroFile, AvroRead, AvroRows, BlockIndex, Wanted};
use lakelock_iceberg::encryption::EncryptingFileIO;
use lakelock_iceberg::name_mapping::NameMapping;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::{Error, ErrorKind};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use crate::columns::FieldIdAdapterFactory;
use crate::error::external;
use crate::loaded::Loaded;
use crate::metadata_columns::MetadataColumn;

/// Rows in a batch unless the session says how many.
const BATCH_SIZE: usize = 8192;

/// The Avro files of one scan: what the readers of parts of a file share.
#[derive(Debug)]
pub(crate) struct AvroFiles {
    io: EncryptingFileIO,
    mapping: Arc<NameMapping>,
    headers: Loaded<String, AvroFile>,
    indexes: Loaded<String, BlockIndex>,
}

/// A part of a file, and what is to be read of it.
pub(crate) struct AvroPart {
    pub(crate) files: Arc<AvroFiles>,
    pub(crate) task: Arc<FileScanTask>,
    /// Bytes of the file; all of them without it.
    pub(crate) range: Option<Range<u64>>,
    /// What is asked of the columns.
    pub(crate) source: Arc<dyn FileSource>,
    pub(crate) adapter: FieldIdAdapterFactory,
    /// The rows that are not deleted; all of them without it.
    pub(crate) selection: Option<RowSelection>,
    pub(crate) batch_size: Option<usize>,
}

impl AvroFiles {
    pub(crate) fn new(io: EncryptingFileIO, mapping: Arc<NameMapping>) -> Self {
        Self { io, mapping, headers: Loaded::default(), indexes: Loaded::default() }
    }

    /// Opens a file to read these fields.
    pub(crate) async fn open(&self, task: &FileScanTask, wanted: &Wanted) -> Result<AvroFile> {
        let length = task.data_file().file_size_in_bytes;
        let file = self.io.open(task.location(), task.key(), length).map_err(external)?;
        AvroFile::open(file, &self.mapping, wanted).await.map_err(external)
    }

    /// Opens a file of which a part is read, once for all parts.
    async fn open_shared(&self, task: &FileScanTask, wanted: &Wanted) -> Result<AvroFile> {
        let open = async { Ok(self.open(task, wanted).await?.without_head()) };
        let file = self.headers.get(task.location().to_owned(), open).await?;
        Ok(AvroFile::clone(&file))
    }

    /// How many rows are before a part.
    async fn rows_before(&self, file: &AvroFile, task: &FileScanTask, start: u64) -> Result<u64> {
        let index = async { file.index(task.record_count()).await.map_err(external) };
        let index = self.indexes.get(task.location().to_owned(), index).await?;
        file.rows_before(start, &index).await.map_err(external)
    }
}

impl AvroPart {
    /// Plans to read it once it is open.
    pub(crate) fn planner(self) -> Box<dyn MorselPlanner> {
        Box::new(Planner::Unopened(Box::new(self)))
    }

    async fn open(self) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let Self { files, task, range, source, adapter, selection, batch_size } = self;
        let table_schema = source.table_schema();
        let wanted = Wanted::of(table_schema.table_schema().fields());
        let wanted = wanted
            .and([MetadataColumn::RowId, MetadataColumn::LastUpdatedSequenceNumber].map(MetadataColumn::field_id));
        let file = match &range {
            None => files.open(&task, &wanted).await?,
            Some(_) => files.open_shared(&task, &wanted).await?,
        };

        let own = file.schema().fields();
        let made = table_schema.virtual_columns();
        let all = Arc::new(Schema::new(own.iter().chain(made).cloned().collect::<Vec<_>>()));
        let adapter = adapter.create(Arc::clone(table_schema.table_schema()), Arc::clone(&all))?;
        let projection = source.projection().ok_or_else(|| internal("an Avro file is read without a projection"))?;
        let schema = Arc::new(projection.project_schema(table_schema.table_schema())?);
        let outputs = projection.iter().map(|output| adapter.rewrite(Arc::clone(&output.expr)));
        let mut outputs = outputs.collect::<Result<Vec<_>>>()?;
        let mut filter = source.filter().map(|filter| adapter.rewrite(filter)).transpose()?;

        let inputs = Inputs::of(outputs.iter().chain(&filter), own.len(), &all);
        for expr in outputs.iter_mut().chain(&mut filter) {
            *expr = inputs.rewrite(expr)?;
        }
        let first = match &range {
            Some(range) if range.start > 0 && (inputs.positions || selection.is_some()) => {
                files.rows_before(&file, &task, range.start).await?
            }
            _ => 0,
        };
        let read = AvroRead {
            columns: inputs.columns.clone(),
            range: range.unwrap_or(0..u64::MAX),
            batch_size: batch_size.unwrap_or(BATCH_SIZE),
            record_count: task.record_count(),
        };
        let rows = file.rows(read).await.map_err(external)?;
        let live = selection.map(|selection| LiveRows::new(selection, first));
        let mut output = Output { inputs, outputs, filter, schema, live, first };
        Ok(rows.map_err(external).and_then(move |rows| std::future::ready(output.batch(&rows))).boxed())
    }
}

impl fmt::Debug for AvroPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AvroPart").field("location", &self.task.location()).finish_non_exhaustive()
    }
}

/// The columns that expressions need, and where they are in the batches that expressions see.
struct Inputs {
    /// Columns of the file.
    columns: Vec<usize>,
    /// Whether positions follow them.
    positions: bool,
    /// From the places in all of the file's columns to those in the batches.
    places: HashMap<usize, usize>,
    schema: SchemaRef,
}

impl Inputs {
    /// The first `own` columns of `all` are the file's, those behind them are made.
    fn of<'a>(exprs: impl Iterator<Item = &'a Arc<dyn PhysicalExpr>>, own: usize, all: &Schema) -> Self {
        let mut used: Vec<usize> = exprs.flat_map(collect_columns).map(|column| column.index()).collect();
        used.sort_unstable();
        used.dedup();
        let places = used.iter().enumerate().map(|(place, at)| (*at, place)).collect();
        let fields: Vec<FieldRef> = used.iter().filter_map(|at| all.fields().get(*at)).cloned().collect();
        let positions = used.iter().any(|at| *at >= own);
        used.retain(|at| *at < own);
        Self { columns: used, positions, places, schema: Arc::new(Schema::new(fields)) }
    }

    fn rewrite(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let rewritten = Arc::clone(expr).transform_down(|expr| match expr.downcast_ref::<Column>() {
            Some(column) => {
                let place = self.places.get(&column.index()).ok_or_else(|| internal("a column was not asked for"))?;
                Ok(Transformed::yes(Arc::new(Column::new(column.name(), *place)) as _))
            }
            None => Ok(Transformed::no(expr)),
        });
        rewritten.data()
    }

    /// What expressions see of rows.
    fn batch(&self, rows: &AvroRows, first: u64) -> Result<RecordBatch> {
        let mut columns = rows.batch.columns().to_vec();
        let count = rows.batch.num_rows();
        if self.positions {
            let first =
                i64::try_from(first.saturating_add(rows.offset)).map_err(|e| DataFusionError::External(e.into()))?;
            let positions: ArrayRef = Arc::new(Int64Array::from_iter_values((first..).take(count)));
            columns.push(positions);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// Makes the query's batches of the file's.
struct Output {
    inputs: Inputs,
    outputs: Vec<Arc<dyn PhysicalExpr>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    live: Option<LiveRows>,
    /// The position of the first row.
    first: u64,
}

impl Output {
    fn batch(&mut self, rows: &AvroRows) -> Result<RecordBatch> {
        let mut batch = self.inputs.batch(rows, self.first)?;
        if let Some(live) = &mut self.live {
            batch = filter_record_batch(&batch, &live.next(batch.num_rows()))?;
        }
        if let Some(filter) = &self.filter {
            let passes = filter.evaluate(&batch)?.into_array(batch.num_rows())?;
            batch = filter_record_batch(&batch, as_boolean_array(&passes)?)?;
        }
        let count = batch.num_rows();
        let columns = self.outputs.iter().map(|output| output.evaluate(&batch)?.into_array(count));
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        // A null where the table allows none.
        batch.map_err(|e| external(Error::new(ErrorKind::InvalidData, "its rows are not the table's").with_source(e)))
    }
}

/// Tells which of the next rows are not deleted.
struct LiveRows {
    selectors: std::vec::IntoIter<RowSelector>,
    current: RowSelector,
}

impl LiveRows {
    fn new(selection: RowSelection, first: u64) -> Self {
        let selectors = Vec::<RowSelector>::from(selection).into_iter();
        let mut live = Self { selectors, current: RowSelector::skip(0) };
        let mut left = usize::try_from(first).unwrap_or(usize::MAX);
        while left > 0 {
            let (_, count) = live.run(left);
            left -= count;
        }
        live
    }

    fn next(&mut self, rows: usize) -> BooleanArray {
        let mut live = Vec::with_capacity(rows);
        while live.len() < rows {
            let (is_live, count) = self.run(rows - live.len());
            live.resize(live.len() + count, is_live);
        }
        live.into()
    }

    /// Up to so many of the next rows that are alike.
    fn run(&mut self, rows: usize) -> (bool, usize) {
        while self.current.row_count == 0 {
            match self.selectors.next() {
                Some(next) => self.current = next,
                // There are no more rows than were counted: that is checked where they are read.
                None => return (false, rows),
            }
        }
        let count = self.current.row_count.min(rows);
        self.current.row_count -= count;
        (!self.current.skip, count)
    }
}

/// A file that is to be opened, or what was opened.
enum Planner {
    Unopened(Box<AvroPart>),
    Opened(BoxStream<'static, Result<RecordBatch>>),
}

impl MorselPlanner for Planner {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        Ok(Some(match *self {
            Self::Unopened(part) => MorselPlan::new().with_pending_planner(async move {
                let rows = part.open().await?;
                Ok(Box::new(Self::Opened(rows)) as _)
            }),
            Self::Opened(rows) => MorselPlan::new().with_morsels(vec![Box::new(Rows(rows))]),
        }))
    }
}

impl fmt::Debug for Planner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unopened(part) => part.fmt(f),
            Self::Opened(_) => f.write_str("Opened"),
        }
    }
}

/// The rows of a part. They are read as they are asked for.
struct Rows(BoxStream<'static, Result<RecordBatch>>);

impl Morsel for Rows {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        self.0
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rows")
    }
}

fn internal(message: &str) -> DataFusionError {
    external(Error::new(ErrorKind::Internal, message))
}
