//! Partition transforms of single values, and what those of columns share with them.
//!
//! Format: <https://iceberg.apache.org/spec/#partition-transforms>, with the hashes of its appendix B. Every function
//! is total: a value that a transform does not take is `None`, never a panic.

use crate::spec::{PrimitiveLiteral, PrimitiveType, Transform};

const MICROS_PER_HOUR: i64 = 3_600_000_000;
const NANOS_PER_MICRO: i64 = 1_000;
const HOURS_PER_DAY: i64 = 24;

/// The type of a transform's results, or `None` where they are not known: for `void` and for transforms that this
/// version does not know.
pub(crate) fn result_type(transform: Transform, source: &PrimitiveType) -> Option<PrimitiveType> {
    match transform {
        Transform::Identity | Transform::Truncate(_) => Some(source.clone()),
        Transform::Bucket(_) | Transform::Year | Transform::Month | Transform::Hour => Some(PrimitiveType::Int),
        Transform::Day => Some(PrimitiveType::Date),
        Transform::Void | Transform::Unknown => None,
    }
}

/// Transforms a value of type `source` that is not null. `None` when the transform does not take it.
pub(crate) fn apply(
    transform: Transform,
    source: &PrimitiveType,
    value: &PrimitiveLiteral,
) -> Option<PrimitiveLiteral> {
    match transform {
        Transform::Identity => Some(value.clone()),
        Transform::Bucket(buckets) => bucket(buckets, source, value),
        Transform::Truncate(width) => truncate(width, value),
        Transform::Year => days(source, value).and_then(|days| int(civil(days).0 - 1970)),
        Transform::Month => days(source, value).and_then(|days| {
            let (year, month, _) = civil(days);
            int((year - 1970) * 12 + month - 1)
        }),
        Transform::Day => days(source, value).and_then(int),
        Transform::Hour => hours(source, value).and_then(int),
        Transform::Void | Transform::Unknown => None,
    }
}

fn int(value: i64) -> Option<PrimitiveLiteral> {
    i32::try_from(value).ok().map(PrimitiveLiteral::Int)
}

fn bucket(buckets: u32, source: &PrimitiveType, value: &PrimitiveLiteral) -> Option<PrimitiveLiteral> {
    let hash = match (source, value) {
        (PrimitiveType::Int | PrimitiveType::Date, PrimitiveLiteral::Int(v)) => murmur3(&i64::from(*v).to_le_bytes()),
        // Nanoseconds hash as the microseconds that contain them, so that both precisions share buckets.
        (PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs, PrimitiveLiteral::Long(v)) => {
            murmur3(&v.div_euclid(NANOS_PER_MICRO).to_le_bytes())
        }
        (
            PrimitiveType::Long | PrimitiveType::Time | PrimitiveType::Timestamp | PrimitiveType::Timestamptz,
            PrimitiveLiteral::Long(v),
        ) => murmur3(&v.to_le_bytes()),
        (PrimitiveType::Decimal { .. }, PrimitiveLiteral::Int128(v)) => murmur3(minimal_big_endian(&v.to_be_bytes())),
        (PrimitiveType::String, PrimitiveLiteral::String(v)) => murmur3(v.as_bytes()),
        (PrimitiveType::Uuid, PrimitiveLiteral::UInt128(v)) => murmur3(&v.to_be_bytes()),
        (PrimitiveType::Binary | PrimitiveType::Fixed(_), PrimitiveLiteral::Binary(v)) => murmur3(v),
        _ => return None,
    };
    int(i64::from(hash & 0x7fff_ffff).checked_rem(i64::from(buckets))?)
}

/// The shortest two's-complement form of a big-endian number.
pub(crate) fn minimal_big_endian(bytes: &[u8; 16]) -> &[u8] {
    let fill = if bytes[0] & 0x80 == 0 { 0x00 } else { 0xff };
    let redundant = bytes.windows(2).take_while(|pair| pair[0] == fill && (pair[1] ^ fill) & 0x80 == 0).count();
    &bytes[redundant..]
}

