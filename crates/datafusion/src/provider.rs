//! A table in DataFusion.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{FieldRef, Fields, Schema as ArrowSchema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::TableParquetOptions;
use datafusion::common::project_schema;
use datafusion::datasource::TableType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfigBuilder, FileSource, ParquetSource};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::Result;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use lakelock_catalog::Catalog;
use lakelock_iceberg::arrow_schema::{field_id, schema_to_arrow, unreadable_type};
use lakelock_iceberg::metadata_table::UnifiedPartition;
use lakelock_iceberg::name_mapping::NameMapping;
use lakelock_iceberg::scan::{FileScanTask, TableScan};
use lakelock_iceberg::{Error, ErrorKind, Table};
use object_store::ObjectMeta;

use crate::avro::AvroFiles;
use crate::columns::{InitialDefaults, TableColumns, scalar};
use crate::deletes::{EqualityDeletes, ScanDeletes};
use crate::error::external;
use crate::filter::to_predicate;
use crate::footer_cache::FooterCache;
use crate::insert::AppendSink;
use crate::metadata_columns::MetadataColumn;
use crate::reader::{FOOTER_READ, FileToRead, KeyedReaderFactory};
use crate::source::DataFileSource;
use crate::statistics::statistics;
use crate::stored_file::Shared;

/// One version of a table, for queries.
///
/// All queries of one provider see the same snapshot. It decrypts by itself: keys come from the table, are handed to
/// the reader of each file, and are part of no plan's display.
#[derive(Clone)]
pub struct LakelockTableProvider {
    table: Table,
    scan: TableScan,
    schema: SchemaRef,
    defaults: Arc<InitialDefaults>,
    footers: Arc<FooterCache>,
    catalog: Option<Arc<dyn Catalog>>,
    /// What an insert fills columns with that it does not name.
    write_defaults: Arc<HashMap<String, Expr>>,
}

impl LakelockTableProvider {
    /// A provider of the table's current snapshot and schema.
    ///
    /// # Errors
    /// When the schema has something that is not supported.
    pub fn try_new(table: Table) -> lakelock_iceberg::Result<Self> {
        let scan = TableScan::new(&table);
        Self::of_scan(table, scan)
    }

    /// A provider of another snapshot, with the schema it was written with.
    ///
    /// # Errors
    /// When there is no such snapshot, or its schema has something that is not supported.
    pub fn try_new_at(table: Table, snapshot_id: i64) -> lakelock_iceberg::Result<Self> {
        let scan = TableScan::new(&table).with_snapshot(snapshot_id)?;
        Self::of_scan(table, scan)
    }

    /// A provider of what a scan reads: another version, or what was appended between two. Its filter is kept: rows that
    /// do not match may be missing.
    ///
    /// # Errors
    /// When the schema has something that is not supported.
    pub fn from_scan(scan: TableScan) -> lakelock_iceberg::Result<Self> {
        Self::of_scan(scan.table().clone(), scan)
    }

    fn of_scan(table: Table, scan: TableScan) -> lakelock_iceberg::Result<Self> {
        let schema = schema_to_arrow(scan.schema())?;
        let defaults = Arc::new(InitialDefaults::new(scan.schema())?);
        let write_defaults =
            scan.schema().as_struct().fields().iter().zip(schema.fields()).filter_map(|(field, arrow)| {
                let value = scalar(field.write_default.as_ref()?.as_primitive_literal()?, arrow.data_type())?;
                Some((field.name.clone(), Expr::Literal(value, None)))
            });
        let write_defaults = Arc::new(write_defaults.collect());
        Ok(Self { table, scan, schema, defaults, footers: Arc::default(), catalog: None, write_defaults })
    }

    /// Shows the [`MetadataColumn`]s as columns like any other, after the table's own; not those whose name the table
    /// uses itself, nor `_partition` of a table whose partition specs are not understood.
    #[must_use]
    pub fn with_metadata_columns(mut self) -> Self {
        let own = self.own_fields();
        let partition =
            UnifiedPartition::new(self.table.metadata()).and_then(|partition| partition.arrow_fields()).ok();
        let added = MetadataColumn::ALL.into_iter().filter(|column| own.iter().all(|f| f.name() != column.name()));
        let added: Vec<FieldRef> = added
            .filter(|column| partition.is_some() || *column != MetadataColumn::Partition)
            .map(|column| column.field(partition.as_ref().unwrap_or(&Fields::empty())))
            .collect();
        self.schema = Arc::new(ArrowSchema::new([own, added].concat()));
        self
    }

