use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::{export::types, values};

fn column(type_text: &str) -> Column {
    types::column("c", type_text).unwrap()
}

/// Types, and texts of values as DuckDB writes them, but for quotes within others.
const VALUES: [(&str, &[&str]); 21] = [
    ("BOOLEAN", &["true", "false"]),
    ("TINYINT", &["-128", "0"]),
    ("UBIGINT", &["18446744073709551615"]),
    ("HUGEINT", &["-170141183460469231731687303715884105728"]),
    ("UHUGEINT", &["340282366920938463463374607431768211455"]),
    ("FLOAT", &["1.5", "-0.0", "nan", "-inf"]),
    ("DOUBLE", &["1e300", "0.1"]),
    ("DECIMAL(4,1)", &["-99.9", "0.0"]),
    ("DECIMAL(38,0)", &["12345678901234567890123456789012345678"]),
    ("DATE", &["2024-02-29", "0044-03-15 (BC)", "infinity", "-infinity", "5881580-07-09"]),
    ("TIME", &["00:00:00", "23:59:59.999999", "24:00:00"]),
    ("TIMESTAMP", &["1969-12-31 23:59:59.999999", "0044-03-15 (BC) 01:02:03", "infinity"]),
    ("TIMESTAMP_S", &["1999-01-01 00:00:01"]),
    ("TIMESTAMP_MS", &["1999-01-01 00:00:00.123"]),
    ("TIMESTAMP_NS", &["1999-01-01 00:00:00.123456789"]),
    ("TIMESTAMP WITH TIME ZONE", &["2024-06-01 10:00:00+00"]),
    ("VARCHAR", &["", "NULL", "it's \\ so"]),
    ("BLOB", &["a\\x00\\xFF\\x5C"]),
    ("UUID", &["303c37aa-0475-4a7b-bef6-c60856da42f4"]),
    ("INTEGER[]", &["[]", "['1', NULL]"]),
    ("STRUCT(\"a \"\"b\" INTEGER, m MAP(VARCHAR, BLOB[]))", &["{'a \"b': '1', 'm': {'it\\'s'=['\\\\x00'], ''=NULL}}"]),
];

#[test]
fn what_is_read_is_written_again() {
    for (type_text, texts) in VALUES {
        let column = column(type_text);
        for text in texts {
            let value = values::from_text(&column, text).unwrap_or_else(|| panic!("{type_text} {text}"));
            assert_eq!(super::text(&column, &value).as_deref(), Some(*text), "{type_text}");
        }
    }
}

proptest! {
    #[test]
    fn texts_in_lists_come_back(texts in prop::collection::vec(prop::option::of(any::<String>()), 0..4)) {
        let column = column("VARCHAR[][]");
        let inner = arrow::array::StringArray::from(texts);
        let elements = (0..inner.len()).map(|at| ScalarValue::try_from_array(&(Arc::new(inner.clone()) as ArrayRef), at).unwrap());
        let list = values::list_of(&column.children[0], elements.collect()).unwrap();
        let value = values::list_of(&column, vec![list]).unwrap();
        let written = super::text(&column, &value).unwrap();
        prop_assert_eq!(values::from_text(&column, &written).unwrap(), value);
    }

    #[test]
    fn days_come_back(days in any::<i32>()) {
        let column = column("DATE");
        let value = ScalarValue::Date32(Some(days));
        if let Some(read) = values::from_text(&column, &super::text(&column, &value).unwrap()) {
            prop_assert_eq!(read, value);
        } else {
            prop_assert!(days.unsigned_abs() > 2_100_000_000);
        }
    }
}
