//! Lower and upper bounds: from Parquet statistics to the spec's single-value form.
//!
//! <https://iceberg.apache.org/spec/#appendix-d-single-value-serialization>

use parquet::file::statistics::Statistics;

use super::super::partition::first_chars;
use super::mode::MetricsMode;
use crate::spec::PrimitiveType;
use crate::transform::minimal_big_endian;

/// A value in the order of its type.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    Boolean(bool),
    Int(i32),
    Long(i64),
    Decimal(i128),
    Bytes(Vec<u8>),
}

/// The least and the greatest value of a column chunk, if its statistics tell. Floating point numbers have none here:
/// they are counted by themselves.
pub(super) fn of_chunk(statistics: &Statistics, primitive: &PrimitiveType) -> Option<(Value, Value)> {
    let decimal = matches!(primitive, PrimitiveType::Decimal { .. });
    match statistics {
        Statistics::Boolean(s) => Some((Value::Boolean(*s.min_opt()?), Value::Boolean(*s.max_opt()?))),
        Statistics::Int32(s) if decimal => {
            Some((Value::Decimal((*s.min_opt()?).into()), Value::Decimal((*s.max_opt()?).into())))
        }
        Statistics::Int64(s) if decimal => {
            Some((Value::Decimal((*s.min_opt()?).into()), Value::Decimal((*s.max_opt()?).into())))
        }
        Statistics::Int32(s) => Some((Value::Int(*s.min_opt()?), Value::Int(*s.max_opt()?))),
        Statistics::Int64(s) => Some((Value::Long(*s.min_opt()?), Value::Long(*s.max_opt()?))),
        Statistics::ByteArray(s) => {
            Some((Value::Bytes(s.min_opt()?.data().to_vec()), Value::Bytes(s.max_opt()?.data().to_vec())))
        }
        // A shortened value of fixed length is none.
        Statistics::FixedLenByteArray(s) if !s.min_is_exact() || !s.max_is_exact() => None,
        Statistics::FixedLenByteArray(s) if decimal => Some((
            Value::Decimal(sign_extended(s.min_opt()?.data())?),
            Value::Decimal(sign_extended(s.max_opt()?.data())?),
        )),
        Statistics::FixedLenByteArray(s) => {
            Some((Value::Bytes(s.min_opt()?.data().to_vec()), Value::Bytes(s.max_opt()?.data().to_vec())))
        }
        Statistics::Float(_) | Statistics::Double(_) | Statistics::Int96(_) => None,
    }
}

impl Value {
    /// The single-value form of a lower bound.
    pub(super) fn lower_bound(self, primitive: &PrimitiveType, mode: MetricsMode) -> Option<Vec<u8>> {
        match (self.encode(), primitive, mode) {
            (text, PrimitiveType::String, MetricsMode::Truncate(length)) => {
                Some(first_chars(std::str::from_utf8(&text).ok()?, length).as_bytes().to_vec())
            }
            (mut bytes, PrimitiveType::Binary, MetricsMode::Truncate(length)) => {
                bytes.truncate(length);
                Some(bytes)
            }
            (bytes, ..) => Some(bytes),
        }
    }

    /// The single-value form of an upper bound: none, if it must be shortened and what is left cannot be incremented.
    pub(super) fn upper_bound(self, primitive: &PrimitiveType, mode: MetricsMode) -> Option<Vec<u8>> {
        match (self.encode(), primitive, mode) {
            (text, PrimitiveType::String, MetricsMode::Truncate(length)) => {
                Some(string_upper_bound(std::str::from_utf8(&text).ok()?, length)?.into_bytes())
            }
            (bytes, PrimitiveType::Binary, MetricsMode::Truncate(length)) => binary_upper_bound(bytes, length),
            (bytes, ..) => Some(bytes),
        }
    }

