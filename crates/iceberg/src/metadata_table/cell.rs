//! Rows, and the Arrow arrays that they become.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray, StructArray, make_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Decimal128Type, Field, Fields, Float32Type, Float64Type, Int32Type, Int64Type,
    SchemaRef,
};
use arrow::error::ArrowError;

use crate::spec::PrimitiveLiteral;
use crate::{Error, ErrorKind, Result};

/// A row, with a cell for each column.
pub(super) type Row = Vec<Cell>;

/// A value of a row.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    Null,
    Value(PrimitiveLiteral),
    /// A cell for each field.
    Struct(Vec<Cell>),
    List(Vec<Cell>),
    Map(Vec<(Cell, Cell)>),
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<PrimitiveLiteral> for Cell {
    fn from(value: PrimitiveLiteral) -> Self {
        Self::Value(value)
    }
}

impl From<bool> for Cell {
    fn from(value: bool) -> Self {
        Self::Value(PrimitiveLiteral::Boolean(value))
    }
}

impl From<i32> for Cell {
    fn from(value: i32) -> Self {
        Self::Value(PrimitiveLiteral::Int(value))
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Value(PrimitiveLiteral::Long(value))
    }
}

impl From<&str> for Cell {
    fn from(value: &str) -> Self {
        Self::Value(PrimitiveLiteral::String(value.to_owned()))
    }
}

impl From<Vec<u8>> for Cell {
    fn from(value: Vec<u8>) -> Self {
        Self::Value(PrimitiveLiteral::Binary(value))
    }
}

/// A count or length. What is beyond Iceberg's longs was forged, and is shown as the greatest of them.
pub(super) fn count(value: u64) -> Cell {
    i64::try_from(value).unwrap_or(i64::MAX).into()
}

/// Rows as Arrow.
///
/// # Errors
/// [`ErrorKind::InvalidData`] when a value is not of its column's type, or missing where there must be one.
pub(super) fn batch(schema: &SchemaRef, rows: Vec<Row>) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    let columns = columns(schema.fields(), rows);
    let batch = columns.and_then(|columns| RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options));
    batch.map_err(|e| {
        Error::new(ErrorKind::InvalidData, "the metadata has a value that is not of its type").with_source(e)
    })
}

fn columns(fields: &Fields, rows: Vec<Row>) -> Result<Vec<ArrayRef>, ArrowError> {
    let mut columns: Vec<Vec<Cell>> = fields.iter().map(|_| Vec::with_capacity(rows.len())).collect();
    for row in rows {
        if row.len() != fields.len() {
            return Err(ArrowError::InvalidArgumentError("a row has another number of values than columns".to_owned()));
        }
        columns.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }
    fields.iter().zip(columns).map(|(field, cells)| array(field, cells)).collect()
}

fn array(field: &Field, cells: Vec<Cell>) -> Result<ArrayRef, ArrowError> {
    use PrimitiveLiteral as L;
    let r#type = field.data_type();
    Ok(match r#type {
        DataType::Struct(fields) => structs(fields, cells)?,
        DataType::List(element) => {
            let (values, offsets, nulls) = flatten(cells, |cell| match cell {
                Cell::List(values) => Some(values),
                _ => None,
            })?;
            Arc::new(ListArray::try_new(Arc::clone(element), offsets, array(element, values)?, nulls)?)
        }
        DataType::Map(entry, _) => {
            let (entries, offsets, nulls) = flatten(cells, |cell| match cell {
                Cell::Map(entries) => {
                    Some(entries.into_iter().map(|(key, value)| Cell::Struct(vec![key, value])).collect())
                }
                _ => None,
            })?;
            let entries = array(entry, entries)?;
            let entries = entries.as_any().downcast_ref::<StructArray>().ok_or_else(|| mismatch(r#type))?.clone();
            Arc::new(MapArray::try_new(Arc::clone(entry), offsets, entries, nulls, false)?)
        }
        DataType::Boolean => Arc::new(BooleanArray::from(values(r#type, cells, |v| match v {
            L::Boolean(v) => Some(v),
            _ => None,
        })?)),
        DataType::Int32 | DataType::Date32 => numbers::<Int32Type>(r#type, cells, |v| match v {
            L::Int(v) => Some(v),
            _ => None,
        })?,
        DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(_, _) => {
            numbers::<Int64Type>(r#type, cells, |v| match v {
                L::Long(v) => Some(v),
                // Written before the column was widened.
                L::Int(v) => Some(v.into()),
                _ => None,
            })?
        }
        DataType::Float32 => numbers::<Float32Type>(r#type, cells, |v| match v {
            L::Float(v) => Some(v.into_inner()),
            _ => None,
        })?,
        DataType::Float64 => numbers::<Float64Type>(r#type, cells, |v| match v {
            L::Double(v) => Some(v.into_inner()),
            L::Float(v) => Some(v.into_inner().into()),
            _ => None,
        })?,
        DataType::Decimal128(_, _) => numbers::<Decimal128Type>(r#type, cells, |v| match v {
            L::Int128(v) => Some(v),
            _ => None,
        })?,
        DataType::Utf8 => Arc::new(StringArray::from(values(r#type, cells, |v| match v {
            L::String(v) => Some(v),
            _ => None,
        })?)),
        DataType::Binary => {
            let values = values(r#type, cells, bytes)?;
            Arc::new(BinaryArray::from_iter(values))
        }
        DataType::FixedSizeBinary(length) => {
            let values = values(r#type, cells, bytes)?.into_iter();
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *length)?)
        }
        other => return Err(mismatch(other)),
    })
}

