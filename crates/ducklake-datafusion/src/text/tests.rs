use proptest::prelude::*;

use super::*;

#[test]
fn times_are_those_that_duckdb_means() {
    for (text, expected) in [
        ("1970-01-01", Some(0)),
        ("2024-02-29", Some(19_782)),
        ("2023-02-29", None),
        ("0001-01-01", Some(-719_162)),
        ("0001-12-31 (BC)", Some(-719_163)),
        ("5001-01-01 (BC)", Some(-2_545_740)),
        ("5881580-07-10", Some(i32::MAX - 1)),
        ("infinity", Some(i32::MAX)),
        ("2024-13-01", None),
        ("today", None),
    ] {
        assert_eq!(date(text), expected, "{text}");
    }
    for (text, expected) in [
        ("00:00:00", Some(0)),
        ("24:00:00", Some(86_400_000_000_000)),
        ("12:00:00.5", Some(43_200_500_000_000)),
        ("23:59:59.999999999", Some(86_399_999_999_999)),
        ("24:00:01", None),
        ("1:2:3", Some(3_723_000_000_000)),
        ("12:60:00", None),
        ("12", None),
    ] {
        assert_eq!(time(text), expected, "{text}");
    }
    for (text, expected) in [
        ("1970-01-01 00:00:00.000001", Some(1000)),
        ("1970-01-01 00:00:00+00", Some(0)),
        ("1970-01-01 02:30:00+02:30", Some(0)),
        ("1969-12-31 19:00:00-05", Some(0)),
        ("1970-01-01T00:00:01Z", Some(1_000_000_000)),
        ("1970-01-02", Some(86_400_000_000_000)),
        ("0001-12-31 (BC) 00:00:00", Some(-62_135_683_200_000_000_000)),
        ("now", None),
    ] {
        assert_eq!(timestamp(text), expected, "{text}");
    }
}

#[test]
fn decimals_lose_no_digit() {
    for (text, scale, expected) in [
        ("1.25", 2, Some(125)),
        ("-1.5", 2, Some(-150)),
        ("0", 0, Some(0)),
        (".5", 1, Some(5)),
        ("1.250", 2, Some(125)),
        ("1.251", 2, None),
        ("1e3", 0, None),
        ("", 0, None),
        ("-", 0, None),
        ("99999999999999999999999999999999999999", 0, Some(10i128.pow(38) - 1)),
        ("999999999999999999999999999999999999999999", 0, None),
    ] {
        assert_eq!(decimal(text, scale), expected, "{text}");
    }
}

#[test]
fn blobs_are_unescaped() {
    assert_eq!(blob("\\x00\\xFF'a").unwrap(), b"\x00\xff'a");
    for wrong in ["\\", "\\x0", "\\y00", "\\xzz", "\\x0\u{e9}"] {
        assert_eq!(blob(wrong), None, "{wrong}");
    }
}

/// Each as DuckDB 1.5.5 casts it.
#[test]
fn nested_values_are_taken_apart_as_duckdb_does() {
    let value = |text: &str| Some(text.to_owned());
    for (text, expected) in [
        (r"['it\'s', x]", Some(vec![value("it's"), value("x")])),
        (r"[back\slash, x]", Some(vec![value(r"back\slash"), value("x")])),
        (r"['back\slash']", Some(vec![value("backslash")])),
        ("['it''s']", Some(vec![value("its")])),
        ("['']", Some(vec![value("")])),
        ("[, x]", Some(vec![value(""), value("x")])),
        ("[x, ]", Some(vec![value("x"), value("")])),
        (" [] ", Some(vec![])),
        ("[ a , b ]", Some(vec![value("a"), value("b")])),
        ("[' a ']", Some(vec![value(" a ")])),
        ("[NULL, null, 'NULL']", Some(vec![None, None, value("NULL")])),
        (r"[a\\b]", Some(vec![value(r"a\\b")])),
        (r"['a\\b']", Some(vec![value(r"a\b")])),
        ("[{'a':1}, [2,3]]", Some(vec![value("{'a':1}"), value("[2,3]")])),
        ("[['a]', b], NULL]", Some(vec![value("['a]', b]"), None])),
        ("['a' 'b']", Some(vec![value("a b")])),
        ("[\"a'b\"]", Some(vec![value("a'b")])),
        ("[a]b]", None),
        ("[a", None),
        ("['a]", None),
        ("", None),
    ] {
        assert_eq!(list(text), expected, "{text}");
    }
    for (text, expected) in [
        ("{'a': 'it''s'}", Some(vec![("a", value("its"))])),
        ("{a: b c , 'd': }", Some(vec![("a", value("b c")), ("d", value(""))])),
        ("{'a': {'b': 1}, 'c': NULL}", Some(vec![("a", value("{'b': 1}")), ("c", None)])),
        ("{}", Some(vec![])),
        ("{'a'}", None),
        (r"{'a': 'x\'}", None),
    ] {
        let expected = expected.map(|fields| fields.into_iter().map(|(k, v)| (k.to_owned(), v)).collect());
        assert_eq!(fields(text), expected, "{text}");
    }
    let map = "{''=[''], 'k=v'=a, k=v=w, l=NULL}";
    let expected = [("", Some("['']")), ("k=v", Some("a")), ("k", Some("v=w")), ("l", None)];
    let expected = expected.map(|(k, v)| (value(k), v.map(str::to_owned)));
    assert_eq!(entries(map), Some(expected.to_vec()));
}

/// As DuckDB writes a text within a list.
fn written(text: &str) -> String {
    let special = |c: char| " \t\n\r,[]{}()'\":=".contains(c);
    if text.is_empty() || text.eq_ignore_ascii_case("null") || text.contains(special) {
        format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
    } else {
        text.to_owned()
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(texts in prop::collection::vec("[a-zN\\\\ \t,\\[\\]{}()'\":=]{0,6}|NULL", 0..5)) {
        let row = format!("[{}]", texts.iter().map(|text| written(text)).collect::<Vec<_>>().join(", "));
        let nested = format!("[{row}]");
        let expected: Vec<_> = texts.into_iter().map(Some).collect();
        let inner = list(&nested).unwrap();
        prop_assert_eq!(inner.len(), 1);
        prop_assert_eq!(list(inner[0].as_ref().unwrap()), Some(expected.clone()));
        prop_assert_eq!(list(&row), Some(expected));
    }

    #[test]
    fn no_text_is_too_bad(text in ".{0,40}", odd in "[\\[{(]?[-0-9a-fx:.+'\"\\\\,= ]{0,20}[\\]})]?") {
        for text in [&text, &odd] {
            let _ = (boolean(text), decimal(text, 3), date(text), time(text), timestamp(text), blob(text));
            let _ = (list(text), fields(text), entries(text));
        }
    }
}
