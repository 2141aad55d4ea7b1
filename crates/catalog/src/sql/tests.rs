use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use futures::future;
use lakelock_iceberg::Table;
use lakelock_iceberg::commit::{TableAction, TableCommit};
use lakelock_iceberg::metadata::TableDocument;
use lakelock_iceberg::spec::TableUpdate;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, query, query_as, query_scalar};
use tempfile::TempDir;

use super::SqlCatalog;
use crate::conformance::{self, creation, ident, namespace, set};
use crate::{Catalog, ErrorKind, catalog_from_properties, commit};

fn properties(folder: &Path) -> HashMap<String, String> {
    let folder = folder.to_str().unwrap();
    [
        ("type", "sql"),
        ("uri", &format!("sqlite:{folder}/catalog.db")),
        ("warehouse", &format!("{folder}/warehouse")),
        ("local.fsync", "false"),
    ]
    .into_iter()
    .chain(conformance::kms_properties())
    .map(|(k, v)| (k.to_owned(), v.to_owned()))
    .collect()
}

async fn open(folder: &TempDir) -> Arc<dyn Catalog> {
    catalog_from_properties("lake", &properties(folder.path())).await.unwrap()
}

async fn database(folder: &TempDir) -> SqliteConnection {
    SqliteConnectOptions::new()
        .filename(folder.path().join("catalog.db"))
        .create_if_missing(true)
        .connect()
        .await
        .unwrap()
}