fn structs(fields: &Fields, cells: Vec<Cell>) -> Result<ArrayRef, ArrowError> {
    let length = cells.len();
    let nulls: NullBuffer = cells.iter().map(|cell| !matches!(cell, Cell::Null)).collect();
    let row = |cell| match cell {
        Cell::Struct(row) => Ok(row),
        Cell::Null => Ok(vec![Cell::Null; fields.len()]),
        _ => Err(ArrowError::InvalidArgumentError("a value is no struct".to_owned())),
    };
    let rows = cells.into_iter().map(row).collect::<Result<Vec<Row>, _>>()?;
    let columns = columns(fields, rows)?;
    let nulls = Some(nulls).filter(|nulls| nulls.null_count() > 0);
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, length)?))
}

/// The elements of lists one after the other, where each list ends, and which are null.
type Flattened = (Vec<Cell>, OffsetBuffer<i32>, Option<NullBuffer>);

fn flatten(cells: Vec<Cell>, elements: impl Fn(Cell) -> Option<Vec<Cell>>) -> Result<Flattened, ArrowError> {
    let nulls: NullBuffer = cells.iter().map(|cell| !matches!(cell, Cell::Null)).collect();
    let (mut all, mut lengths) = (Vec::new(), Vec::with_capacity(cells.len()));
    for cell in cells {
        let found = match cell {
            Cell::Null => Vec::new(),
            cell => elements(cell)
                .ok_or_else(|| ArrowError::InvalidArgumentError("a value is no list or map".to_owned()))?,
        };
        lengths.push(found.len());
        all.extend(found);
    }
    if i32::try_from(all.len()).is_err() {
        return Err(ArrowError::InvalidArgumentError("lists have more elements than Arrow can hold".to_owned()));
    }
    Ok((all, OffsetBuffer::from_lengths(lengths), Some(nulls).filter(|nulls| nulls.null_count() > 0)))
}

/// Dates, times, timestamps and decimals have the layout of the number that counts them.
fn numbers<T: ArrowPrimitiveType>(
    r#type: &DataType,
    cells: Vec<Cell>,
    value: impl Fn(PrimitiveLiteral) -> Option<T::Native>,
) -> Result<ArrayRef, ArrowError> {
    let data = PrimitiveArray::<T>::from_iter(values(r#type, cells, value)?).into_data();
    Ok(make_array(data.into_builder().data_type(r#type.clone()).build()?))
}

fn values<T>(
    r#type: &DataType,
    cells: Vec<Cell>,
    value: impl Fn(PrimitiveLiteral) -> Option<T>,
) -> Result<Vec<Option<T>>, ArrowError> {
    let value = |cell| match cell {
        Cell::Null => Ok(None),
        Cell::Value(literal) => value(literal).map(Some).ok_or_else(|| mismatch(r#type)),
        _ => Err(mismatch(r#type)),
    };
    cells.into_iter().map(value).collect()
}

fn bytes(value: PrimitiveLiteral) -> Option<Vec<u8>> {
    match value {
        PrimitiveLiteral::Binary(bytes) => Some(bytes),
        PrimitiveLiteral::UInt128(value) => Some(value.to_be_bytes().to_vec()),
        _ => None,
    }
}

fn mismatch(expected: &DataType) -> ArrowError {
    ArrowError::InvalidArgumentError(format!("a value is not of type {expected}"))
}
