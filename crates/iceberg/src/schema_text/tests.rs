use proptest::prelude::*;

use super::*;
use crate::spec::Transform;

#[test]
fn columns_get_their_types_ids_and_docs() {
    let text = "id long not null, `odd name` decimal(9,2) comment 'it''s', s struct<a: int, b: list<string not null>>, \
        m map<string, fixed[3]>, \"order\" bigint null";
    let schema = parse_schema(text).unwrap();
    let json = serde_json::to_value(&schema).unwrap();
    let expected = serde_json::json!({
        "schema-id": 0,
        "type": "struct",
        "fields": [
            {"id": 1, "name": "id", "required": true, "type": "long"},
            {"id": 2, "name": "odd name", "required": false, "type": "decimal(9, 2)", "doc": "it's"},
            {"id": 3, "name": "s", "required": false, "type": {"type": "struct", "fields": [
                {"id": 6, "name": "a", "required": false, "type": "int"},
                {"id": 7, "name": "b", "required": false, "type":
                    {"type": "list", "element-id": 8, "element-required": true, "element": "string"}},
            ]}},
            {"id": 4, "name": "m", "required": false, "type": {"type": "map", "key-id": 9, "key": "string",
                "value-id": 10, "value-required": false, "value": "fixed[3]"}},
            {"id": 5, "name": "order", "required": false, "type": "long"},
        ],
    });
    assert_eq!(json, expected);
}

