//! Tables that Java wrote, read as Java reads them.

use datafusion::prelude::SessionContext;
use lakelock_datafusion::LakelockTableProvider;
use lakelock_iceberg::{ErrorKind, Table};
use serde_json::Value;

use crate::tables::{failure, open, query, session};
use crate::{judge, rows};

const READABLE: [&str; 21] = [
    "types",
    "empty",
    "empty-snapshot",
    "unpartitioned",
    "plaintext",
    "partitioned-identity",
    "partitioned-identity-types",
    "partitioned-identity-fixed",
    "partitioned-bucket",
    "partitioned-truncate",
    "partitioned-year",
    "partitioned-month",
    "partitioned-day",
    "partitioned-hour",
    "partition-evolved",
    "evolved",
    "gzip-metadata",
    "many-manifests",
    "metrics-modes",
    "key32",
    "several-keks",
];

/// Everything, with the ids of the rows, which tables before version 3 do not have.
const ALL: &str = "select *, _row_id, _last_updated_sequence_number from t";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_snapshot_has_the_rows_that_java_reads() {
    for scenario in READABLE {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let table = open(written["metadata"].as_str().unwrap()).await;
        for snapshot in written["snapshots"].as_array().unwrap() {
            let id = snapshot["snapshot_id"].as_i64().unwrap();
            let expected = rows::sorted(snapshot["rows"].as_array().unwrap().clone());
            let context = session(LakelockTableProvider::try_new_at(table.clone(), id).unwrap());
            let found = rows::with_uuids(rows::of(query(&context, ALL).await).await, &["uid"]);
            assert_eq!(found, expected, "{scenario}, snapshot {id}");
        }
    }
}

/// Pruning and filters inside the reader must not change what a filter finds, whatever became of the column since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filters_find_what_they_find_without_pruning() {
    for scenario in ["types", "evolved", "partition-evolved", "partitioned-hour", "partitioned-truncate"] {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let table = open(written["metadata"].as_str().unwrap()).await;
        for pushdown in [false, true] {
            compare_filters(&table, scenario, pushdown).await;
        }
    }
}

async fn compare_filters(table: &Table, scenario: &str, pushdown: bool) {
    let pruned = session(LakelockTableProvider::try_new(table.clone()).unwrap());
    query(&pruned, &format!("set datafusion.execution.parquet.pushdown_filters = {pushdown}")).await;
    // The same rows in memory, where nothing is pruned.
    let all = query(&pruned, "select *, _row_id from t").await.cache().await.unwrap();
    let memory = SessionContext::new();
    memory.register_table("t", all.into_view()).unwrap();
    let schema = query(&pruned, "select * from t").await.schema().clone();
    for field in schema.fields() {
        let name = field.name();
        if field.data_type().is_nested() {
            continue;
        }
        let (filters, values) =
            (["=", "<>", "<", ">="], format!("select \"{name}\" from t order by _row_id limit 1 offset 3"));
        let mut conditions = vec![format!("\"{name}\" is null"), format!("\"{name}\" is not null")];
        conditions.extend(filters.map(|op| format!("\"{name}\" {op} ({values})")));
        for condition in conditions {
            let text = format!("select _row_id from t where {condition}");
            let (found, expected) = (query(&pruned, &text).await, query(&memory, &text).await);
            assert_eq!(rows::of(found).await, rows::of(expected).await, "{scenario}: {condition}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_yet_is_an_error_that_names_the_file() {
    let cases = [
        ("deletes-dv", "deletion vector", ".puffin"),
        ("deletes-equality", "equality delete file", ".parquet"),
        ("avro-data", "Avro", ".avro"),
        ("key24", "192-bit", ".parquet"),
    ];
    for (scenario, what, file) in cases {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let table = open(written["metadata"].as_str().unwrap()).await;
        let context = session(LakelockTableProvider::try_new(table).unwrap());
        let error = query(&context, "select * from t").await.collect().await.unwrap_err();
        let (kind, text) = failure(&error);
        assert_eq!(kind, ErrorKind::Unsupported, "{scenario}: {text}");
        assert!(text.contains(what) && text.contains(file), "{scenario}: {text}");
    }
}

/// Files are taken away one after the other: a query that still works did not open them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_files_that_may_match_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("partitioned-day", folder.path());
    let metadata = written["metadata"].as_str().unwrap();
    let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
    let all = rows::of(query(&context, "select id, at_utc, _file from t where at_utc is not null").await).await;
    let day = |row: &Value| row["at_utc"].as_str().unwrap()[..10].to_owned();
    let one = day(&all[0]);
    let expected = all.iter().filter(|row| day(row) == one).count();
    for row in all.iter().filter(|row| day(row) != one) {
        // Several rows share a file.
        let _ = std::fs::remove_file(row["_file"].as_str().unwrap());
    }

    let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
    let of_day = format!(
        "select id from t where at_utc >= '{one}T00:00:00Z' and at_utc < timestamp '{one}T00:00:00Z' + interval '1 day'"
    );
    assert_eq!(rows::of(query(&context, &of_day).await).await.len(), expected);
    let (kind, text) = failure(&query(&context, "select id from t").await.collect().await.unwrap_err());
    assert_eq!(kind, ErrorKind::NotFound, "{text}");

    std::fs::remove_dir_all(folder.path().join("data")).unwrap();
    let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
    let count = rows::of(query(&context, "select count(*) as n from t").await).await;
    let rows_written = written["snapshots"].as_array().unwrap().last().unwrap()["rows"].as_array().unwrap().len();
    assert_eq!(count[0]["n"], Value::from(rows_written));
}