    /// Shares footers with other providers.
    #[must_use]
    pub fn with_footer_cache(mut self, footers: Arc<FooterCache>) -> Self {
        self.footers = footers;
        self
    }

    /// The catalog that inserts are committed to; without one the provider is read-only.
    #[must_use]
    pub fn with_catalog(mut self, catalog: Arc<dyn Catalog>) -> Self {
        self.catalog = Some(catalog);
        self
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    fn own_fields(&self) -> Vec<FieldRef> {
        self.schema.fields().iter().filter(|field| MetadataColumn::of(field).is_none()).cloned().collect()
    }

    /// What the Parquet source is told of the table's columns, with `more` of them. Positions are made for each row, so
    /// only on demand.
    fn table_schema(&self, projection: Option<&Vec<usize>>, more: &[FieldRef]) -> TableSchema {
        let selected = |at: usize| projection.is_none_or(|projection| projection.contains(&at));
        let (mut file, mut positions) = (Vec::new(), Vec::new());
        let mut wanted = false;
        for (at, field) in self.schema.fields().iter().enumerate() {
            match MetadataColumn::of(field) {
                Some(MetadataColumn::Position) => positions.push(Arc::clone(field)),
                _ => file.push(Arc::clone(field)),
            }
            let needs = matches!(MetadataColumn::of(field), Some(MetadataColumn::Position | MetadataColumn::RowId));
            wanted |= needs && selected(at);
        }
        if wanted && positions.is_empty() {
            positions.push(MetadataColumn::Position.field(&Fields::empty()));
        }
        let positions = if wanted { positions } else { Vec::new() };
        file.extend_from_slice(more);
        TableSchema::builder(Arc::new(ArrowSchema::new(file))).with_virtual_columns(positions).build()
    }

    fn file(&self, task: &FileScanTask, mapping: Option<Arc<NameMapping>>) -> Result<PartitionedFile> {
        let (store, path) = self.table.io().storage().resolve(task.location()).map_err(external)?;
        let meta = ObjectMeta {
            location: path.clone(),
            last_modified: chrono::DateTime::UNIX_EPOCH,
            // As the manifest has it: the reader refuses a file of another length.
            size: task.data_file().file_size_in_bytes,
            e_tag: None,
            version: None,
        };
        let to_read = FileToRead { task: Arc::new(task.clone()), store, path, mapping, shared: Shared::default() };
        Ok(PartitionedFile::new_from_meta(meta).with_extension(to_read))
    }

    fn parquet(&self, state: &dyn Session, table_schema: TableSchema) -> Arc<dyn FileSource> {
        let mut options =
            TableParquetOptions { global: state.config_options().execution.parquet.clone(), ..Default::default() };
        // What legacy timestamps hold does not fit nanoseconds.
        options.global.coerce_int96 = Some("us".to_owned());
        let readers = KeyedReaderFactory::new(Arc::clone(&self.footers));
        let source = ParquetSource::new(table_schema)
            .with_table_parquet_options(options)
            .with_metadata_size_hint(FOOTER_READ)
            .with_parquet_file_reader_factory(Arc::new(readers));
        Arc::new(source)
    }

    /// Refuses columns of types that have no Arrow form, if they are asked for.
    fn check_readable(&self, columns: &ArrowSchema) -> Result<()> {
        for field in columns.fields() {
            if let Some(name) = unreadable_type(field) {
                let what = format!("reading column {}, which has the type {name},", field.name());
                return Err(self.unsupported(&what));
            }
        }
        Ok(())
    }

    fn unsupported(&self, what: &str) -> datafusion::error::DataFusionError {
        let message = format!("{what} is not supported for {}", self.table.identifier());
        external(Error::new(ErrorKind::Unsupported, message))
    }
}

#[async_trait]
impl TableProvider for LakelockTableProvider {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // They leave out files and row groups; what is left is filtered again.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projected = project_schema(&self.schema, projection)?;
        self.check_readable(&projected)?;
        let predicate = to_predicate(filters, self.scan.schema());
        let scan = self.scan.clone().with_filter(predicate);
        let scan = scan.with_statistics(projected.fields().iter().filter_map(|field| field_id(field)));
        let mut tasks = scan.plan().await.map_err(external)?.tasks;
        if let (Some(limit), true) = (limit, filters.is_empty()) {
            truncate(&mut tasks, limit);
        }
        if tasks.is_empty() {
            return Ok(Arc::new(EmptyExec::new(projected)));
        }