/// Murmur3, 32 bits, x86, seed 0.
pub(crate) fn murmur3(bytes: &[u8]) -> u32 {
    fn scramble(block: u32) -> u32 {
        block.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593)
    }
    let (blocks, tail) = bytes.as_chunks::<4>();
    let mut hash = blocks.iter().fold(0_u32, |hash, block| {
        (hash ^ scramble(u32::from_le_bytes(*block))).rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    if !tail.is_empty() {
        hash ^= scramble(tail.iter().rev().fold(0, |block, byte| (block << 8) | u32::from(*byte)));
    }
    // The algorithm takes the length modulo 2^32.
    #[expect(clippy::cast_possible_truncation, reason = "the definition of the hash")]
    let length = bytes.len() as u32;
    hash ^= length;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

fn truncate(width: u32, value: &PrimitiveLiteral) -> Option<PrimitiveLiteral> {
    if width == 0 {
        return None;
    }
    Some(match value {
        PrimitiveLiteral::Int(v) => {
            let truncated = i64::from(*v) - i64::from(*v).rem_euclid(i64::from(width));
            PrimitiveLiteral::Int(i32::try_from(truncated).ok()?)
        }
        PrimitiveLiteral::Long(v) => PrimitiveLiteral::Long(v.checked_sub(v.rem_euclid(i64::from(width)))?),
        PrimitiveLiteral::Int128(v) => PrimitiveLiteral::Int128(v.checked_sub(v.rem_euclid(i128::from(width)))?),
        PrimitiveLiteral::String(v) => {
            let end = v.char_indices().nth(width as usize).map_or(v.len(), |(at, _)| at);
            PrimitiveLiteral::String(v[..end].to_owned())
        }
        PrimitiveLiteral::Binary(v) => PrimitiveLiteral::Binary(v[..v.len().min(width as usize)].to_vec()),
        _ => return None,
    })
}

fn hours(source: &PrimitiveType, value: &PrimitiveLiteral) -> Option<i64> {
    match (source, value) {
        (PrimitiveType::Timestamp | PrimitiveType::Timestamptz, PrimitiveLiteral::Long(v)) => {
            Some(v.div_euclid(MICROS_PER_HOUR))
        }
        (PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs, PrimitiveLiteral::Long(v)) => {
            Some(v.div_euclid(MICROS_PER_HOUR * NANOS_PER_MICRO))
        }
        _ => None,
    }
}

fn days(source: &PrimitiveType, value: &PrimitiveLiteral) -> Option<i64> {
    match (source, value) {
        (PrimitiveType::Date, PrimitiveLiteral::Int(v)) => Some(i64::from(*v)),
        _ => Some(hours(source, value)?.div_euclid(HOURS_PER_DAY)),
    }
}

/// Year, month (1 to 12) and day (1 to 31) of a day since 1970-01-01 in the proleptic Gregorian calendar. The day must
/// be one of a 32-bit date or of a 64-bit timestamp.
pub(crate) fn civil(day: i64) -> (i64, i64, i64) {
    const DAYS_PER_ERA: i64 = 146_097; // 400 years
    // Years are counted from March, so that a leap day ends one.
    let shifted = day + 719_468;
    let era = shifted.div_euclid(DAYS_PER_ERA);
    let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Datelike};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn hashes_are_those_of_the_specification() {
        let uuid = 0xf79c_3e09_677c_4bbd_a479_3f34_9cb7_85e7_u128;
        let cases: &[(PrimitiveType, PrimitiveLiteral, i32)] = &[
            (PrimitiveType::Int, PrimitiveLiteral::Int(34), 2_017_239_379),
            (PrimitiveType::Long, PrimitiveLiteral::Long(34), 2_017_239_379),
            (PrimitiveType::Decimal { precision: 9, scale: 2 }, PrimitiveLiteral::Int128(1420), -500_754_589),
            (PrimitiveType::Date, PrimitiveLiteral::Int(17_486), -653_330_422),
            (PrimitiveType::Time, PrimitiveLiteral::Long(81_068_000_000), -662_762_989),
            (PrimitiveType::Timestamp, PrimitiveLiteral::Long(1_510_871_468_000_000), -2_047_944_441),
            (PrimitiveType::TimestampNs, PrimitiveLiteral::Long(1_510_871_468_000_001_001), -1_207_196_810),
            (PrimitiveType::String, PrimitiveLiteral::String("iceberg".into()), 1_210_000_089),
            (PrimitiveType::Uuid, PrimitiveLiteral::UInt128(uuid), 1_488_055_340),
            (PrimitiveType::Fixed(4), PrimitiveLiteral::Binary(vec![0, 1, 2, 3]), -188_683_207),
        ];
        for (source, value, hash) in cases {
            let bucket = apply(Transform::Bucket(1 << 30), source, value);
            assert_eq!(bucket, Some(PrimitiveLiteral::Int(hash & ((1 << 30) - 1))), "{source} {value:?}");
        }
    }

    #[test]
    fn truncation_rounds_down_and_cuts_by_characters() {
        let cases = [
            (PrimitiveLiteral::Int(-1), 10, PrimitiveLiteral::Int(-10)),
            (PrimitiveLiteral::Long(19), 10, PrimitiveLiteral::Long(10)),
            (PrimitiveLiteral::Int128(1065), 50, PrimitiveLiteral::Int128(1050)),
            (PrimitiveLiteral::String("äöüß".into()), 3, PrimitiveLiteral::String("äöü".into())),
            (PrimitiveLiteral::Binary(vec![1, 2]), 3, PrimitiveLiteral::Binary(vec![1, 2])),
        ];
        for (value, width, expected) in cases {
            assert_eq!(truncate(width, &value), Some(expected));
        }
        assert_eq!(truncate(10, &PrimitiveLiteral::Int(i32::MIN)), None);
    }

    proptest! {
        #[test]
        fn time_transforms_agree_with_the_calendar(micros in -60_000_000_000_000_000_i64..250_000_000_000_000_000) {
            let at = DateTime::from_timestamp_micros(micros).unwrap();
            let value = PrimitiveLiteral::Long(micros);
            let of = |transform| apply(transform, &PrimitiveType::Timestamp, &value);
            prop_assert_eq!(of(Transform::Year), int(i64::from(at.year()) - 1970));
            prop_assert_eq!(of(Transform::Month), int((i64::from(at.year()) - 1970) * 12 + i64::from(at.month0())));
            prop_assert_eq!(of(Transform::Day), int(at.timestamp().div_euclid(86_400)));
            prop_assert_eq!(of(Transform::Hour), int(at.timestamp().div_euclid(3_600)));
        }

        #[test]
        fn no_value_makes_a_transform_panic(value in any::<i64>(), width in any::<u32>()) {
            for transform in [Transform::Year, Transform::Month, Transform::Day, Transform::Hour,
                Transform::Truncate(width), Transform::Bucket(width)] {
                let days = i32::try_from(value >> 32).unwrap();
                let _ = apply(transform, &PrimitiveType::Date, &PrimitiveLiteral::Int(days));
                for source in [PrimitiveType::Timestamp, PrimitiveType::TimestamptzNs, PrimitiveType::Long] {
                    let _ = apply(transform, &source, &PrimitiveLiteral::Long(value));
                }
            }
        }
    }
}
