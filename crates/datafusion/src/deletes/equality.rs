//! Equality deletes: rows are gone whose values in some columns equal those of a row in a delete file.
//!
//! Delete files that compare the same columns in the same partition make one [`Group`]: a map from the values that they
//! delete to the greatest sequence number that deletes them. A row is deleted if its data file is older than that, so
//! that one look-up per row does, however many delete files there are, and the map serves data files of every age.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::FieldRef;
use datafusion::arrow::row::{RowConverter, Rows, SortField};
use datafusion::error::Result;
use futures::{StreamExt, TryStreamExt, stream};
use lakelock_iceberg::arrow_schema::{field_to_arrow, schema_to_arrow};
use lakelock_iceberg::manifest::FileContent;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::spec::{NestedField, NestedFieldRef, Schema, Struct, StructType, TableMetadata, Type};
use lakelock_iceberg::{Error, ErrorKind};
use tokio::sync::OnceCell;

use super::CONCURRENCY;
use super::load::DeleteFileReader;
use crate::columns::InitialDefaults;
use crate::conform::Conform;
use crate::error::external;

/// The equality deletes of a scan.
#[derive(Debug)]
pub(crate) struct EqualityDeletes {
    /// The schema of the scan, and after it columns that deletes compare and the table has dropped since.
    schema: Schema,
    defaults: Arc<InitialDefaults>,
    /// The columns to read for the comparison, by their names in `schema`.
    columns: Vec<String>,
    groups: HashMap<Scope, Arc<Group>>,
}

/// What a delete file compares, and where: a partition, or everywhere.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Scope {
    ids: Vec<i32>,
    partition: Option<(i32, Struct)>,
}

/// Delete files of the same scope.
#[derive(Debug)]
struct Group {
    files: Vec<Arc<FileScanTask>>,
    /// The compared columns, reduced to the compared fields of structs.
    fields: Vec<FieldRef>,
    /// Where in [`EqualityDeletes::columns`] they are, and how they are reduced.
    sources: Vec<(usize, Conform)>,
    keys: RowConverter,
    /// The sequence number of the last delete of each key.
    deleted: OnceCell<HashMap<Box<[u8]>, i64>>,
}

impl EqualityDeletes {
    /// The equality deletes among those of a scan's files, if there are any. Nothing is read yet.
    pub(crate) fn plan(tasks: &[FileScanTask], schema: &Schema, metadata: &TableMetadata) -> Result<Option<Self>> {
        let mut files: HashMap<Scope, Vec<Arc<FileScanTask>>> = HashMap::new();
        for delete in tasks.iter().flat_map(FileScanTask::deletes) {
            if let Some(scope) = Scope::of(delete) {
                let files = files.entry(scope).or_default();
                if !files.iter().any(|file| Arc::ptr_eq(file, delete)) {
                    files.push(Arc::clone(delete));
                }
            }
        }
        if files.is_empty() {
            return Ok(None);
        }
        let schema = with_dropped_columns(schema, metadata, &files)?;
        let defaults = Arc::new(InitialDefaults::new(&schema).map_err(external)?);
        let (mut columns, mut groups) = (Vec::new(), HashMap::new());
        for (scope, files) in files {
            let group = Group::new(&scope.ids, files, &schema, &defaults, &mut columns)?;
            groups.insert(scope, Arc::new(group));
        }
        Ok(Some(Self { schema, defaults, columns, groups }))
    }

    /// The schema in which the columns are found.
    pub(crate) fn schema(&self) -> &Schema {
        &self.schema
    }

    pub(crate) fn defaults(&self) -> &Arc<InitialDefaults> {
        &self.defaults
    }

