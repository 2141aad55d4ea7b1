//! One SQLite file, as Lakelock's catalog and as Java's `JdbcCatalog`.

use std::collections::HashMap;

use lakelock_catalog::{TableCreation, catalog_from_properties};
use lakelock_datafusion::session_context;
use lakelock_iceberg::schema_text::parse_schema;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};

use crate::{judge, rows, tables::query};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn java_works_on_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let properties = [
        ("type", "sql".to_owned()),
        ("uri", format!("sqlite:{}", path("catalog.db"))),
        ("warehouse", path("warehouse")),
        ("encryption.kms-impl", "memory".to_owned()),
        ("memory.key.keyA", "30313233343536373839303132333435".to_owned()),
    ];
    let properties: HashMap<_, _> = properties.map(|(name, value)| (name.to_owned(), value)).into();
    let catalog = catalog_from_properties("lake", &properties).await.unwrap();
    let ours = TableIdent::from_strs(["deep", "er", "ours"]).unwrap();
    catalog.create_namespace(ours.namespace(), HashMap::new()).await.unwrap();
    let creation = TableCreation::new(ours.clone(), parse_schema("id long not null").unwrap())
        .with_properties([("encryption.key-id".to_owned(), "keyA".to_owned())]);
    catalog.create_table(creation).await.unwrap();
    let insert = r#"insert into "deep.er".ours values (1), (2)"#;
    let session = session_context([catalog.clone()]).await.unwrap();
    query(&session, insert).await.collect().await.unwrap();

    let out = judge::run(&["jdbc", &path("catalog.db"), "lake", &path("warehouse")]);
    let java: HashMap<&str, &str> = out.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(java.len(), 2, "{out}");

    // What Java moved is believed and pinned, what it made is there, and Lakelock goes on with both.
    let theirs = TableIdent::from_strs(["made", "by_java"]).unwrap();
    for (identifier, name) in [(&ours, "deep.er.ours"), (&theirs, "made.by_java")] {
        let table = catalog.load_table(identifier).await.unwrap();
        assert_eq!(table.metadata_location(), java[name]);
        assert_eq!(table.metadata().properties()["touched-by"], "java");
    }
    assert_eq!(
        catalog.list_namespaces(None).await.unwrap(),
        [NamespaceIdent::new("deep".to_owned()), NamespaceIdent::new("made".to_owned())]
    );
    query(&session, insert).await.collect().await.unwrap();
    let found = rows::of(query(&session, r#"select count(*) as n from "deep.er".ours"#).await).await;
    assert_eq!(found[0]["n"], 4);
    let metadata = catalog.load_table(&ours).await.unwrap().metadata_location().to_owned();
    judge::run(&["check", &metadata]);
}
