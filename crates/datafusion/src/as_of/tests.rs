use datafusion::sql::sqlparser::dialect::GenericDialect;

use super::*;

fn rewritten(text: &str) -> Result<String> {
    let options = Options { dialect: &GenericDialect {}, lower_case: true, zone: "+01:00".parse().unwrap() };
    rewrite(text, &options).map(Cow::into_owned)
}

#[test]
fn clauses_become_part_of_the_name_before_them() {
    let cases = [
        ("select 1 from db.T version as of 12 where x", "select 1 from db.\"t@version=12\" where x"),
        ("from t VERSION  AS\nOF -12 as b", "from \"t@version=-12\" as b"),
        ("from t for system_version as of 'side'", "from \"t@version=side\""),
        ("from \"T\"\"x\" version as of \"si de\";", "from \"T\"\"x@version=si de\";"),
        ("from t version as of '12'", "from \"t@version=12\""),
        ("from t timestamp as of '2026-01-02 03:04:05'", "from \"t@timestamp=2026-01-02T02:04:05.000Z\""),
        ("from t timestamp as of '2026-01-02T03:04:05.678Z'", "from \"t@timestamp=2026-01-02T03:04:05.678Z\""),
        ("from t timestamp as of '2026-01-02T03:04:05-02:00'", "from \"t@timestamp=2026-01-02T05:04:05.000Z\""),
        ("from t for system_time as of '2026-01-02'", "from \"t@timestamp=2026-01-01T23:00:00.000Z\""),
        ("from t timestamp as of date '2026-01-02'", "from \"t@timestamp=2026-01-01T23:00:00.000Z\""),
        ("from t timestamp as of 1767322845", "from \"t@timestamp=2026-01-02T03:00:45.000Z\""),
        ("from t timestamp as of 1.0019", "from \"t@timestamp=1970-01-01T00:00:01.001Z\""),
        ("from t timestamp as of -0.0005", "from \"t@timestamp=1969-12-31T23:59:59.999Z\""),
        // Two in one statement, and what is between and behind them as it was.
        (
            "select 'é\n''', e'\\n' from é version as of 1, -- x\n  /* y */ t version as of 2 b, c",
            "select 'é\n''', e'\\n' from \"é@version=1\", -- x\n  /* y */ \"t@version=2\" b, c",
        ),
        // No clauses.
        ("select version as of, timestamp as of from t", "select version as of, timestamp as of from t"),
        ("select 'x version as of 1' from t", "select 'x version as of 1' from t"),
        ("select 'unfinished", "select 'unfinished"),
        ("", ""),
    ];
    for (text, expected) in cases {
        assert_eq!(rewritten(text).unwrap(), expected, "{text}");
    }
}

#[test]
fn what_is_no_version_is_an_error() {
    for text in [
        "from t version as of 1.5",
        "from t version as of 99999999999999999999",
        "from t timestamp as of 'soon'",
        "from t timestamp as of 1e400",
        "from t timestamp as of 9223372036854775807",
        "from t timestamp as of current_timestamp()",
        "from t timestamp as of (select 1)",
    ] {
        assert!(rewritten(text).is_err(), "{text}");
    }
}