    /// The columns that a filter needs, to be read after those of the query.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Loads what deletes rows of a data file.
    pub(super) async fn filter(&self, reader: &DeleteFileReader, task: &FileScanTask) -> Result<EqualityFilter> {
        let mut groups: Vec<Arc<Group>> = Vec::new();
        for scope in task.deletes().iter().filter_map(|delete| Scope::of(delete)) {
            let group = self.groups.get(&scope).ok_or_else(|| {
                let message = format!("the equality deletes of data file {} were not planned", task.location());
                external(Error::new(ErrorKind::Internal, message))
            })?;
            if !groups.iter().any(|other| Arc::ptr_eq(other, group)) {
                group.load(reader, &self.defaults).await?;
                groups.push(Arc::clone(group));
            }
        }
        // Without one nothing would apply: planning refuses that.
        let sequence_number = task.data_sequence_number().unwrap_or(i64::MIN);
        Ok(EqualityFilter { groups, sequence_number, compared: self.columns.len() })
    }
}

impl Scope {
    fn of(delete: &FileScanTask) -> Option<Self> {
        let file = delete.data_file();
        let ids = file.equality_ids.as_ref().filter(|_| file.content == FileContent::EqualityDeletes)?;
        let mut ids = ids.clone();
        ids.sort_unstable();
        ids.dedup();
        let partition = (!delete.spec().is_unpartitioned()).then(|| (file.spec_id, file.partition.clone()));
        Some(Self { ids, partition })
    }
}

impl Group {
    fn new(
        ids: &[i32],
        files: Vec<Arc<FileScanTask>>,
        schema: &Schema,
        defaults: &InitialDefaults,
        columns: &mut Vec<String>,
    ) -> Result<Self> {
        let arrow = schema_to_arrow(schema).map_err(external)?;
        let (mut fields, mut sources) = (Vec::new(), Vec::new());
        for (column, whole) in schema.as_struct().fields().iter().zip(arrow.fields()) {
            let Some(compared) = select(column, ids) else { continue };
            let field = Arc::new(field_to_arrow(&compared).map_err(external)?);
            let at = columns.iter().position(|name| *name == column.name).unwrap_or_else(|| {
                columns.push(column.name.clone());
                columns.len() - 1
            });
            sources.push((at, Conform::plan(whole, &field, defaults)?));
            fields.push(field);
        }
        let keys = fields.iter().map(|field| SortField::new(field.data_type().clone())).collect();
        let keys = RowConverter::new(keys).map_err(|e| {
            let message = format!("equality delete file {} compares columns that cannot be compared", name(&files));
            external(Error::new(ErrorKind::Unsupported, message).with_source(e))
        })?;
        Ok(Self { files, fields, sources, keys, deleted: OnceCell::new() })
    }

    async fn load(&self, reader: &DeleteFileReader, defaults: &InitialDefaults) -> Result<()> {
        self.deleted.get_or_try_init(|| self.read(reader, defaults)).await?;
        Ok(())
    }

    async fn read(&self, reader: &DeleteFileReader, defaults: &InitialDefaults) -> Result<HashMap<Box<[u8]>, i64>> {
        let files = stream::iter(self.files.clone()).map(|file| self.read_file(reader, file, defaults));
        let mut files = std::pin::pin!(files.buffer_unordered(CONCURRENCY));
        let mut deleted: HashMap<Box<[u8]>, i64> = HashMap::new();
        while let Some((sequence_number, keys)) = files.try_next().await? {
            for key in keys.iter().flatten() {
                match deleted.get_mut(key.as_ref()) {
                    Some(last) => *last = sequence_number.max(*last),
                    None => drop(deleted.insert(key.as_ref().into(), sequence_number)),
                }
            }
        }
        Ok(deleted)
    }

    /// The keys of one delete file, with its sequence number.
    async fn read_file(
        &self,
        reader: &DeleteFileReader,
        file: Arc<FileScanTask>,
        defaults: &InitialDefaults,
    ) -> Result<(i64, Vec<Rows>)> {
        let mut batches = reader.columns(&file, &self.fields, defaults).await?;
        let mut keys = Vec::new();
        while let Some(columns) = batches.try_next().await? {
            keys.push(self.keys.convert_columns(&columns)?);
        }
        Ok((file.data_sequence_number().unwrap_or(i64::MAX), keys))
    }
}

