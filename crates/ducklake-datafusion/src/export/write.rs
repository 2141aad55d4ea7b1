//! Values as `DuckDB` writes them in text, so that its casts read them again: the other side of [`text`](crate::text).

use std::fmt::Write as _;

use arrow::array::{Array, ArrayRef};
use datafusion::common::ScalarValue;

use crate::columns::Column;

const DAY_NS: i128 = 24 * 3600 * 1_000_000_000;

/// The text of a value that is not NULL.
pub(super) fn text(column: &Column, value: &ScalarValue) -> Option<String> {
    let mut out = String::new();
    write(&mut out, column, value)?;
    Some(out)
}

fn write(out: &mut String, column: &Column, value: &ScalarValue) -> Option<()> {
    match (value, column.children.as_slice()) {
        (ScalarValue::Boolean(Some(flag)), _) => out.push_str(if *flag { "true" } else { "false" }),
        (ScalarValue::Float32(Some(number)), _) => float(out, *number),
        (ScalarValue::Float64(Some(number)), _) => float(out, *number),
        (ScalarValue::Decimal128(Some(unscaled), _, scale), _) => decimal(out, *unscaled, u8::try_from(*scale).ok()?),
        (ScalarValue::Decimal256(Some(number), ..), _) => write!(out, "{number}").ok()?,
        (ScalarValue::Date32(Some(days)), _) => match *days {
            i32::MAX => out.push_str("infinity"),
            days if days == -i32::MAX => out.push_str("-infinity"),
            days => date(out, days.into()),
        },
        (ScalarValue::Time64Microsecond(Some(us)), _) => time(out, i128::from(*us) * 1_000),
        (ScalarValue::Time64Nanosecond(Some(ns)), _) => time(out, (*ns).into()),
        (ScalarValue::TimestampMillisecond(Some(v), zone), _) => timestamp(out, *v, 1_000_000, zone.is_some()),
        (ScalarValue::TimestampMicrosecond(Some(v), zone), _) => timestamp(out, *v, 1_000, zone.is_some()),
        (ScalarValue::TimestampNanosecond(Some(v), zone), _) => timestamp(out, *v, 1, zone.is_some()),
        (ScalarValue::Utf8(Some(text)), _) => out.push_str(text),
        (ScalarValue::Binary(Some(bytes)), _) => blob(out, bytes),
        (ScalarValue::FixedSizeBinary(16, Some(bytes)), _) => {
            let hex = hex::encode(bytes);
            let parts = [hex.get(..8)?, hex.get(8..12)?, hex.get(12..16)?, hex.get(16..20)?, hex.get(20..)?];
            out.push_str(&parts.join("-"));
        }
        (ScalarValue::List(list), [element]) => elements(out, element, &list.value(0))?,
        (ScalarValue::Map(map), [key, item]) => {
            let entries = map.value(0);
            out.push('{');
            for at in 0..entries.len() {
                out.push_str(if at > 0 { ", " } else { "" });
                nested(out, key, entries.column(0), at)?;
                out.push('=');
                nested(out, item, entries.column(1), at)?;
            }
            out.push('}');
        }
        (ScalarValue::Struct(fields), children) => {
            out.push('{');
            for (at, child) in children.iter().enumerate() {
                out.push_str(if at > 0 { ", " } else { "" });
                quoted(out, &child.name);
                out.push_str(": ");
                nested(out, child, fields.column(at), 0)?;
            }
            out.push('}');
        }
        // Whole numbers.
        (number, []) if number.data_type().is_integer() && !number.is_null() => write!(out, "{number}").ok()?,
        _ => return None,
    }
    Some(())
}

fn elements(out: &mut String, element: &Column, values: &ArrayRef) -> Option<()> {
    out.push('[');
    for at in 0..values.len() {
        out.push_str(if at > 0 { ", " } else { "" });
        nested(out, element, values, at)?;
    }
    out.push(']');
    Some(())
}

/// A value within another one: in quotes, unless it has brackets of its own.
fn nested(out: &mut String, column: &Column, values: &ArrayRef, at: usize) -> Option<()> {
    if values.is_null(at) {
        out.push_str("NULL");
        return Some(());
    }
    let value = ScalarValue::try_from_array(values, at).ok()?;
    if column.children.is_empty() {
        quoted(out, &text(column, &value)?);
        return Some(());
    }
    write(out, column, &value)
}

fn quoted(out: &mut String, text: &str) {
    out.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('\'');
}

/// The shortest text that reads back as the same float.
fn float<T: std::fmt::Debug>(out: &mut String, number: T) {
    let _ = write!(out, "{}", format!("{number:?}").to_ascii_lowercase());
}

fn decimal(out: &mut String, unscaled: i128, scale: u8) {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let _ = write!(out, "{sign}{whole}");
    if scale > 0 {
        let _ = write!(out, ".{fraction}");
    }
}

/// A day of the proleptic Gregorian calendar, counted from 1970.
fn date(out: &mut String, days: i64) {
    let (year, month, day) = civil(days);
    // There is no year 0: the year before 1 is 1 BC.
    let (year, suffix) = if year > 0 { (year, "") } else { (1 - year, " (BC)") };
    let _ = write!(out, "{year:04}-{month:02}-{day:02}{suffix}");
}

/// Year, month and day. Years begin in March here, so that the day that may be missing is their last.
fn civil(days: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097;
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

fn time(out: &mut String, nanoseconds: i128) {
    let seconds = nanoseconds / 1_000_000_000;
    let _ = write!(out, "{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = nanoseconds % 1_000_000_000;
    if fraction != 0 {
        let _ = write!(out, ".{}", format!("{fraction:09}").trim_end_matches('0'));
    }
}

fn timestamp(out: &mut String, value: i64, nanoseconds_per_unit: i128, of_utc: bool) {
    match value {
        i64::MAX => return out.push_str("infinity"),
        value if value == -i64::MAX => return out.push_str("-infinity"),
        _ => {}
    }
    let nanoseconds = i128::from(value) * nanoseconds_per_unit;
    // Within the range of days that 64 bits of the coarsest unit can hold.
    date(out, i64::try_from(nanoseconds.div_euclid(DAY_NS)).unwrap_or(i64::MAX / 2));
    out.push(' ');
    time(out, nanoseconds.rem_euclid(DAY_NS));
    if of_utc {
        out.push_str("+00");
    }
}

fn blob(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' | b'\'' | b'"' => drop(write!(out, "\\x{byte:02X}")),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => drop(write!(out, "\\x{byte:02X}")),
        }
    }
}

#[cfg(test)]
mod tests;
