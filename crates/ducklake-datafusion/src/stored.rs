//! Values of a catalog of Lakelock: `DuckDB`'s physical ones, as `docs/ducklake-format.md` lays them out.

use arrow::datatypes::{DataType, i256};
use datafusion::common::ScalarValue;

use crate::{
    columns::Column,
    metadata::Cell,
    values::{self, decimal128, huge, list_of, map_of, struct_of, time, timestamp, unsigned},
};

/// The value that a payload is, of a column's type.
pub(crate) fn scalar(column: &Column, mut payload: &[u8]) -> Option<ScalarValue> {
    let value = take_payload(column, &mut payload)?;
    payload.is_empty().then_some(value)
}

fn take_value(column: &Column, input: &mut &[u8]) -> Option<ScalarValue> {
    match take(input, 1)? {
        [0] => values::scalar(column, &Cell::Null),
        [1] => take_payload(column, input),
        _ => None,
    }
}

fn take_payload(column: &Column, input: &mut &[u8]) -> Option<ScalarValue> {
    match (column.type_name.as_str(), column.children.as_slice()) {
        ("list", [element]) => {
            let mut elements = Vec::new();
            // Each takes at least one byte: the end of the input bounds the loop.
            for _ in 0..take_number(input)? {
                elements.push(take_value(element, input)?);
            }
            return list_of(column, elements);
        }
        ("map", [key, item]) => {
            let (mut keys, mut items) = (Vec::new(), Vec::new());
            for _ in 0..take_number(input)? {
                if take(input, 1)? != [1] {
                    return None;
                }
                keys.push(take_value(key, input)?);
                items.push(take_value(item, input)?);
            }
            return map_of(column, keys, items);
        }
        ("struct", children @ [_, ..]) => {
            let values = children.iter().map(|child| take_value(child, input)).collect::<Option<_>>()?;
            return struct_of(column, values);
        }
        _ => {}
    }
    Some(match column.data_type()? {
        DataType::Boolean => ScalarValue::from(fixed::<1>(input)? != [0]),
        DataType::Int8 => ScalarValue::from(i8::from_le_bytes(fixed(input)?)),
        DataType::Int16 => ScalarValue::from(i16::from_le_bytes(fixed(input)?)),
        DataType::Int32 => ScalarValue::from(i32::from_le_bytes(fixed(input)?)),
        DataType::Int64 => ScalarValue::from(i64::from_le_bytes(fixed(input)?)),
        DataType::UInt8 => ScalarValue::from(u8::from_le_bytes(fixed(input)?)),
        DataType::UInt16 => ScalarValue::from(u16::from_le_bytes(fixed(input)?)),
        DataType::UInt32 => ScalarValue::from(u32::from_le_bytes(fixed(input)?)),
        DataType::UInt64 => ScalarValue::from(u64::from_le_bytes(fixed(input)?)),
        DataType::Float32 => ScalarValue::from(f32::from_le_bytes(fixed(input)?)),
        DataType::Float64 => ScalarValue::from(f64::from_le_bytes(fixed(input)?)),
        DataType::Decimal128(precision, _) => {
            let value = match precision {
                ..=4 => i16::from_le_bytes(fixed(input)?).into(),
                5..=9 => i32::from_le_bytes(fixed(input)?).into(),
                10..=18 => i64::from_le_bytes(fixed(input)?).into(),
                _ => i128::from_le_bytes(fixed(input)?),
            };
            decimal128(column, value)?
        }
        DataType::Decimal256(..) => match column.type_name.as_str() {
            "int128" => huge(i256::from_i128(i128::from_le_bytes(fixed(input)?))),
            _ => huge(unsigned(u128::from_le_bytes(fixed(input)?))),
        },
        DataType::Date32 => ScalarValue::Date32(Some(i32::from_le_bytes(fixed(input)?))),
        DataType::Time64(unit) => time(unit, i64::from_le_bytes(fixed(input)?)),
        DataType::Timestamp(unit, zone) => {
            let value = i64::from_le_bytes(fixed(input)?);
            let is_finite = value != i64::MAX && value != -i64::MAX;
            let seconds = column.type_name == "timestamp_s" && is_finite;
            timestamp(unit, zone, if seconds { value.checked_mul(1_000_000)? } else { value })
        }
        DataType::Utf8 => ScalarValue::from(std::str::from_utf8(take_bytes(input)?).ok()?),
        DataType::Binary => ScalarValue::Binary(Some(take_bytes(input)?.to_vec())),
        // A number, of which the first bit is flipped so that they sort as the bytes do.
        DataType::FixedSizeBinary(16) => {
            let number = u128::from_le_bytes(fixed(input)?) ^ (1 << 127);
            ScalarValue::FixedSizeBinary(16, Some(number.to_be_bytes().to_vec()))
        }
        _ => return None,
    })
}

