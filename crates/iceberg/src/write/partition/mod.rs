//! Which partition each row belongs to.

mod path;
mod transform;

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array, make_array};
use arrow::buffer::NullBuffer;
use arrow::compute::take_record_batch;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow::row::{RowConverter, SortField};

pub(crate) use path::{human_string, partition_path};
pub(crate) use transform::first_chars;

use crate::arrow_schema::type_to_arrow;
use crate::spec::{
    Literal, PartitionSpec, PrimitiveLiteral, PrimitiveType, Schema, Struct, StructType, Transform, Type,
};
use crate::{Error, ErrorKind, Result};

/// Splits batches by the values of a partition spec.
pub(super) struct Partitioner {
    fields: Vec<SourceField>,
    converter: RowConverter,
}

struct SourceField {
    transform: Transform,
    /// Where the source column is: its index among the columns, then among the fields of each struct on the way.
    source: Vec<usize>,
    result: PrimitiveType,
}

/// The rows of a batch that belong to one partition.
pub(super) struct Part {
    /// Equal for equal partition values of one spec.
    pub(super) key: Box<[u8]>,
    pub(super) values: Struct,
    pub(super) rows: RecordBatch,
}

impl Partitioner {
    pub(super) fn new(spec: &PartitionSpec, schema: &Schema) -> Result<Self> {
        let invalid = |message: String| Error::new(ErrorKind::InvalidData, message);
        let mut fields = Vec::new();
        let mut sort_fields = Vec::new();
        for field in spec.fields() {
            let mut source = Vec::new();
            let source_type = find(schema.as_struct(), field.source_id, &mut source).ok_or_else(|| {
                invalid(format!("partition field {} has no source column {}", field.name, field.source_id))
            })?;
            let result = field.transform.result_type(source_type).map_err(|e| {
                invalid(format!("partition field {} does not go with its column", field.name)).with_source(e)
            })?;
            let Type::Primitive(result) = result else {
                return Err(invalid(format!("partition field {} is not of a primitive type", field.name)));
            };
            sort_fields.push(SortField::new(type_to_arrow(&Type::Primitive(result.clone()))?));
            fields.push(SourceField { transform: field.transform, source, result });
        }
        let converter = RowConverter::new(sort_fields).map_err(internal)?;
        Ok(Self { fields, converter })
    }

    /// Splits a batch of the table's schema, keeping the order of rows within each partition. Partitions come in the
    /// order of their first rows.
    pub(super) fn split(&self, batch: RecordBatch) -> Result<Vec<Part>> {
        if batch.num_rows() == 0 {
            return Ok(Vec::new());
        }
        if self.fields.is_empty() {
            return Ok(vec![Part { key: Box::default(), values: Struct::empty(), rows: batch }]);
        }
        let values = self.fields.iter().map(|field| field.values(&batch)).collect::<Result<Vec<_>>>()?;
        let rows = self.converter.convert_columns(&values).map_err(internal)?;
        let mut groups: HashMap<&[u8], usize> = HashMap::new();
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut previous: Option<(&[u8], usize)> = None;
        for (row, index) in rows.iter().zip(0_u32..) {
            let key = row.data();
            let group = match previous {
                Some((previous, group)) if previous == key => group,
                _ => *groups.entry(key).or_insert_with(|| {
                    members.push(Vec::new());
                    members.len() - 1
                }),
            };
            members[group].push(index);
            previous = Some((key, group));
        }
        let parts = members.into_iter().map(|members| {
            let first = members[0] as usize;
            let values = self.fields.iter().zip(&values).map(|(field, values)| literal(values, first, &field.result));
            Ok(Part {
                key: rows.row(first).data().into(),
                values: values.collect::<Result<_>>()?,
                rows: select(&batch, members)?,
            })
        });
        parts.collect()
    }
}

impl SourceField {
    fn values(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let (first, rest) = self
            .source
            .split_first()
            .ok_or_else(|| Error::new(ErrorKind::Internal, "a partition source without a place in the schema"))?;
        let mut column = batch.column(*first).clone();
        for index in rest {
            let parent = column.as_struct();
            let child = parent.column(*index);
            let nulls = NullBuffer::union(parent.nulls(), child.nulls());
            let child = child.to_data().into_builder().nulls(nulls).build().map_err(internal)?;
            column = make_array(child);
        }
        transform::apply(self.transform, &column)
    }
}

