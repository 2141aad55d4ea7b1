//! A table of a lake in DataFusion.

use std::{collections::HashMap, fmt, sync::Arc};

use arrow::{
    array::RecordBatch,
    datatypes::{Schema, SchemaRef},
};
use async_trait::async_trait;
use datafusion::{
    catalog::{Session, TableProvider},
    common::{config::TableParquetOptions, project_schema},
    datasource::{
        TableType,
        listing::PartitionedFile,
        memory::MemorySourceConfig,
        physical_plan::{FileGroup, FileScanConfigBuilder, ParquetSource, parquet::ParquetRowSelection},
        source::DataSourceExec,
    },
    error::Result as PlanResult,
    execution::object_store::ObjectStoreUrl,
    logical_expr::{Expr, TableProviderFilterPushDown, dml::InsertOp},
    physical_plan::{ExecutionPlan, empty::EmptyExec, union::UnionExec},
};
use futures::{StreamExt, TryStreamExt, stream};
use lakelock_datafusion::field_ids::{Conform, InitialDefaults};
use lakelock_iceberg::name_mapping::NameMapping;
use object_store::ObjectMeta;

use crate::{
    DuckLake,
    adapter::{AdapterFactory, Values},
    columns::{Column, schema, unreadable_type},
    deletes::selection,
    error::{Result, invalid, unsupported},
    files::{Contents, DataFile},
    lake::{InlinedTable, LakeTable, Overview},
    mapping::{constants, name_mapping},
    metadata::Rows,
    prune::prune,
    reader::{FOOTER_READ, FileToRead, KeyedReaderFactory},
    values,
};

/// Files whose deletes are read at a time.
const CONCURRENCY: usize = 8;

/// A table of a lake, in one snapshot.
#[derive(Clone)]
pub struct DuckLakeTable {
    lake: DuckLake,
    overview: Arc<Overview>,
    table: LakeTable,
    snapshot: i64,
    columns: Arc<[Column]>,
    schema: SchemaRef,
}

/// How files that a mapping describes are read.
struct Mapped {
    names: NameMapping,
    columns: Vec<crate::lake::MappedName>,
}

impl DuckLakeTable {
    pub(crate) fn new(lake: DuckLake, overview: Arc<Overview>, table: LakeTable, snapshot: i64) -> Result<Self> {
        let columns: Arc<[Column]> = overview.columns(table.id, snapshot)?.into();
        let schema = schema(&columns);
        Ok(Self { lake, overview, table, snapshot, columns, schema })
    }

    /// The snapshot that is read.
    #[must_use]
    pub fn snapshot(&self) -> i64 {
        self.snapshot
    }

    fn name(&self) -> String {
        format!("{}.{}", self.table.schema, self.table.name)
    }

    /// Refuses columns of types that have no Arrow form, if they are asked for.
    fn check_readable(&self, columns: &Schema) -> Result<()> {
        for field in columns.fields() {
            if let Some(name) = unreadable_type(field) {
                let (column, table) = (field.name(), self.name());
                let message = format!("column {column} of {table} has the type {name}, which cannot be read here");
                return Err(unsupported(message));
            }
        }
        Ok(())
    }

    /// Refuses columns of whole seconds in files of other writers, which may have fractions of them: `DuckDB` cuts them off.
    fn check_seconds(&self, projected: &Schema, files: &[DataFile]) -> Result<()> {
        let Some(data) = files.iter().find(|data| data.mapping.is_some()) else { return Ok(()) };
        let asked = |column: &&Column| projected.field_with_name(&column.name).is_ok();
        match self.columns.iter().filter(asked).find(|column| column.has_seconds()) {
            Some(column) => Err(unsupported(format!(
                "column {} has the type TIMESTAMP_S, which cannot be read here from a file that DuckLake has not written, as {}",
                column.name, data.file
            ))),
            None => Ok(()),
        }
    }

    /// What columns are in rows that do not have them.
    fn defaults(&self) -> Result<InitialDefaults> {
        let mut defaults = HashMap::new();
        collect_defaults(&self.columns, &mut defaults)?;
        Ok(defaults.into_iter().collect())
    }

    /// The files as the engine takes them, by what their paths say.
    async fn groups(&self, files: Vec<DataFile>) -> Result<Vec<(Values, Vec<PartitionedFile>)>> {
        let mut mappings: HashMap<i64, Mapped> = HashMap::new();
        for id in files.iter().filter_map(|file| file.mapping) {
            if let std::collections::hash_map::Entry::Vacant(entry) = mappings.entry(id) {
                let columns = self.overview.mapping(id)?;
                entry.insert(Mapped { names: name_mapping(&columns, &self.columns)?, columns });
            }
        }
        let prepared = stream::iter(files.into_iter().map(|file| self.prepare(file, &mappings)));
        let prepared: Vec<_> = prepared.buffered(CONCURRENCY).try_collect().await?;
        let mut groups: Vec<(Values, Vec<PartitionedFile>)> = Vec::new();
        for (constants, file) in prepared {
            match groups.iter_mut().find(|(of_group, _)| **of_group == constants) {
                Some((_, files)) => files.push(file),
                None => groups.push((Arc::new(constants), vec![file])),
            }
        }
        Ok(groups)
    }

