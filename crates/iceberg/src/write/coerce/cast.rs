//! Casts of primitive columns that lose nothing.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryBuilder};
use arrow::buffer::NullBuffer;
use arrow::compute::kernels::cmp::distinct;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Decimal128Type, Time64MicrosecondType, TimeUnit};
use arrow::error::ArrowError;

use super::{Problem, mismatch};
use crate::spec::PrimitiveType;

const OPTIONS: CastOptions<'static> =
    CastOptions { safe: true, format_options: arrow::util::display::FormatOptions::new() };

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// How a type gets to another without loss.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// It is the same.
    Same,
    /// Arrow's cast: values that do not fit become null, which is noticed.
    Cast,
    /// Arrow's cast may round: what does not come back the same is noticed.
    CastAndCompare,
    /// Through plain binary values.
    Bytes,
    /// The text of a UUID.
    UuidText,
}

/// The column with dictionaries and runs expanded.
pub(super) fn unpacked(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.data_type() {
        DataType::Dictionary(_, values) => cast_with_options(column, values, &OPTIONS),
        DataType::RunEndEncoded(_, values) => cast_with_options(column, values.data_type(), &OPTIONS),
        _ => Ok(Arc::clone(column)),
    }
}

/// The column as a list with 32-bit offsets, if it is any kind of list.
pub(super) fn to_list(column: &ArrayRef) -> Result<Option<ArrayRef>, ArrowError> {
    match column.data_type() {
        DataType::List(_) => Ok(Some(Arc::clone(column))),
        DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::ListView(element)
        | DataType::LargeListView(element) => {
            cast_with_options(column, &DataType::List(Arc::clone(element)), &OPTIONS).map(Some)
        }
        _ => Ok(None),
    }
}

/// The column as the Arrow form of a primitive type.
pub(super) fn primitive(
    column: &ArrayRef,
    wanted: &PrimitiveType,
    arrow: &DataType,
    path: &str,
    visible: Option<&NullBuffer>,
) -> Result<ArrayRef, Problem> {
    let way = way(column.data_type(), wanted, arrow).ok_or_else(|| mismatch(path, column.data_type(), arrow))?;
    let failed = |e: ArrowError| Problem::new(path, None, e);
    let hidden = |row: usize| visible.is_some_and(|visible| visible.is_null(row));
    let converted = match way {
        Way::Same => Arc::clone(column),
        Way::Cast | Way::CastAndCompare => cast_with_options(column, arrow, &OPTIONS).map_err(failed)?,
        Way::Bytes => {
            let bytes = cast_with_options(column, &DataType::Binary, &OPTIONS).map_err(failed)?;
            cast_with_options(&bytes, arrow, &OPTIONS).map_err(failed)?
        }
        Way::UuidText => uuids(column).map_err(failed)?,
    };
    let mut lost = None;
    if converted.null_count() > column.null_count() {
        lost = (0..column.len()).find(|row| column.is_valid(*row) && converted.is_null(*row) && !hidden(*row));
    }
    if way == Way::CastAndCompare {
        let back = cast_with_options(&converted, column.data_type(), &OPTIONS).map_err(failed)?;
        let differ: BooleanArray = distinct(&back, column).map_err(failed)?;
        lost = differ.has_true().then(|| (0..column.len()).find(|row| differ.value(*row) && !hidden(*row))).flatten();
    }
    if let Some(row) = lost {
        return Err(Problem::new(path, Some(row), format!("the value does not fit {wanted} without loss")));
    }
    match out_of_range(&converted, wanted, hidden) {
        Some(row) => Err(Problem::new(path, Some(row), format!("the value is out of the range of {wanted}"))),
        None => Ok(converted),
    }
}

