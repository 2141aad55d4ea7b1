//! The Parquet schema of a data file, as Java lays it out.

use std::fmt::Write as _;
use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as PhysicalType};
use parquet::errors::Result as ParquetResult;
use parquet::schema::types::{PrimitiveTypeBuilder, SchemaDescriptor, Type as ParquetType, TypePtr};

use crate::spec::{ListType, MapType, NestedField, PrimitiveType, Schema, StructType, Type};
use crate::{Error, ErrorKind, Result};

/// What Java calls the root.
const ROOT: &str = "table";
/// The most digits of a decimal stored as a 32-bit and as a 64-bit integer.
const INT32_DIGITS: u32 = 9;
const INT64_DIGITS: u32 = 18;

/// The Parquet schema in which rows of a table schema are stored.
///
/// Our own conversion rather than the `parquet` crate's from Arrow, which stores decimals of one digit in 64 bits
/// where the Iceberg spec has 32.
pub(super) fn parquet_schema(schema: &Schema) -> Result<SchemaDescriptor> {
    let root = fields(schema.as_struct())
        .and_then(|fields| ParquetType::group_type_builder(ROOT).with_fields(fields).build())
        .map_err(|e| Error::new(ErrorKind::Unsupported, "the schema has no Parquet form").with_source(e))?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

fn fields(fields: &StructType) -> ParquetResult<Vec<TypePtr>> {
    fields.fields().iter().map(|field| convert(field, &field.name)).collect()
}

fn convert(field: &NestedField, name: &str) -> ParquetResult<TypePtr> {
    let name = &compatible_name(name);
    let repetition = if field.required { Repetition::REQUIRED } else { Repetition::OPTIONAL };
    let converted = match &*field.field_type {
        Type::Primitive(primitive) => {
            return Ok(Arc::new(
                convert_primitive(primitive, name).with_repetition(repetition).with_id(Some(field.id)).build()?,
            ));
        }
        Type::Struct(nested) => ParquetType::group_type_builder(name).with_fields(fields(nested)?),
        Type::List(list) => ParquetType::group_type_builder(name)
            .with_logical_type(Some(LogicalType::List))
            .with_fields(vec![repeated_list(list)?]),
        Type::Map(map) => ParquetType::group_type_builder(name)
            .with_logical_type(Some(LogicalType::Map))
            .with_fields(vec![repeated_entries(map)?]),
    };
    Ok(Arc::new(converted.with_repetition(repetition).with_id(Some(field.id)).build()?))
}

fn repeated_list(list: &ListType) -> ParquetResult<TypePtr> {
    let element = convert(&list.element_field, "element")?;
    let repeated = ParquetType::group_type_builder("list").with_repetition(Repetition::REPEATED);
    Ok(Arc::new(repeated.with_fields(vec![element]).build()?))
}

fn repeated_entries(map: &MapType) -> ParquetResult<TypePtr> {
    let (key, value) = (convert(&map.key_field, "key")?, convert(&map.value_field, "value")?);
    let repeated = ParquetType::group_type_builder("key_value").with_repetition(Repetition::REPEATED);
    Ok(Arc::new(repeated.with_fields(vec![key, value]).build()?))
}

fn convert_primitive<'a>(primitive: &PrimitiveType, name: &'a str) -> PrimitiveTypeBuilder<'a> {
    let plain = |physical| ParquetType::primitive_type_builder(name, physical);
    let logical = |physical, logical| plain(physical).with_logical_type(Some(logical));
    let timestamp = |utc, unit| logical(PhysicalType::INT64, LogicalType::timestamp(utc, unit));
    match primitive {
        PrimitiveType::Boolean => plain(PhysicalType::BOOLEAN),
        PrimitiveType::Int => plain(PhysicalType::INT32),
        PrimitiveType::Long => plain(PhysicalType::INT64),
        PrimitiveType::Float => plain(PhysicalType::FLOAT),
        PrimitiveType::Double => plain(PhysicalType::DOUBLE),
        PrimitiveType::Decimal { precision, scale } => decimal(*precision, *scale, name),
        PrimitiveType::Date => logical(PhysicalType::INT32, LogicalType::Date),
        PrimitiveType::Time => logical(PhysicalType::INT64, LogicalType::time(false, TimeUnit::MICROS)),
        PrimitiveType::Timestamp => timestamp(false, TimeUnit::MICROS),
        PrimitiveType::Timestamptz => timestamp(true, TimeUnit::MICROS),
        PrimitiveType::TimestampNs => timestamp(false, TimeUnit::NANOS),
        PrimitiveType::TimestamptzNs => timestamp(true, TimeUnit::NANOS),
        PrimitiveType::String => logical(PhysicalType::BYTE_ARRAY, LogicalType::String),
        PrimitiveType::Uuid => logical(PhysicalType::FIXED_LEN_BYTE_ARRAY, LogicalType::Uuid).with_length(16),
        PrimitiveType::Fixed(length) => {
            // A length beyond 31 bits was refused when the schema was brought to Arrow; here -1 makes it an error too.
            plain(PhysicalType::FIXED_LEN_BYTE_ARRAY).with_length(i32::try_from(*length).unwrap_or(-1))
        }
        PrimitiveType::Binary => plain(PhysicalType::BYTE_ARRAY),
    }
}

