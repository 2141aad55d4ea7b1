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
fn statements_come_from_arguments_files_and_pipes() {
    let folder = lake();
    folder.write("q.sql", "-- a comment\nselect count(*) as n\nfrom main.t.a;\n");
    let expected = "{\"n\":3}\n";
    assert_eq!(folder.ok(&["sql", "-f", "q.sql", "-o", "json"]), expected);
    let piped = outcome(folder.command(&["sql", "-o", "json"]).write_stdin("select count(*) as n from t.a"));
    assert_eq!(piped.stdout, expected, "{}", piped.stderr);
    assert_eq!(folder.ok(&["sql", "select max(_row_id) as n from t.a", "-o", "json"]), "{\"n\":2}\n");
}

#[test]
fn what_changes_something_is_refused() {
    let folder = lake();
    for statement in [
        "drop table t.a",
        "insert into t.a values (4, 'four')",
        "delete from t.a",
        "create view v as select 1",
        "create external table x stored as parquet location '/'",
        "copy t.a to 'out.csv'",
        "set datafusion.execution.batch_size = 1",
        "explain analyze insert into t.a values (4, 'four')",
    ] {
        let error = folder.fails(2, &["sql", statement]);
        assert!(error.contains("only reads"), "{statement}: {error}");
    }
    assert!(!folder.path("out.csv").exists());
    assert_eq!(folder.json(&["sql", "select count(*) as n from t.a"])[0]["n"], 3);
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
