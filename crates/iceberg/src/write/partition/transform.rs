//! Partition transforms over columns.
//!
//! <https://iceberg.apache.org/spec/#partition-transforms>

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryArray, Date32Array, Int32Array, PrimitiveArray, StringArray,
    new_null_array,
};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Int32Type, Int64Type, Time64MicrosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampNanosecondType,
};

use crate::spec::Transform;
use crate::transform::{civil, minimal_big_endian, murmur3};
use crate::{Error, ErrorKind, Result};

const MICROS_PER_HOUR: i64 = 3_600_000_000;
const MICROS_PER_DAY: i64 = 24 * MICROS_PER_HOUR;
const NANOS_PER_MICRO: i64 = 1000;

/// Applies a transform to a column in the Arrow form of its Iceberg type. Nulls stay null.
pub(crate) fn apply(transform: Transform, source: &ArrayRef) -> Result<ArrayRef> {
    match transform {
        Transform::Identity => Ok(Arc::clone(source)),
        Transform::Void => Ok(new_null_array(source.data_type(), source.len())),
        Transform::Bucket(buckets) => bucket(source, buckets),
        Transform::Truncate(width) => truncate(source, width),
        Transform::Year => Ok(Arc::new(days(source)?.unary::<_, Int32Type>(year_since_epoch))),
        Transform::Month => Ok(Arc::new(days(source)?.unary::<_, Int32Type>(months_since_epoch))),
        Transform::Day => Ok(Arc::new(days(source)?)),
        Transform::Hour => hours(source),
        Transform::Unknown => Err(Error::new(ErrorKind::Unsupported, "the table has an unknown partition transform")),
    }
}

fn bucket(source: &ArrayRef, buckets: u32) -> Result<ArrayRef> {
    let buckets = i32::try_from(buckets)
        .ok()
        .filter(|buckets| *buckets > 0)
        .ok_or_else(|| Error::new(ErrorKind::InvalidData, format!("bucket transform with {buckets} buckets")))?;
    let bucket = |hash: i32| (hash & i32::MAX) % buckets;
    let hashed: Int32Array = match source.data_type() {
        DataType::Int32 => source.as_primitive::<Int32Type>().unary(|v| bucket(hash_long(v.into()))),
        DataType::Date32 => source.as_primitive::<Date32Type>().unary(|v| bucket(hash_long(v.into()))),
        DataType::Int64 => bucket_longs::<Int64Type>(source, bucket),
        DataType::Time64(TimeUnit::Microsecond) => bucket_longs::<Time64MicrosecondType>(source, bucket),
        DataType::Timestamp(TimeUnit::Microsecond, _) => bucket_longs::<TimestampMicrosecondType>(source, bucket),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            let nanos = source.as_primitive::<TimestampNanosecondType>();
            nanos.unary(|v| bucket(hash_long(v.div_euclid(NANOS_PER_MICRO))))
        }
        DataType::Decimal128(_, _) => {
            source.as_primitive::<Decimal128Type>().unary(|v| bucket(hash_bytes(minimal_big_endian(&v.to_be_bytes()))))
        }
        DataType::Utf8 => {
            source.as_string::<i32>().iter().map(|v| v.map(|v| bucket(hash_bytes(v.as_bytes())))).collect()
        }
        DataType::Binary => source.as_binary::<i32>().iter().map(|v| v.map(|v| bucket(hash_bytes(v)))).collect(),
        DataType::FixedSizeBinary(_) => {
            source.as_fixed_size_binary().iter().map(|v| v.map(|v| bucket(hash_bytes(v)))).collect()
        }
        other => return Err(not_for("bucket", other)),
    };
    Ok(Arc::new(hashed))
}

/// How int, long, date, time and timestamp are hashed.
fn hash_long(value: i64) -> i32 {
    hash_bytes(&value.to_le_bytes())
}

fn hash_bytes(bytes: &[u8]) -> i32 {
    murmur3(bytes).cast_signed()
}

fn bucket_longs<T: ArrowPrimitiveType<Native = i64>>(source: &ArrayRef, bucket: impl Fn(i32) -> i32) -> Int32Array {
    source.as_primitive::<T>().unary(|v| bucket(hash_long(v)))
}

