//! Tables in S3 that Lakelock and Spark share through a real Hive metastore, each with its own client of S3 and of the KMS.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use lakelock_catalog::{Catalog, TableCreation, catalog_from_properties_with_registry};
use lakelock_crypto::SecretKey;
use lakelock_datafusion::session_context;
use lakelock_iceberg::schema_text::parse_schema;
use lakelock_iceberg::spec::TableIdent;
use lakelock_interop::hive::{Metastore, Spark};
use lakelock_interop::servers::{Moto, SeaweedFs};
use lakelock_kms::{Keystore, KmsRegistry, Protection};
use serde_json::{Value, json};

use crate::tables::{MASTER_KEY, query};
use crate::{aws, rows};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spark_and_lakelock_take_turns_on_a_server_with_sse() {
    let folder = tempfile::tempdir().unwrap();
    let metastore = Metastore::start(folder.path());
    let seaweedfs = SeaweedFs::start(&folder.path().join("seaweedfs"));
    let s3 = self::s3(seaweedfs.url());
    let keystore = keystore(folder.path());
    let own = [
        ("encryption.kms-impl", "local"),
        ("keystore.path", &keystore[0]),
        ("keystore.key-file", &keystore[1]),
        ("s3.sse.type", "kms"),
        ("s3.sse.key", "lake-key"),
    ];
    let lake = Lake::open("keystore", &metastore, &[&s3[..], &own].concat(), &KmsRegistry::with_builtins()).await;
    let with_region = [&s3[..], &[("client.region", "us-east-1")]].concat();
    let mut spark = Spark::start_with(&metastore, &folder.path().join("spark"), &for_spark(&with_region));
    take_turns(&lake, &mut spark, "keyA").await;
}

/// The same properties for both.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spark_and_lakelock_take_turns_under_a_key_of_aws() {
    let folder = tempfile::tempdir().unwrap();
    let metastore = Metastore::start(folder.path());
    let moto = Moto::start(&folder.path().join("moto"));
    let key = moto.create_key("alias/lake");
    let s3 = self::s3(moto.url());
    let kms = [("encryption.kms-type", "aws"), ("kms.endpoint", moto.url()), ("client.region", Moto::REGION)];
    let properties = [&s3[..], &kms].concat();
    let lake = Lake::open("aws", &metastore, &properties, &aws::registry()).await;
    let mut spark = Spark::start_with(&metastore, &folder.path().join("spark"), &for_spark(&properties));
    take_turns(&lake, &mut spark, &key).await;
}

const WAREHOUSE: &str = "s3://lake/warehouse";

fn s3(url: &str) -> [(&str, &str); 5] {
    [
        ("s3.endpoint", url),
        ("s3.path-style-access", "true"),
        ("s3.access-key-id", "lakelock"),
        ("s3.secret-access-key", "lakelock-secret"),
        ("warehouse", WAREHOUSE),
    ]
}

fn for_spark<'a>(properties: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    [properties, &[("io-impl", "org.apache.iceberg.aws.s3.S3FileIO")]].concat()
}

/// A keystore with the key that Spark's KMS has: its path and that of its key file.
fn keystore(folder: &Path) -> [String; 2] {
    let [path, key_file] = ["keystore.json", "keystore.key"].map(|name| folder.join(name));
    let protection = Protection::create_key_file(&key_file).unwrap();
    let keystore = Keystore::create(&path, &protection).unwrap();
    keystore.import_key("keyA", &SecretKey::new(MASTER_KEY).unwrap()).unwrap();
    [path, key_file].map(|path| path.to_str().unwrap().to_owned())
}

/// Lakelock's catalog over the metastore, with a database of its name.
struct Lake {
    name: &'static str,
    catalog: Arc<dyn Catalog>,
    context: SessionContext,
}

impl Lake {
    async fn open(
        name: &'static str,
        metastore: &Metastore,
        properties: &[(&str, &str)],
        registry: &KmsRegistry,
    ) -> Self {
        let own = [("type", "hive"), ("uri", metastore.uri())];
        let properties: HashMap<_, _> =
            properties.iter().chain(&own).map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        // As Spark calls it.
        let catalog = catalog_from_properties_with_registry("locked", &properties, registry).await.unwrap();
        let context = session_context([Arc::clone(&catalog)]).await.unwrap();
        Self { name, catalog, context }
    }

    async fn sql(&self, text: &str) -> Vec<Value> {
        rows::of(query(&self.context, text).await).await
    }
}

async fn take_turns(lake: &Lake, spark: &mut Spark, key_id: &str) {
    let name = lake.name;
    spark.sql(&format!("create namespace locked.{name}"));

    // Begun by Lakelock.
    let ident = TableIdent::from_strs([name, "ours"]).unwrap();
    let properties = [("encryption.key-id", key_id), ("write.delete.mode", "merge-on-read")];
    let creation = TableCreation::new(ident.clone(), parse_schema("id long not null, name string").unwrap())
        .with_properties(properties.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let location = lake.catalog.create_table(creation).await.unwrap().metadata().location().to_owned();
    assert!(location.starts_with(WAREHOUSE), "{location}");
    let table = format!("locked.{name}.ours");
    let select = format!("select id, name from {table} order by id");
    lake.sql(&format!("insert into {table} values (1, 'one'), (2, 'two'), (3, 'three')")).await;
    assert_eq!(spark.sql(&select), lake.sql(&select).await);
    spark.sql(&format!("insert into {table} values (4, 'four'), (5, null)"));
    spark.sql(&format!("delete from {table} where id = 2"));
    lake.sql(&format!("insert into {table} values (6, 'six')")).await;
    let rows = lake.sql(&select).await;
    assert_eq!(rows.iter().map(|row| row["id"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 3, 4, 5, 6]);
    assert_eq!(spark.sql(&select), rows);
    spark.sql(&format!(
        "call locked.system.rewrite_data_files(table => '{name}.ours', options => map('rewrite-all', 'true'))"
    ));
    assert_eq!(lake.sql(&select).await, rows);

    // Begun by Spark.
    let theirs = format!("locked.{name}.theirs");
    spark.sql(&format!(
        "create table {theirs} (id bigint, name string) using iceberg
            tblproperties ('format-version' = '3', 'encryption.key-id' = '{key_id}')"
    ));
    spark.sql(&format!("insert into {theirs} values (1, 'one')"));
    lake.sql(&format!("insert into {theirs} values (2, 'two')")).await;
    let select = format!("select id, name from {theirs} order by id");
    let two = [json!({"id": 1, "name": "one"}), json!({"id": 2, "name": "two"})];
    assert_eq!((spark.sql(&select), lake.sql(&select).await), (two.to_vec(), two.to_vec()));

    // All that is in the bucket is encrypted, whoever wrote it, and it is all gone in the end.
    let table = lake.catalog.load_table(&ident).await.unwrap();
    let storage = table.io().storage().clone();
    let files = storage.list(WAREHOUSE).await.unwrap();
    for file in files.iter().filter(|file| !file.location.ends_with(".metadata.json")) {
        let magic = storage.read_range(&file.location, 0..4).await.unwrap();
        assert!(magic == "AGS1" || magic == "PARE", "{} begins with {magic:?}", file.location);
    }
    assert!(files.len() > 20, "{files:?}");
    lake.catalog.drop_table(&ident, true).await.unwrap();
    let left = storage.list(&location).await.unwrap();
    assert_eq!(left, []);
}
