//! The hash of metadata that Java keeps in a Hive metastore, against Java's own.

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use lakelock_iceberg::metadata::TableDocument;
use serde_json::{Value, json};
use tempfile::TempDir;

use lakelock_interop::judge;

fn ours(file: &Path) -> String {
    let location = file.to_str().unwrap();
    let document = TableDocument::read(&fs::read(file).unwrap(), location).unwrap();
    BASE64.encode(document.java_sha256().unwrap())
}

fn assert_javas(file: &Path) {
    let java = judge::run(&["hash", file.to_str().unwrap()]);
    assert_eq!(ours(file), java.trim(), "{}", file.display());
}

fn metadata_files(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder.join("metadata")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.to_str().unwrap().ends_with(".metadata.json")).collect()
}

#[test]
fn of_what_java_wrote() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/fixtures/small-table");
    let mut files = metadata_files(&fixtures);
    let scenarios = judge::run(&["scenarios"]);
    let folders: Vec<_> = scenarios.lines().map(|_| TempDir::new().unwrap()).collect();
    for (scenario, folder) in scenarios.lines().zip(&folders) {
        judge::run(&["write", scenario, folder.path().to_str().unwrap()]);
        files.extend(metadata_files(folder.path()));
    }
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        assert_javas(&file);
    }
}

#[test]
fn of_every_field_in_whatever_order_and_form() {
    let folder = TempDir::new().unwrap();
    for (name, document) in [("v3", document()), ("v2", of_version_2(document())), ("bare", bare())] {
        let file = folder.path().join(format!("{name}.metadata.json"));
        fs::write(&file, document.to_string()).unwrap();
        assert_javas(&file);
    }
}

/// All that metadata can hold, with fields turned around, unknown ones between them, and values not as Java writes them.
fn document() -> Value {
    json!({
        "metadata-log": [{"timestamp-ms": 1_700_000_000_000_i64, "metadata-file": "/w/m0"}],
        "snapshot-log": [
            {"timestamp-ms": 1_700_000_000_001_i64, "snapshot-id": 11, "future": 1},
            {"timestamp-ms": 1_700_000_000_002_i64, "snapshot-id": 12},
        ],
        "partition-statistics": [{"snapshot-id": 12, "statistics-path": "/w/p", "file-size-in-bytes": 3}],
        "statistics": [{
            "snapshot-id": 12, "statistics-path": "/w/s.puffin", "file-size-in-bytes": 9, "file-footer-size-in-bytes": 4,
            "blob-metadata": [
                {"type": "b", "snapshot-id": 12, "sequence-number": 2, "fields": [2, 1], "properties": {"z": "1", "a": "2"}},
                {"type": "c", "snapshot-id": 12, "sequence-number": 2, "fields": [], "properties": {}},
            ],
        }],
        "snapshots": [
            {"snapshot-id": 11, "sequence-number": 1, "timestamp-ms": 1_700_000_000_001_i64, "manifest-list": "/w/l1",
             "summary": {"z": "1", "operation": "append", "a": "\u{1f}\"\\/é\u{2028}😀\n"}, "schema-id": 0, "key-id": "m1",
             "first-row-id": 0, "added-rows": 10},
            {"snapshot-id": 12, "parent-snapshot-id": 11, "sequence-number": 2, "timestamp-ms": 1_700_000_000_002_i64,
             "manifest-list": "/w/l2", "summary": {"operation": "delete"}, "schema-id": 1, "first-row-id": 10,
             "added-rows": 0, "key-id": "m1", "future": {}},
        ],
        "encryption-keys": [
            {"key-id": "kek", "encrypted-key-metadata": "AAEC/+8=", "properties": {"KEY_TIMESTAMP": "1"}, "encrypted-by-id": "keyA"},
            {"encrypted-by-id": "kek", "key-id": "m1", "encrypted-key-metadata": "", "properties": {}},
        ],
        "refs": {
            "z": {"type": "tag", "snapshot-id": 11, "max-ref-age-ms": 5},
            "main": {"type": "branch", "snapshot-id": 12},
            "a": {"type": "branch", "snapshot-id": 11, "max-ref-age-ms": 7, "max-snapshot-age-ms": 6, "min-snapshots-to-keep": 2},
        },
        "next-row-id": 10,
        "current-snapshot-id": 12,
        "properties": {"z": "1", "encryption.key-id": "keyA", "a": "\u{7f}<'&", "empty": ""},
        "sort-orders": [
            {"order-id": 0, "fields": []},
            {"fields": [{"null-order": "nulls-last", "direction": "desc", "source-id": 1, "transform": "identity"},
                {"null-order": "nulls-first", "direction": "asc", "source-id": 2, "transform": "truncate[3]"}], "order-id": 1},
        ],
        "default-sort-order-id": 1,
        "last-partition-id": 1001,
        "partition-specs": [
            {"fields": [], "spec-id": 0},
            {"spec-id": 1, "fields": [
                {"field-id": 1000, "source-id": 1, "transform": "bucket[16]", "name": "b"},
                {"field-id": 1001, "source-id": 5, "transform": "day", "name": "d"},
            ]},
        ],
        "default-spec-id": 1,
        "schemas": [
            {"fields": [{"id": 1, "name": "id", "required": true, "type": "long"}], "schema-id": 0, "type": "struct"},
            {"type": "struct", "identifier-field-ids": [2, 1], "schema-id": 1, "fields": fields()},
        ],
        "current-schema-id": 1,
        "last-column-id": 60,
        "last-updated-ms": 1_700_000_000_002_i64,
        "last-sequence-number": 2,
        "location": "/w/t/",
        "table-uuid": "fb072c92-a02b-11e9-ae9c-1bb7bc9eca94",
        "format-version": 3,
        "future": {"x": [1.5]},
    })
}

