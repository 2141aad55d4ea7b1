//! From the batches a caller has to the table's schema.
//!
//! Columns are matched by name, case-sensitively, in structs as well. Types are cast where nothing is lost, value by
//! value where that depends on the value. What is missing is filled with the column's write default or null.

mod cast;
mod constant;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, RecordBatch, StructArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, SchemaRef as ArrowSchemaRef};
use arrow::row::{RowConverter, SortField};

use crate::arrow_schema::schema_to_arrow;
use crate::spec::{ListType, MapType, NestedField, SchemaRef, StructType, Type};
use crate::{Error, ErrorKind, Result};

/// Brings batches to a table's schema.
#[derive(Debug)]
pub(super) struct Coercion {
    schema: SchemaRef,
    arrow_schema: ArrowSchemaRef,
    /// Rows of the batches before.
    rows: u64,
}

impl Coercion {
    pub(super) fn new(schema: SchemaRef) -> Result<Self> {
        let arrow_schema = schema_to_arrow(&schema)?;
        Ok(Self { schema, arrow_schema, rows: 0 })
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn arrow_schema(&self) -> &ArrowSchemaRef {
        &self.arrow_schema
    }

    /// The batch in the table's schema. Errors count rows over all batches, from 1.
    pub(super) fn coerce(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let source = Source { fields: batch.schema_ref().fields(), columns: batch.columns(), rows: batch.num_rows() };
        let columns = convert_fields(&source, self.schema.as_struct(), self.arrow_schema.fields(), "", None)
            .map_err(|problem| problem.into_error(self.rows))?;
        self.rows += batch.num_rows() as u64;
        RecordBatch::try_new(Arc::clone(&self.arrow_schema), columns)
            .map_err(|e| Error::new(ErrorKind::Internal, "the batch does not take the table's schema").with_source(e))
    }
}

/// What is wrong with a batch. Values are left out: errors end up in logs.
#[derive(Debug)]
struct Problem {
    column: String,
    /// In the batch, from 0.
    row: Option<usize>,
    message: String,
}

impl Problem {
    fn new(column: &str, row: Option<usize>, message: impl fmt::Display) -> Self {
        Self { column: column.to_owned(), row, message: message.to_string() }
    }

    fn into_error(self, rows_before: u64) -> Error {
        let Self { column, row, message } = self;
        let place = row.map_or(String::new(), |row| format!(", row {}", rows_before + row as u64 + 1));
        Error::new(ErrorKind::InvalidInput, format!("column {column}{place}: {message}"))
    }

    /// A problem with an element becomes one with the row whose list it is in.
    fn in_list(mut self, offsets: &[i32]) -> Self {
        self.row = self.row.map(|element| {
            offsets.partition_point(|offset| usize::try_from(*offset).is_ok_and(|offset| offset <= element)) - 1
        });
        self
    }
}

/// Columns of a batch or struct.
struct Source<'a> {
    fields: &'a Fields,
    columns: &'a [ArrayRef],
    rows: usize,
}

/// The columns of a struct type, each from the source column of its name. `visible` tells which rows count at all:
/// the others are under a null.
fn convert_fields(
    source: &Source<'_>,
    wanted: &StructType,
    arrow: &Fields,
    path: &str,
    visible: Option<&NullBuffer>,
) -> Result<Vec<ArrayRef>, Problem> {
    for (index, field) in source.fields.iter().enumerate() {
        let path = join(path, field.name());
        if wanted.field_by_name(field.name()).is_none() {
            return Err(Problem::new(&path, None, "the table has no such column"));
        }
        if source.fields.iter().skip(index + 1).any(|other| other.name() == field.name()) {
            return Err(Problem::new(&path, None, "there are two of that name"));
        }
    }
    let convert = |(field, arrow): (&Arc<NestedField>, &FieldRef)| {
        let path = join(path, &field.name);
        match source.fields.find(&field.name) {
            Some((index, _)) => convert_column(&source.columns[index], field, arrow, &path, visible),
            None => missing_column(field, arrow, &path, source.rows, visible),
        }
    };
    wanted.fields().iter().zip(arrow).map(convert).collect()
}

