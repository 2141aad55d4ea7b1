use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Fields, Int32Type, IntervalDayTime, IntervalMonthDayNano, i256};

use super::*;

fn json(array: &dyn Array) -> Vec<String> {
    json_of(&Field::new("c", array.data_type().clone(), true), array)
}

fn json_of(field: &Field, array: &dyn Array) -> Vec<String> {
    (0..array.len())
        .map(|row| {
            let mut out = String::new();
            write_json(&mut out, field, array, row).unwrap();
            serde_json::from_str::<serde_json::Value>(&out).expect("valid JSON");
            out
        })
        .collect()
}

fn texts(array: &dyn Array) -> Vec<String> {
    let field = Field::new("c", array.data_type().clone(), true);
    (0..array.len()).map(|row| text(&field, array, row).unwrap().unwrap_or_else(|| "<null>".into())).collect()
}

#[test]
fn scalars_as_json_and_as_text() {
    // Each line: values, their JSON, their text.
    let cases: Vec<(ArrayRef, Vec<&str>, Vec<&str>)> = vec![
        (Arc::new(BooleanArray::from(vec![Some(true), None])), vec!["true", "null"], vec!["true", "<null>"]),
        (Arc::new(Int32Array::from(vec![i32::MIN])), vec!["-2147483648"], vec!["-2147483648"]),
        (Arc::new(Int64Array::from(vec![i64::MAX])), vec!["9223372036854775807"], vec!["9223372036854775807"]),
        (Arc::new(UInt64Array::from(vec![u64::MAX])), vec!["18446744073709551615"], vec!["18446744073709551615"]),
        (
            Arc::new(Float64Array::from(vec![1.0, -0.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324])),
            vec!["1.0", "-0.0", "1e300", "\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "5e-324"],
            vec!["1.0", "-0.0", "1e300", "NaN", "Infinity", "-Infinity", "5e-324"],
        ),
        (
            Arc::new(Float32Array::from(vec![1.5, 1.1, f32::NAN])),
            vec!["1.5", "1.100000023841858", "\"NaN\""],
            vec!["1.5", "1.1", "NaN"],
        ),
        (
            Arc::new(Decimal128Array::from(vec![1250, -5, 0]).with_precision_and_scale(9, 2).unwrap()),
            vec!["\"12.50\"", "\"-0.05\"", "\"0.00\""],
            vec!["12.50", "-0.05", "0.00"],
        ),
        (
            Arc::new(Decimal128Array::from(vec![10_i128.pow(37) * 9]).with_precision_and_scale(38, 0).unwrap()),
            vec!["\"90000000000000000000000000000000000000\""],
            vec!["90000000000000000000000000000000000000"],
        ),
        (
            Arc::new(Decimal128Array::from(vec![12, 0]).with_precision_and_scale(9, -2).unwrap()),
            vec!["\"1200\"", "\"0\""],
            vec!["1200", "0"],
        ),
        (
            Arc::new(Decimal256Array::from(vec![i256::from(-1)]).with_precision_and_scale(76, 38).unwrap()),
            vec!["\"-0.00000000000000000000000000000000000001\""],
            vec!["-0.00000000000000000000000000000000000001"],
        ),
        (
            Arc::new(Date32Array::from(vec![19_782, -1])),
            vec!["\"2024-02-29\"", "\"1969-12-31\""],
            vec!["2024-02-29", "1969-12-31"],
        ),
        (
            Arc::new(Time64MicrosecondArray::from(vec![86_399_999_999, 0])),
            vec!["\"23:59:59.999999\"", "\"00:00:00.000000\""],
            vec!["23:59:59.999999", "00:00:00.000000"],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![-1])),
            vec!["\"1969-12-31T23:59:59.999999\""],
            vec!["1969-12-31T23:59:59.999999"],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![0]).with_timezone("+02:00")),
            vec!["\"1970-01-01T00:00:00.000000+00:00\""],
            vec!["1970-01-01T00:00:00.000000+00:00"],
        ),
        (
            Arc::new(TimestampNanosecondArray::from(vec![1, i64::MAX]).with_timezone("UTC")),
            vec!["\"1970-01-01T00:00:00.000000001+00:00\"", "\"2262-04-11T23:47:16.854775807+00:00\""],
            vec!["1970-01-01T00:00:00.000000001+00:00", "2262-04-11T23:47:16.854775807+00:00"],
        ),
        (
            Arc::new(StringArray::from(vec!["", "a\"b\\\n\u{1}é", "\u{7f}"])),
            vec!["\"\"", "\"a\\\"b\\\\\\n\\u0001é\"", "\"\\u007f\""],
            vec!["", "a\"b\\\n\u{1}é", "\u{7f}"],
        ),
        (Arc::new(StringViewArray::from(vec!["v"])), vec!["\"v\""], vec!["v"]),
        (Arc::new(BinaryArray::from(vec![&b"\x00\xAB"[..], &[]])), vec!["\"00ab\"", "\"\""], vec!["00ab", ""]),
        (Arc::new(BinaryViewArray::from(vec![&b"\xff"[..]])), vec!["\"ff\""], vec!["ff"]),
        (Arc::new(NullArray::new(1)), vec!["null"], vec!["<null>"]),
        (
            Arc::new(vec![Some("x"), None, Some("x")].into_iter().collect::<DictionaryArray<Int32Type>>()),
            vec!["\"x\"", "null", "\"x\""],
            vec!["x", "<null>", "x"],
        ),
        (
            Arc::new(IntervalMonthDayNanoArray::from(vec![
                IntervalMonthDayNano::new(14, -2, 3_500_000_000),
                IntervalMonthDayNano::new(0, 0, 0),
            ])),
            vec!["\"P14M-2DT3.5S\"", "\"PT0S\""],
            vec!["P14M-2DT3.5S", "PT0S"],
        ),
        (
            Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(1, -1)])),
            vec!["\"P1DT-0.001S\""],
            vec!["P1DT-0.001S"],
        ),
        (Arc::new(DurationSecondArray::from(vec![90])), vec!["\"PT90S\""], vec!["PT90S"]),
    ];
    for (array, expected_json, expected_text) in cases {
        assert_eq!(json(&array), expected_json, "{}", array.data_type());
        assert_eq!(texts(&array), expected_text, "{}", array.data_type());
    }
}