/// The given rows, which are in order: without a copy if they are adjacent.
fn select(batch: &RecordBatch, members: Vec<u32>) -> Result<RecordBatch> {
    let (first, last) = (members[0] as usize, members[members.len() - 1] as usize);
    if last - first + 1 == members.len() {
        return Ok(batch.slice(first, members.len()));
    }
    take_record_batch(batch, &UInt32Array::from(members)).map_err(internal)
}

/// Where the field of this id is within structs, and its type.
fn find<'a>(fields: &'a StructType, id: i32, path: &mut Vec<usize>) -> Option<&'a Type> {
    for (index, field) in fields.fields().iter().enumerate() {
        path.push(index);
        if field.id == id {
            return Some(&field.field_type);
        }
        if let Type::Struct(nested) = &*field.field_type
            && let Some(found) = find(nested, id, path)
        {
            return Some(found);
        }
        path.pop();
    }
    None
}

/// The value at an index of a column in the Arrow form of a type.
fn literal(column: &ArrayRef, index: usize, primitive: &PrimitiveType) -> Result<Option<Literal>> {
    if column.is_null(index) {
        return Ok(None);
    }
    let literal = match (primitive, column.data_type()) {
        (PrimitiveType::Boolean, DataType::Boolean) => PrimitiveLiteral::Boolean(column.as_boolean().value(index)),
        (PrimitiveType::Int, DataType::Int32) => PrimitiveLiteral::Int(column.as_primitive::<Int32Type>().value(index)),
        (PrimitiveType::Date, DataType::Date32) => {
            PrimitiveLiteral::Int(column.as_primitive::<Date32Type>().value(index))
        }
        (PrimitiveType::Long, DataType::Int64) => {
            PrimitiveLiteral::Long(column.as_primitive::<Int64Type>().value(index))
        }
        (PrimitiveType::Float, DataType::Float32) => {
            PrimitiveLiteral::Float(column.as_primitive::<Float32Type>().value(index).into())
        }
        (PrimitiveType::Double, DataType::Float64) => {
            PrimitiveLiteral::Double(column.as_primitive::<Float64Type>().value(index).into())
        }
        (PrimitiveType::Time, DataType::Time64(_)) => {
            PrimitiveLiteral::Long(column.as_primitive::<Time64MicrosecondType>().value(index))
        }
        (PrimitiveType::Timestamp | PrimitiveType::Timestamptz, DataType::Timestamp(..)) => {
            PrimitiveLiteral::Long(column.as_primitive::<TimestampMicrosecondType>().value(index))
        }
        (PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs, DataType::Timestamp(..)) => {
            PrimitiveLiteral::Long(column.as_primitive::<TimestampNanosecondType>().value(index))
        }
        (PrimitiveType::Decimal { .. }, DataType::Decimal128(..)) => {
            PrimitiveLiteral::Int128(column.as_primitive::<Decimal128Type>().value(index))
        }
        (PrimitiveType::String, DataType::Utf8) => {
            PrimitiveLiteral::String(column.as_string::<i32>().value(index).to_owned())
        }
        (PrimitiveType::Binary, DataType::Binary) => {
            PrimitiveLiteral::Binary(column.as_binary::<i32>().value(index).to_vec())
        }
        (PrimitiveType::Fixed(_), DataType::FixedSizeBinary(_)) => {
            PrimitiveLiteral::Binary(column.as_fixed_size_binary().value(index).to_vec())
        }
        (PrimitiveType::Uuid, DataType::FixedSizeBinary(16)) => {
            let bytes = column.as_fixed_size_binary().value(index).try_into().map_err(internal)?;
            PrimitiveLiteral::UInt128(u128::from_be_bytes(bytes))
        }
        (expected, found) => {
            let message = format!("a partition value of type {expected} came as {found}");
            return Err(Error::new(ErrorKind::Internal, message));
        }
    };
    Ok(Some(Literal::Primitive(literal)))
}

fn internal(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Internal, "the rows could not be split by partition").with_source(error)
}

#[cfg(test)]
mod tests;