fn missing_column(
    field: &NestedField,
    arrow: &Field,
    path: &str,
    rows: usize,
    visible: Option<&NullBuffer>,
) -> Result<ArrayRef, Problem> {
    if field.write_default.is_none() && field.required && visible_rows(rows, visible) > 0 {
        return Err(Problem::new(path, None, "it is required, and missing"));
    }
    let primitive = field.field_type.as_primitive_type();
    constant::repeat(field.write_default.as_ref(), primitive, arrow.data_type(), rows)
        .map_err(|message| Problem::new(path, None, message))
}

fn convert_column(
    column: &ArrayRef,
    field: &NestedField,
    arrow: &Field,
    path: &str,
    visible: Option<&NullBuffer>,
) -> Result<ArrayRef, Problem> {
    let plain = cast::unpacked(column).map_err(|e| Problem::new(path, None, e))?;
    let converted = if *plain.data_type() == DataType::Null {
        arrow::array::new_null_array(arrow.data_type(), plain.len())
    } else {
        match &*field.field_type {
            Type::Primitive(primitive) => cast::primitive(&plain, primitive, arrow.data_type(), path, visible)?,
            Type::Struct(wanted) => convert_struct(&plain, wanted, arrow.data_type(), path, visible)?,
            Type::List(wanted) => convert_list(&plain, wanted, arrow.data_type(), path, visible)?,
            Type::Map(wanted) => convert_map(&plain, wanted, arrow.data_type(), path, visible)?,
        }
    };
    if field.required
        && let Some(row) = first_null(converted.nulls(), visible)
    {
        return Err(Problem::new(path, Some(row), "null in a required column"));
    }
    Ok(converted)
}

fn convert_struct(
    column: &ArrayRef,
    wanted: &StructType,
    arrow: &DataType,
    path: &str,
    visible: Option<&NullBuffer>,
) -> Result<ArrayRef, Problem> {
    let (Some(column), DataType::Struct(fields)) = (column.as_struct_opt(), arrow) else {
        return Err(mismatch(path, column.data_type(), arrow));
    };
    let visible = NullBuffer::union(visible, column.nulls());
    let source = Source { fields: column.fields(), columns: column.columns(), rows: column.len() };
    let children = convert_fields(&source, wanted, fields, path, visible.as_ref())?;
    // Hidden rows become null, so that Arrow accepts nulls in required children of theirs.
    StructArray::try_new_with_length(fields.clone(), children, visible, column.len())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|e| Problem::new(path, None, e))
}

fn convert_list(
    column: &ArrayRef,
    wanted: &ListType,
    arrow: &DataType,
    path: &str,
    visible: Option<&NullBuffer>,
) -> Result<ArrayRef, Problem> {
    let DataType::List(element) = arrow else { return Err(mismatch(path, column.data_type(), arrow)) };
    let list = cast::to_list(column).map_err(|e| Problem::new(path, None, e))?;
    let Some(list) = list else { return Err(mismatch(path, column.data_type(), arrow)) };
    let list = compacted(list, visible).map_err(|e| Problem::new(path, None, e))?;
    let list = list.as_list::<i32>();
    let path = join(path, "element");
    let values = convert_column(list.values(), &wanted.element_field, element, &path, None)
        .map_err(|problem| problem.in_list(list.offsets()))?;
    ListArray::try_new(Arc::clone(element), list.offsets().clone(), values, list.nulls().cloned())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(|e| Problem::new(&path, None, e))
}