    fn encode(self) -> Vec<u8> {
        match self {
            Self::Boolean(value) => vec![value.into()],
            Self::Int(value) => value.to_le_bytes().to_vec(),
            Self::Long(value) => value.to_le_bytes().to_vec(),
            Self::Decimal(value) => minimal_big_endian(&value.to_be_bytes()).to_vec(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The least string of at most so many code points that is not below this one.
fn string_upper_bound(text: &str, length: usize) -> Option<String> {
    let first = first_chars(text, length);
    if first.len() == text.len() {
        return Some(text.to_owned());
    }
    let mut bound = first.to_owned();
    while let Some(last) = bound.pop() {
        if let Some(next) = next_char(last) {
            bound.push(next);
            return Some(bound);
        }
    }
    None
}

/// The next code point that is not half of a surrogate pair.
fn next_char(c: char) -> Option<char> {
    if c == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(c) + 1) }
}

/// The least byte string of at most so many bytes that is not below this one.
fn binary_upper_bound(mut bytes: Vec<u8>, length: usize) -> Option<Vec<u8>> {
    if bytes.len() <= length {
        return Some(bytes);
    }
    bytes.truncate(length);
    while let Some(last) = bytes.pop() {
        if let Some(next) = last.checked_add(1) {
            bytes.push(next);
            return Some(bytes);
        }
    }
    None
}

fn sign_extended(bytes: &[u8]) -> Option<i128> {
    let sign = if bytes.first()? & 0x80 == 0 { 0 } else { 0xff };
    let mut extended = [sign; 16];
    extended.get_mut(16_usize.checked_sub(bytes.len())?..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(extended))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUNCATE: MetricsMode = MetricsMode::Truncate(4);

    fn bounds(value: &Value, primitive: &PrimitiveType, mode: MetricsMode) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        (value.clone().lower_bound(primitive, mode), value.clone().upper_bound(primitive, mode))
    }

    #[test]
    fn values_have_their_single_value_form() {
        let uuid = Value::Bytes(uuid::uuid!("f79c3e09-677c-4bbd-a479-3f349cb785e7").as_bytes().to_vec());
        let uuid_bytes = b"\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7";
        let decimal = PrimitiveType::Decimal { precision: 20, scale: 2 };
        let cases: [(Value, PrimitiveType, &[u8]); 9] = [
            (Value::Boolean(true), PrimitiveType::Boolean, &[1]),
            (Value::Int(1), PrimitiveType::Int, &[1, 0, 0, 0]),
            (Value::Long(-2), PrimitiveType::Timestamptz, &[0xfe, 255, 255, 255, 255, 255, 255, 255]),
            (Value::Decimal(0), decimal.clone(), &[0]),
            (Value::Decimal(-1), decimal.clone(), &[0xff]),
            (Value::Decimal(128), decimal.clone(), &[0, 0x80]),
            (Value::Decimal(1420), decimal, &[0x05, 0x8c]),
            (uuid, PrimitiveType::Uuid, uuid_bytes),
            (Value::Bytes(vec![7; 9]), PrimitiveType::Fixed(9), &[7; 9]),
        ];
        for (value, primitive, form) in cases {
            let expected = (Some(form.to_vec()), Some(form.to_vec()));
            assert_eq!(bounds(&value, &primitive, TRUNCATE), expected, "{value:?}");
        }
    }

    #[test]
    fn strings_are_shortened_by_code_points() {
        let cases = [
            ("", Some("")),
            ("abcd", Some("abcd")),
            ("abcde", Some("abce")),
            ("🦀🦀🦀🦀", Some("🦀🦀🦀🦀")),
            ("🦀🦀🦀🦀🦀", Some("🦀🦀🦀\u{1f981}")),
            ("abc\u{d7ff}x", Some("abc\u{e000}")),
            ("abc\u{10ffff}x", Some("abd")),
            ("\u{10ffff}\u{10ffff}\u{10ffff}\u{10ffff}x", None),
            ("abc\u{7f}x", Some("abc\u{80}")),
        ];
        for (text, upper) in cases {
            let found = bounds(&Value::Bytes(text.as_bytes().to_vec()), &PrimitiveType::String, TRUNCATE);
            let lower = text.chars().take(4).collect::<String>();
            assert_eq!(found, (Some(lower.into_bytes()), upper.map(|upper| upper.as_bytes().to_vec())), "{text}");
            let whole = Some(text.as_bytes().to_vec());
            let full = bounds(&Value::Bytes(text.as_bytes().to_vec()), &PrimitiveType::String, MetricsMode::Full);
            assert_eq!(full, (whole.clone(), whole), "{text}");
        }
    }

    #[test]
    fn binary_values_are_shortened_by_bytes() {
        let cases: [(&[u8], Option<&[u8]>); 5] = [
            (&[1, 2, 3, 4], Some(&[1, 2, 3, 4])),
            (&[1, 2, 3, 4, 5], Some(&[1, 2, 3, 5])),
            (&[1, 2, 3, 255, 5], Some(&[1, 2, 4])),
            (&[255, 255, 255, 255], Some(&[255, 255, 255, 255])),
            (&[255, 255, 255, 255, 0], None),
        ];
        for (bytes, upper) in cases {
            let found = bounds(&Value::Bytes(bytes.to_vec()), &PrimitiveType::Binary, TRUNCATE);
            assert_eq!(found, (Some(bytes[..4].to_vec()), upper.map(<[u8]>::to_vec)), "{bytes:?}");
        }
    }

    #[test]
    fn decimals_of_fixed_length_keep_their_sign() {
        for number in [0, -1, 127, 128, -129, i128::from(i64::MAX), i128::from(i64::MIN)] {
            assert_eq!(sign_extended(&number.to_be_bytes()[6..]), Some(number));
        }
        assert_eq!(sign_extended(&[]), None);
        assert_eq!(sign_extended(&[0; 17]), None);
    }
}
