//! Values of a catalog as Arrow's: rows that are inlined there, defaults, bounds of files.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, ListArray, MapArray, StructArray, new_empty_array},
    buffer::OffsetBuffer,
    datatypes::{DataType, Fields, TimeUnit, i256},
};
use datafusion::common::ScalarValue;

use crate::{
    columns::{Column, HUGE, decimal},
    error::{Result, invalid},
    metadata::Cell,
    stored, text,
};

/// The values of a column, in its Arrow form. `place` is where they stand.
pub(crate) fn array(column: &Column, place: &str, cells: impl Iterator<Item = Cell>) -> Result<ArrayRef> {
    let wrong = || invalid(format!("a value of column {} in {place} is no {}", column.name, column.type_name));
    let values = cells.map(|cell| scalar(column, &cell).ok_or_else(wrong)).collect::<Result<Vec<_>>>()?;
    array_of(column, values).ok_or_else(wrong)
}

/// A value that a column may have, from the form that the catalog has it in.
pub(crate) fn scalar(column: &Column, cell: &Cell) -> Option<ScalarValue> {
    match (cell, column.data_type()?) {
        (Cell::Null, data_type) => ScalarValue::try_from(data_type).ok(),
        (Cell::Integer(number), DataType::Boolean) => Some(ScalarValue::from(*number != 0)),
        (Cell::Integer(number), _) => from_text(column, &number.to_string()),
        (Cell::Real(number), DataType::Float64) => Some(ScalarValue::from(*number)),
        (Cell::Real(number), _) => from_text(column, &number.to_string()),
        (Cell::Bytes(bytes), DataType::Binary) => Some(ScalarValue::Binary(Some(bytes.clone()))),
        (Cell::Bytes(bytes), _) => from_text(column, std::str::from_utf8(bytes).ok()?),
        (Cell::Text(text), _) => from_text(column, text),
        (Cell::Stored(payload), _) => stored::scalar(column, payload),
    }
}

/// A value from the text that `DuckDB` writes for it.
pub(crate) fn from_text(column: &Column, text: &str) -> Option<ScalarValue> {
    let data_type = column.data_type()?;
    if let [_, ..] = column.children.as_slice() {
        return nested(column, text);
    }
    let trimmed = text.trim();
    Some(match data_type {
        DataType::Boolean => ScalarValue::from(text::boolean(text)?),
        DataType::Int8 => ScalarValue::from(trimmed.parse::<i8>().ok()?),
        DataType::Int16 => ScalarValue::from(trimmed.parse::<i16>().ok()?),
        DataType::Int32 => ScalarValue::from(trimmed.parse::<i32>().ok()?),
        DataType::Int64 => ScalarValue::from(trimmed.parse::<i64>().ok()?),
        DataType::UInt8 => ScalarValue::from(trimmed.parse::<u8>().ok()?),
        DataType::UInt16 => ScalarValue::from(trimmed.parse::<u16>().ok()?),
        DataType::UInt32 => ScalarValue::from(trimmed.parse::<u32>().ok()?),
        DataType::UInt64 => ScalarValue::from(trimmed.parse::<u64>().ok()?),
        DataType::Float32 => ScalarValue::from(trimmed.parse::<f32>().ok()?),
        DataType::Float64 => ScalarValue::from(trimmed.parse::<f64>().ok()?),
        DataType::Decimal128(..) => {
            let (_, scale) = decimal(&column.type_name)?;
            decimal128(column, text::decimal(text, scale)?)?
        }
        DataType::Decimal256(..) => match column.type_name.as_str() {
            "int128" => huge(trimmed.parse::<i128>().ok().map(i256::from_i128)?),
            _ => huge(unsigned(trimmed.parse().ok()?)),
        },
        DataType::Date32 => ScalarValue::Date32(Some(text::date(text)?)),
        DataType::Time64(unit) => time(unit, text::time(text)? / nanoseconds(unit)),
        DataType::Timestamp(unit, zone) => {
            let value = match trimmed {
                "infinity" => i64::MAX,
                "-infinity" => -i64::MAX,
                text => i64::try_from(text::timestamp(text)?.div_euclid(nanoseconds(unit).into())).ok()?,
            };
            timestamp(unit, zone, value)
        }
        DataType::Utf8 => ScalarValue::from(text),
        DataType::Binary => ScalarValue::Binary(Some(text::blob(text)?)),
        DataType::FixedSizeBinary(16) => {
            let bytes = hex::decode(trimmed.replace('-', "")).ok()?;
            (bytes.len() == 16).then_some(ScalarValue::FixedSizeBinary(16, Some(bytes)))?
        }
        _ => return None,
    })
}

