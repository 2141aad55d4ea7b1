//! How a value is written: the one place that knows, for every type and every output format.
//!
//! | type | text | in JSON |
//! |---|---|---|
//! | boolean, integers | `true`, `42` | bare |
//! | float, double | `1.5`; `NaN`, `Infinity`, `-Infinity` | bare, widened to double exactly; the three as strings |
//! | decimal | `12.50`: its scale, always | string |
//! | date | `2024-02-29` | string |
//! | time, timestamp | `23:59:59.999999`, `2024-02-29T23:59:59.999999`: all digits of the unit, always | string |
//! | with a zone | the instant in UTC, ending in `+00:00` | string |
//! | interval, duration | ISO 8601: `P1M2DT3.5S` | string |
//! | uuid | `f79c3e09-677c-4bbd-a479-3f349cb785e7` | string |
//! | binary, fixed | lower-case hex | string |
//! | list | as JSON | array |
//! | struct | as JSON | object |
//! | map | as JSON | array of `[key, value]` |

use std::fmt::Write as _;

use arrow::array::{Array, ArrayRef, AsArray as _};
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Field, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType,
    IntervalUnit, IntervalYearMonthType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type, UnionMode,
};

use super::calendar::{Precision, write_date, write_time, write_timestamp};
use crate::failure::{Failure, Result};

/// Writes one value as JSON.
pub(crate) fn write_json(out: &mut String, field: &Field, array: &dyn Array, row: usize) -> Result<()> {
    if array.is_null(row) {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Null => out.push_str("null"),
        DataType::Boolean
        | DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64 => write_scalar(out, field, array, row)?,
        DataType::Float16 => write_json_float(out, f64::from(array.as_primitive::<Float16Type>().value(row))),
        DataType::Float32 => write_json_float(out, f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => write_json_float(out, array.as_primitive::<Float64Type>().value(row)),
        DataType::List(element) => write_elements(out, element, &array.as_list::<i32>().value(row))?,
        DataType::LargeList(element) => write_elements(out, element, &array.as_list::<i64>().value(row))?,
        DataType::FixedSizeList(element, _) => write_elements(out, element, &array.as_fixed_size_list().value(row))?,
        DataType::ListView(element) => write_elements(out, element, &array.as_list_view::<i32>().value(row))?,
        DataType::LargeListView(element) => write_elements(out, element, &array.as_list_view::<i64>().value(row))?,
        DataType::Struct(fields) => {
            out.push('{');
            for (i, (field, column)) in fields.iter().zip(array.as_struct().columns()).enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_json_string(out, field.name());
                out.push(':');
                write_json(out, field, column, row)?;
            }
            out.push('}');
        }
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(Failure::new(format!("column {} is a map without entries", field.name())));
            };
            out.push('[');
            for entry in 0..entries.len() {
                out.push_str(if entry > 0 { ",[" } else { "[" });
                write_json(out, &fields[0], entries.column(0), entry)?;
                out.push(',');
                write_json(out, &fields[1], entries.column(1), entry)?;
                out.push(']');
            }
            out.push(']');
        }
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let key = arrow::compute::cast(&dictionary.keys().slice(row, 1), &DataType::Int64)?;
            let key = usize::try_from(key.as_primitive::<Int64Type>().value(0))?;
            write_json(out, field, dictionary.values(), key)?;
        }
        DataType::RunEndEncoded(_, values) => write_json(out, field, &decoded_run(array, values, row)?, 0)?,
        DataType::Union(fields, mode) => {
            let union = array.as_union();
            let id = union.type_id(row);
            let field = fields.iter().find(|(i, _)| *i == id).map_or(field, |(_, field)| field);
            let row = if *mode == UnionMode::Dense { union.value_offset(row) } else { row };
            write_json(out, field, union.child(id), row)?;
        }
        _ => {
            let mut text = String::new();
            write_scalar(&mut text, field, array, row)?;
            write_json_string(out, &text);
        }
    }
    Ok(())
}

/// A value as text, for CSV and for tables: `None` for null. What has parts is JSON.
pub(crate) fn text(field: &Field, array: &dyn Array, row: usize) -> Result<Option<String>> {
    if array.is_null(row) || array.data_type() == &DataType::Null {
        return Ok(None);
    }
    let mut out = String::new();
    match array.data_type() {
        DataType::Dictionary(..) => {
            let one = arrow::compute::cast(&array.slice(row, 1), &value_type(array.data_type()))?;
            return text(field, &one, 0);
        }
        DataType::RunEndEncoded(_, values) => return text(field, &decoded_run(array, values, row)?, 0),
        DataType::Union(..) => write_json(&mut out, field, array, row)?,
        data_type if data_type.is_nested() => write_json(&mut out, field, array, row)?,
        _ => write_scalar(&mut out, field, array, row)?,
    }
    Ok(Some(out))
}

