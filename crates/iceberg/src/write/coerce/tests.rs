use arrow::array::*;
use arrow::datatypes::{Int32Type, Int64Type, Schema as ArrowSchema};

use super::*;
use crate::schema_text::parse_schema;
use crate::spec::{Literal, Schema};

fn coerce_to(schema: Schema, columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    let fields = columns.iter().map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    let schema_in = ArrowSchema::new(fields.collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(columns.first().map_or(0, |(_, c)| c.len())));
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    let batch = RecordBatch::try_new_with_options(Arc::new(schema_in), columns, &options).unwrap();
    Coercion::new(Arc::new(schema)).unwrap().coerce(&batch)
}

fn coerce(schema: &str, columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    coerce_to(parse_schema(schema).unwrap(), columns)
}

fn array(values: impl Array + 'static) -> ArrayRef {
    Arc::new(values)
}

#[test]
fn columns_are_matched_by_name() {
    let columns = vec![("b", array(Int64Array::from(vec![1]))), ("a", array(StringArray::from(vec!["x"])))];
    let batch = coerce("a string, b long not null, c double", columns).unwrap();
    assert_eq!(batch.column(0).as_string::<i32>().value(0), "x");
    assert_eq!(batch.column(1).as_primitive::<Int64Type>().value(0), 1);
    assert!(batch.column(2).is_null(0));
}

#[test]
fn what_can_be_cast_without_loss_is() {
    let dictionary: DictionaryArray<Int32Type> = vec![Some("x"), None].into_iter().collect();
    let zoned = |array: TimestampSecondArray| array.with_timezone("+02:00");
    let uuid = uuid::uuid!("f79c3e09-677c-4bbd-a479-3f349cb785e7");
    let uuids = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some(uuid.as_bytes()), None].into_iter(), 16);
    let fixed = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([1, 2]), None].into_iter(), 2);
    let decimal = |values: Vec<Option<i128>>, precision, scale| {
        array(Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap())
    };
    let cases: Vec<(ArrayRef, &str, ArrayRef)> = vec![
        (array(Int64Array::from(vec![Some(7), None])), "int", array(Int32Array::from(vec![Some(7), None]))),
        (array(UInt8Array::from(vec![Some(7), None])), "long", array(Int64Array::from(vec![Some(7), None]))),
        (
            array(Float64Array::from(vec![Some(0.5), Some(f64::NAN)])),
            "float",
            array(Float32Array::from(vec![Some(0.5), Some(f32::NAN)])),
        ),
        (
            array(Int64Array::from(vec![Some(1 << 53), None])),
            "double",
            array(Float64Array::from(vec![Some(9_007_199_254_740_992.0), None])),
        ),
        (array(Int32Array::from(vec![Some(5), None])), "decimal(9, 2)", decimal(vec![Some(500), None], 9, 2)),
        (decimal(vec![Some(1500), None], 20, 3), "decimal(9, 2)", decimal(vec![Some(150), None], 9, 2)),
        (array(Date64Array::from(vec![Some(86_400_000), None])), "date", array(Date32Array::from(vec![Some(1), None]))),
        (
            array(Time32SecondArray::from(vec![Some(1), None])),
            "time",
            array(Time64MicrosecondArray::from(vec![Some(1_000_000), None])),
        ),
        (
            array(TimestampNanosecondArray::from(vec![Some(-2000), None])),
            "timestamp",
            array(TimestampMicrosecondArray::from(vec![Some(-2), None])),
        ),
        (
            array(zoned(TimestampSecondArray::from(vec![Some(1), None]))),
            "timestamptz",
            array(TimestampMicrosecondArray::from(vec![Some(1_000_000), None]).with_timezone("UTC")),
        ),
        (
            array(TimestampMicrosecondArray::from(vec![Some(1), None])),
            "timestamp_ns",
            array(TimestampNanosecondArray::from(vec![Some(1000), None])),
        ),
        (array(dictionary), "string", array(StringArray::from(vec![Some("x"), None]))),
        (
            array(StringViewArray::from(vec![Some("x"), None])),
            "string",
            array(StringArray::from(vec![Some("x"), None])),
        ),
        (array(StringArray::from(vec![Some(uuid.to_string()), None])), "uuid", array(uuids.unwrap())),
        (array(BinaryViewArray::from(vec![Some([1, 2].as_slice()), None])), "fixed(2)", array(fixed.unwrap())),
        (
            array(LargeBinaryArray::from(vec![Some([1].as_slice()), None])),
            "binary",
            array(BinaryArray::from(vec![Some([1].as_slice()), None])),
        ),
        (array(NullArray::new(2)), "binary", array(BinaryArray::from(vec![None::<&[u8]>, None]))),
    ];
    for (column, wanted, expected) in cases {
        let from = column.data_type().clone();
        let batch = coerce(&format!("c {wanted}"), vec![("c", column)]);
        assert_eq!(batch.unwrap().column(0), &expected, "{from} to {wanted}");
    }
}

