//! Text to values: the inverse of what the output writes, strictly.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryBuilder, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryBuilder,
    PrimitiveArray, StringArray,
};
use arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, Int32Type, Int64Type, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampNanosecondType,
};
use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, Timelike as _};

use super::columns::{type_name, with_article};
use crate::output::value::is_uuid;

/// A value that does not fit its column.
#[derive(Debug)]
pub(super) struct BadValue {
    /// Which of the values.
    pub(super) row: usize,
    /// The column, or the place in it.
    pub(super) column: String,
    /// What is wrong.
    pub(super) reason: String,
}

impl BadValue {
    /// Text that is no value of the field's type.
    fn unfit(row: usize, field: &Field, text: &str) -> Self {
        let reason = format!("{} is not {}", quoted(text), with_article(&type_name(field)));
        Self { row, column: field.name().clone(), reason }
    }

    /// Null where the column requires a value.
    pub(super) fn null(row: usize, field: &Field) -> Self {
        Self { row, column: field.name().clone(), reason: "there is no value, and the table requires one".into() }
    }
}

/// So much of a value helps to find it.
const SHOWN: usize = 40;

/// Text in quotes, for a message.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{:?}...", &text[..end]),
        None => format!("{text:?}"),
    }
}

/// Text as it is, for a message.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Converts a column of a type without parts.
pub(super) fn parse_column(cells: &[Option<&str>], field: &Field) -> Result<ArrayRef, BadValue> {
    let parser = Column { cells, field };
    Ok(match field.data_type() {
        DataType::Utf8 => Arc::new(StringArray::from_iter(cells)),
        DataType::Boolean => Arc::new(BooleanArray::from(parser.all(parse_boolean)?)),
        DataType::Int32 => parser.primitive::<Int32Type>(|text| text.parse().ok())?,
        DataType::Int64 => parser.primitive::<Int64Type>(|text| text.parse().ok())?,
        DataType::Float32 => parser.primitive::<Float32Type>(parse_f32)?,
        DataType::Float64 => parser.primitive::<Float64Type>(parse_f64)?,
        DataType::Decimal128(precision, scale) => {
            let values = parser.all(|text| parse_decimal(text, *precision, *scale))?;
            let array = Decimal128Array::from(values)
                .with_precision_and_scale(*precision, *scale)
                .map_err(|error| parser.broken(&error))?;
            Arc::new(array)
        }
        DataType::Date32 => Arc::new(Date32Array::from(parser.all(parse_date)?)),
        DataType::Time64(TimeUnit::Microsecond) => parser.primitive::<Time64MicrosecondType>(parse_time)?,
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let zoned = zone.is_some();
            let values = parser.all(|text| {
                let (seconds, nanos) = parse_timestamp(text, zoned)?;
                (nanos % 1000 == 0).then_some(())?;
                seconds.checked_mul(1_000_000)?.checked_add(i64::from(nanos / 1000))
            })?;
            Arc::new(PrimitiveArray::<TimestampMicrosecondType>::from(values).with_timezone_opt(zone.clone()))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
            let zoned = zone.is_some();
            let values = parser.all(|text| {
                let (seconds, nanos) = parse_timestamp(text, zoned)?;
                let nanos = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
                i64::try_from(nanos).ok()
            })?;
            Arc::new(PrimitiveArray::<TimestampNanosecondType>::from(values).with_timezone_opt(zone.clone()))
        }
        DataType::Binary | DataType::LargeBinary => {
            let mut builder = BinaryBuilder::new();
            for value in parser.all(|text| hex::decode(text).ok())? {
                builder.append_option(value);
            }
            let array: ArrayRef = Arc::new(builder.finish());
            arrow::compute::cast(&array, field.data_type()).map_err(|error| parser.broken(&error))?
        }
        DataType::FixedSizeBinary(length) => {
            let bytes = usize::try_from(*length).unwrap_or_default();
            let mut builder = FixedSizeBinaryBuilder::new(*length);
            let parse = |text: &str| {
                if is_uuid(field) {
                    uuid::Uuid::parse_str(text).ok().map(|uuid| uuid.as_bytes().to_vec())
                } else {
                    hex::decode(text).ok().filter(|value| value.len() == bytes)
                }
            };
            for value in parser.all(parse)? {
                match value {
                    Some(value) => builder.append_value(&value).map_err(|error| parser.broken(&error))?,
                    None => builder.append_null(),
                }
            }
            Arc::new(builder.finish())
        }
        DataType::LargeUtf8 | DataType::Utf8View => {
            let array: ArrayRef = Arc::new(StringArray::from_iter(cells));
            arrow::compute::cast(&array, field.data_type()).map_err(|error| parser.broken(&error))?
        }
        other => {
            let reason = format!("columns of type {other} cannot be loaded from text");
            return Err(BadValue { row: 0, column: field.name().clone(), reason });
        }
    })
}