/// The first row whose value Arrow's type can hold and Iceberg's cannot: a decimal of more digits, which would be cut
/// off in the file, or a time of no day.
fn out_of_range(column: &ArrayRef, wanted: &PrimitiveType, hidden: impl Fn(usize) -> bool) -> Option<usize> {
    let first = |out: &mut dyn Iterator<Item = bool>| {
        out.enumerate().find(|(row, out)| *out && column.is_valid(*row) && !hidden(*row)).map(|(row, _)| row)
    };
    match wanted {
        PrimitiveType::Decimal { precision, .. } => {
            let limit = 10_u128.checked_pow(*precision)?;
            let values = column.as_primitive::<Decimal128Type>().values();
            first(&mut values.iter().map(|value| value.unsigned_abs() >= limit))
        }
        PrimitiveType::Time => {
            let values = column.as_primitive::<Time64MicrosecondType>().values();
            first(&mut values.iter().map(|value| !(0..MICROS_PER_DAY).contains(value)))
        }
        _ => None,
    }
}

fn way(from: &DataType, wanted: &PrimitiveType, arrow: &DataType) -> Option<Way> {
    if from == arrow {
        return Some(Way::Same);
    }
    match wanted {
        PrimitiveType::Boolean => None,
        PrimitiveType::Int | PrimitiveType::Long => from.is_integer().then_some(Way::Cast),
        PrimitiveType::Float => match from {
            DataType::Float16 | DataType::Int8 | DataType::Int16 | DataType::UInt8 | DataType::UInt16 => {
                Some(Way::Cast)
            }
            _ if from.is_integer() || from.is_floating() => Some(Way::CastAndCompare),
            _ => None,
        },
        PrimitiveType::Double => match from {
            DataType::Int64 | DataType::UInt64 => Some(Way::CastAndCompare),
            _ if from.is_integer() || from.is_floating() => Some(Way::Cast),
            _ => None,
        },
        PrimitiveType::Decimal { .. } => match from {
            _ if from.is_integer() => Some(Way::Cast),
            _ if from.is_decimal() => Some(Way::CastAndCompare),
            _ => None,
        },
        PrimitiveType::Date => matches!(from, DataType::Date64).then_some(Way::CastAndCompare),
        PrimitiveType::Time => match from {
            DataType::Time32(_) => Some(Way::Cast),
            DataType::Time64(_) => Some(Way::CastAndCompare),
            _ => None,
        },
        PrimitiveType::Timestamp | PrimitiveType::TimestampNs => match from {
            DataType::Timestamp(unit, None) => Some(timestamp_way(*unit, wanted)),
            _ => None,
        },
        PrimitiveType::Timestamptz | PrimitiveType::TimestamptzNs => match from {
            DataType::Timestamp(unit, Some(_)) => Some(timestamp_way(*unit, wanted)),
            _ => None,
        },
        PrimitiveType::String => from.is_string().then_some(Way::Cast),
        PrimitiveType::Uuid if from.is_string() => Some(Way::UuidText),
        PrimitiveType::Uuid | PrimitiveType::Fixed(_) => match from {
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => Some(Way::Bytes),
            _ => None,
        },
        PrimitiveType::Binary => from.is_binary().then_some(Way::Cast),
    }
}

fn timestamp_way(from: TimeUnit, wanted: &PrimitiveType) -> Way {
    let micros = matches!(wanted, PrimitiveType::Timestamp | PrimitiveType::Timestamptz);
    if from == TimeUnit::Nanosecond && micros { Way::CastAndCompare } else { Way::Cast }
}

/// Null for what is no UUID.
fn uuids(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let text = cast_with_options(column, &DataType::Utf8, &OPTIONS)?;
    let mut builder = FixedSizeBinaryBuilder::with_capacity(text.len(), 16);
    for text in text.as_string::<i32>() {
        match text.and_then(|text| uuid::Uuid::try_parse(text).ok()) {
            Some(uuid) => builder.append_value(uuid.as_bytes())?,
            None => builder.append_null(),
        }
    }
    Ok(Arc::new(builder.finish()))
}
