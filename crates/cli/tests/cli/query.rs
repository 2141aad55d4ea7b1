//! `sql`.

use crate::support::{Folder, outcome};

fn lake() -> Folder {
    let folder = Folder::with_lake();
    folder.write("a.csv", "id,name\n1,one\n2,\n3,three\n");
    folder.ok(&["load", "t.a", "a.csv", "--create", "--key", "k"]);
    folder
}

#[test]
fn rows_in_three_formats() {
    let folder = lake();
    let statement = "select id, name from t.a order by id limit 2;";
    let run = folder.run(&["sql", statement]);
    assert_eq!(run.stdout, " id │ name\n────┼──────\n  1 │ one\n  2 │ NULL\n");
    assert!(run.stderr.starts_with("2 rows in 0."), "{}", run.stderr);
    assert_eq!(folder.ok(&["sql", statement, "-o", "json"]), "{\"id\":1,\"name\":\"one\"}\n{\"id\":2,\"name\":null}\n");
    assert_eq!(folder.ok(&["sql", statement, "-o", "csv"]), "id,name\n1,one\n2,\n");
    assert_eq!(folder.run(&["-q", "sql", statement]).stderr, "");
}

#[test]
fn plans_are_shown_as_they_are() {
    let folder = lake();
    let plan = folder.ok(&["sql", "explain select id from t.a where id > 1"]);
    assert!(plan.starts_with("logical_plan\n  ") && plan.contains("\nphysical_plan\n  "), "{plan}");
    assert!(!plan.contains("\\n") && plan.contains("\n    TableScan: t.a"), "{plan}");
    assert_eq!(folder.json(&["sql", "explain select 1"])[0]["plan_type"], "logical_plan");
}

#[test]
fn statements_come_from_arguments_files_and_pipes() {
    let folder = lake();
    folder.write("q.sql", "-- a comment\nselect count(*) as n\nfrom main.t.a;\n");
    let expected = "{\"n\":3}\n";
    assert_eq!(folder.ok(&["sql", "-f", "q.sql", "-o", "json"]), expected);
    let piped = outcome(folder.command(&["sql", "-o", "json"]).write_stdin("select count(*) as n from t.a"));
    assert_eq!(piped.stdout, expected, "{}", piped.stderr);
    // Several run one after the other, up to one that fails.
    let several = "select 1 as a; -- ;\nselect ';' as\nb;\ninsert into t.a values (4, ';');selec 3; select 4";
    let run = outcome(folder.command(&["sql", "-o", "csv"]).write_stdin(several));
    assert_eq!((run.code, run.stdout.as_str()), (2, "a\n1\nb\n;\n"), "{}", run.stderr);
    assert!(run.stderr.contains("error: statement 4 of 5 failed\n"), "{}", run.stderr);
    assert!(folder.fails(2, &["sql", " ; -- nothing"]).contains("no statement"));
    assert_eq!(folder.ok(&["sql", "select name from t.a where id = 4", "-o", "csv"]), "name\n;\n");
    assert_eq!(folder.ok(&["sql", "select max(_row_id) as n from t.a", "-o", "json"]), "{\"n\":3}\n");
}

#[test]
fn earlier_versions_and_metadata_can_be_queried() {
    let folder = lake();
    folder.write("b.csv", "id,name\n4,four\n");
    folder.ok(&["load", "t.a", "b.csv"]);
    let snapshots = folder.json(&["sql", "select snapshot_id, operation from t.a.snapshots order by committed_at"]);
    let ids: Vec<i64> = snapshots.iter().map(|row| row["snapshot_id"].as_i64().unwrap()).collect();
    assert_eq!(ids.len(), 2);
    for (version, rows) in [(format!("version as of {}", ids[0]), 3), ("version as of 'main'".to_owned(), 4)] {
        let count = format!("select count(*) as n, count(_row_id) as ids from main.t.a {version}");
        assert_eq!(folder.json(&["sql", &count])[0], serde_json::json!({"n": rows, "ids": rows}), "{version}");
    }
    // The text [redacted], in hexadecimal digits.
    let files = folder.json(&["sql", "select key_metadata, record_count from t.a.files order by 2"]);
    assert_eq!(files[0], serde_json::json!({"key_metadata": "5b72656461637465645d", "record_count": 1}));
    let error = folder.fails(1, &["sql", "select * from t.a version as of 'nowhere'"]);
    assert!(error.contains("nowhere"), "{error}");
    let run = folder.run(&["sql", "insert into t.a version as of 'main' values (5, 'five')"]);
    assert!(run.code != 0 && run.stderr.contains("INSERT into a version"), "{}", run.stderr);
    let error = folder.fails(2, &["sql", "select x from t.a.files version as of 'main'"]);
    assert!(error.contains("no column x") && !error.contains("table list"), "{error}");
    let error = folder.fails(2, &["sql", "select * from t.a timestamp as of 'soon'"]);
    assert!(error.contains("2026-01-02 03:04:05"), "{error}");
}