fn nested(column: &Column, text: &str) -> Option<ScalarValue> {
    let value = |column: &Column, text: Option<String>| match text {
        Some(text) => from_text(column, &text),
        None => scalar(column, &Cell::Null),
    };
    match (column.type_name.as_str(), column.children.as_slice()) {
        ("list", [element]) => {
            list_of(column, text::list(text)?.into_iter().map(|text| value(element, text)).collect::<Option<_>>()?)
        }
        ("map", [key, item]) => {
            let entries = text::entries(text)?.into_iter();
            let (keys, items): (Vec<_>, Vec<_>) = entries.map(|(k, i)| (value(key, k), value(item, i))).unzip();
            map_of(column, keys.into_iter().collect::<Option<_>>()?, items.into_iter().collect::<Option<_>>()?)
        }
        ("struct", children) => {
            let mut fields = text::fields(text)?;
            let values = children.iter().map(|child| {
                let at = fields.iter().position(|(name, _)| name.eq_ignore_ascii_case(&child.name));
                value(child, at.and_then(|at| fields.swap_remove(at).1))
            });
            let values = values.collect::<Option<_>>()?;
            if fields.is_empty() { struct_of(column, values) } else { None }
        }
        _ => None,
    }
}

/// The array of some values of a column.
pub(crate) fn array_of(column: &Column, values: Vec<ScalarValue>) -> Option<ArrayRef> {
    if values.is_empty() {
        return Some(new_empty_array(&column.data_type()?));
    }
    ScalarValue::iter_to_array(values).ok()
}

pub(crate) fn list_of(column: &Column, values: Vec<ScalarValue>) -> Option<ScalarValue> {
    let DataType::List(field) = column.data_type()? else { return None };
    let offsets = OffsetBuffer::from_lengths([values.len()]);
    let elements = array_of(column.children.first()?, values)?;
    Some(ScalarValue::List(Arc::new(ListArray::try_new(field, offsets, elements, None).ok()?)))
}

pub(crate) fn map_of(column: &Column, keys: Vec<ScalarValue>, items: Vec<ScalarValue>) -> Option<ScalarValue> {
    let DataType::Map(field, sorted) = column.data_type()? else { return None };
    let DataType::Struct(entry) = field.data_type() else { return None };
    let [key, item] = column.children.as_slice() else { return None };
    let offsets = OffsetBuffer::from_lengths([keys.len()]);
    let entries = StructArray::try_new(entry.clone(), vec![array_of(key, keys)?, array_of(item, items)?], None).ok()?;
    Some(ScalarValue::Map(Arc::new(MapArray::try_new(field, offsets, entries, None, sorted).ok()?)))
}

pub(crate) fn struct_of(column: &Column, values: Vec<ScalarValue>) -> Option<ScalarValue> {
    let DataType::Struct(fields) = column.data_type()? else { return None };
    let children = column.children.iter().zip(values).map(|(child, value)| array_of(child, vec![value]));
    let children: Vec<ArrayRef> = children.collect::<Option<_>>()?;
    Some(ScalarValue::Struct(Arc::new(struct_array(fields, children)?)))
}

fn struct_array(fields: Fields, children: Vec<ArrayRef>) -> Option<StructArray> {
    let length = children.first().map_or(0, Array::len);
    StructArray::try_new_with_length(fields, children, None, length).ok()
}

/// A decimal by its unscaled value, unless it has more digits than its type.
pub(crate) fn decimal128(column: &Column, value: i128) -> Option<ScalarValue> {
    let DataType::Decimal128(precision, scale) = column.data_type()? else { return None };
    let fits = value.unsigned_abs() < 10u128.pow(precision.into());
    fits.then_some(ScalarValue::Decimal128(Some(value), precision, scale))
}

pub(crate) fn huge(value: i256) -> ScalarValue {
    let DataType::Decimal256(precision, scale) = HUGE else { unreachable!("it is that type") };
    ScalarValue::Decimal256(Some(value), precision, scale)
}

pub(crate) fn unsigned(value: u128) -> i256 {
    i256::from_parts(value, 0)
}

pub(crate) fn time(unit: TimeUnit, value: i64) -> ScalarValue {
    match unit {
        TimeUnit::Nanosecond => ScalarValue::Time64Nanosecond(Some(value)),
        _ => ScalarValue::Time64Microsecond(Some(value)),
    }
}

pub(crate) fn timestamp(unit: TimeUnit, zone: Option<Arc<str>>, value: i64) -> ScalarValue {
    match unit {
        TimeUnit::Second => ScalarValue::TimestampSecond(Some(value), zone),
        TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(Some(value), zone),
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(Some(value), zone),
        TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(Some(value), zone),
    }
}

fn nanoseconds(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}
