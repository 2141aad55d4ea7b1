//! Spark and Lakelock on the same tables, through a real Hive metastore: `interop/hive` and `interop/spark`.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use lakelock_catalog::{Catalog, ErrorKind, catalog_from_properties};
use lakelock_datafusion::session_context;
use lakelock_iceberg::schema_text::parse_schema;
use lakelock_iceberg::spec::TableIdent;
use lakelock_interop::hive::{Metastore, Spark};
use serde_json::{Value, json};

use crate::rows;
use crate::tables::{MASTER_KEY, query};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spark_and_lakelock_take_turns_in_a_hive_metastore() {
    let folder = tempfile::tempdir().unwrap();
    let metastore = Metastore::start(folder.path());
    let mut spark = Spark::start(&metastore, folder.path());
    for (name, lock_enabled) in [("locked", "true"), ("unlocked", "false")] {
        let lake = Lake::open(name, metastore.uri(), lock_enabled).await;
        spark.sql(&format!("create namespace {name}.{name}"));
        begun_by_spark(&mut spark, &lake).await;
        begun_by_lakelock(&mut spark, &lake).await;
        tampered_with(&mut spark, &lake).await;
    }
}

/// A catalog, which is Spark's of that name, with a database that is named like it.
pub(crate) struct Lake {
    name: &'static str,
    pub(crate) catalog: Arc<dyn Catalog>,
    pub(crate) context: SessionContext,
}

impl Lake {
    pub(crate) async fn open(name: &'static str, uri: &str, lock_enabled: &str) -> Self {
        let key = hex::encode(MASTER_KEY);
        let properties = [
            ("type", "hive"),
            ("uri", uri),
            ("iceberg.engine.hive.lock-enabled", lock_enabled),
            ("encryption.kms-impl", "memory"),
            ("memory.key.keyA", &key),
        ];
        let properties: HashMap<_, _> = properties.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        let catalog = catalog_from_properties(name, &properties).await.unwrap();
        let context = session_context([Arc::clone(&catalog)]).await.unwrap();
        Self { name, catalog, context }
    }

    pub(crate) fn table(&self, table: &str) -> String {
        format!("{0}.{0}.{table}", self.name)
    }

    pub(crate) fn ident(&self, table: &str) -> TableIdent {
        TableIdent::from_strs([self.name, table]).unwrap()
    }

    async fn sql(&self, text: &str) -> Vec<Value> {
        rows::of(query(&self.context, text).await).await
    }
}

async fn begun_by_spark(spark: &mut Spark, lake: &Lake) {
    let table = lake.table("spark");
    let select = format!("select id, name, day from {table} order by id");
    spark.sql(&format!(
        "create table {table} (id bigint not null, name string, day string) using iceberg partitioned by (bucket(4, id))
            tblproperties ('format-version' = '3', 'encryption.key-id' = 'keyA')"
    ));
    spark.sql(&format!("insert into {table} values (1, 'one', 'mon'), (2, null, 'tue')"));
    assert_eq!(lake.sql(&select).await, spark.sql(&select));

    lake.sql(&format!("insert into {table} values (3, 'three', 'wed')")).await;
    let three = spark.sql(&select);
    assert_eq!(three.len(), 3);
    assert_eq!(lake.sql(&select).await, three);

    // Spark changes all that the metastore shows of a table, and Lakelock goes on with it.
    spark.sql(&format!("alter table {table} add column more int"));
    spark.sql(&format!(
        "alter table {table} set tblproperties ('encryption.data-key-length' = '32', 'odd' = '\u{e9}\\n\"')"
    ));
    spark.sql(&format!("alter table {table} write ordered by name desc"));
    spark.sql(&format!("insert into {table} values (4, 'four', 'thu', 44)"));
    lake.sql(&format!("insert into {table} values (5, 'five', 'fri', 55)")).await;
    let select = format!("select id, name, day, more from {table} order by id");
    let five = spark.sql(&select);
    assert_eq!((five.len(), &five[4]["more"]), (5, &json!(55)));
    assert_eq!(lake.sql(&select).await, five);
    spark.sql(&format!("insert into {table} select id + 10, name, day, more from {table}"));
    assert_eq!(lake.sql(&format!("select count(*) as n from {table}")).await, [json!({"n": 10})]);
}