#[test]
fn what_is_wrong_with_a_schema_is_said() {
    let deep = format!("a {}int{}", "list<".repeat(200), ">".repeat(200));
    let cases = [
        ("", "expected a column name at its end"),
        ("a", "expected a type at its end"),
        ("a foo, b int", "expected a type at 'foo, b int'"),
        ("a int b int", "expected a comma or the end at 'b int'"),
        ("a int not", "expected null at its end"),
        ("a decimal(39,2)", "expected a precision from 1 to 38 at '39,2)'"),
        ("a decimal(9,10)", "expected a scale"),
        ("a decimal(99999999999,1)", "the number is too large"),
        ("a fixed(0)", "expected a length in bytes"),
        ("a list<int", "expected > at its end"),
        ("a map<int>", "expected a comma at '>'"),
        ("a int, a long", "two columns are named a"),
        ("`a int", "no closing quote"),
        (&deep, "nested too deeply"),
    ];
    for (text, message) in cases {
        let error = parse_schema(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    assert_eq!(parse_schema("a variant").unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn partition_fields_are_named_as_java_names_them() {
    let schema = parse_schema("id long, day date, ts timestamptz_ns, name string, s struct<a: int>").unwrap();
    let cases = [
        ("id", "id", Transform::Identity),
        ("identity(day)", "day", Transform::Identity),
        ("identity day", "day", Transform::Identity),
        ("year(day)", "day_year", Transform::Year),
        ("MONTH(day)", "day_month", Transform::Month),
        ("days(ts)", "ts_day", Transform::Day),
        ("hour(ts)", "ts_hour", Transform::Hour),
        ("bucket(16, id)", "id_bucket", Transform::Bucket(16)),
        ("truncate(name, 4)", "name_trunc", Transform::Truncate(4)),
        ("void(id)", "id_null", Transform::Void),
        ("bucket(4, s.a) as part", "part", Transform::Bucket(4)),
    ];
    for (text, name, transform) in cases {
        let spec = parse_partition_spec(text, &schema).unwrap();
        assert_eq!(spec.fields().len(), 1, "{text}");
        assert_eq!((spec.fields()[0].name.as_str(), spec.fields()[0].transform), (name, transform), "{text}");
    }
    let spec = parse_partition_spec("month(day), bucket(16, id), truncate(4, name)", &schema).unwrap();
    assert_eq!(spec.fields().iter().map(|field| field.source_id).collect::<Vec<_>>(), [2, 1, 4]);
}

#[test]
fn what_is_wrong_with_a_partition_spec_is_said() {
    let schema = parse_schema("id long, day date, name string, s struct<a: int>").unwrap();
    let cases = [
        ("", "expected a column or a transform"),
        ("nope", "there is no column nope"),
        ("sort(id)", "there is no transform sort"),
        ("hour(day)", "hour does not go with column day of type date"),
        ("s", "does not go with column s of type struct<a: int>"),
        ("bucket(0, id)", "expected a number of buckets"),
        ("id id", "expected a comma or the end"),
        ("year(day), month(day)", "invalid partition spec"),
        ("bucket(4, id) as name", "invalid partition spec"),
    ];
    for (text, message) in cases {
        let error = parse_partition_spec(text, &schema).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{text}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
}

/// Types as the parser makes them: with no ids yet.
fn types() -> impl Strategy<Value = Type> {
    let plain = prop::sample::select(vec![
        PrimitiveType::Boolean,
        PrimitiveType::Int,
        PrimitiveType::Long,
        PrimitiveType::Float,
        PrimitiveType::Double,
        PrimitiveType::Date,
        PrimitiveType::Time,
        PrimitiveType::Timestamp,
        PrimitiveType::Timestamptz,
        PrimitiveType::TimestampNs,
        PrimitiveType::TimestamptzNs,
        PrimitiveType::String,
        PrimitiveType::Uuid,
        PrimitiveType::Binary,
    ]);
    let decimal = (1..=38_u32)
        .prop_flat_map(|precision| (Just(precision), 0..=precision))
        .prop_map(|(precision, scale)| PrimitiveType::Decimal { precision, scale });
    let fixed = (1..=2_147_483_647_u64).prop_map(PrimitiveType::Fixed);
    let name = prop_oneof![
        "[a-z_.][a-zA-Z0-9_.]{0,4}",
        prop::sample::select(vec!["not", "null", "comment", "list", "a\"b", "é", "1"]).prop_map(str::to_owned),
        prop::collection::vec(any::<char>(), 1..4).prop_map(String::from_iter),
    ];
    let leaf = prop_oneof![plain, decimal, fixed].prop_map(Type::Primitive);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        let field = (inner.clone(), any::<bool>(), prop::option::of(".{0,4}"));
        prop_oneof![
            (inner.clone(), any::<bool>()).prop_map(|(element, required)| {
                Type::List(ListType::new(NestedField::list_element(0, element, required).into()))
            }),
            (inner.clone(), inner, any::<bool>()).prop_map(|(key, value, required)| {
                Type::Map(if required {
                    MapType::required(0, key, 0, value)
                } else {
                    MapType::optional(0, key, 0, value)
                })
            }),
            prop::collection::btree_map(name.clone(), field, 1..4).prop_map(|fields| {
                let fields = fields.into_iter().map(|(name, (field_type, required, doc))| {
                    let field = NestedField::new(0, name, field_type, required);
                    Arc::new(NestedField { doc, ..field })
                });
                Type::Struct(StructType::new(fields.collect()))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_printed_of_a_type_parses_as_that_type(expected in types()) {
        let text = print_type(&expected);
        let mut tokens = Tokens::new(&text, "type").unwrap();
        let parsed = data_type(&mut tokens, 0).unwrap();
        prop_assert_eq!(tokens.peek(), &Token::End, "{}", text);
        prop_assert_eq!(parsed, expected, "{}", text);
    }
}

#[test]
fn types_are_printed_as_they_are_typed() {
    for text in [
        "decimal(9, 2)",
        "fixed(16)",
        "list<string not null>",
        "map<string, long not null>",
        "struct<a: int, \"odd name\": list<struct<b: date not null comment 'it''s'>>>",
    ] {
        let parsed = data_type(&mut Tokens::new(text, "type").unwrap(), 0).unwrap();
        assert_eq!(print_type(&parsed), text);
    }
}
