mod fake;
mod real;

use std::collections::HashMap;
use std::sync::Arc;

use lakelock_iceberg::Table;
use tempfile::TempDir;

use self::fake::{FakeMetastore, Fault};
use super::thrift::{Struct, Value};
use crate::conformance::{self, creation, ident, namespace, set};
use crate::{Catalog, ErrorKind, Result, catalog_from_properties};

/// A catalog over a fake metastore.
struct Lake {
    metastore: FakeMetastore,
    catalog: Arc<dyn Catalog>,
    _folder: TempDir,
}

impl Lake {
    async fn new(properties: &[(&str, &str)]) -> Self {
        let metastore = FakeMetastore::start();
        let folder = TempDir::new().unwrap();
        let uri = format!("thrift://127.0.0.1:{}", metastore.port);
        let catalog = open(&[&[("uri", uri.as_str())][..], properties].concat(), &folder).await.unwrap();
        Self { metastore, catalog, _folder: folder }
    }

    async fn encrypted_table(&self) -> Table {
        self.catalog.create_table(creation(&["db", "t"], &[("encryption.key-id", "keyA")])).await.unwrap()
    }

    async fn change(&self) -> Result<Table> {
        self.catalog.update_table(set(&ident(&["db", "t"]), &[("k", "v")])).await
    }
}

async fn open(properties: &[(&str, &str)], folder: &TempDir) -> Result<Arc<dyn Catalog>> {
    let warehouse = folder.path().join("warehouse");
    let common = [("type", "hive"), ("warehouse", warehouse.to_str().unwrap()), ("local.fsync", "false")];
    let all = common.iter().chain(&conformance::kms_properties()).chain(properties).copied().collect::<HashMap<_, _>>();
    let all = all.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    catalog_from_properties("lake", &all).await
}

/// Without a lock table.
const NO_LOCK: (&str, &str) = ("iceberg.engine.hive.lock-enabled", "false");

#[tokio::test]
async fn a_change_without_an_answer_is_looked_up_and_never_guessed() {
    for (fault, outcome) in [
        (Fault::Answerless, None),
        (Fault::MadeAndRefused, None),
        (Fault::Lost, Some(ErrorKind::UnknownOutcome)),
        (Fault::Refused, Some(ErrorKind::Database)),
    ] {
        let lake = Lake::new(&[NO_LOCK]).await;
        let table = lake.encrypted_table().await;
        lake.metastore.state().fault = Some(fault);
        let changed = lake.change().await;
        assert_eq!(changed.as_ref().err().map(crate::Error::kind), outcome, "{fault:?}");
        let storage = table.io().storage();
        let files = storage.list(&format!("{}/metadata", table.metadata().location())).await.unwrap();
        // Only what is known not to have taken place is cleaned up.
        assert_eq!(files.len(), if fault == Fault::Refused { 1 } else { 2 }, "{fault:?}");
        if let Err(error) = changed {
            let text = format!("{error:?}");
            assert!(!text.contains('\u{1b}') && !text.contains("\\u{1b}"), "{text}");
        }
    }
    for (fault, outcome) in [(Fault::Answerless, None), (Fault::Lost, Some(ErrorKind::UnknownOutcome))] {
        let lake = Lake::new(&[NO_LOCK]).await;
        lake.metastore.state().fault = Some(fault);
        let created = lake.catalog.create_table(creation(&["db", "t"], &[])).await;
        assert_eq!(created.err().map(|e| e.kind()), outcome, "{fault:?}");
    }
}

#[tokio::test]
async fn what_is_not_in_the_metastore_is_not_believed() {
    let lake = Lake::new(&[NO_LOCK]).await;
    let table = lake.encrypted_table().await;
    let good = lake.metastore.parameters("t");
    assert_eq!(good["encryption.key-id"], "keyA");
    let other_hash = Some("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    for (name, value, words) in [
        ("encryption.key-id", None, ["keyA", "no key id"]),
        ("encryption.key-id", Some("keyB"), ["keyA", "keyB"]),
        ("encryption.data-key-length", Some("32"), ["encryption.data-key-length", "32"]),
        ("metadata_hash", other_hash, ["changed outside", table.metadata_location()]),
        ("metadata_hash", Some("?"), ["metadata_hash", "db.t"]),
        ("metadata_location", None, ["metadata_location", "db.t"]),
    ] {
        lake.metastore.set_parameter("t", name, value);
        for result in [lake.catalog.load_table(table.identifier()).await, lake.change().await] {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{name}: {error}");
            assert!(words.iter().all(|word| error.to_string().contains(word)), "{name}: {error}");
        }
        lake.metastore.set_parameter("t", name, good.get(name).map(String::as_str));
    }
    // As Java does: a table of before there was a hash is known by its key id alone.
    lake.metastore.set_parameter("t", "metadata_hash", None);
    lake.catalog.load_table(table.identifier()).await.unwrap();
    lake.change().await.unwrap();
    assert_ne!(lake.metastore.parameters("t")["metadata_hash"], good["metadata_hash"]);
}

/// A metastore without locks reads parameters one by one, while another writer changes them.
#[tokio::test]
async fn parameters_read_while_they_change_are_read_again() {
    let lake = Lake::new(&[NO_LOCK]).await;
    let table = lake.encrypted_table().await;
    let before = lake.metastore.parameters("t");
    let after = lake.change().await.unwrap();
    for name in ["metadata_hash", "metadata_location"] {
        lake.metastore.state().stale = Some((name, before[name].clone()));
        let read = lake.catalog.load_table(table.identifier()).await.unwrap();
        assert_eq!(read.metadata_location(), after.metadata_location(), "{name}");
        assert_eq!(lake.metastore.state().stale, None);
    }
}

