//! Partition values: from Avro to literals and back, compared and serialised as Java does.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::avro_schema::decimal_length;
use crate::spec::{Literal, PrimitiveLiteral, PrimitiveType};

/// A partition value as Avro gives it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawValue {
    Null,
    Boolean(bool),
    Int(i32),
    Long(i64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    String(String),
}

impl RawValue {
    /// The literal of a partition field of this type, also where the file was written before the type was widened.
    pub(super) fn into_literal(self, expected: &PrimitiveType) -> Result<Option<Literal>, String> {
        let literal = match (expected, self) {
            (_, Self::Null) => return Ok(None),
            (PrimitiveType::Boolean, Self::Boolean(v)) => PrimitiveLiteral::Boolean(v),
            (PrimitiveType::Int | PrimitiveType::Date, Self::Int(v)) => PrimitiveLiteral::Int(v),
            (PrimitiveType::Long, Self::Int(v)) => PrimitiveLiteral::Long(v.into()),
            (
                PrimitiveType::Long
                | PrimitiveType::Time
                | PrimitiveType::Timestamp
                | PrimitiveType::Timestamptz
                | PrimitiveType::TimestampNs
                | PrimitiveType::TimestamptzNs,
                Self::Long(v),
            ) => PrimitiveLiteral::Long(v),
            (PrimitiveType::Float, Self::Float(v)) => return Ok(Some(Literal::float(v))),
            (PrimitiveType::Double, Self::Float(v)) => return Ok(Some(Literal::double(v))),
            (PrimitiveType::Double, Self::Double(v)) => return Ok(Some(Literal::double(v))),
            (PrimitiveType::String, Self::String(v)) => PrimitiveLiteral::String(v),
            (PrimitiveType::Uuid, Self::Bytes(v)) => {
                let bytes = <[u8; 16]>::try_from(v).map_err(|v| format!("a UUID of {} bytes", v.len()))?;
                PrimitiveLiteral::UInt128(u128::from_be_bytes(bytes))
            }
            (PrimitiveType::Fixed(length), Self::Bytes(v)) => {
                if v.len() as u64 != *length {
                    return Err(format!("{} bytes instead of fixed[{length}]", v.len()));
                }
                PrimitiveLiteral::Binary(v)
            }
            (PrimitiveType::Binary, Self::Bytes(v)) => PrimitiveLiteral::Binary(v),
            (PrimitiveType::Decimal { .. }, Self::Bytes(v)) => {
                let value = decimal(&v).ok_or_else(|| format!("a decimal of {} bytes", v.len()))?;
                PrimitiveLiteral::Int128(value)
            }
            (expected, other) => return Err(format!("Avro {} where {expected} is expected", other.kind())),
        };
        Ok(Some(Literal::Primitive(literal)))
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Int(_) => "int",
            Self::Long(_) => "long",
            Self::Float(_) => "float",
            Self::Double(_) => "double",
            Self::Bytes(_) => "bytes",
            Self::String(_) => "string",
        }
    }
}

impl<'de> Deserialize<'de> for RawValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawVisitor;
        impl Visitor<'_> for RawVisitor {
            type Value = RawValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a partition value")
            }
            fn visit_unit<E>(self) -> Result<RawValue, E> {
                Ok(RawValue::Null)
            }
            fn visit_none<E>(self) -> Result<RawValue, E> {
                Ok(RawValue::Null)
            }
            fn visit_bool<E>(self, v: bool) -> Result<RawValue, E> {
                Ok(RawValue::Boolean(v))
            }
            fn visit_i32<E>(self, v: i32) -> Result<RawValue, E> {
                Ok(RawValue::Int(v))
            }
            fn visit_i64<E>(self, v: i64) -> Result<RawValue, E> {
                Ok(RawValue::Long(v))
            }
            fn visit_f32<E>(self, v: f32) -> Result<RawValue, E> {
                Ok(RawValue::Float(v))
            }
            fn visit_f64<E>(self, v: f64) -> Result<RawValue, E> {
                Ok(RawValue::Double(v))
            }
            fn visit_bytes<E>(self, v: &[u8]) -> Result<RawValue, E> {
                Ok(RawValue::Bytes(v.to_vec()))
            }
            fn visit_str<E>(self, v: &str) -> Result<RawValue, E> {
                Ok(RawValue::String(v.to_owned()))
            }
        }
        deserializer.deserialize_any(RawVisitor)
    }
}

/// The values of a partition record, in the file's order.
#[derive(Debug)]
pub(super) struct RawPartition(pub(super) Vec<RawValue>);

impl<'de> Deserialize<'de> for RawPartition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PartitionVisitor;
        impl<'de> Visitor<'de> for PartitionVisitor {
            type Value = RawPartition;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a partition record")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawPartition, A::Error> {
                let mut values = Vec::new();
                while let Some((de::IgnoredAny, value)) = map.next_entry()? {
                    values.push(value);
                }
                Ok(RawPartition(values))
            }
        }
        deserializer.deserialize_map(PartitionVisitor)
    }
}

/// A partition value on its way into Avro.
pub(super) struct AvroValue<'a>(pub(super) &'a PrimitiveLiteral, pub(super) &'a PrimitiveType);