fn take<'a>(input: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(count)?;
    *input = rest;
    Some(taken)
}

fn fixed<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    take(input, N)?.try_into().ok()
}

fn take_bytes<'a>(input: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(take_number(input)?).ok()?;
    take(input, length)
}

/// An unsigned LEB128.
fn take_number(input: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let [byte] = fixed(input)?;
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            return None;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn column(type_name: &str, children: Vec<Column>) -> Column {
        Column { id: 1, name: "c".to_owned(), type_name: type_name.to_owned(), initial_default: None, children }
    }

    #[test]
    fn payloads_are_of_duckdbs_types() {
        let read = |type_name: &str, payload: &[u8]| scalar(&column(type_name, Vec::new()), payload);
        let uuid = [0x30, 0x3c, 0x37, 0xaa, 4, 0x75, 0x4a, 0x7b, 0xbe, 0xf6, 0xc6, 8, 0x56, 0xda, 0x42, 0xf4];
        let mut stored = uuid;
        stored.reverse();
        stored[15] ^= 0x80;
        for (type_name, payload, expected) in [
            ("int16", vec![0xfe, 0xff], Some(ScalarValue::from(-2i16))),
            ("varchar", b"\x02ab".to_vec(), Some(ScalarValue::from("ab"))),
            (
                "timestamp_s",
                vec![1, 0, 0, 0, 0, 0, 0, 0],
                Some(timestamp(arrow::datatypes::TimeUnit::Microsecond, None, 1_000_000)),
            ),
            (
                "timestamp_s",
                i64::MAX.to_le_bytes().to_vec(),
                Some(timestamp(arrow::datatypes::TimeUnit::Microsecond, None, i64::MAX)),
            ),
            ("timestamp_s", (i64::MAX - 1).to_le_bytes().to_vec(), None),
            ("uuid", stored.to_vec(), Some(ScalarValue::FixedSizeBinary(16, Some(uuid.to_vec())))),
            ("decimal(4,1)", 999i16.to_le_bytes().to_vec(), Some(ScalarValue::Decimal128(Some(999), 4, 1))),
            ("decimal(4,1)", 10_000i16.to_le_bytes().to_vec(), None),
            ("int16", vec![0], None),
            ("int16", vec![0, 0, 0], None),
            ("varchar", b"\x03ab".to_vec(), None),
            ("varchar", vec![1, 0xff], None),
            ("interval", vec![0; 16], None),
        ] {
            assert_eq!(read(type_name, &payload), expected, "{type_name} {payload:?}");
        }
    }

    proptest! {
        #[test]
        fn no_payload_is_too_bad(payload in prop::collection::vec(prop_oneof![0u8..3, any::<u8>()], 0..60)) {
            let leaf = |type_name| column(type_name, Vec::new());
            let types = ["varchar", "blob", "uuid", "uint128", "decimal(38,2)", "timestamp_s", "mystery"];
            for type_name in types {
                let inner = column("struct", vec![leaf("int8"), leaf(type_name)]);
                let map = column("map", vec![leaf("varchar"), column("list", vec![inner])]);
                for column in [leaf(type_name), map.clone(), column("list", vec![map])] {
                    let _ = scalar(&column, &payload);
                }
            }
        }
    }
}