/// Commits as a program does that knows nothing of pins, and returns the new location.
async fn commit_as_others_do(folder: &TempDir, table: &Table, change: impl Fn(String) -> String) -> String {
    let update = TableUpdate::SetProperties { updates: HashMap::from([("other".to_owned(), "1".to_owned())]) };
    let changed = table.document().apply(&[update], table.metadata_location()).unwrap();
    let text = change(String::from_utf8(changed.to_json()).unwrap());
    let location = format!("{}/metadata/00009-other.metadata.json", table.metadata().location());
    table.io().storage().write(&location, text.into_bytes()).await.unwrap();
    let moved = query("UPDATE iceberg_tables SET metadata_location = ? WHERE metadata_location = ?")
        .bind(&location)
        .bind(table.metadata_location())
        .execute(&mut database(folder).await)
        .await
        .unwrap();
    assert_eq!(moved.rows_affected(), 1);
    location
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn does_what_every_catalog_does() {
    let folder = TempDir::new().unwrap();
    conformance::check(open(&folder).await).await;
    // All of it is still there for the next process.
    let again = open(&folder).await;
    let table = again.load_table(&ident(&["db", "sub", "contended"])).await.unwrap();
    assert_eq!(table.metadata().snapshots().len(), 24);
}

#[tokio::test]
async fn the_tables_are_those_of_java_and_pyiceberg() {
    let folder = TempDir::new().unwrap();
    let catalog = open(&folder).await;
    catalog.create_namespace(&namespace(&["a", "b"]), HashMap::new()).await.unwrap();
    let first = catalog.create_table(creation(&["a", "b", "t"], &[])).await.unwrap();
    let second = catalog.update_table(set(first.identifier(), &[("k", "v")])).await.unwrap();
    let mut database = database(&folder).await;
    let rows: Vec<(String, String, String, String, String, String)> = query_as(
        "SELECT catalog_name, table_namespace, table_name, metadata_location, previous_metadata_location, iceberg_type
            FROM iceberg_tables",
    )
    .fetch_all(&mut database)
    .await
    .unwrap();
    let text = |s: &str| s.to_owned();
    let expected = (
        text("lake"),
        text("a.b"),
        text("t"),
        text(second.metadata_location()),
        text(first.metadata_location()),
        text("TABLE"),
    );
    assert_eq!(rows, [expected]);
    let rows: Vec<(String, String, String, String)> =
        query_as("SELECT * FROM iceberg_namespace_properties").fetch_all(&mut database).await.unwrap();
    assert_eq!(rows, [(text("lake"), text("a.b"), text("exists"), text("true"))]);
}

#[tokio::test]
async fn a_database_of_schema_v0_is_taken_over_and_views_are_no_tables() {
    let folder = TempDir::new().unwrap();
    let mut database = database(&folder).await;
    query(
        "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL,
            table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
            PRIMARY KEY (catalog_name, table_namespace, table_name))",
    )
    .execute(&mut database)
    .await
    .unwrap();
    for (name, location) in [("t", "/w/t.json"), ("other", "/w/o.json")] {
        query("INSERT INTO iceberg_tables VALUES (?, 'db', 't', ?, NULL)")
            .bind(if name == "t" { "lake" } else { name })
            .bind(location)
            .execute(&mut database)
            .await
            .unwrap();
    }
    let catalog = open(&folder).await;
    assert_eq!(catalog.list_tables(&namespace(&["db"])).await.unwrap(), [ident(&["db", "t"])]);
    query(
        "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, iceberg_type)
            VALUES ('lake', 'db', 'v', '/w/v.json', 'VIEW')",
    )
    .execute(&mut database)
    .await
    .unwrap();
    assert!(!catalog.table_exists(&ident(&["db", "v"])).await.unwrap());
    let error = catalog.create_table(creation(&["db", "v"], &[])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    catalog.drop_table(&ident(&["db", "t"]), false).await.unwrap();
    assert_eq!(catalog.drop_namespace(&namespace(&["db"])).await.unwrap_err().kind(), ErrorKind::NotEmpty);
}

#[tokio::test]
async fn what_others_commit_is_pinned_at_its_first_load() {
    let folder = TempDir::new().unwrap();
    let catalog = open(&folder).await;
    catalog.create_namespace(&namespace(&["db"]), HashMap::new()).await.unwrap();
    let table = catalog.create_table(creation(&["db", "t"], &[("encryption.key-id", "keyA")])).await.unwrap();
    let location = commit_as_others_do(&folder, &table, |text| text).await;
    let loaded = catalog.load_table(table.identifier()).await.unwrap();
    assert_eq!(loaded.metadata_location(), location);
    let bytes = loaded.io().storage().read(&location).await.unwrap();
    loaded.io().storage().write(&location, [&bytes[..], b"\n"].concat()).await.unwrap();
    for catalog in [catalog, open(&folder).await] {
        let error = catalog.load_table(table.identifier()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains(&location), "{error}");
    }
}

#[tokio::test]
async fn a_key_id_or_length_that_others_change_is_noticed() {
    let folder = TempDir::new().unwrap();
    let catalog = open(&folder).await;
    catalog.create_namespace(&namespace(&["db"]), HashMap::new()).await.unwrap();
    let (key_id, length) = ("encryption.key-id", "encryption.data-key-length");
    for (name, property, from, to, expected) in [
        ("lost", (key_id, "keyA"), key_id, "lost", "keyA"),
        ("changed", (key_id, "keyA"), "keyA", "keyB", "keyA"),
        ("new", ("plain", "keyA"), "plain", key_id, "keyA"),
        ("shorter", (length, "32"), "\"32\"", "\"16\"", "32"),
        ("unset", (length, "32"), length, "lost", "32"),
    ] {
        let encrypted = if name == "new" { vec![property] } else { vec![(key_id, "keyA"), property] };
        let table = catalog.create_table(creation(&["db", name], &encrypted)).await.unwrap();
        let location = commit_as_others_do(&folder, &table, |text| text.replace(from, to)).await;
        for _ in 0..2 {
            let error = catalog.load_table(table.identifier()).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{name}");
            assert!(error.to_string().contains(&location) && error.to_string().contains(expected), "{error}");
            let update = catalog.update_table(set(table.identifier(), &[("k", "v")])).await;
            assert_eq!(update.unwrap_err().kind(), ErrorKind::InvalidData, "{name}");
        }
    }
}

#[tokio::test]
async fn a_table_that_others_put_in_is_pinned_at_its_first_load() {
    let folder = TempDir::new().unwrap();
    let catalog = open(&folder).await;
    catalog.create_namespace(&namespace(&["db"]), HashMap::new()).await.unwrap();
    let table = catalog.create_table(creation(&["db", "t"], &[("encryption.key-id", "keyA")])).await.unwrap();
    let mut database = database(&folder).await;
    query("DELETE FROM lakelock_pins").execute(&mut database).await.unwrap();
    assert_eq!(catalog.load_table(table.identifier()).await.unwrap().metadata(), table.metadata());
    let key_id: String = query_scalar("SELECT key_id FROM lakelock_pins").fetch_one(&mut database).await.unwrap();
    assert_eq!(key_id, "keyA");
}

#[tokio::test]
async fn a_dropped_table_takes_its_pin_along() {
    let folder = TempDir::new().unwrap();
    let catalog = open(&folder).await;
    catalog.create_namespace(&namespace(&["db"]), HashMap::new()).await.unwrap();
    let table = catalog.create_table(creation(&["db", "t"], &[("encryption.key-id", "keyA")])).await.unwrap();
    catalog.drop_table(table.identifier(), false).await.unwrap();
    let pins: i64 =
        query_scalar("SELECT COUNT(*) FROM lakelock_pins").fetch_one(&mut database(&folder).await).await.unwrap();
    assert_eq!(pins, 0);
    // Another table of that name may have no key.
    catalog.create_table(creation(&["db", "t"], &[])).await.unwrap();
    catalog.load_table(table.identifier()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_lose_nothing_of_each_other() {
    struct Append(String);

    #[async_trait::async_trait]
    impl TableAction for Append {
        async fn prepare(&self, table: &Table) -> lakelock_iceberg::Result<TableCommit> {
            Ok(set(table.identifier(), &[(&self.0, "x")]))
        }

        async fn discard(&self, _table: &Table, _commit: &TableCommit) {}
    }

    let folder = TempDir::new().unwrap();
    let catalogs = [open(&folder).await, open(&folder).await];
    catalogs[0].create_namespace(&namespace(&["db"]), HashMap::new()).await.unwrap();
    let retries =
        [("commit.retry.num-retries", "1000"), ("commit.retry.min-wait-ms", "1"), ("commit.retry.max-wait-ms", "20")];
    let table = catalogs[0].create_table(creation(&["db", "t"], &retries)).await.unwrap();
    let writers = (0..24).map(|i| {
        let (catalog, table) = (catalogs[i % 2].clone(), table.identifier().clone());
        tokio::spawn(async move { commit(&*catalog, &table, &Append(format!("n{i}"))).await })
    });
    for result in future::join_all(writers).await {
        result.unwrap().unwrap();
    }
    for catalog in catalogs {
        let properties = catalog.load_table(table.identifier()).await.unwrap().metadata().properties().clone();
        assert!((0..24).all(|i| properties.contains_key(&format!("n{i}"))), "{properties:?}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_or_that_cannot_be_is_an_error_that_names_it() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("catalog.db"), "not a database".repeat(100)).unwrap();
    let mut properties = properties(folder.path());
    let error = SqlCatalog::open("lake", &properties).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Database);
    assert!(error.to_string().contains("catalog.db"), "{error}");
    properties.insert("uri".into(), format!("sqlite:{}/none/catalog.db", folder.path().display()));
    let error = SqlCatalog::open("lake", &properties).await.unwrap_err();
    assert!(error.to_string().contains("none/catalog.db"), "{error}");
}

#[tokio::test]
async fn a_document_reads_as_it_was_written() {
    let folder = TempDir::new().unwrap();
    let catalog = open(&folder).await;
    catalog.create_namespace(&namespace(&["db"]), HashMap::new()).await.unwrap();
    let table = catalog.create_table(creation(&["db", "t"], &[])).await.unwrap();
    let updated = catalog.update_table(set(table.identifier(), &[("k", "v")])).await.unwrap();
    let bytes = std::fs::read(updated.metadata_location()).unwrap();
    let read = TableDocument::read(&bytes, updated.metadata_location()).unwrap();
    assert_eq!(read.metadata(), updated.metadata());
}