impl AvroValue<'_> {
    /// Whether the literal is one of this type.
    pub(super) fn fits(&self) -> bool {
        use PrimitiveLiteral as L;
        use PrimitiveType as T;
        match (self.0, self.1) {
            (L::Boolean(_), T::Boolean)
            | (L::Int(_), T::Int | T::Date)
            | (L::Long(_), T::Long | T::Time | T::Timestamp | T::Timestamptz | T::TimestampNs | T::TimestamptzNs)
            | (L::Float(_), T::Float)
            | (L::Double(_), T::Double)
            | (L::String(_), T::String)
            | (L::Binary(_), T::Binary)
            | (L::UInt128(_), T::Uuid) => true,
            (L::Binary(v), T::Fixed(length)) => v.len() as u64 == *length,
            (L::Int128(v), T::Decimal { precision, .. }) => minimal(*v).len() <= decimal_length(*precision),
            _ => false,
        }
    }
}

impl Serialize for AvroValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            PrimitiveLiteral::Boolean(v) => serializer.serialize_bool(*v),
            PrimitiveLiteral::Int(v) => serializer.serialize_i32(*v),
            PrimitiveLiteral::Long(v) => serializer.serialize_i64(*v),
            PrimitiveLiteral::Float(v) => serializer.serialize_f32(v.0),
            PrimitiveLiteral::Double(v) => serializer.serialize_f64(v.0),
            PrimitiveLiteral::String(v) => serializer.serialize_str(v),
            PrimitiveLiteral::Binary(v) => serializer.serialize_bytes(v),
            PrimitiveLiteral::UInt128(v) => serializer.serialize_bytes(&v.to_be_bytes()),
            PrimitiveLiteral::Int128(v) => {
                let length = match self.1 {
                    PrimitiveType::Decimal { precision, .. } => decimal_length(*precision),
                    _ => 16,
                };
                serializer.serialize_bytes(&v.to_be_bytes()[16 - length..])
            }
            PrimitiveLiteral::AboveMax | PrimitiveLiteral::BelowMin => {
                Err(serde::ser::Error::custom("a partition value beyond its type"))
            }
        }
    }
}

/// The spec's single-value binary form: <https://iceberg.apache.org/spec/#binary-single-value-serialization>.
pub(super) fn single_value(literal: &PrimitiveLiteral) -> Option<Vec<u8>> {
    Some(match literal {
        PrimitiveLiteral::Boolean(v) => vec![u8::from(*v)],
        PrimitiveLiteral::Int(v) => v.to_le_bytes().to_vec(),
        PrimitiveLiteral::Long(v) => v.to_le_bytes().to_vec(),
        PrimitiveLiteral::Float(v) => v.0.to_le_bytes().to_vec(),
        PrimitiveLiteral::Double(v) => v.0.to_le_bytes().to_vec(),
        PrimitiveLiteral::String(v) => v.clone().into_bytes(),
        PrimitiveLiteral::Binary(v) => v.clone(),
        PrimitiveLiteral::UInt128(v) => v.to_be_bytes().to_vec(),
        PrimitiveLiteral::Int128(v) => minimal(*v),
        PrimitiveLiteral::AboveMax | PrimitiveLiteral::BelowMin => return None,
    })
}

/// Java's order of two values of one type: floats by total order, and UUIDs as two *signed* halves, which is not the
/// order of their bytes.
pub(super) fn compare(a: &PrimitiveLiteral, b: &PrimitiveLiteral) -> Ordering {
    match (a, b) {
        (PrimitiveLiteral::Float(a), PrimitiveLiteral::Float(b)) => a.0.total_cmp(&b.0),
        (PrimitiveLiteral::Double(a), PrimitiveLiteral::Double(b)) => a.0.total_cmp(&b.0),
        (PrimitiveLiteral::UInt128(a), PrimitiveLiteral::UInt128(b)) => {
            let signed = |v: u128| {
                let (high, low) = uuid::Uuid::from_u128(v).as_u64_pair();
                (high.cast_signed(), low.cast_signed())
            };
            signed(*a).cmp(&signed(*b))
        }
        _ => a.partial_cmp(b).unwrap_or(Ordering::Equal),
    }
}

/// Two's complement, most significant byte first, as short as it can be.
fn minimal(value: i128) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let sign = if value < 0 { 0xff } else { 0 };
    let redundant = bytes.windows(2).take_while(|pair| pair[0] == sign && (pair[1] ^ sign) & 0x80 == 0).count();
    bytes[redundant..].to_vec()
}

/// The reverse of [`minimal`], for any length up to 16.
fn decimal(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut wide = [if first & 0x80 == 0 { 0 } else { 0xff }; 16];
    let start = 16usize.checked_sub(bytes.len())?;
    wide[start..].copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_minimal_twos_complement() {
        let cases: [(i128, &[u8]); 7] = [
            (0, &[0]),
            (127, &[0x7f]),
            (128, &[0, 0x80]),
            (-1, &[0xff]),
            (-128, &[0x80]),
            (-129, &[0xff, 0x7f]),
            (1_000_000, &[0x0f, 0x42, 0x40]),
        ];
        for (value, bytes) in cases {
            assert_eq!(minimal(value), bytes);
        }
    }

    #[test]
    fn uuids_are_ordered_as_java_orders_them() {
        let uuid = |v: u128| PrimitiveLiteral::UInt128(v);
        // The high half of the first is negative in Java.
        assert_eq!(compare(&uuid(0x87c9_953a << 96), &uuid(0)), Ordering::Less);
        assert_eq!(compare(&uuid(u128::MAX), &uuid(0)), Ordering::Less);
        assert_eq!(compare(&uuid(1 << 63), &uuid(1)), Ordering::Less);
    }

    proptest! {
        #[test]
        fn decimals_come_back(value: i128) {
            prop_assert_eq!(decimal(&minimal(value)), Some(value));
            prop_assert_eq!(decimal(&value.to_be_bytes()), Some(value));
        }
    }
}