fn decimal(precision: u32, scale: u32, name: &str) -> PrimitiveTypeBuilder<'_> {
    // A precision beyond Arrow's 38 digits was refused before; here the values beyond 31 bits are an error too.
    let (digits, fraction) = (i32::try_from(precision).unwrap_or(-1), i32::try_from(scale).unwrap_or(-1));
    let (physical, length) = if precision <= INT32_DIGITS {
        (PhysicalType::INT32, -1)
    } else if precision <= INT64_DIGITS {
        (PhysicalType::INT64, -1)
    } else {
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, decimal_length(precision))
    };
    ParquetType::primitive_type_builder(name, physical)
        .with_length(length)
        .with_logical_type(Some(LogicalType::decimal(fraction, digits)))
        .with_precision(digits)
        .with_scale(fraction)
}

/// The fewest bytes whose two's complement holds every number of so many digits.
fn decimal_length(digits: u32) -> i32 {
    let bits = 10_i128.checked_pow(digits).map_or(128, |limit| 128 - (limit - 1).leading_zeros() + 1);
    i32::try_from(bits.div_ceil(8)).unwrap_or(-1)
}

/// The name under which Java stores a column: only letters, digits and underscores, not starting with a digit; every
/// other UTF-16 unit as `_x` and its hexadecimal value. Readers go by field id.
fn compatible_name(name: &str) -> String {
    let mut compatible = String::with_capacity(name.len());
    for (index, c) in name.chars().enumerate() {
        let in_one_unit = c.len_utf16() == 1;
        if index == 0 && c.is_ascii_digit() {
            compatible.push('_');
            compatible.push(c);
        } else if c == '_' || in_one_unit && (c.is_alphabetic() || index > 0 && c.is_numeric()) {
            compatible.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                _ = write!(compatible, "_x{unit:X}");
            }
        }
    }
    compatible
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema_text::parse_schema;

    #[test]
    fn every_type_has_the_form_that_java_gives_it() {
        let schema = parse_schema(
            "a boolean, b int not null, c decimal(1, 0), d decimal(10, 2), e decimal(19, 3), f decimal(38, 10), g date, \
             h time, i timestamp, j timestamptz, k timestamp_ns, l timestamptz_ns, m string, n uuid, o fixed(7), \
             p binary, q struct<x: float>, r list<double not null>, s map<string, long>",
        )
        .unwrap();
        let mut printed = Vec::new();
        parquet::schema::printer::print_schema(&mut printed, parquet_schema(&schema).unwrap().root_schema());
        let expected = "message table {
  OPTIONAL BOOLEAN a [1];
  REQUIRED INT32 b [2];
  OPTIONAL INT32 c [3] (DECIMAL(1,0));
  OPTIONAL INT64 d [4] (DECIMAL(10,2));
  OPTIONAL FIXED_LEN_BYTE_ARRAY (9) e [5] (DECIMAL(19,3));
  OPTIONAL FIXED_LEN_BYTE_ARRAY (16) f [6] (DECIMAL(38,10));
  OPTIONAL INT32 g [7] (DATE);
  OPTIONAL INT64 h [8] (TIME(MICROS,false));
  OPTIONAL INT64 i [9] (TIMESTAMP(MICROS,false));
  OPTIONAL INT64 j [10] (TIMESTAMP(MICROS,true));
  OPTIONAL INT64 k [11] (TIMESTAMP(NANOS,false));
  OPTIONAL INT64 l [12] (TIMESTAMP(NANOS,true));
  OPTIONAL BYTE_ARRAY m [13] (STRING);
  OPTIONAL FIXED_LEN_BYTE_ARRAY (16) n [14] (UUID);
  OPTIONAL FIXED_LEN_BYTE_ARRAY (7) o [15];
  OPTIONAL BYTE_ARRAY p [16];
  OPTIONAL group q [17] {
    OPTIONAL FLOAT x [20];
  }
  OPTIONAL group r [18] (LIST) {
    REPEATED group list {
      REQUIRED DOUBLE element [21];
    }
  }
  OPTIONAL group s [19] (MAP) {
    REPEATED group key_value {
      REQUIRED BYTE_ARRAY key [22] (STRING);
      OPTIONAL INT64 value [23];
    }
  }
}
";
        assert_eq!(String::from_utf8(printed).unwrap(), expected);
    }

    #[test]
    fn decimals_take_the_fewest_bytes() {
        for digits in 1..=38 {
            let (greatest, bytes) = (10_i128.pow(digits) - 1, decimal_length(digits).unsigned_abs());
            let fits = |bytes: u32| greatest >> (8 * bytes - 1) == 0;
            assert!(fits(bytes) && (bytes == 1 || !fits(bytes - 1)), "{digits} digits in {bytes} bytes");
        }
    }

    #[test]
    fn names_are_made_compatible_as_java_does() {
        let cases = [
            ("a b", "a_x20b"),
            ("1a", "_1a"),
            ("größe", "größe"),
            ("a.b", "a_x2Eb"),
            ("🦀", "_xD83E_xDD80"),
            ("_x", "_x"),
            ("a-b", "a_x2Db"),
            ("日本", "日本"),
        ];
        for (name, compatible) in cases {
            assert_eq!(compatible_name(name), compatible);
        }
    }
}