#[test]
fn what_would_be_lost_names_the_column_and_row() {
    let decimal = Decimal128Array::from(vec![1500, 1501]).with_precision_and_scale(20, 3).unwrap();
    let cases: Vec<(ArrayRef, &str)> = vec![
        (array(Int64Array::from(vec![1, 1 << 40])), "int"),
        (array(Float64Array::from(vec![0.5, 0.1])), "float"),
        (array(Int64Array::from(vec![1, (1 << 53) + 1])), "double"),
        (array(Int64Array::from(vec![1, 10_000_000])), "decimal(9, 2)"),
        (array(decimal), "decimal(9, 2)"),
        (array(Date64Array::from(vec![0, 1])), "date"),
        (array(Time64NanosecondArray::from(vec![1000, 1001])), "time"),
        (array(TimestampNanosecondArray::from(vec![1000, -1])), "timestamp"),
        (array(TimestampSecondArray::from(vec![0, i64::MAX])), "timestamp"),
        (array(StringArray::from(vec!["f79c3e09-677c-4bbd-a479-3f349cb785e7", "x"])), "uuid"),
        (array(BinaryArray::from(vec![[1, 2].as_slice(), &[1]])), "fixed(2)"),
        (array(Decimal128Array::from(vec![9, 10]).with_precision_and_scale(1, 0).unwrap()), "decimal(1, 0)"),
        (array(Time64MicrosecondArray::from(vec![0, 86_400_000_000])), "time"),
        (array(Time32SecondArray::from(vec![0, -1])), "time"),
    ];
    for (column, wanted) in cases {
        let from = column.data_type().clone();
        let error = coerce(&format!("c {wanted}"), vec![("c", column)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().starts_with("column c, row 2: "), "{from} to {wanted}: {error}");
    }
    for (column, wanted) in [
        (array(StringArray::from(vec!["1"])), "int"),
        (array(Int32Array::from(vec![1])), "string"),
        (array(TimestampMicrosecondArray::from(vec![1])), "timestamptz"),
        (array(Float64Array::from(vec![1.0])), "decimal(9, 2)"),
        (array(Int32Array::from(vec![1])), "list<int>"),
        (array(Int32Array::from(vec![1])), "struct<x: int>"),
    ] {
        let error = coerce(&format!("c {wanted}"), vec![("c", column)]).unwrap_err();
        assert!(error.to_string().contains("without loss"), "{error}");
    }
}

/// Java keeps one of the entries, and which one is not written anywhere.
#[test]
fn a_map_with_a_key_twice_names_its_row() {
    let map = |rows: &[&[(&str, i32)]]| {
        let mut builder = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        for row in rows {
            for (key, value) in *row {
                builder.keys().append_value(key);
                builder.values().append_value(*value);
            }
            builder.append(true).unwrap();
        }
        vec![("m", array(builder.finish()))]
    };
    let schema = "m map<string, int>";
    coerce(schema, map(&[&[("a", 1), ("b", 1)], &[], &[("b", 1)]])).unwrap();
    let error = coerce(schema, map(&[&[("a", 1)], &[], &[("b", 1), ("c", 1), ("b", 2)]])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().starts_with("column m, row 3: "), "{error}");
}

#[test]
fn extra_missing_and_null_columns_are_named() {
    let one = || array(Int32Array::from(vec![1]));
    let nulls = array(Int32Array::from(vec![Some(1), Some(2), None]));
    let cases = [
        (vec![("a", one()), ("x", one())], "column x: the table has no such column"),
        (vec![("A", one())], "column A: the table has no such column"),
        (vec![("a", one()), ("a", one())], "column a: there are two of that name"),
        (vec![("b", one())], "column a: it is required, and missing"),
        (vec![("a", nulls)], "column a, row 3: null in a required column"),
    ];
    for (columns, message) in cases {
        let error = coerce("a int not null, b int", columns).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn rows_are_counted_over_batches() {
    let mut coercion = Coercion::new(Arc::new(parse_schema("a int not null").unwrap())).unwrap();
    let schema = Arc::new(ArrowSchema::new(vec![Field::new("a", DataType::Int32, true)]));
    let batch = |values: Vec<Option<i32>>| {
        RecordBatch::try_new(Arc::clone(&schema), vec![array(Int32Array::from(values))]).unwrap()
    };
    coercion.coerce(&batch(vec![Some(1), Some(2)])).unwrap();
    let error = coercion.coerce(&batch(vec![Some(3), None])).unwrap_err();
    assert!(error.to_string().starts_with("column a, row 4:"), "{error}");
}

#[test]
fn write_defaults_fill_missing_columns() {
    let text =
        "id long, a int not null, b string, c timestamptz, d decimal(9, 2), e uuid, f binary, g fixed(2), h float";
    let uuid = uuid::uuid!("f79c3e09-677c-4bbd-a479-3f349cb785e7");
    let defaults = [
        Literal::int(7),
        Literal::string("x"),
        Literal::timestamptz(5),
        Literal::decimal(150),
        Literal::uuid(uuid),
        Literal::binary([1]),
        Literal::fixed([1, 2]),
        Literal::float(0.5),
    ];
    let schema = parse_schema(text).unwrap();
    let fields = schema.as_struct().fields().iter().enumerate().map(|(index, field)| match index.checked_sub(1) {
        Some(index) => Arc::new((**field).clone().with_write_default(defaults[index].clone())),
        None => Arc::clone(field),
    });
    let schema = Schema::builder().with_fields(fields.collect::<Vec<_>>()).build().unwrap();
    let batch = coerce_to(schema, vec![("id", array(Int64Array::from(vec![1, 2])))]).unwrap();
    assert_eq!(batch.column(1), &array(Int32Array::from(vec![7, 7])));
    assert_eq!(batch.column(2), &array(StringArray::from(vec!["x", "x"])));
    assert_eq!(batch.column(3), &array(TimestampMicrosecondArray::from(vec![5, 5]).with_timezone("UTC")));
    assert_eq!(batch.column(5).as_fixed_size_binary().value(1), uuid.as_bytes());
    assert_eq!(batch.column(7).as_fixed_size_binary().value(1), [1, 2]);
    assert!(batch.columns().iter().all(|column| column.null_count() == 0));
}

#[test]
fn nested_columns_are_coerced_in_place() {
    let rows = r#"
        {"id": 1, "s": {"y": "a", "x": 1}, "l": [{"k": 1}, {"k": 2}], "m": {"a": 1}}
        {"id": 2, "s": null, "l": null, "m": null}
        {"id": 3, "s": {"y": null, "x": 3}, "l": [], "m": {"b": 2, "c": null}}"#;
    let json_schema = Arc::new(ArrowSchema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new(
            "s",
            DataType::Struct(
                vec![Field::new("y", DataType::Utf8, true), Field::new("x", DataType::Int64, true)].into(),
            ),
            true,
        ),
        Field::new_list(
            "l",
            Field::new("item", DataType::Struct(vec![Field::new("k", DataType::Int64, true)].into()), true),
            true,
        ),
        Field::new_map(
            "m",
            "entries",
            Field::new("keys", DataType::Utf8, false),
            Field::new("values", DataType::Int64, true),
            false,
            true,
        ),
    ]));
    let batch = arrow::json::ReaderBuilder::new(json_schema).build(rows.as_bytes()).unwrap().next().unwrap().unwrap();
    let schema =
        "id long, s struct<x: int not null, y: string, z: double>, l list<struct<k: int not null>>, m map<string, int>";
    let coerce = |schema: &str, batch: &RecordBatch| {
        Coercion::new(Arc::new(parse_schema(schema).unwrap())).unwrap().coerce(batch)
    };
    for batch in [batch.clone(), batch.slice(1, 2)] {
        let coerced = coerce(schema, &batch).unwrap();
        assert_eq!(coerced.schema().as_ref(), schema_to_arrow(&parse_schema(schema).unwrap()).unwrap().as_ref());
        let last = coerced.num_rows() - 1;
        assert_eq!(coerced.column(1).as_struct().column(0).as_primitive::<Int32Type>().value(last), 3);
        assert_eq!(coerced.column(2).as_list::<i32>().value(last).len(), 0);
        assert_eq!(coerced.column(3).as_map().value(last).len(), 2);
        assert!(coerced.column(1).is_null(last - 1) && coerced.column(2).is_null(last - 1));
    }
    let error = coerce(&schema.replace("map<string, int>", "map<string, int not null>"), &batch).unwrap_err();
    assert_eq!(error.to_string(), "column m.value, row 3: null in a required column");
    let error = coerce(&schema.replace("y: string", "y: string not null"), &batch).unwrap_err();
    assert_eq!(error.to_string(), "column s.y, row 3: null in a required column");
}
