//! Rows as JSON in the form that the judge prints them in.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimeUnit, TimestampMicrosecondType, TimestampNanosecondType, UInt64Type,
};
use serde_json::{Map, Value, json};

/// One object for each row.
#[must_use]
pub fn of_batches(batches: &[RecordBatch]) -> Vec<Value> {
    let row = |batch: &RecordBatch, at| {
        let columns = batch.schema();
        let cells = columns.fields().iter().zip(batch.columns());
        Value::Object(cells.map(|(field, array)| (field.name().clone(), cell(array, at))).collect())
    };
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at))).collect()
}

/// Rows in the order of their ids, if they have some.
#[must_use]
pub fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_key(|row| (row["_row_id"].as_i64(), row.to_string()));
    rows
}

/// Asserts that rows are the same.
///
/// # Panics
/// With the first difference, if there is one.
pub fn assert_same(found: &[Value], expected: &[Value], what: &str) {
    if let Err(difference) = compare(found, expected) {
        panic!("{what}: {difference}");
    }
}

/// Whether rows are the same.
///
/// # Errors
/// With the first difference, if there is one.
pub fn compare(found: &[Value], expected: &[Value]) -> Result<(), String> {
    for (found, expected) in found.iter().zip(expected) {
        if let Some(difference) = difference(found, expected) {
            return Err(format!("{difference}\nfound    {found}\nexpected {expected}"));
        }
    }
    if found.len() == expected.len() { Ok(()) } else { Err(format!("{} rows, not {}", found.len(), expected.len())) }
}

fn difference(found: &Value, expected: &Value) -> Option<String> {
    match (found, expected) {
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            a.iter().find_map(|(name, a)| difference(a, &b[name]).map(|inner| format!("{name}: {inner}")))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a.iter().zip(b).find_map(|(a, b)| difference(a, b)),
        // What the judge printed exactly is at times read one unit in the last place off.
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64()?, b.as_f64()?);
            (a.to_bits().abs_diff(b.to_bits()) > 1).then(|| format!("{a} is not {b}"))
        }
        (a, b) => (a != b).then(|| format!("{a} is not {b}")),
    }
}

fn cell(array: &ArrayRef, at: usize) -> Value {
    if array.is_null(at) {
        return Value::Null;
    }
    match array.data_type() {
        // Of which no single value is null by itself.
        DataType::Null => Value::Null,
        DataType::Boolean => json!(array.as_boolean().value(at)),
        DataType::Int32 => json!(array.as_primitive::<Int32Type>().value(at)),
        DataType::Int64 => json!(array.as_primitive::<Int64Type>().value(at)),
        DataType::UInt64 => json!(array.as_primitive::<UInt64Type>().value(at)),
        DataType::Float32 => float(array.as_primitive::<Float32Type>().value(at).into()),
        DataType::Float64 => float(array.as_primitive::<Float64Type>().value(at)),
        DataType::Decimal128(_, _) => json!(array.as_primitive::<Decimal128Type>().value_as_string(at)),
        DataType::Date32 => json!(date(array.as_primitive::<Date32Type>().value(at).into())),
        DataType::Time64(TimeUnit::Microsecond) => {
            let micros = array.as_primitive::<Time64MicrosecondType>().value(at);
            json!(time(micros, 1_000_000))
        }
        DataType::Timestamp(unit, zone) => {
            let (value, per_second) = match unit {
                TimeUnit::Microsecond => (array.as_primitive::<TimestampMicrosecondType>().value(at), 1_000_000),
                TimeUnit::Nanosecond => (array.as_primitive::<TimestampNanosecondType>().value(at), 1_000_000_000),
                other => panic!("a timestamp in {other:?}"),
            };
            let per_day = 86_400 * per_second;
            let of_day = time(value.rem_euclid(per_day), per_second);
            let zone = if zone.is_some() { "+00:00" } else { "" };
            json!(format!("{}T{of_day}{zone}", date(value.div_euclid(per_day))))
        }
        DataType::Utf8 => json!(array.as_string::<i32>().value(at)),
        DataType::Binary => json!(hex::encode(array.as_binary::<i32>().value(at))),
        // The only fixed(16) of the tests' tables that is no UUID is told apart by its name.
        DataType::FixedSizeBinary(_) => json!(hex::encode(array.as_fixed_size_binary().value(at))),
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns();
            let cells = fields.iter().zip(columns).map(|(field, column)| (field.name().clone(), cell(column, at)));
            Value::Object(cells.collect::<Map<_, _>>())
        }
        DataType::List(_) => {
            let values = array.as_list::<i32>().value(at);
            Value::Array((0..values.len()).map(|at| cell(&values, at)).collect())
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(at);
            let entry = |at| json!([cell(entries.column(0), at), cell(entries.column(1), at)]);
            let mut entries: Vec<Value> = (0..entries.len()).map(entry).collect();
            entries.sort_by_key(|entry| entry[0].to_string());
            Value::Array(entries)
        }
        other => panic!("a column of type {other}"),
    }
}

fn float(value: f64) -> Value {
    if value.is_nan() {
        json!("NaN")
    } else if value.is_infinite() {
        json!(if value > 0.0 { "Infinity" } else { "-Infinity" })
    } else {
        json!(value)
    }
}

fn date(days: i64) -> String {
    use chrono::Datelike;
    let date = chrono::NaiveDate::default() + chrono::Duration::days(days);
    format!("{:04}-{:02}-{:02}", date.year(), date.month(), date.day())
}

fn time(of_day: i64, per_second: i64) -> String {
    let (seconds, fraction) = (of_day / per_second, of_day % per_second);
    let digits = per_second.to_string().len() - 1;
    let (hours, minutes) = (seconds / 3_600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02}.{fraction:0digits$}", seconds % 60)
}

/// Our rows with UUIDs, which Arrow holds as plain bytes, as text.
#[must_use]
pub fn with_uuids(rows: Vec<Value>, columns: &[&str]) -> Vec<Value> {
    let dashed = |hex: &str| format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    let row = |mut row: Value| {
        for column in columns {
            if let Some(Value::String(text)) = row.get_mut(column) {
                *text = dashed(text);
            }
        }
        row
    };
    sorted(rows.into_iter().map(row).collect())
}