/// Drops the rows of a data file that equality deletes delete.
#[derive(Debug)]
pub(crate) struct EqualityFilter {
    groups: Vec<Arc<Group>>,
    sequence_number: i64,
    /// Columns read for the comparison, the last of each batch.
    compared: usize,
}

impl EqualityFilter {
    /// What is left of a batch, without the columns that were read for the comparison.
    pub(crate) fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let own = batch.num_columns().saturating_sub(self.compared);
        let compared = &batch.columns()[own..];
        let mut live = vec![true; batch.num_rows()];
        for group in &self.groups {
            let deleted = group.deleted.get().ok_or_else(|| {
                external(Error::new(ErrorKind::Internal, format!("{} was not loaded", name(&group.files))))
            })?;
            if deleted.is_empty() {
                continue;
            }
            let columns = group.sources.iter().map(|(at, conform)| conform.apply(&compared[*at]));
            let keys = group.keys.convert_columns(&columns.collect::<Result<Vec<ArrayRef>>>()?)?;
            for (live, key) in live.iter_mut().zip(&keys) {
                *live &= deleted.get(key.as_ref()).is_none_or(|last| *last <= self.sequence_number);
            }
        }
        let batch = batch.project(&(0..own).collect::<Vec<_>>())?;
        if live.iter().all(|live| *live) {
            return Ok(batch);
        }
        Ok(filter_record_batch(&batch, &BooleanArray::from(live))?)
    }
}

/// The schema, and after its columns those that deletes compare and that only older schemas have: a column that was
/// dropped still tells which rows are deleted.
fn with_dropped_columns(
    schema: &Schema,
    metadata: &TableMetadata,
    files: &HashMap<Scope, Vec<Arc<FileScanTask>>>,
) -> Result<Schema> {
    let mut fields: Vec<NestedFieldRef> = schema.as_struct().fields().to_vec();
    for (scope, files) in files {
        for id in &scope.ids {
            let compares = |field: &NestedFieldRef| select(field, std::slice::from_ref(id)).is_some();
            if fields.iter().any(compares) {
                continue;
            }
            let refuse = |why: &str| {
                let message = format!("equality delete file {} compares field {id}, which {why}", name(files));
                Err(external(Error::new(ErrorKind::Unsupported, message)))
            };
            let newest = metadata
                .schemas_iter()
                .filter_map(|old| {
                    Some((old.schema_id(), old.as_struct().fields().iter().find(|field| compares(field))?))
                })
                .max_by_key(|(schema_id, _)| *schema_id);
            let Some((_, dropped)) = newest else { return refuse("is no column that rows could be compared by") };
            if fields.iter().any(|field| field.id == dropped.id) {
                return refuse("was dropped from a struct; that is not supported yet");
            }
            // Its name may be another column's now, and newer files do not have it.
            let name = format!("{} (dropped, field id {})", dropped.name, dropped.id);
            fields.push(Arc::new(NestedField { name, required: false, ..NestedField::clone(dropped) }));
        }
    }
    Schema::builder().with_schema_id(schema.schema_id()).with_fields(fields).build().map_err(|e| {
        external(Error::new(ErrorKind::Internal, "a schema with its dropped columns is none").with_source(e))
    })
}

/// A column reduced to the fields with these ids: itself, or some fields of a struct. Nothing is required, as nulls
/// compare too.
fn select(field: &NestedFieldRef, ids: &[i32]) -> Option<NestedFieldRef> {
    let field_type = match field.field_type.as_ref() {
        Type::Primitive(_) if ids.contains(&field.id) => Type::clone(&field.field_type),
        Type::Struct(inner) => {
            let inner: Vec<_> = inner.fields().iter().filter_map(|field| select(field, ids)).collect();
            if inner.is_empty() {
                return None;
            }
            Type::Struct(StructType::new(inner))
        }
        _ => return None,
    };
    Some(Arc::new(NestedField { required: false, field_type: Box::new(field_type), ..NestedField::clone(field) }))
}

fn name(files: &[Arc<FileScanTask>]) -> &str {
    files.first().map_or("", |file| file.location())
}