    async fn prepare(
        &self,
        data: DataFile,
        mappings: &HashMap<i64, Mapped>,
    ) -> Result<(HashMap<i32, datafusion::common::ScalarValue>, PartitionedFile)> {
        let mapped = data.mapping.and_then(|id| mappings.get(&id));
        let constants = match mapped {
            Some(mapped) => constants(&mapped.columns, &self.columns, &data.file)?,
            None => HashMap::new(),
        };
        let storage = self.lake.storage();
        let names = mapped.map(|mapped| mapped.names.clone());
        let to_read = FileToRead::new(storage, data.file.clone(), Some(data.rows), names)?;
        let selection = selection(storage, &data, &to_read, self.snapshot).await?;
        let meta = ObjectMeta {
            location: to_read.path().clone(),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            size: to_read.size(),
            e_tag: None,
            version: None,
        };
        let file = PartitionedFile::new_from_meta(meta).with_extension(to_read);
        let file = match selection {
            Some(selection) => file.with_extension(ParquetRowSelection::new(selection)),
            None => file,
        };
        Ok((constants, file))
    }

    /// The rows that the catalog itself has, as the table's columns are now; nothing, if there are none.
    fn inlined(&self, table: &InlinedTable, rows: &Rows, defaults: &InitialDefaults) -> Result<Option<RecordBatch>> {
        let live = crate::lake::live(rows, self.snapshot).collect::<Result<Vec<_>>>()?;
        if live.is_empty() {
            return Ok(None);
        }
        let source = schema(&table.columns);
        let mut arrays = Vec::with_capacity(self.columns.len());
        for (column, target) in self.columns.iter().zip(self.schema.fields()) {
            if unreadable_type(target).is_some() {
                // It is not asked for.
                arrays.push(arrow::array::new_null_array(target.data_type(), live.len()));
                continue;
            }
            let at = table.columns.iter().position(|of_table| of_table.id == column.id);
            let array = match at {
                Some(at) => {
                    let of_table = &table.columns[at];
                    let cells = live.iter().map(|row| Ok(row.cell(&of_table.name)?.clone()));
                    let cells = cells.collect::<Result<Vec<_>>>()?;
                    let array = values::array(of_table, rows.table(), cells.into_iter())?;
                    Conform::plan(source.field(at), target, defaults).and_then(|conform| conform.apply(&array))
                }
                None => defaults.missing(column.id, target).and_then(|value| value.to_array_of_size(live.len())),
            };
            let what = || format!("cannot read column {} of the catalog's table {}", column.name, rows.table());
            arrays.push(array.map_err(|error| invalid(what()).with_source(error))?);
        }
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(live.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        batch
            .map(Some)
            .map_err(|error| invalid(format!("the rows in {} are no rows of a table", rows.table())).with_source(error))
    }
}

fn collect_defaults(columns: &[Column], defaults: &mut HashMap<i32, datafusion::common::ScalarValue>) -> Result<()> {
    for column in columns {
        collect_defaults(&column.children, defaults)?;
        let Some(text) = &column.initial_default else { continue };
        if column.data_type().is_none() {
            continue;
        }
        let wrong = || invalid(format!("the initial default of column {} is no {}", column.name, column.type_name));
        defaults.insert(column.id, values::from_text(column, text).ok_or_else(wrong)?);
    }
    Ok(())
}

#[async_trait]
impl TableProvider for DuckLakeTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        // They leave out files and row groups; what is left is filtered again.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let projected = project_schema(&self.schema, projection)?;
        self.check_readable(&projected)?;
        let Contents { files, inlined } =
            Contents::read(&self.lake, &self.overview, &self.table, self.snapshot).await?;
        self.check_seconds(&projected, &files)?;
        let files = prune(session, filters, &self.schema, &self.columns, files);
        let defaults = Arc::new(self.defaults()?);
        let mut plans: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
        for (constants, files) in self.groups(files).await? {
            let options = TableParquetOptions {
                global: session.config_options().execution.parquet.clone(),
                ..Default::default()
            };
            let source = ParquetSource::new(Arc::clone(&self.schema))
                .with_table_parquet_options(options)
                .with_metadata_size_hint(FOOTER_READ)
                .with_parquet_file_reader_factory(Arc::new(KeyedReaderFactory));
            let adapter = AdapterFactory { defaults: Arc::clone(&defaults), constants };
            let groups = FileGroup::new(files).split_files(session.config().target_partitions().max(1));
            // Files bring their own store; this URL only has to be one that DataFusion always knows.
            let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
                .with_file_groups(groups)
                .with_expr_adapter(Some(Arc::new(adapter)))
                .with_projection_indices(projection.cloned())?
                .with_limit(limit)
                .build();
            plans.push(DataSourceExec::from_data_source(config));
        }
        let batches = inlined.iter().filter_map(|(table, rows)| self.inlined(table, rows, &defaults).transpose());
        let batches = batches.collect::<Result<Vec<_>>>()?;
        if !batches.is_empty() {
            let rows = MemorySourceConfig::try_new_exec(&[batches], Arc::clone(&self.schema), projection.cloned())?;
            plans.push(rows);
        }
        Ok(match plans.len() {
            0 => Arc::new(EmptyExec::new(projected)),
            1 => plans.remove(0),
            _ => UnionExec::try_new(plans)?,
        })
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Err(unsupported(format!("{} is a table of DuckLake, which only DuckDB writes to", self.name())).into())
    }
}

impl fmt::Debug for DuckLakeTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DuckLakeTable")
            .field("table", &self.name())
            .field("snapshot", &self.snapshot)
            .finish_non_exhaustive()
    }
}