async fn begun_by_lakelock(spark: &mut Spark, lake: &Lake) {
    let (table, ident) = (lake.table("ours"), lake.ident("ours"));
    let schema = parse_schema(
        "id long not null, flag boolean, price decimal(9, 2), day date, at timestamp, at_utc timestamptz, text string,
            raw binary, nested struct<a: int, b: list<string>>, numbers map<string, double>",
    );
    let properties = [("encryption.key-id", "keyA"), ("encryption.data-key-length", "32"), ("gc.enabled", "true")];
    let properties = properties.map(|(k, v)| (k.to_owned(), v.to_owned()));
    let creation = lakelock_catalog::TableCreation::new(ident.clone(), schema.unwrap()).with_properties(properties);
    lake.catalog.create_table(creation).await.unwrap();
    lake.sql(&format!("insert into {table} (id, flag, text) values (1, true, 'one')")).await;
    let select = format!("select id, flag, text from {table} order by id");
    assert_eq!(spark.sql(&select), [json!({"id": 1, "flag": true, "text": "one"})]);
    spark.sql(&format!("insert into {table} (id, flag, text) values (2, false, 'two')"));
    lake.sql(&format!("insert into {table} (id, flag, text) values (3, null, 'three')")).await;
    assert_eq!(lake.sql(&select).await, spark.sql(&select));

    // What Java writes into the metastore for this metadata is what we wrote.
    let location = lake.catalog.load_table(&ident).await.unwrap().metadata_location().to_owned();
    let location = format!("file:{}", location.trim_start_matches("file:").trim_start_matches("//"));
    let name = lake.name;
    spark.sql(&format!(
        "call {name}.system.register_table(table => '{name}.{name}.copy', metadata_file => '{location}')"
    ));
    let [ours, javas] = ["ours", "copy"].map(|table| {
        let mut shown = spark.sql(&format!("parameters {name}.{table}")).remove(0);
        let parameters = shown["parameters"].as_object_mut().unwrap();
        // The one has a history in the metastore, which has a clock, and of a new table does not keep the last.
        for changing in
            ["previous_metadata_location", "transient_lastDdlTime", "metadata_location", "DO_NOT_UPDATE_STATS"]
        {
            parameters.remove(changing);
        }
        shown
    });
    assert_eq!(ours, javas);
    assert!(ours["parameters"]["metadata_hash"].is_string(), "{ours}");
    let listed = lake.catalog.list_tables(ident.namespace()).await.unwrap();
    assert_eq!(listed, ["copy", "ours", "spark"].map(|table| lake.ident(table)));
    // Two tables of the same files: neither can be purged before the other is out of the catalog.
    let refused = lake.catalog.drop_table(&ident, true).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{refused}");
    lake.catalog.drop_table(&lake.ident("copy"), false).await.unwrap();
}

async fn tampered_with(spark: &mut Spark, lake: &Lake) {
    let ident = lake.ident("ours");
    let table = lake.catalog.load_table(&ident).await.unwrap();
    let (storage, location) = (table.io().storage(), table.metadata_location());
    let good = storage.read(location).await.unwrap();
    let text = String::from_utf8(good.to_vec()).unwrap();
    let without_key = text.replace("encryption.key-id", "no-key-id");
    let other_row_id = text.replace("\"next-row-id\":3", "\"next-row-id\":1");
    for forged in [without_key, other_row_id] {
        assert_ne!(forged, text);
        storage.write(location, forged.into_bytes()).await.unwrap();
        let error = lake.catalog.load_table(&ident).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains(location), "{error}");
        let error = spark.error(&format!("select * from {}", lake.table("ours")));
        assert!(error.contains("might have been modified"), "{error}");
    }
    storage.write(location, good).await.unwrap();
    lake.catalog.drop_table(&ident, true).await.unwrap();
    let gone = spark.error(&format!("select * from {}", lake.table("ours")));
    assert!(gone.contains("TABLE_OR_VIEW_NOT_FOUND"), "{gone}");
    assert!(!storage.exists(location).await.unwrap());
}
