//! Tables with Avro files, read as Java reads them.

use std::sync::Arc;

use datafusion::prelude::{SessionConfig, SessionContext};
use lakelock_datafusion::LakelockTableProvider;
use lakelock_iceberg::spec::TableUpdate;
use lakelock_iceberg::{ErrorKind, Table};
use serde_json::Value;

use crate::java_tables::{READABLE, compare_snapshots};
use crate::tables::{failure, open, query, session};
use crate::{judge, rows};

/// Every history with all of its files in Avro, and some with every other one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_history_reads_the_same_in_avro() {
    for scenario in READABLE {
        compare_snapshots(&format!("avro-{scenario}")).await;
    }
    for scenario in ["types", "deletes-dv", "deletes-upgraded", "deletes-equality-types", "deletes-equality-evolved"] {
        compare_snapshots(&format!("mixed-{scenario}")).await;
    }
}

/// Files of other programs, Parquet and Avro, whose columns have no ids.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_without_ids_are_read_by_name() {
    compare_snapshots("name-mapping").await;
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("name-mapping", folder.path());
    let metadata = written["metadata"].as_str().unwrap();
    let table = open(metadata).await;
    let context = session(LakelockTableProvider::try_new(table.clone()).unwrap());
    for (condition, expected) in [("title = 'n4'", 2), ("inner['number'] > 7", 2), ("extra = 'e1'", 1), ("id < 3", 3)] {
        let text = format!("select id from t where {condition} and id < 100");
        assert_eq!(rows::of(query(&context, &text).await).await.len(), expected, "{text}");
    }
    let removal = TableUpdate::RemoveProperties { removals: vec!["schema.name-mapping.default".to_owned()] };
    let document = Arc::new(table.document().apply(&[removal], metadata).unwrap());
    let bare = Table::new(table.identifier().clone(), document, metadata.to_owned(), table.io().clone());
    let context = session(LakelockTableProvider::try_new(bare).unwrap());
    let (kind, text) = failure(&query(&context, "select * from t").await.collect().await.unwrap_err());
    assert_eq!(kind, ErrorKind::Unsupported, "{text}");
    assert!(text.contains("other.parquet") && text.contains("name mapping"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_only_avro_has_is_read_as_java_reads_it() {
    for scenario in ["avro-plaintext", "avro-codecs", "avro-key24", "avro-compacted"] {
        compare_snapshots(scenario).await;
    }
}

/// Parts of a file are read side by side; positions and row ids stay those of the file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parts_of_a_file_have_the_rows_of_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("avro-blocks", folder.path());
    let table = open(written["metadata"].as_str().unwrap()).await;
    for snapshot in written["snapshots"].as_array().unwrap() {
        let id = snapshot["snapshot_id"].as_i64().unwrap();
        let expected = rows::sorted(snapshot["rows"].as_array().unwrap().clone());
        for partitions in [1, 3, 16] {
            let config = SessionConfig::new()
                .with_target_partitions(partitions)
                .with_batch_size(1000)
                .set_u64("datafusion.optimizer.repartition_file_min_size", 1);
            let context = SessionContext::new_with_config(config);
            let provider = LakelockTableProvider::try_new_at(table.clone(), id).unwrap();
            context.register_table("t", Arc::new(provider)).unwrap();
            let what = format!("snapshot {id}, {partitions} partitions");
            let all = "select *, _row_id, _last_updated_sequence_number from t";
            rows::assert_same(&rows::of(query(&context, all).await).await, &expected, &what);
            let own = expected.iter().map(|row| serde_json::json!({"id": row["id"]})).collect();
            let ids = rows::of(query(&context, "select id from t").await).await;
            rows::assert_same(&ids, &rows::sorted(own), &what);
            // Ids count up in each file, as they were made.
            let text = "select count(*) as wrong from t where _pos <> id % 100000";
            assert_eq!(rows::of(query(&context, text).await).await[0]["wrong"], Value::from(0), "{what}");
            let text = "select min(_row_id - _pos) as low, max(_row_id - _pos) as high from t group by _file";
            for row in rows::of(query(&context, text).await).await {
                assert_eq!(row["low"], row["high"], "{what}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_altered_avro_file_is_refused_by_name() {
    for scenario in ["avro-data", "avro-plaintext"] {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let metadata = written["metadata"].as_str().unwrap();
        let file = std::fs::read_dir(folder.path().join("data")).unwrap().next().unwrap().unwrap().path();
        let original = std::fs::read(&file).unwrap();
        let (cut, long) = (original[..original.len() - 1].to_vec(), [&original[..], b"x"].concat());
        for (what, bytes) in [("cut", cut), ("extended", long), ("another", b"Obj\x01".repeat(original.len() / 4))] {
            std::fs::write(&file, bytes).unwrap();
            let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
            let error = query(&context, "select * from t").await.collect().await.unwrap_err();
            let (kind, text) = failure(&error);
            assert!(matches!(kind, ErrorKind::InvalidData | ErrorKind::Storage), "{scenario}, {what}: {kind:?} {text}");
            assert!(text.contains(file.to_str().unwrap()), "{scenario}, {what}: {text}");
        }
        // Of an encrypted file every bit counts; of a plaintext one none may lead to a panic.
        for at in 0..original.len() {
            let mut bytes = original.clone();
            bytes[at] ^= 1;
            std::fs::write(&file, bytes).unwrap();
            let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
            let result = query(&context, "select * from t").await.collect().await;
            assert!(scenario == "avro-plaintext" || result.is_err(), "{scenario}, byte {at}");
        }
    }
}
