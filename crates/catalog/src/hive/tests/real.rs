//! A real metastore: `interop/hive/run.sh`, which needs a JDK, Maven and Python.

use lakelock_interop::hive::Metastore;
use tempfile::TempDir;

use super::open;
use crate::conformance::{check_tables, creation, namespace};
use crate::{Catalog, ErrorKind};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_metastore_does_what_every_catalog_does() {
    let folder = TempDir::new().unwrap();
    let metastore = Metastore::start(folder.path());
    for (database, lock_enabled) in [("locked", "true"), ("unlocked", "false")] {
        let properties = [("uri", metastore.uri()), ("iceberg.engine.hive.lock-enabled", lock_enabled)];
        let catalog = open(&properties, &folder).await.unwrap();
        namespaces(&*catalog).await;
        check_tables(catalog, &[database], false).await;
    }
}

/// Databases: of one level, in any case.
async fn namespaces(catalog: &dyn Catalog) {
    let properties = [("comment", "a shop"), ("more", "yes"), ("hive.metastore.database.owner", "ann")];
    let properties = properties.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    let shop = namespace(&["shop"]);
    catalog.create_namespace(&shop, properties).await.unwrap();
    let found = catalog.namespace_properties(&shop).await.unwrap();
    let text = |name: &str| found.get(name).map_or("", String::as_str);
    assert_eq!((text("comment"), text("more"), text("hive.metastore.database.owner")), ("a shop", "yes", "ann"));
    assert!(text("location").ends_with("/warehouse/shop.db"), "{found:?}");
    assert!(catalog.list_namespaces(None).await.unwrap().contains(&shop));
    assert_eq!(catalog.list_namespaces(Some(&shop)).await.unwrap(), []);
    assert!(catalog.namespace_exists(&namespace(&["Shop"])).await.unwrap());
    for (result, kind) in [
        (catalog.create_namespace(&shop, [].into()).await, ErrorKind::AlreadyExists),
        (catalog.create_namespace(&namespace(&["shop", "sub"]), [].into()).await, ErrorKind::InvalidInput),
        (catalog.create_namespace(&namespace(&["no-name"]), [].into()).await, ErrorKind::InvalidInput),
        (catalog.create_table(creation(&["shop", "no-name"], &[])).await.map(drop), ErrorKind::InvalidInput),
        (catalog.create_table(creation(&["shop", "sub", "t"], &[])).await.map(drop), ErrorKind::NotFound),
        (catalog.drop_namespace(&namespace(&["none"])).await, ErrorKind::NotFound),
        (catalog.list_namespaces(Some(&namespace(&["none"]))).await.map(drop), ErrorKind::NotFound),
    ] {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
    }
    catalog.drop_namespace(&shop).await.unwrap();
    assert!(!catalog.namespace_exists(&shop).await.unwrap());
}