struct Column<'a> {
    cells: &'a [Option<&'a str>],
    field: &'a Field,
}

impl Column<'_> {
    fn all<T>(&self, mut parse: impl FnMut(&str) -> Option<T>) -> Result<Vec<Option<T>>, BadValue> {
        let value = |(row, cell): (usize, Option<&str>)| match cell {
            Some(text) => parse(text.trim()).map(Some).ok_or_else(|| BadValue::unfit(row, self.field, text)),
            None => Ok(None),
        };
        self.cells.iter().copied().enumerate().map(value).collect()
    }

    fn primitive<T: ArrowPrimitiveType>(
        &self,
        parse: impl FnMut(&str) -> Option<T::Native>,
    ) -> Result<ArrayRef, BadValue> {
        Ok(Arc::new(PrimitiveArray::<T>::from_iter(self.all(parse)?)))
    }

    fn broken(&self, error: &arrow::error::ArrowError) -> BadValue {
        BadValue { row: 0, column: self.field.name().clone(), reason: error.to_string() }
    }
}

fn parse_boolean(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn parse_f64(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    // Digits that overflow are not the infinity that somebody wrote.
    (value.is_finite() || !text.contains(|c: char| c.is_ascii_digit())).then_some(value)
}

fn parse_f32(text: &str) -> Option<f32> {
    let value: f32 = text.parse().ok()?;
    (value.is_finite() || !text.contains(|c: char| c.is_ascii_digit())).then_some(value)
}

/// The unscaled value; `None` if digits would be lost on either side.
fn parse_decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (digits, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i64>().ok()?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // By how many places the point is behind the last significant digit, as a decimal of this scale.
    let shift = i64::try_from(digits.len() - significant.len())
        .ok()?
        .checked_sub(i64::try_from(fraction.len()).ok()?)?
        .checked_add(exponent)?
        .checked_add(i64::from(scale))?;
    let mut value = 0_i128;
    for digit in significant.bytes() {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    let value = value.checked_mul(10_i128.checked_pow(u32::try_from(shift).ok()?)?)?;
    let limit = 10_i128.checked_pow(u32::from(precision))?;
    (value < limit).then_some(if negative { -value } else { value })
}

fn parse_date(text: &str) -> Option<i32> {
    let date = parse_day(text)?;
    i32::try_from(date.signed_duration_since(NaiveDate::default()).num_days()).ok()
}

fn parse_day(text: &str) -> Option<NaiveDate> {
    has_whole_year(text).then(|| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok())?
}

/// Whether a year stands there as ISO 8601 has it: four digits, or a sign and at least four. The parser would take `24`
/// for the year 24.
fn has_whole_year(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']);
    let digits = unsigned.unwrap_or(text).bytes().take_while(u8::is_ascii_digit).count();
    if unsigned.is_some() { digits >= 4 } else { digits == 4 }
}

fn parse_time(text: &str) -> Option<i64> {
    let time = NaiveTime::parse_from_str(text, "%H:%M:%S%.f").ok()?;
    let nanos = time.nanosecond();
    // Beyond a second are leap seconds, which a day of Iceberg has not.
    (nanos < 1_000_000_000 && nanos.is_multiple_of(1000) && digits_of_fraction(text) <= 9)
        .then(|| i64::from(time.num_seconds_from_midnight()) * 1_000_000 + i64::from(nanos / 1000))
}

/// Seconds since the epoch, and nanoseconds beyond them. A zone is for timestamps that have one, where text without one
/// is in UTC; elsewhere it would be lost, so it is refused.
fn parse_timestamp(text: &str, zoned: bool) -> Option<(i64, u32)> {
    if digits_of_fraction(text) > 9 || !has_whole_year(text) {
        return None;
    }
    let local = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
        .or_else(|| parse_day(text).map(NaiveDateTime::from));
    let instant = match local {
        Some(local) => local.and_utc(),
        None if zoned => DateTime::parse_from_rfc3339(text).ok()?.to_utc(),
        None => return None,
    };
    let nanos = instant.timestamp_subsec_nanos();
    (nanos < 1_000_000_000).then(|| (instant.timestamp(), nanos))
}

/// How many digits of a second are not zeros at the end.
fn digits_of_fraction(text: &str) -> usize {
    let Some((_, fraction)) = text.split_once('.') else { return 0 };
    let digits = fraction.find(|c: char| !c.is_ascii_digit()).map_or(fraction, |end| &fraction[..end]);
    digits.trim_end_matches('0').len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::value;

    /// Text goes in and comes out again as expected, or is refused (`None`).
    #[test]
    fn text_becomes_values_or_is_refused() {
        let us = DataType::Timestamp(TimeUnit::Microsecond, None);
        let us_zone = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        let ns_zone = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let decimal = DataType::Decimal128(5, 2);
        let cases: Vec<(DataType, &str, Option<&str>)> = vec![
            (DataType::Boolean, "TRUE", Some("true")),
            (DataType::Boolean, "1", None),
            (DataType::Int32, " 12 ", Some("12")),
            (DataType::Int32, "2147483648", None),
            (DataType::Int32, "1.0", None),
            (DataType::Int64, "-9223372036854775808", Some("-9223372036854775808")),
            (DataType::Float64, "1e3", Some("1000.0")),
            (DataType::Float64, "-Infinity", Some("-Infinity")),
            (DataType::Float64, "nan", Some("NaN")),
            (DataType::Float64, "1e999", None),
            (DataType::Float32, "1.1", Some("1.1")),
            (decimal.clone(), "1", Some("1.00")),
            (decimal.clone(), "-.5", Some("-0.50")),
            (decimal.clone(), "999.990", Some("999.99")),
            (decimal.clone(), "1000", None),
            (decimal.clone(), "1.239", None),
            (decimal.clone(), "1e2", Some("100.00")),
            (decimal.clone(), "-12300.0E-3", Some("-12.30")),
            (decimal.clone(), "0e999999999999", Some("0.00")),
            (decimal.clone(), "1e3", None),
            (decimal.clone(), "1e-3", None),
            (decimal.clone(), "1e", None),
            (decimal.clone(), "1e9223372036854775807", None),
            (decimal.clone(), ".", None),
            (decimal, "", None),
            (DataType::Date32, "2024-02-29", Some("2024-02-29")),
            (DataType::Date32, "2023-02-29", None),
            (DataType::Date32, "02/28/2023", None),
            (DataType::Date32, "24-01-01", None),
            (DataType::Date32, "-24-01-01", None),
            (DataType::Date32, "12024-01-01", None),
            (DataType::Date32, "+12024-01-01", Some("+12024-01-01")),
            (DataType::Date32, "-0044-03-15", Some("-0044-03-15")),
            (DataType::Time64(TimeUnit::Microsecond), "23:59:59.999999", Some("23:59:59.999999")),
            (DataType::Time64(TimeUnit::Microsecond), "23:59:59.9999991", None),
            (DataType::Time64(TimeUnit::Microsecond), "23:59:60", None),
            (us.clone(), "2024-02-29 01:02:03", Some("2024-02-29T01:02:03.000000")),
            (us.clone(), "2024-02-29T01:02:03.1", Some("2024-02-29T01:02:03.100000")),
            (us.clone(), "2024-02-29", Some("2024-02-29T00:00:00.000000")),
            (us.clone(), "24-02-29", None),
            (us.clone(), "24-02-29T01:02:03", None),
            (us.clone(), "2024-02-29T01:02:03Z", None),
            (us, "2024-02-29T01:02:03.0000001", None),
            (us_zone.clone(), "2024-02-29T01:02:03+02:00", Some("2024-02-28T23:02:03.000000+00:00")),
            (us_zone.clone(), "2024-02-29T01:02:03", Some("2024-02-29T01:02:03.000000+00:00")),
            (us_zone, "1969-12-31T23:59:59.999999Z", Some("1969-12-31T23:59:59.999999+00:00")),
            (ns_zone.clone(), "1969-12-31T23:59:59.999999999Z", Some("1969-12-31T23:59:59.999999999+00:00")),
            (ns_zone, "2300-01-01T00:00:00Z", None),
            (DataType::Utf8, " as it is ", Some(" as it is ")),
            (DataType::Binary, "00ff", Some("00ff")),
            (DataType::Binary, "0", None),
            (DataType::FixedSizeBinary(2), "00ff", Some("00ff")),
            (DataType::FixedSizeBinary(2), "00", None),
        ];
        for (data_type, text, expected) in cases {
            let field = Field::new("c", data_type, true);
            let found = parse_column(&[Some(text), None], &field);
            match expected {
                Some(expected) => {
                    let array = found.unwrap();
                    assert_eq!(array.data_type(), field.data_type());
                    assert_eq!(value::text(&field, &array, 0).unwrap().as_deref(), Some(expected), "{field} {text}");
                    assert!(array.is_null(1));
                }
                None => assert_eq!(found.expect_err(text).row, 0, "{field} {text}"),
            }
        }
    }
}