fn fields() -> Value {
    let defaults = [
        ("boolean", json!(true)),
        ("int", json!(-7)),
        ("long", json!(9_007_199_254_740_993_i64)),
        ("float", json!(0.100_000_001_490_116_12)),
        ("float", json!(1e10)),
        ("double", json!(1234.5)),
        ("double", json!(1.5e-7)),
        ("double", json!(-1e22)),
        ("decimal(9,2)", json!("-1.50")),
        ("decimal(38, 0)", json!("12345678901234567890123456789012345678")),
        ("date", json!("1969-12-31")),
        ("time", json!("01:02:03.120000")),
        ("time", json!("01:02:00")),
        ("timestamp", json!("2020-01-02T03:04:00.000000")),
        ("timestamptz", json!("2020-01-02T03:04:05.000100+00:00")),
        ("string", json!("a\u{1}\"é")),
        ("uuid", json!("F79C3E09-677C-4BBD-A479-3F349CB785E7")),
        ("fixed[3]", json!("0a0bff")),
        ("binary", json!("00ff")),
    ];
    let mut fields = vec![
        json!({"id": 1, "name": "id", "required": true, "type": "long", "doc": "an \"id\"", "future": 1}),
        json!({"id": 2, "required": true, "name": "größe", "type": "string", "doc": null}),
        json!({"id": 3, "required": false, "name": "l", "type": {"element-required": true, "element": "decimal(5,1)",
            "element-id": 6, "type": "list"}}),
        json!({"id": 4, "required": false, "name": "m", "type": {"key-id": 7, "value-id": 8, "key": "string",
            "value": {"fields": [{"type": "binary", "id": 9, "name": "x", "required": false, "doc": ""}], "type": "struct"},
            "value-required": false, "type": "map"}}),
        json!({"id": 5, "required": false, "name": "t", "type": "timestamp"}),
    ];
    for ((of_type, default), id) in defaults.iter().zip(20..) {
        fields.push(json!({"write-default": default, "initial-default": default, "id": id, "name": format!("c{id}"),
            "required": false, "type": of_type}));
    }
    Value::from(fields)
}

fn of_version_2(mut document: Value) -> Value {
    document["format-version"] = json!(2);
    for snapshot in document["snapshots"].as_array_mut().unwrap() {
        for field in ["first-row-id", "added-rows"] {
            snapshot.as_object_mut().unwrap().remove(field);
        }
    }
    let fields = document["schemas"][1]["fields"].as_array_mut().unwrap();
    fields.truncate(5);
    document["next-row-id"].take();
    document
}

/// As little as a table can be.
fn bare() -> Value {
    let mut document = document();
    let fields = document.as_object_mut().unwrap();
    let optional = [
        "metadata-log",
        "snapshot-log",
        "partition-statistics",
        "statistics",
        "snapshots",
        "encryption-keys",
        "refs",
        "current-snapshot-id",
        "properties",
        "future",
    ];
    fields.retain(|name, _| !optional.contains(&name.as_str()));
    document
}
