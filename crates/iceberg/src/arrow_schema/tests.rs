use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema as ArrowSchema, TimeUnit};

use super::*;
use crate::schema_text::parse_schema;

const EVERY_TYPE: &str = "a boolean, b int not null, c long, d float, e double, f decimal(9, 2), g decimal(38, 10), \
    h date, i time, j timestamp, k timestamptz, l timestamp_ns, m timestamptz_ns, n string not null comment 'a name', \
    o uuid, p fixed(7), q binary, r struct<x: int not null, y: struct<z: list<uuid>>>, s list<string not null>, \
    t map<string, struct<u: decimal(20, 3)>>";

#[test]
fn every_type_survives_the_way_to_arrow_and_back() {
    let schema = parse_schema(EVERY_TYPE).unwrap();
    let arrow = schema_to_arrow(&schema).unwrap();
    assert_eq!(arrow_to_schema_with_ids(&arrow).unwrap(), schema);
    assert_eq!(arrow_to_schema(&arrow).unwrap(), schema, "fresh ids come in the order of the parser's");
    assert_eq!(arrow.field(14).data_type(), &DataType::FixedSizeBinary(16));
    assert_eq!(arrow.field(13).metadata()["doc"], "a name");
    assert_eq!(field_id(arrow.field(1)), Some(2));
}

#[test]
fn foreign_arrow_types_become_the_next_wider_type() {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::LargeUtf8));
    let cases = [
        (DataType::Int8, "int"),
        (DataType::UInt16, "int"),
        (DataType::UInt32, "long"),
        (DataType::UInt64, "decimal(20, 0)"),
        (DataType::Float16, "float"),
        (DataType::Decimal256(38, 3), "decimal(38, 3)"),
        (DataType::Decimal128(5, -2), "decimal(7, 0)"),
        (DataType::Date64, "date"),
        (DataType::Time32(TimeUnit::Second), "time"),
        (DataType::Timestamp(TimeUnit::Second, None), "timestamp"),
        (DataType::Timestamp(TimeUnit::Millisecond, Some("+02:00".into())), "timestamptz"),
        (DataType::Timestamp(TimeUnit::Nanosecond, None), "timestamp_ns"),
        (DataType::Utf8View, "string"),
        (DataType::BinaryView, "binary"),
        (DataType::FixedSizeBinary(16), "fixed(16)"),
        (dictionary, "string"),
    ];
    for (from, to) in cases {
        let schema = arrow_to_schema(&ArrowSchema::new(vec![Field::new("c", from.clone(), true)])).unwrap();
        assert_eq!(schema.as_struct().fields()[0].field_type.to_string(), to, "{from}");
    }
    let large = DataType::LargeList(Arc::new(Field::new("item", DataType::UInt8, false)));
    let schema = arrow_to_schema(&ArrowSchema::new(vec![Field::new("c", large, true)])).unwrap();
    assert_eq!(schema, parse_schema("c list<int not null>").unwrap());
}

#[test]
fn types_without_a_counterpart_name_the_column() {
    let nested = DataType::Struct(vec![Field::new("inner", DataType::Duration(TimeUnit::Second), true)].into());
    let cases = [(DataType::Null, "c"), (DataType::Decimal256(39, 0), "c"), (nested, "c.inner")];
    for (data_type, column) in cases {
        let error = arrow_to_schema(&ArrowSchema::new(vec![Field::new("c", data_type, true)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(&format!("column {column} ")), "{error}");
    }
    let twice = ArrowSchema::new(vec![Field::new("c", DataType::Int8, true), Field::new("c", DataType::Int8, true)]);
    assert_eq!(arrow_to_schema(&twice).unwrap_err().kind(), ErrorKind::InvalidInput);
    let without_id = ArrowSchema::new(vec![Field::new("c", DataType::Int8, true)]);
    assert_eq!(arrow_to_schema_with_ids(&without_id).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn types_beyond_arrow_are_unsupported() {
    for primitive in [PrimitiveType::Decimal { precision: 39, scale: 0 }, PrimitiveType::Fixed(1 << 31)] {
        assert_eq!(type_to_arrow(&Type::Primitive(primitive)).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}
