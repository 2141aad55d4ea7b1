//! `inspect`.

use serde_json::Value;

use crate::support::Folder;

fn inspect(folder: &Folder, file: &std::path::Path, more: &[&str]) -> Value {
    let arguments = [&["inspect", file.to_str().unwrap(), "-o", "json"], more].concat();
    serde_json::from_str(&folder.ok(&arguments)).unwrap()
}

#[test]
fn each_kind_of_file_is_known() {
    let folder = Folder::with_lake();
    folder.write("a.csv", "id,name\n1,one\n2,two\n");
    folder.ok(&["load", "t.secret", "a.csv", "--create", "--key", "k"]);
    folder.ok(&["load", "t.open", "a.csv", "--create", "--plaintext"]);
    folder.write("blob", [0xff, 0x00]);
    let of = |table: &str, part: &str| {
        let inside = format!("/{table}/");
        folder.files(part).into_iter().find(|file| file.to_string_lossy().contains(&inside)).expect(part)
    };
    let cases = [
        (of("secret", ".parquet"), "Parquet with an encrypted footer (PARE)", true),
        (of("open", ".parquet"), "Parquet (PAR1)", false),
        (of("secret", "snap-"), "AES GCM stream (AGS1)", true),
        (of("open", "snap-"), "Iceberg manifest list (Avro)", false),
        (of("open", "-m0.avro"), "Iceberg manifest (Avro)", false),
        (of("secret", "00001-"), "Iceberg table metadata", false),
        (folder.path("catalog.db"), "SQLite database", false),
    ];
    for (file, format, encrypted) in cases {
        let report = inspect(&folder, &file, &[]);
        assert_eq!((&report["format"], &report["encrypted"]), (&format.into(), &encrypted.into()), "{report}");
        assert_eq!(report["stored_length"], std::fs::metadata(&file).unwrap().len());
        assert!(report.get("damaged").is_none(), "{report}");
    }
    let pare = inspect(&folder, &of("secret", ".parquet"), &[]);
    assert_eq!((&pare["algorithm"], &pare["aad_prefix"]), (&"AES_GCM_V1".into(), &"supplied by the reader".into()));
    let list = inspect(&folder, &of("secret", "snap-"), &[]);
    assert_eq!((&list["blocks"], &list["block_length"]), (&1.into(), &1_048_576.into()));
    assert_eq!(list["plaintext_length"].as_u64().unwrap() + 36, list["stored_length"].as_u64().unwrap());
    assert!(folder.ok(&["inspect", of("secret", "snap-").to_str().unwrap()]).contains("encrypted"));
    // CSV has the names and values of JSON.
    let csv = folder.ok(&["inspect", of("secret", "snap-").to_str().unwrap(), "-o", "csv"]);
    for line in
        ["key,value", "encrypted,true", "block_length,1048576", &format!("stored_length,{}", list["stored_length"])]
    {
        assert!(csv.lines().any(|found| found == line), "{line} in\n{csv}");
    }

    let unknown = inspect(&folder, &folder.path("blob"), &[]);
    assert_eq!((&unknown["format"], &unknown["encrypted"]), (&"unknown".into(), &Value::Null));

    // A relative path may lead out of the folder and back.
    let outside = format!("../{}/blob", folder.path("").file_name().unwrap().to_string_lossy());
    assert_eq!(inspect(&folder, outside.as_ref(), &[])["stored_length"], 2);

    // A cut file is still told, as damaged.
    let bytes = std::fs::read(of("secret", ".parquet")).unwrap();
    folder.write("cut.parquet", &bytes[..bytes.len() - 1]);
    assert!(inspect(&folder, &folder.path("cut.parquet"), &[])["damaged"].as_str().unwrap().contains("PARE"));
}

#[test]
fn with_its_table_a_file_is_opened_and_its_keys_stay_hidden() {
    let folder = Folder::with_lake();
    folder.write("a.csv", "id,day,name\n1,2024-02-29,one\n2,2024-03-01,two\n");
    let schema = "id long, day date, name string";
    folder.ok(&["load", "t.a", "a.csv", "--create", "--key", "k", "--schema", schema, "--partition-by", "day"]);
    let with_table = |part: &str| inspect(&folder, &folder.files(part)[0], &["--table", "t.a"]);

    let list = with_table("snap-");
    assert_eq!(list["kind"], "manifest list");
    // Ids of snapshots are text wherever they are.
    let snapshot = &folder.json(&["table", "history", "t.a"])[0]["snapshot_id"];
    assert!(snapshot.is_string() && *snapshot == list["snapshot_id"], "{list}");
    assert_eq!(*snapshot, list["manifests"][0]["added_snapshot_id"]);
    assert_eq!(list["manifests"][0]["added_rows_count"], 2);
    assert_eq!(list["manifests"][0]["key_metadata"]["encryption_key"], "[redacted]");
    assert_eq!(list["manifests"][0]["partitions"][0]["lower_bound"], "2024-02-29");

    let manifest = with_table("-m0.avro");
    assert_eq!(manifest["kind"], "manifest");
    let entries = manifest["manifest"]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2);
    for entry in entries {
        assert_eq!((&entry["status"], &entry["snapshot_id"]), (&"added".into(), snapshot));
        let file = &entry["data_file"];
        assert_eq!(file["key_metadata"]["encryption_key"], "[redacted]");
        assert_eq!(file["lower_bounds"]["day"], file["partition"]["day"]);
        assert_eq!(file["upper_bounds"]["name"], if file["lower_bounds"]["id"] == 1 { "one" } else { "two" });
    }

    let data = with_table(".parquet");
    assert_eq!(data["entry"]["data_file"]["record_count"], 1);

    let file = folder.files("snap-").remove(0);
    let error = folder.fails(2, &["inspect", file.to_str().unwrap(), "--table", "t.a", "-o", "csv"]);
    assert!(error.contains("--output json"), "{error}");

    folder.write("other", "x");
    assert!(folder.fails(1, &["inspect", "other", "--table", "t.a"]).contains("not a file of t.a"));

    // The table's metadata, the current one and the one before, needs no key.
    std::fs::remove_file(folder.path("keystore.key")).unwrap();
    let files = folder.files(".metadata.json");
    for (file, id) in [(&files[1], snapshot), (&files[0], &Value::Null)] {
        let metadata = inspect(&folder, file, &["--table", "t.a"]);
        assert_eq!(metadata["format"], "Iceberg table metadata");
        assert_eq!(&metadata["current_snapshot_id"], id);
    }
}