#[tokio::test]
async fn a_change_keeps_what_others_put_into_a_table() {
    let lake = Lake::new(&[NO_LOCK]).await;
    let properties = [("gc.enabled", "false"), ("gone", "1"), ("hive.metastore.table.owner", "ann")];
    let first = lake.catalog.create_table(creation(&["db", "t"], &properties)).await.unwrap();
    let unknown = Struct::default().with(1, Value::list_of_strings(["x"])).with(7, true);
    lake.metastore.state().tables.get_mut("t").unwrap().set(99, unknown.clone());
    lake.metastore.set_parameter("t", "theirs", Some("1"));
    let remove = lakelock_iceberg::spec::TableUpdate::RemoveProperties { removals: vec!["gone".into()] };
    let mut commit = set(first.identifier(), &[("k", "v")]);
    commit.updates.push(remove);
    let second = lake.catalog.update_table(commit).await.unwrap();

    let table = lake.metastore.state().tables["t"].clone();
    assert_eq!(table.structure(99), Some(&unknown));
    assert_eq!((table.string(3), table.string(12)), (Some("ann"), Some("EXTERNAL_TABLE")));
    let storage = table.structure(7).unwrap();
    assert_eq!(storage.string(2), Some(second.metadata().location()));
    let columns = storage.list(1).unwrap().iter().filter_map(Value::as_struct);
    let columns: Vec<_> = columns.map(|c| (c.string(1).unwrap(), c.string(2).unwrap())).collect();
    assert_eq!(columns, [("id", "bigint"), ("name", "string")]);
    let parameters = lake.metastore.parameters("t");
    for (name, value) in [
        ("EXTERNAL", "TRUE"),
        ("table_type", "ICEBERG"),
        ("metadata_location", second.metadata_location()),
        ("previous_metadata_location", first.metadata_location()),
        ("external.table.purge", "false"),
        ("uuid", &second.metadata().uuid().to_string()),
        ("theirs", "1"),
        ("k", "v"),
        ("snapshot-count", "0"),
    ] {
        assert_eq!(parameters.get(name).map(String::as_str), Some(value), "{name}");
    }
    for name in [
        "gone",
        "gc.enabled",
        "metadata_hash",
        "default-sort-order",
        "current-snapshot-id",
        "hive.metastore.table.owner",
    ] {
        assert!(!parameters.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn tables_of_others_are_not_ours() {
    let lake = Lake::new(&[NO_LOCK]).await;
    lake.catalog.create_table(creation(&["db", "t"], &[])).await.unwrap();
    for is_old in [false, true] {
        lake.metastore.state().is_old = is_old;
        for (kind, is_ours) in [("ICEBERG", true), ("iceberg", true), ("ICEBERG-VIEW", false), ("HUDI", false)] {
            lake.metastore.set_parameter("t", "table_type", Some(kind));
            let listed = lake.catalog.list_tables(&namespace(&["db"])).await.unwrap();
            assert_eq!(listed.len(), usize::from(is_ours), "{kind}");
            let loaded = lake.catalog.load_table(&ident(&["db", "t"])).await;
            assert_eq!(loaded.err().map(|e| e.kind()), (!is_ours).then_some(ErrorKind::NotFound), "{kind}");
        }
    }
}

#[tokio::test]
async fn a_lock_is_waited_for_and_given_back() {
    let lake = Lake::new(&[("iceberg.hive.lock-check-min-wait-ms", "1")]).await;
    lake.encrypted_table().await;
    lake.metastore.state().waits = 2;
    lake.metastore.state().calls.clear();
    lake.change().await.unwrap();
    let calls = lake.metastore.state().calls.join(" ");
    let expected = "lock check_lock check_lock get_table_req alter_table_with_environment_context unlock";
    assert!(calls.ends_with(expected), "{calls}");

    let lake = Lake::new(&[("iceberg.hive.lock-check-min-wait-ms", "1"), ("iceberg.hive.lock-timeout-ms", "1")]).await;
    let table = lake.encrypted_table().await;
    lake.metastore.state().waits = u32::MAX;
    assert_eq!(lake.change().await.unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(lake.metastore.state().calls.last().unwrap(), "unlock");
    // The table's own property is over the catalog's.
    lake.metastore.state().waits = 0;
    let no_lock = set(table.identifier(), &[("engine.hive.lock-enabled", "false")]);
    lake.catalog.update_table(no_lock).await.unwrap();
    lake.metastore.state().waits = u32::MAX;
    lake.change().await.unwrap();
}

#[tokio::test]
async fn another_host_is_tried_and_none_is_said() {
    let folder = TempDir::new().unwrap();
    let (metastore, other) = (FakeMetastore::start(), FakeMetastore::start_another_service());
    // Port 1 has no server.
    let uri = format!("thrift://127.0.0.1:1,thrift://127.0.0.1:{other},thrift://127.0.0.1:{}", metastore.port);
    let catalog = open(&[("uri", &uri)], &folder).await.unwrap();
    assert!(catalog.namespace_exists(&namespace(&["db"])).await.unwrap());
    for host in ["127.0.0.1:1", &format!("localhost:{other}")] {
        let catalog = open(&[("uri", &format!("thrift://{host}"))], &folder).await.unwrap();
        let error = catalog.list_namespaces(None).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Database);
        assert!(error.to_string().contains(host), "{error}");
    }
}