fn convert_map(
    column: &ArrayRef,
    wanted: &MapType,
    arrow: &DataType,
    path: &str,
    visible: Option<&NullBuffer>,
) -> Result<ArrayRef, Problem> {
    let (Some(_), DataType::Map(entry, ordered)) = (column.as_map_opt(), arrow) else {
        return Err(mismatch(path, column.data_type(), arrow));
    };
    let DataType::Struct(fields) = entry.data_type() else { return Err(mismatch(path, column.data_type(), arrow)) };
    let map = compacted(Arc::clone(column), visible).map_err(|e| Problem::new(path, None, e))?;
    let map = map.as_map();
    let convert = |column: &ArrayRef, field: &NestedField, index: usize| {
        convert_column(column, field, &fields[index], &join(path, &field.name), None)
            .map_err(|problem| problem.in_list(map.offsets()))
    };
    let keys = convert(map.keys(), &wanted.key_field, 0)?;
    check_keys(&keys, map.offsets(), path)?;
    let values = convert(map.values(), &wanted.value_field, 1)?;
    let invalid = |e| Problem::new(path, None, e);
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(invalid)?;
    MapArray::try_new(Arc::clone(entry), map.offsets().clone(), entries, map.nulls().cloned(), *ordered)
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(invalid)
}

/// Refuses a map that has a key twice: of such entries readers keep one, and not all the same.
fn check_keys(keys: &ArrayRef, offsets: &[i32], path: &str) -> Result<(), Problem> {
    let invalid = |e| Problem::new(path, None, e);
    let converter = RowConverter::new(vec![SortField::new(keys.data_type().clone())]).map_err(invalid)?;
    let keys = converter.convert_columns(std::slice::from_ref(keys)).map_err(invalid)?;
    let mut keys = keys.iter();
    for (row, ends) in offsets.windows(2).enumerate() {
        let mut seen = HashSet::new();
        if (ends[0]..ends[1]).zip(&mut keys).any(|(_, key)| !seen.insert(key)) {
            return Err(Problem::new(path, Some(row), "two entries of a map have the same key"));
        }
    }
    Ok(())
}

/// The list or map array with no elements but those of visible, not null rows, so that every element counts.
fn compacted(array: ArrayRef, visible: Option<&NullBuffer>) -> Result<ArrayRef, arrow::error::ArrowError> {
    let offsets: &[i32] = match array.data_type() {
        DataType::Map(..) => array.as_map().offsets(),
        _ => array.as_list::<i32>().offsets(),
    };
    let nulls = NullBuffer::union(array.nulls(), visible);
    let hidden = nulls
        .as_ref()
        .is_some_and(|nulls| nulls.iter().zip(offsets.windows(2)).any(|(valid, ends)| !valid && ends[0] != ends[1]));
    let elements = match array.data_type() {
        DataType::Map(..) => array.as_map().entries().len(),
        _ => array.as_list::<i32>().values().len(),
    };
    let whole = offsets.first() == Some(&0)
        && offsets.last().is_some_and(|last| usize::try_from(*last).is_ok_and(|last| last == elements));
    if whole && !hidden {
        return Ok(array);
    }
    let rows = (0_u32..).take(array.len());
    let indices: UInt32Array = match &nulls {
        Some(nulls) => rows.zip(nulls.iter()).map(|(row, valid)| valid.then_some(row)).collect(),
        None => rows.collect::<Vec<_>>().into(),
    };
    take(&array, &indices, None)
}

/// The first visible row that is null.
fn first_null(nulls: Option<&NullBuffer>, visible: Option<&NullBuffer>) -> Option<usize> {
    let nulls = nulls.filter(|nulls| nulls.null_count() > 0)?;
    (0..nulls.len()).find(|row| nulls.is_null(*row) && visible.is_none_or(|visible| visible.is_valid(*row)))
}

fn visible_rows(rows: usize, visible: Option<&NullBuffer>) -> usize {
    visible.map_or(rows, |visible| rows - visible.null_count())
}

fn mismatch(path: &str, found: &DataType, wanted: &DataType) -> Problem {
    Problem::new(path, None, format!("{found} cannot become {wanted} without loss"))
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}

#[cfg(test)]
mod tests;
