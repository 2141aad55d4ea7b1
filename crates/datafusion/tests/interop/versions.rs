//! Time travel, as Java reads the same versions.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use lakelock_catalog::{Catalog, MemoryCatalog};
use lakelock_datafusion::{LakelockTableProvider, session_context, sql};
use lakelock_iceberg::scan::TableScan;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};
use lakelock_iceberg::{ErrorKind, Table};
use serde_json::Value;

use crate::tables::{MASTER_KEY, failure, query, session};
use crate::{judge, rows};

const ALL: &str = "select *, _row_id, _last_updated_sequence_number from";

/// A session over a catalog that has a table of Java's as `db.t`.
pub(crate) async fn lake(scenario: &str, folder: &Path) -> (SessionContext, Table, Value) {
    let written = judge::write(scenario, folder);
    let properties = HashMap::from([
        ("warehouse".to_owned(), folder.to_str().unwrap().to_owned()),
        ("encryption.kms-impl".to_owned(), "memory".to_owned()),
        ("memory.key.keyA".to_owned(), hex::encode(MASTER_KEY)),
    ]);
    let catalog: Arc<dyn Catalog> = Arc::new(MemoryCatalog::new("lake", &properties).unwrap());
    catalog.create_namespace(&NamespaceIdent::new("db".to_owned()), HashMap::new()).await.unwrap();
    let identifier = TableIdent::from_strs(["db", "t"]).unwrap();
    let metadata = written["metadata"].as_str().unwrap();
    let table = catalog.register_table(&identifier, metadata, Some("keyA")).await.unwrap();
    (session_context([catalog]).await.unwrap(), table, written)
}

fn java(arguments: &[&str]) -> Result<Vec<Value>, String> {
    let rows = |out: String| out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    judge::attempt(arguments).map(|out| rows::sorted(rows(out)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_version_has_the_rows_that_java_reads() {
    for scenario in ["versions", "branches"] {
        let folder = tempfile::tempdir().unwrap();
        let (context, table, written) = lake(scenario, folder.path()).await;
        let metadata = written["metadata"].as_str().unwrap();
        let mut cases = Vec::new();
        for snapshot in table.metadata().snapshots() {
            let id = snapshot.snapshot_id().to_string();
            cases.push((format!("version as of {id}"), java(&["read", metadata, "--snapshot", &id]).unwrap()));
        }
        for name in table.document().references().keys() {
            let clause = format!("FOR SYSTEM_VERSION AS OF '{name}'");
            cases.push((clause, java(&["read", metadata, "--ref", name]).unwrap()));
        }
        for entry in table.metadata().history() {
            for ms in [entry.timestamp_ms, entry.timestamp_ms + 1] {
                let expected = java(&["read", metadata, "--as-of", &ms.to_string()]).unwrap();
                let time = chrono::DateTime::from_timestamp_millis(ms).unwrap();
                cases.push((format!("timestamp as of '{}'", time.format("%Y-%m-%d %H:%M:%S%.3f")), expected.clone()));
                cases.push((format!("timestamp as of {}.{:03}", ms / 1000, ms % 1000), expected));
            }
        }
        assert!(cases.len() > 10);
        for (clause, expected) in cases {
            let found = rows::of(query(&context, &format!("{ALL} db.t {clause}")).await).await;
            rows::assert_same(&found, &expected, &format!("{scenario} {clause}"));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_are_tables_like_others_in_a_query() {
    let folder = tempfile::tempdir().unwrap();
    let (context, table, _) = lake("versions", folder.path()).await;
    let first = table.document().references()["v1"].snapshot_id;
    let count = |text: String| {
        let context = context.clone();
        async move { rows::of(query(&context, &text).await).await[0]["n"].as_i64().unwrap() }
    };
    let rows_of_first = count(format!("select count(name) as n from lake.db.t version as of {first}")).await;
    assert_eq!(
        rows_of_first,
        count("select count(t.name) as n from DB.T version as of 'v1' where t.id is not null".into()).await
    );
    assert_eq!(
        rows_of_first,
        count("select count(t.name) as n from db.\"t@version=v1\" where t.id is not null".into()).await
    );
    assert_eq!(14, count("with o as (select * from db.t version as of 'v1') select count(*) as n from o".into()).await);
    let new =
        "select count(*) as n from db.t new left anti join db.t version as of 'v1' old on new._row_id = old._row_id";
    let all = count("select count(*) as n from db.t".into()).await;
    assert_eq!(all - 14, count(new.into()).await);
    let plan = rows::of(query(&context, "explain select * from db.t version as of 'v1'").await).await;
    assert!(!plan.is_empty());

    for (text, kind, what) in [
        ("select * from db.t version as of 'nowhere'", ErrorKind::NotFound, "nowhere"),
        ("select * from db.t version as of 5", ErrorKind::NotFound, "snapshot 5"),
        ("select * from db.t timestamp as of '2001-02-03'", ErrorKind::NotFound, "2001-02-03"),
        ("insert into db.t version as of 'audit' values (1, 'x')", ErrorKind::Unsupported, "INSERT into a version"),
        ("insert into db.\"t@version=main\" values (1, 'x')", ErrorKind::Unsupported, "INSERT into a version"),
        ("select * from db.t.refs version as of 'v1'", ErrorKind::InvalidInput, "refs"),
    ] {
        let error = match sql(&context, text).await {
            Ok(planned) => planned.collect().await.unwrap_err(),
            Err(error) => error,
        };
        let (found, message) = failure(&error);
        assert_eq!(found, kind, "{text}: {message}");
        assert!(message.contains(what), "{text}: {message}");
    }
    let error = sql(&context, "select * from db.missing version as of 1").await.unwrap_err();
    assert!(error.to_string().contains("db.missing"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_between_snapshots_are_those_that_java_finds() {
    for scenario in ["versions", "compacted"] {
        let folder = tempfile::tempdir().unwrap();
        let (_, table, written) = lake(scenario, folder.path()).await;
        let metadata = written["metadata"].as_str().unwrap();
        let ids: Vec<i64> = table.metadata().snapshots().map(|snapshot| snapshot.snapshot_id()).collect();
        let mut refused = 0;
        for to in &ids {
            for from in std::iter::once(None).chain(ids.iter().copied().map(Some)) {
                let (end, start) = (to.to_string(), from.map(|id| id.to_string()));
                let mut command = vec!["appends", metadata, "--snapshot", &end];
                command.extend(start.iter().flat_map(|start| ["--from", start]));
                let scan = TableScan::new(&table).with_appends_between(from, Some(*to));
                // Java refuses this too; it is nothing at all.
                let expected = if from == Some(*to) { Ok(Vec::new()) } else { java(&command) };
                match (scan, expected) {
                    (Ok(scan), Ok(expected)) => {
                        let context = session(LakelockTableProvider::from_scan(scan).unwrap());
                        let found = rows::of(query(&context, &format!("{ALL} t")).await).await;
                        rows::assert_same(&found, &expected, &format!("{scenario}, {from:?} to {to}"));
                    }
                    (Err(error), Err(_)) => {
                        assert_eq!(error.kind(), ErrorKind::InvalidInput);
                        refused += 1;
                    }
                    (found, expected) => panic!("{scenario}, {from:?} to {to}: {found:?} is not {expected:?}"),
                }
            }
        }
        assert!(refused > 0, "{scenario}");
    }
}