/// Writes a JSON string with its quotes.
pub(crate) fn write_json_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a column holds numbers, which are read from the right.
pub(crate) fn is_numeric(data_type: &DataType) -> bool {
    data_type.is_numeric()
}

fn value_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => (**values).clone(),
        other => other.clone(),
    }
}

fn decoded_run(array: &dyn Array, values: &Field, row: usize) -> Result<ArrayRef> {
    Ok(arrow::compute::cast(&array.slice(row, 1), values.data_type())?)
}

fn write_elements(out: &mut String, element: &Field, elements: &ArrayRef) -> Result<()> {
    out.push('[');
    for i in 0..elements.len() {
        if i > 0 {
            out.push(',');
        }
        write_json(out, element, elements, i)?;
    }
    out.push(']');
    Ok(())
}

/// Writes a value without parts that is not null.
fn write_scalar(out: &mut String, field: &Field, array: &dyn Array, row: usize) -> Result<()> {
    /// Writes one value of a primitive array with its `Display`.
    macro_rules! display {
        ($type:ty) => {{
            let _ = write!(out, "{}", array.as_primitive::<$type>().value(row));
        }};
    }
    match array.data_type() {
        DataType::Boolean => out.push_str(if array.as_boolean().value(row) { "true" } else { "false" }),
        DataType::Int8 => display!(Int8Type),
        DataType::Int16 => display!(Int16Type),
        DataType::Int32 => display!(Int32Type),
        DataType::Int64 => display!(Int64Type),
        DataType::UInt8 => display!(UInt8Type),
        DataType::UInt16 => display!(UInt16Type),
        DataType::UInt32 => display!(UInt32Type),
        DataType::UInt64 => display!(UInt64Type),
        DataType::Float16 => write_float(out, array.as_primitive::<Float16Type>().value(row).to_f32()),
        DataType::Float32 => write_float(out, array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => write_float(out, array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal32(_, scale) => {
            write_decimal(out, &array.as_primitive::<Decimal32Type>().value(row).to_string(), *scale);
        }
        DataType::Decimal64(_, scale) => {
            write_decimal(out, &array.as_primitive::<Decimal64Type>().value(row).to_string(), *scale);
        }
        DataType::Decimal128(_, scale) => {
            write_decimal(out, &array.as_primitive::<Decimal128Type>().value(row).to_string(), *scale);
        }
        DataType::Decimal256(_, scale) => {
            write_decimal(out, &array.as_primitive::<Decimal256Type>().value(row).to_string(), *scale);
        }
        DataType::Utf8 => out.push_str(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => out.push_str(array.as_string::<i64>().value(row)),
        DataType::Utf8View => out.push_str(array.as_string_view().value(row)),
        DataType::Binary => write_bytes(out, field, array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => write_bytes(out, field, array.as_binary::<i64>().value(row)),
        DataType::BinaryView => write_bytes(out, field, array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => write_bytes(out, field, array.as_fixed_size_binary().value(row)),
        _ => write_temporal(out, field, array, row)?,
    }
    Ok(())
}

fn write_temporal(out: &mut String, field: &Field, array: &dyn Array, row: usize) -> Result<()> {
    match array.data_type() {
        DataType::Date32 => write_date(out, i64::from(array.as_primitive::<Date32Type>().value(row))),
        DataType::Date64 => {
            write_date(out, array.as_primitive::<Date64Type>().value(row).div_euclid(86_400_000));
        }
        DataType::Time32(TimeUnit::Second) => {
            let seconds = array.as_primitive::<Time32SecondType>().value(row);
            write_time(out, i64::from(seconds), Precision::Seconds);
        }
        DataType::Time32(_) => {
            let millis = array.as_primitive::<Time32MillisecondType>().value(row);
            write_time(out, i64::from(millis), Precision::Millis);
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            write_time(out, array.as_primitive::<Time64NanosecondType>().value(row), Precision::Nanos);
        }
        DataType::Time64(_) => {
            write_time(out, array.as_primitive::<Time64MicrosecondType>().value(row), Precision::Micros);
        }
        DataType::Timestamp(unit, zone) => {
            let (value, precision) = match unit {
                TimeUnit::Second => (array.as_primitive::<TimestampSecondType>().value(row), Precision::Seconds),
                TimeUnit::Millisecond => {
                    (array.as_primitive::<TimestampMillisecondType>().value(row), Precision::Millis)
                }
                TimeUnit::Microsecond => {
                    (array.as_primitive::<TimestampMicrosecondType>().value(row), Precision::Micros)
                }
                TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(row), Precision::Nanos),
            };
            write_timestamp(out, value, precision);
            if zone.is_some() {
                out.push_str("+00:00");
            }
        }
        DataType::Duration(unit) => {
            let nanos = match unit {
                TimeUnit::Second => i128::from(array.as_primitive::<DurationSecondType>().value(row)) * 1_000_000_000,
                TimeUnit::Millisecond => {
                    i128::from(array.as_primitive::<DurationMillisecondType>().value(row)) * 1_000_000
                }
                TimeUnit::Microsecond => i128::from(array.as_primitive::<DurationMicrosecondType>().value(row)) * 1_000,
                TimeUnit::Nanosecond => i128::from(array.as_primitive::<DurationNanosecondType>().value(row)),
            };
            write_interval(out, 0, 0, nanos);
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            write_interval(out, array.as_primitive::<IntervalYearMonthType>().value(row), 0, 0);
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let value = array.as_primitive::<IntervalDayTimeType>().value(row);
            write_interval(out, 0, value.days, i128::from(value.milliseconds) * 1_000_000);
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
            write_interval(out, value.months, value.days, i128::from(value.nanoseconds));
        }
        other => return Err(Failure::new(format!("column {} has the type {other}, which has no text", field.name()))),
    }
    Ok(())
}

/// A float as JSON has it, with the three values that JSON lacks as strings.
fn write_json_float(out: &mut String, value: f64) {
    if value.is_finite() {
        write_float(out, value);
    } else {
        out.push('"');
        write_float(out, value);
        out.push('"');
    }
}

/// The shortest text that reads back as the same float; `T` is the float's own type, as that decides what is shortest.
fn write_float<T: Copy + Into<f64> + std::fmt::Debug>(out: &mut String, value: T) {
    let wide: f64 = value.into();
    if wide.is_nan() {
        out.push_str("NaN");
    } else if wide.is_infinite() {
        out.push_str(if wide < 0.0 { "-Infinity" } else { "Infinity" });
    } else {
        // `Debug` is the form that always shows a point or an exponent.
        let _ = write!(out, "{value:?}");
    }
}

/// Puts the point into an unscaled decimal.
fn write_decimal(out: &mut String, unscaled: &str, scale: i8) {
    let (sign, digits) = unscaled.strip_prefix('-').map_or(("", unscaled), |digits| ("-", digits));
    out.push_str(sign);
    let places = usize::from(scale.unsigned_abs());
    if scale > 0 {
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - places);
        let _ = write!(out, "{whole}.{fraction}");
    } else {
        out.push_str(digits);
        if digits != "0" {
            out.push_str(&"0".repeat(places));
        }
    }
}

/// Hex, or the dashed form if the field is a uuid.
fn write_bytes(out: &mut String, field: &Field, bytes: &[u8]) {
    match <[u8; 16]>::try_from(bytes) {
        Ok(bytes) if is_uuid(field) => drop(write!(out, "{}", uuid::Uuid::from_bytes(bytes).hyphenated())),
        _ => out.push_str(&hex::encode(bytes)),
    }
}

/// Whether a field carries Arrow's uuid extension type.
pub(crate) fn is_uuid(field: &Field) -> bool {
    field.extension_type_name() == Some("arrow.uuid")
}

fn write_interval(out: &mut String, months: i32, days: i32, nanos: i128) {
    out.push('P');
    if months != 0 {
        let _ = write!(out, "{months}M");
    }
    if days != 0 {
        let _ = write!(out, "{days}D");
    }
    if nanos != 0 || (months == 0 && days == 0) {
        let sign = if nanos < 0 { "-" } else { "" };
        let (seconds, fraction) = (nanos.abs() / 1_000_000_000, nanos.abs() % 1_000_000_000);
        let _ = write!(out, "T{sign}{seconds}");
        if fraction != 0 {
            let _ = write!(out, ".{}", format!("{fraction:09}").trim_end_matches('0'));
        }
        out.push('S');
    }
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