fn truncate(source: &ArrayRef, width: u32) -> Result<ArrayRef> {
    let count = i32::try_from(width)
        .ok()
        .filter(|width| *width > 0)
        .ok_or_else(|| Error::new(ErrorKind::InvalidData, format!("truncate transform with width {width}")))?;
    // Like Java's, the least numbers wrap around when the next lower multiple is out of range.
    Ok(match source.data_type() {
        DataType::Int32 => {
            let truncate = |v: i32| v.wrapping_sub(v.rem_euclid(count));
            Arc::new(source.as_primitive::<Int32Type>().unary::<_, Int32Type>(truncate))
        }
        DataType::Int64 => {
            let truncate = |v: i64| v.wrapping_sub(v.rem_euclid(count.into()));
            Arc::new(source.as_primitive::<Int64Type>().unary::<_, Int64Type>(truncate))
        }
        DataType::Decimal128(_, _) => {
            let truncate = |v: i128| v.wrapping_sub(v.rem_euclid(count.into()));
            let truncated: PrimitiveArray<Decimal128Type> = source.as_primitive::<Decimal128Type>().unary(truncate);
            Arc::new(truncated.with_data_type(source.data_type().clone()))
        }
        DataType::Utf8 => {
            let strings = source.as_string::<i32>().iter();
            Arc::new(strings.map(|v| v.map(|v| first_chars(v, width as usize))).collect::<StringArray>())
        }
        DataType::Binary => {
            let bytes = source.as_binary::<i32>().iter();
            Arc::new(bytes.map(|v| v.map(|v| &v[..v.len().min(width as usize)])).collect::<BinaryArray>())
        }
        other => return Err(not_for("truncate", other)),
    })
}

/// The first code points of a string.
pub(crate) fn first_chars(text: &str, count: usize) -> &str {
    // A string of so few bytes has no more code points.
    if text.len() <= count {
        return text;
    }
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

fn days(source: &ArrayRef) -> Result<Date32Array> {
    if let DataType::Date32 = source.data_type() {
        return Ok(source.as_primitive::<Date32Type>().clone());
    }
    // Every day of a 64-bit count of microseconds fits.
    #[expect(clippy::cast_possible_truncation, reason = "2^63 microseconds are less than 2^31 days")]
    let day = |v: i64| v.div_euclid(MICROS_PER_DAY) as i32;
    match source.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Ok(source.as_primitive::<TimestampMicrosecondType>().unary(day))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Ok(source.as_primitive::<TimestampNanosecondType>().unary(|v| day(v.div_euclid(NANOS_PER_MICRO))))
        }
        other => Err(not_for("year, month or day", other)),
    }
}

fn hours(source: &ArrayRef) -> Result<ArrayRef> {
    let hour = |micros: i64| {
        i32::try_from(micros.div_euclid(MICROS_PER_HOUR))
            .map_err(|_| Error::new(ErrorKind::InvalidInput, "a timestamp is too far from 1970 for the hour transform"))
    };
    let hours: Int32Array = match source.data_type() {
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            source.as_primitive::<TimestampMicrosecondType>().try_unary(hour)?
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            source.as_primitive::<TimestampNanosecondType>().try_unary(|v| hour(v.div_euclid(NANOS_PER_MICRO)))?
        }
        other => return Err(not_for("hour", other)),
    };
    Ok(Arc::new(hours))
}

/// Every day of a 32-bit count is within 2^23 years.
#[expect(clippy::cast_possible_truncation, reason = "years and months of a day fit")]
fn year_since_epoch(day: i32) -> i32 {
    (civil(day.into()).0 - 1970) as i32
}

#[expect(clippy::cast_possible_truncation, reason = "years and months of a day fit")]
fn months_since_epoch(day: i32) -> i32 {
    let (year, month, _) = civil(day.into());
    ((year - 1970) * 12 + month - 1) as i32
}

fn not_for(transform: &str, data_type: &DataType) -> Error {
    Error::new(
        ErrorKind::InvalidData,
        format!("the {transform} transform does not go with a column of type {data_type}"),
    )
}

#[cfg(test)]
mod tests;