#[test]
fn rows_are_inserted_in_one_commit() {
    let folder = lake();
    let run = folder.run(&["sql", "insert into t.a values (4, 'four'), (5, null)"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert!(run.stderr.starts_with("inserted 2 rows in "), "{}", run.stderr);
    folder.ok(&["sql", "insert into t.a (name) select name from t.a where id = 4"]);
    assert_eq!(
        folder.ok(&["sql", "select * from t.a where id is null or id > 3 order by id", "-o", "csv"]),
        "id,name\n4,four\n5,\n,four\n"
    );
    assert_eq!(folder.json(&["table", "history", "t.a"]).len(), 3);
    assert!(
        folder.run(&["sql", "insert into t.a select * from t.a where false"]).stderr.starts_with("inserted 0 rows")
    );
    assert_eq!(folder.json(&["table", "history", "t.a"]).len(), 3);
}

#[test]
fn an_insert_that_fails_leaves_nothing() {
    let folder = lake();
    let before = folder.warehouse();
    let error = folder.fails(2, &["sql", "insert into t.a values (1, 123456789012345678.25)"]);
    assert!(error.contains("would lose digits") && error.contains("'123456789012345678.25'"), "{error}");
    // In the last of many rows; and the key that the commit needs is gone.
    let late = "insert into t.a select cast(case when i < 50000 then '1' else 'x' end as bigint), 'n' \
                from generate_series(1, 50000) as s(i)";
    let error = folder.fails(1, &["sql", late]);
    assert!(error.contains("'x'"), "{error}");
    assert_eq!(folder.warehouse(), before);
    std::fs::remove_file(folder.path("keystore.json")).unwrap();
    folder.ok(&["keystore", "create-key", "other"]);
    let error = folder.fails(1, &["sql", "insert into t.a values (4, 'four')"]);
    assert!(error.contains("\"k\""), "{error}");
    assert_eq!(folder.warehouse(), before);
}

#[test]
fn what_changes_something_else_is_refused() {
    let folder = lake();
    let before = folder.warehouse();
    for statement in [
        "drop table t.a",
        "delete from t.a",
        "update t.a set id = 0",
        "insert overwrite t.a values (4, 'four')",
        "create view v as select 1",
        "create external table x stored as parquet location '/'",
        "copy t.a to 'out.csv'",
        "set datafusion.execution.batch_size = 1",
        "explain analyze insert into t.a values (4, 'four')",
    ] {
        let error = folder.fails(2, &["sql", statement]);
        assert!(error.contains(" is not supported\nhint: "), "{statement}: {error}");
    }
    assert!(!folder.path("out.csv").exists());
    assert_eq!(folder.warehouse(), before);
}

#[test]
fn a_name_in_another_case_is_hinted_at() {
    let folder = Folder::with_lake();
    folder.write("a.csv", "Id\n1\n");
    folder.ok(&["load", "Shop.Orders", "a.csv", "--create", "--key", "k"]);
    for (statement, hint) in [
        ("select * from Shop.Orders", "write \"Shop\".\"Orders\""),
        ("insert into main.\"Shop\".orders values (1)", "write \"Shop\".\"Orders\""),
        ("select * from \"Orders\"", "a table's name has its namespace before it: write \"Shop\".\"Orders\""),
        ("select id from \"Shop\".\"Orders\"", "write \"Id\""),
        ("select o.ID from \"Shop\".\"Orders\" o", "write \"Id\""),
    ] {
        let error = folder.fails(2, &["sql", statement]);
        assert!(error.contains(hint), "{statement}: {error}");
    }
    assert!(folder.fails(2, &["sql", "select * from shop.other"]).contains("`lakelock table list`"));
    assert_eq!(folder.ok(&["sql", "select \"Id\" from \"Shop\".\"Orders\"", "-o", "csv"]), "Id\n1\n");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let folder = lake();
    let script = format!(
        "{} sql 'select a.id from t.a a, t.a b, t.a c, t.a d, t.a e, t.a f, t.a g, t.a h' -q -o csv | head -n 1",
        assert_cmd::cargo::cargo_bin!("lakelock").display()
    );
    let mut shell = assert_cmd::Command::new("sh");
    let run = outcome(shell.args(["-c", &script]).current_dir(folder.path("")).env("HOME", folder.path("")));
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("id\n", ""));
}