#[test]
fn a_uuid_is_told_from_fixed_by_its_field() {
    let bytes = hex::decode("f79c3e09677c4bbda4793f349cb785e7").unwrap();
    let array = FixedSizeBinaryArray::try_from_iter([bytes].into_iter()).unwrap();
    let fixed = Field::new("f", DataType::FixedSizeBinary(16), true);
    assert_eq!(json_of(&fixed, &array), ["\"f79c3e09677c4bbda4793f349cb785e7\""]);
    let uuid = fixed.with_metadata([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into());
    assert_eq!(json_of(&uuid, &array), ["\"f79c3e09-677c-4bbd-a479-3f349cb785e7\""]);
}

#[test]
fn what_has_parts_is_json_in_every_format() {
    let uuid = Arc::new(
        Field::new("id", DataType::FixedSizeBinary(16), true)
            .with_metadata([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())].into()),
    );
    let ids = FixedSizeBinaryArray::try_from_sparse_iter_with_size([Some([0; 16]), None].into_iter(), 16).unwrap();
    let amounts = Decimal128Array::from(vec![Some(5), None]).with_precision_and_scale(9, 1).unwrap();
    let structs = StructArray::new(
        Fields::from(vec![uuid, Arc::new(Field::new("a\"b", DataType::Decimal128(9, 1), true))]),
        vec![Arc::new(ids), Arc::new(amounts)],
        None,
    );
    let expected =
        ["{\"id\":\"00000000-0000-0000-0000-000000000000\",\"a\\\"b\":\"0.5\"}", "{\"id\":null,\"a\\\"b\":null}"];
    assert_eq!(json(&structs), expected);
    assert_eq!(texts(&structs), expected);

    let element = Arc::new(Field::new("element", structs.data_type().clone(), true));
    let lists = ListArray::new(element, OffsetBuffer::from_lengths([2, 0]), Arc::new(structs), None);
    assert_eq!(json(&lists), [format!("[{},{}]", expected[0], expected[1]), "[]".to_owned()]);

    let mut map = MapBuilder::new(None, StringBuilder::new(), Float64Builder::new());
    map.keys().append_value("k");
    map.values().append_value(f64::NAN);
    map.keys().append_value("l");
    map.values().append_null();
    map.append(true).unwrap();
    map.append(false).unwrap();
    let map = map.finish();
    assert_eq!(json(&map), ["[[\"k\",\"NaN\"],[\"l\",null]]", "null"]);
    assert_eq!(texts(&map), ["[[\"k\",\"NaN\"],[\"l\",null]]", "<null>"]);
}

#[test]
fn slices_show_their_own_rows() {
    let runs =
        RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2, 3]), &StringArray::from(vec!["a", "b"])).unwrap();
    assert_eq!(json(&runs.slice(1, 2)), ["\"a\"", "\"b\""]);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), Some(vec![Some(2), None])]);
    assert_eq!(json(&lists.slice(1, 1)), ["[2,null]"]);
}