        let equality = EqualityDeletes::plan(&tasks, self.scan.schema(), self.table.metadata())?;
        let (comparing, defaults) = match &equality {
            Some(equality) => {
                let all = schema_to_arrow(equality.schema()).map_err(external)?;
                let more = &all.fields()[self.scan.schema().as_struct().fields().len()..];
                let source = self.parquet(state, self.table_schema(projection, more));
                (Some(source), Arc::clone(equality.defaults()))
            }
            None => (None, Arc::clone(&self.defaults)),
        };
        let mapping = NameMapping::of_table(self.table.metadata()).map_err(external)?.map(Arc::new);
        // As in Java, Avro files without ids have those of the columns of the same names if nothing else was said.
        let names = mapping.clone().unwrap_or_else(|| Arc::new(NameMapping::of_schema(self.scan.schema())));
        let avro = Arc::new(AvroFiles::new(self.table.io().clone(), names));
        let footers = Arc::clone(&self.footers);
        let deletes = ScanDeletes::new(self.table.io().clone(), footers, Arc::clone(&avro), equality);

        let table_schema = self.table_schema(projection, &[]);
        let statistics = statistics(&tasks, self.scan.schema(), table_schema.table_schema());
        let files = tasks.iter().map(|task| self.file(task, mapping.clone())).collect::<Result<Vec<_>>>()?;
        let groups = FileGroup::new(files).split_files(state.config().target_partitions().max(1));
        let partition = UnifiedPartition::new(self.table.metadata()).ok().map(Arc::new);
        let columns = TableColumns { defaults, partition };
        let source =
            DataFileSource::new(self.parquet(state, table_schema), comparing, columns, Arc::new(deletes), avro);
        // Files bring their own store; this URL only has to be one that DataFusion always knows.
        let config = FileScanConfigBuilder::new(ObjectStoreUrl::local_filesystem(), Arc::new(source))
            .with_file_groups(groups)
            .with_statistics(statistics)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.write_defaults.get(column)
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert_op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if insert_op != InsertOp::Append {
            return Err(self.unsupported(&insert_op.name().to_uppercase()));
        }
        let Some(catalog) = &self.catalog else {
            return Err(self.unsupported("INSERT into a version, or outside of a catalog,"));
        };
        if self.own_fields().len() != self.schema.fields().len() {
            return Err(self.unsupported("INSERT into metadata columns"));
        }
        if self.scan.snapshot().map(|s| s.snapshot_id()) != self.table.metadata().current_snapshot_id() {
            return Err(self.unsupported("INSERT into an old snapshot"));
        }
        let sink = AppendSink::new(self.table.clone(), Arc::clone(&self.schema), Arc::clone(catalog));
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }

    // DataFusion hands these hooks the filters of the optimized plan, in which `where false`, `where id = null` and
    // subqueries are no longer to be seen: obeying them would change rows that the statement does not mean.

    async fn delete_from(&self, _: &dyn Session, _: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.unsupported("DELETE"))
    }

    async fn update(&self, _: &dyn Session, _: Vec<(String, Expr)>, _: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.unsupported("UPDATE"))
    }

    async fn truncate(&self, _: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.unsupported("TRUNCATE"))
    }

    async fn merge_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: datafusion::common::DFSchemaRef,
        _: Expr,
        _: Vec<datafusion::logical_expr::dml::MergeIntoClause>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(self.unsupported("MERGE"))
    }
}

impl fmt::Debug for LakelockTableProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LakelockTableProvider")
            .field("table", self.table.identifier())
            .field("metadata_location", &self.table.metadata_location())
            .finish_non_exhaustive()
    }
}

/// Drops the files beyond those that hold the first `limit` rows.
fn truncate(tasks: &mut Vec<FileScanTask>, limit: usize) {
    let mut left = limit as u64;
    tasks.retain(|task| {
        let needed = left > 0;
        // How many rows equality deletes leave is not known: possibly none.
        left = left.saturating_sub(task.live_record_count().unwrap_or(0));
        needed
    });
}
