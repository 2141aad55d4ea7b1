//! `load`: each format, and that a bad row leaves nothing behind.

use std::sync::Arc;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;

use crate::support::Folder;

const ALL_TYPES: &str = "b boolean, i int, l long, f float, d double, n decimal(9, 2), day date, t time, \
    ts timestamp, tz timestamptz, ns timestamp_ns, s string, u uuid, x fixed(2), y binary, \
    list list<int>, m map<string, double>, st struct<a: int, b: string>";

const ROW: &str = r#"{"b":true,"i":-1,"l":9007199254740993,"f":1.5,"d":0.1,"n":"12.50","day":"2024-02-29","t":"23:59:59.999999","ts":"2024-02-29T01:02:03.000004","tz":"2024-02-29T01:02:03.000004+00:00","ns":"2024-02-29T01:02:03.000000004","s":"é,\"\n","u":"f79c3e09-677c-4bbd-a479-3f349cb785e7","x":"00ff","y":"","list":[1,null],"m":[["k","NaN"]],"st":{"a":null,"b":"x"}}"#;

fn parquet_file(folder: &Folder, name: &str, ids: &[i64]) {
    let ids = Int64Array::from(ids.to_vec());
    let names = StringArray::from_iter_values(ids.values().iter().map(|id| format!("name {id}")));
    let columns = [("id", Arc::new(ids) as _, true), ("name", Arc::new(names) as _, true)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    folder.write(name, writer.into_inner().unwrap());
}

/// What is written out as JSON or CSV is read back the same, for every type.
#[test]
fn every_type_makes_the_round_trip() {
    let folder = Folder::with_lake();
    folder.write("all.jsonl", format!("{ROW}\n\n{{}}\n"));
    folder.ok(&["load", "t.a", "all.jsonl", "--create", "--key", "k", "--schema", ALL_TYPES]);
    // The types are told as they were given.
    let described: serde_json::Value =
        serde_json::from_str(&folder.ok(&["table", "describe", "t.a", "-o", "json"])).unwrap();
    let columns = described["columns"].as_array().unwrap().iter();
    let told: Vec<_> =
        columns.map(|c| format!("{} {}", c["name"].as_str().unwrap(), c["type"].as_str().unwrap())).collect();
    assert_eq!(told.join(", "), ALL_TYPES);
    let json = folder.ok(&["sql", "select * from t.a order by b", "-o", "json"]);
    assert_eq!(json.lines().next().unwrap(), ROW);
    assert_eq!(json.lines().nth(1).unwrap().matches("null").count(), 18);

    folder.write("all.csv", folder.ok(&["sql", "select * from t.a", "-o", "csv"]));
    folder.ok(&["load", "t.b", "all.csv", "--create", "--key", "k", "--schema", ALL_TYPES]);
    assert_eq!(folder.ok(&["sql", "select * from t.b order by b", "-o", "json"]), json);
}

#[test]
fn formats_mix_and_go_into_one_commit() {
    let folder = Folder::with_lake();
    parquet_file(&folder, "a.parquet", &[1, 2]);
    folder.write("b.csv", "\u{feff}name,id\r\n\"x, y\",3\r\n\"\",\r\n");
    folder.write("c.jsonl", "\u{feff}{\"id\": 5, \"name\": \"five\"}\n{\"name\": null, \"id\": 6}\n");
    folder.write("d.tsv", "id\r7\r");
    let run = folder.run(&["load", "t.mixed", "a.parquet", "b.csv", "c.jsonl", "d.tsv", "--create", "--key", "k"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{}", run.stderr);
    assert!(run.stderr.contains("loaded 7 rows of 4 files into t.mixed"), "{}", run.stderr);
    assert_eq!(folder.json(&["table", "history", "t.mixed"]).len(), 1);
    assert_eq!(
        folder.ok(&["sql", "select * from t.mixed order by id nulls first", "-o", "csv"]),
        "id,name\n,\"\"\n1,name 1\n2,name 2\n3,\"x, y\"\n5,five\n6,\n7,\n"
    );
}

#[test]
fn csv_columns_take_inferred_types_or_the_tables() {
    let folder = Folder::with_lake();
    folder.write(
        "a.csv",
        "id,zip,price,day,at,ok,note\n1,01234,1.5,2024-02-29,2024-02-29T01:02:03Z,true,x\n2,99999,NA,,,,\n",
    );
    folder.ok(&["load", "t.a", "a.csv", "--create", "--key", "k", "--null", "NA"]);
    let json: serde_json::Value =
        serde_json::from_str(&folder.ok(&["table", "describe", "t.a", "-o", "json"])).unwrap();
    let types: Vec<_> = json["columns"].as_array().unwrap().iter().map(|c| c["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["long", "string", "double", "date", "timestamptz", "boolean", "string"]);

    // The strings of JSON are told as the fields of CSV are.
    let rows = [r#"{"at":"2024-02-29T01:02:03Z","day":"2024-02-29","s":{"n":"1"}}"#, r#"{"at":"2024-03-01","s":null}"#];
    folder.write("events.jsonl", rows.join("\n"));
    folder.ok(&["load", "t.e", "events.jsonl", "--create", "--key", "k", "--partition-by", "day(at)"]);
    let described = folder.ok(&["table", "describe", "t.e", "-o", "csv"]);
    let types: Vec<_> = described.lines().map(|line| line.split(',').nth(2).unwrap()).collect();
    assert_eq!(types, ["type", "timestamptz", "date", "struct<n: string>"]);

    folder.write("b.csv", "note;id\n7;8\n");
    folder.ok(&["load", "t.a", "b.csv", "--delimiter", ";"]);
    assert_eq!(
        folder.json(&["sql", "select note, id, zip from t.a where id = 8"])[0],
        serde_json::json!({"note": "7", "id": 8, "zip": null})
    );
}

#[test]
fn a_bad_row_is_named_and_nothing_is_left() {
    let folder = Folder::with_lake();
    folder.ok(&["table", "create", "t.a", "--key", "k", "--schema", "id int not null, at timestamp"]);
    let before = folder.warehouse();
    folder.write("good.csv", "id,at\n".to_owned() + &"1,2024-02-29\n".repeat(20_000));
    let cases: [(&str, &str, &str); 12] = [
        ("a.csv", "id,at\n1,\n\n\"x\n\",\n", "a.csv, line 4: column id: \"x\\n\" is not an int"),
        ("b.csv", "id,at\n1,2024-02-29T00:00:00Z\n", "b.csv, line 2: column at:"),
        ("c.csv", "id,at\n,\n", "c.csv, line 2: column id: there is no value"),
        ("d.csv", "id,at\n1,,3\n", "d.csv, line 2: 3 fields, but the header has 2"),
        ("e.csv", "id,more\n1,2\n", "e.csv has a column \"more\""),
        ("f.jsonl", "{\"id\": 1}\n{\"id\": 1.5}\n", "f.jsonl, line 2: column id: 1.5 is not an int"),
        ("g.jsonl", "{\"id\": 1}\n{\"id\": 1", "g.jsonl, line 2: not valid JSON"),
        ("h.jsonl", "{\"id\": 1, \"no\": 2}\n", "h.jsonl, line 1: column no:"),
        ("j.jsonl", "{\"id\": 1}\n{\"id\": 2, \"id\": 3}\n", "j.jsonl, line 2: the key \"id\" is there twice"),
        ("k.csv", "id,at\r1,\r1,24-02-29\r", "k.csv, line 3: column at: \"24-02-29\" is not a timestamp"),
        ("l.jsonl", "{\"id\": 1}\n\u{feff}{\"id\": 1}\n", "l.jsonl, line 2: not valid JSON at column 1"),
        ("i.parquet", "PAR1", "cannot read i.parquet as Parquet"),
    ];
    for (name, text, expected) in cases {
        folder.write(name, text);
        // After a good file, so that there is something to take back.
        let error = folder.fails(1, &["load", "t.a", "good.csv", name]);
        assert!(error.contains(expected), "{name}: {error}");
        assert_eq!(folder.warehouse(), before, "{name}");
    }
    parquet_file(&folder, "long.parquet", &[1, 1 << 40]);
    let error = folder.fails(1, &["load", "t.a", "long.parquet"]);
    assert!(error.contains("long.parquet"), "{error}");
    assert_eq!(folder.json(&["table", "history", "t.a"]).len(), 0);

    // A table made for the load goes with it.
    for table in ["t.new", "fresh.new"] {
        let error = folder.fails(1, &["load", table, "a.csv", "--create", "--key", "k", "--schema", "id int, at date"]);
        assert!(error.contains("a.csv, line 4"), "{error}");
    }
    let bad_property = ["--property", "write.target-file-size-bytes=0"];
    folder.fails(
        1,
        &[&["table", "create", "fresh.new", "--plaintext", "--schema", "id int"][..], &bad_property].concat(),
    );
    folder.fails(1, &["table", "register", "fresh.new", "none.json", "--plaintext"]);
    assert_eq!(folder.ok(&["namespace", "list", "-o", "csv"]), "namespace\nt\n");
    assert_eq!(folder.ok(&["table", "list", "-o", "csv"]), "table\nt.a\n");
    assert_eq!(folder.warehouse(), before);
}

#[test]
fn create_must_say_how_and_where() {
    let folder = Folder::with_lake();
    folder.write("a.csv", "id\n1\n");
    assert_eq!(folder.run(&["load", "t.a", "a.csv", "--create"]).code, 2);
    assert_eq!(folder.run(&["load", "t.a", "a.csv", "--key", "k"]).code, 2);
    folder.ok(&["load", "t.a", "a.csv", "--create", "--plaintext"]);
    let contradiction = ["load", "t.b", "a.csv", "--create", "--plaintext", "--property", "encryption.key-id=k"];
    assert!(folder.fails(2, &contradiction).contains("encryption.key-id"));
    assert!(folder.fails(1, &["load", "t.a", "a.csv", "--create", "--key", "k"]).contains("exists already"));
    assert!(folder.fails(2, &["load", "a", "a.csv"]).contains("NAMESPACE.TABLE"));
    assert!(folder.fails(2, &["load", "t.a", "lakelock.toml"]).contains("--format"));
    assert!(folder.fails(1, &["load", "t.a", "none.csv"]).contains("none.csv"));
}

/// An interrupted load takes back what it wrote, and does not wait for a pipe that stays open.
#[cfg(unix)]
#[test]
fn an_interrupted_load_leaves_nothing() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let folder = Folder::with_lake();
    folder.ok(&["table", "create", "t.a", "--key", "k", "--schema", "id long, day date", "--partition-by", "day"]);
    let before = folder.warehouse();
    for (signal, pipe) in [("-INT", "a.csv"), ("-TERM", "b.csv")] {
        assert!(Command::new("mkfifo").arg(folder.path(pipe)).status().unwrap().success());
        let program = folder.command(&["load", "t.a", pipe]).get_program().to_owned();
        let mut load = Command::new(program);
        load.args(["load", "t.a", pipe]).current_dir(folder.path(".")).stderr(Stdio::piped());
        let load = load.spawn().unwrap();
        let mut rows = std::fs::OpenOptions::new().write(true).open(folder.path(pipe)).unwrap();
        // Far more than the pipe and the queues hold: when all of it is taken, files are being written.
        rows.write_all(("id,day\n".to_owned() + &"1,2024-02-29\n".repeat(200_000)).as_bytes()).unwrap();
        assert!(Command::new("kill").args([signal, &load.id().to_string()]).status().unwrap().success());
        let ended = load.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(130), "{ended:?}");
        assert!(String::from_utf8_lossy(&ended.stderr).contains("interrupted"), "{ended:?}");
        assert_eq!(folder.warehouse(), before);
        drop(rows);
    }
}
