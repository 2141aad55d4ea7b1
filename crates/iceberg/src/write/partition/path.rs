//! The folder of a partition, as Java's `PartitionSpec.partitionToPath` names it.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

use crate::spec::{Literal, PartitionSpec, PrimitiveLiteral, PrimitiveType, Struct, StructType, Transform, Type};
use crate::transform::civil;

const SECONDS_PER_DAY: i64 = 86_400;

/// `field=value/...` for the values of a spec whose partition type is given, names and values URL-encoded.
pub(crate) fn partition_path(spec: &PartitionSpec, partition_type: &StructType, values: &Struct) -> String {
    let mut path = String::new();
    for ((field, result), value) in spec.fields().iter().zip(partition_type.fields()).zip(values.iter()) {
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(&url_encode(&field.name));
        path.push('=');
        path.push_str(&url_encode(&human_string(field.transform, &result.field_type, value)));
    }
    path
}

/// `application/x-www-form-urlencoded`, as Java's `URLEncoder` does it.
fn url_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => encoded.push(byte.into()),
            b' ' => encoded.push('+'),
            // Writing to a string cannot fail.
            _ => _ = write!(encoded, "%{byte:02X}"),
        }
    }
    encoded
}

/// A partition value as Java's transforms print it.
pub(crate) fn human_string(transform: Transform, result: &Type, value: Option<&Literal>) -> String {
    let (Some(Literal::Primitive(value)), Type::Primitive(result)) = (value, result) else {
        return "null".to_owned();
    };
    match (transform, value) {
        (Transform::Void, _) => "null".to_owned(),
        (Transform::Year, PrimitiveLiteral::Int(year)) => year_string(1970 + i64::from(*year)),
        (Transform::Month, PrimitiveLiteral::Int(month)) => {
            format!("{}-{:02}", year_string(1970 + i64::from(month.div_euclid(12))), month.rem_euclid(12) + 1)
        }
        (Transform::Hour, PrimitiveLiteral::Int(hour)) => {
            format!("{}-{:02}", day_string(i64::from(hour.div_euclid(24))), hour.rem_euclid(24))
        }
        _ => primitive_string(result, value),
    }
}

fn primitive_string(primitive: &PrimitiveType, value: &PrimitiveLiteral) -> String {
    match (primitive, value) {
        (PrimitiveType::Date, PrimitiveLiteral::Int(day)) => day_string(i64::from(*day)),
        (PrimitiveType::Time, PrimitiveLiteral::Long(micros)) => {
            time_string(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) * 1000)
        }
        (PrimitiveType::Timestamp, PrimitiveLiteral::Long(micros)) => micros_string(*micros),
        (PrimitiveType::Timestamptz, PrimitiveLiteral::Long(micros)) => micros_string(*micros) + "+00:00",
        (PrimitiveType::TimestampNs, PrimitiveLiteral::Long(nanos)) => nanos_string(*nanos),
        (PrimitiveType::TimestamptzNs, PrimitiveLiteral::Long(nanos)) => nanos_string(*nanos) + "+00:00",
        (PrimitiveType::Decimal { scale, .. }, PrimitiveLiteral::Int128(unscaled)) => decimal_string(*unscaled, *scale),
        (_, PrimitiveLiteral::Boolean(value)) => value.to_string(),
        (_, PrimitiveLiteral::Int(value)) => value.to_string(),
        (_, PrimitiveLiteral::Long(value)) => value.to_string(),
        (_, PrimitiveLiteral::Float(value)) => float_string(&format!("{:e}", value.0)),
        (_, PrimitiveLiteral::Double(value)) => float_string(&format!("{:e}", value.0)),
        (_, PrimitiveLiteral::String(value)) => value.clone(),
        (_, PrimitiveLiteral::Binary(value)) => BASE64.encode(value),
        (_, PrimitiveLiteral::Int128(value)) => value.to_string(),
        (_, PrimitiveLiteral::UInt128(value)) => uuid::Uuid::from_u128(*value).to_string(),
        (_, PrimitiveLiteral::AboveMax | PrimitiveLiteral::BelowMin) => "null".to_owned(),
    }
}

fn year_string(year: i64) -> String {
    // Java's %04d counts the sign as one of the four.
    format!("{year:04}")
}

fn day_string(day: i64) -> String {
    let (year, month, day) = civil(day);
    format!("{}-{month:02}-{day:02}", year_string(year))
}

fn micros_string(micros: i64) -> String {
    timestamp_string(micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000) * 1000)
}

fn nanos_string(nanos: i64) -> String {
    timestamp_string(nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000))
}

/// `DateTimeFormatter.ISO_LOCAL_DATE_TIME`: years beyond four digits have a sign, fractions no trailing zeros.
fn timestamp_string(seconds: i64, nanos: i64) -> String {
    let (day, second) = (seconds.div_euclid(SECONDS_PER_DAY), seconds.rem_euclid(SECONDS_PER_DAY));
    let (year, month, day) = civil(day);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        10_000.. => format!("+{year}"),
        _ => format!("-{:04}", year.unsigned_abs()),
    };
    let time = format!("{year}-{month:02}-{day:02}T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
    if nanos == 0 { time } else { format!("{time}.{}", format!("{nanos:09}").trim_end_matches('0')) }
}

/// `LocalTime.toString`: the shortest of minutes, seconds, milli-, micro- and nanoseconds that says it all.
fn time_string(second: i64, nanos: i64) -> String {
    let mut time = format!("{:02}:{:02}", second / 3600, second / 60 % 60);
    if second % 60 != 0 || nanos != 0 {
        _ = write!(time, ":{:02}", second % 60);
    }
    if nanos != 0 {
        time.push('.');
        let digits = format!("{nanos:09}");
        time.push_str(digits.strip_suffix("000000").or_else(|| digits.strip_suffix("000")).unwrap_or(&digits));
    }
    time
}

/// `BigDecimal.toString`: plain, unless the number is so small that an exponent is shorter.
fn decimal_string(unscaled: i128, scale: u32) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let digits = unscaled.unsigned_abs().to_string();
    let scale = scale as usize;
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    if scale > digits.len() + 5 {
        let exponent = scale - (digits.len() - 1);
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}E-{exponent}");
    }
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// `Double.toString` from shortest digits in scientific notation.
fn float_string(scientific: &str) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return match scientific {
            "inf" => "Infinity".to_owned(),
            "-inf" => "-Infinity".to_owned(),
            other => other.to_owned(),
        };
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let (first, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if first == "0" {
        return format!("{sign}0.0");
    }
    if !(-3..7).contains(&exponent) {
        let rest = if rest.is_empty() { "0" } else { rest };
        return format!("{sign}{first}.{rest}E{exponent}");
    }
    let digits = format!("{first}{rest}");
    if let Ok(whole) = usize::try_from(exponent) {
        let digits = format!("{digits:0<width$}", width = whole + 2);
        let (whole, fraction) = digits.split_at(whole + 1);
        return format!("{sign}{whole}.{fraction}");
    }
    format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1))
}

#[cfg(test)]
mod tests;
