//! Tables under master keys of AWS KMS, shared with Java, and how often the KMS is asked: moto counts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow::array::{Int64Array, RecordBatch};
use lakelock_catalog::{Catalog, TableCreation, catalog_from_properties_with_registry};
use lakelock_cloud::aws::{Credentials, with_credentials};
use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_datafusion::{LakelockTableProvider, session_context};
use lakelock_iceberg::Table;
use lakelock_iceberg::commit::{AppendFiles, TableAction as _};
use lakelock_iceberg::encryption::{CatalogEncryption, Clock, EncryptingFileIO, EncryptionProperties, SystemClock};
use lakelock_iceberg::metadata::TableDocument;
use lakelock_iceberg::schema_text::{parse_partition_spec, parse_schema};
use lakelock_iceberg::spec::{FormatVersion, TableIdent};
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};
use lakelock_interop::servers::Moto;
use lakelock_kms::{AwsKms, KeyManagementClient, KmsRegistry, Remote, RemoteSettings};
use lakelock_storage::Storage;
use serde_json::json;
use tempfile::TempDir;

use crate::tables::{open_by, query, session};
use crate::{judge, rows};

const KEY_ID: &str = "alias/orders";

/// A server with one master key.
struct Aws {
    folder: TempDir,
    moto: Moto,
}

impl Aws {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let moto = Moto::start(&folder.path().join("moto"));
        let _ = moto.create_key(KEY_ID);
        Self { folder, moto }
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// The properties that Java has as well.
    fn properties(&self) -> [(&'static str, &str); 3] {
        [("encryption.kms-type", "aws"), ("kms.endpoint", self.moto.url()), ("client.region", Moto::REGION)]
    }

    fn all_properties(&self, more: &[(&str, String)]) -> HashMap<String, String> {
        let own = self.properties().map(|(name, value)| (name.to_owned(), value.to_owned()));
        own.into_iter().chain(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone()))).collect()
    }

    fn client(&self) -> Arc<dyn KeyManagementClient> {
        registry().from_catalog_properties(&self.all_properties(&[])).unwrap().unwrap()
    }

    fn encryption(&self, clock: Arc<dyn Clock>) -> CatalogEncryption {
        CatalogEncryption::with_clock(Some(self.client()), clock)
    }

    async fn catalog(&self) -> Arc<dyn Catalog> {
        let properties = self.all_properties(&[
            ("type", "sql".to_owned()),
            ("uri", format!("sqlite:{}", self.path("catalog.db"))),
            ("warehouse", self.path("warehouse")),
        ]);
        catalog_from_properties_with_registry("lake", &properties, &registry()).await.unwrap()
    }

    /// A command of the judge, with the KMS.
    fn java(&self, command: &[&str]) -> String {
        let properties = self.properties().map(|(name, value)| format!("{name}={value}"));
        let options = properties.iter().flat_map(|property| ["--prop", property.as_str()]);
        judge::run(&command.iter().copied().chain(options).collect::<Vec<_>>())
    }
}

/// What makes clients of a [`Moto`] by Java's properties, with credentials that need not be looked for.
pub(crate) fn registry() -> KmsRegistry {
    let mut registry = KmsRegistry::empty();
    let make = |properties: &HashMap<String, String>| {
        let credentials = Credentials::new("testing", "testing", None, None, "test");
        let client = AwsKms::new(with_credentials(Moto::REGION, credentials), properties)?;
        let client: Arc<dyn KeyManagementClient> = Arc::new(Remote::new(client, RemoteSettings::default()));
        Ok(client)
    };
    registry.register("aws", make).unwrap();
    registry
}

fn counted(counts: &[(&str, usize)]) -> BTreeMap<String, usize> {
    counts.iter().map(|(operation, count)| ((*operation).to_owned(), *count)).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn java_and_lakelock_unwrap_what_the_other_wrapped() {
    let aws = Aws::start();
    let client = aws.client();
    for length in [KeyLength::Aes128, KeyLength::Aes192, KeyLength::Aes256] {
        let key = SecretKey::generate(length).unwrap();
        let plain = hex::encode(key.expose_secret());
        let ours = hex::encode(client.wrap_key(&key, KEY_ID).await.unwrap());
        assert_eq!(aws.java(&["unwrap", KEY_ID, &ours]).trim(), plain);
        let theirs = hex::decode(aws.java(&["wrap", KEY_ID, &plain]).trim()).unwrap();
        assert!(client.unwrap_key(&theirs, KEY_ID).await.unwrap() == key);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn java_and_lakelock_go_on_with_the_tables_of_the_other() {
    const ALL: &str = "select *, _row_id, _last_updated_sequence_number from t";
    let aws = Aws::start();
    let read = async |metadata: &str| {
        let table = open_by(metadata, &aws.encryption(Arc::new(SystemClock))).await;
        rows::of(query(&session(LakelockTableProvider::try_new(table).unwrap()), ALL).await).await
    };
    let java_reads = |metadata: &str| {
        let out = aws.java(&["read", metadata]);
        rows::sorted(out.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    };

    let out = aws.java(&["write", "unpartitioned", &aws.path("java"), "--key-id", KEY_ID]);
    let written: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(written["table_key_id"], KEY_ID);
    let metadata = written["metadata"].as_str().unwrap();
    let found = read(metadata).await;
    assert!(!found.is_empty());
    rows::assert_same(&found, &java_reads(metadata), "written by Java");

    let catalog = aws.catalog().await;
    let ident = TableIdent::from_strs(["db", "t"]).unwrap();
    catalog.create_namespace(ident.namespace(), HashMap::new()).await.unwrap();
    let creation = TableCreation::new(ident.clone(), parse_schema("id long not null, name string").unwrap())
        .with_properties([("encryption.key-id".to_owned(), KEY_ID.to_owned())]);
    catalog.create_table(creation).await.unwrap();
    let session = session_context([Arc::clone(&catalog)]).await.unwrap();
    query(&session, "insert into db.t values (1, 'one'), (2, 'two'), (3, null)").await.collect().await.unwrap();
    let metadata = catalog.load_table(&ident).await.unwrap().metadata_location().to_owned();
    rows::assert_same(&read(&metadata).await, &java_reads(&metadata), "written by Lakelock");
    aws.java(&["check", &metadata]);
    let continued = aws.java(&["append", &metadata]);
    let found = read(continued.trim()).await;
    assert_eq!(found.len(), 6);
    rows::assert_same(&found, &java_reads(continued.trim()), "continued by Java");
}

/// One process makes the table and its KEK, which costs one wrap; another goes on, which costs one unwrap.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_commits_cost_one_wrap_and_one_unwrap() {
    let aws = Aws::start();
    let ident = TableIdent::from_strs(["db", "t"]).unwrap();
    let insert = async |catalog: Arc<dyn Catalog>, range: std::ops::Range<i64>| {
        let session = session_context([catalog]).await.unwrap();
        for id in range {
            query(&session, &format!("insert into db.t values ({id})")).await.collect().await.unwrap();
        }
        rows::of(query(&session, "select count(*) as n, sum(id) as total from db.t").await).await
    };
    let maker = async {
        let catalog = aws.catalog().await;
        catalog.create_namespace(ident.namespace(), HashMap::new()).await.unwrap();
        let creation = TableCreation::new(ident.clone(), parse_schema("id long not null").unwrap())
            .with_properties([("encryption.key-id".to_owned(), KEY_ID.to_owned())]);
        catalog.create_table(creation).await.unwrap();
        insert(catalog, 0..50).await
    };
    let (found, counts) = aws.moto.count(maker).await;
    assert_eq!(found, [json!({"n": 50, "total": 1225})]);
    assert_eq!(counts, counted(&[("Encrypt", 1)]));

    let other = async { insert(aws.catalog().await, 50..100).await };
    let (found, counts) = aws.moto.count(other).await;
    assert_eq!(found, [json!({"n": 100, "total": 4950})]);
    assert_eq!(counts, counted(&[("Decrypt", 1)]));
}

/// A clock that a test sets.
#[derive(Debug)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A table in memory, as a catalog would keep it.
struct Growing {
    document: Arc<TableDocument>,
    storage: Storage,
}

impl Growing {
    fn new() -> Self {
        let schema = parse_schema("id long not null").unwrap();
        let creation = lakelock_iceberg::spec::TableCreation::builder()
            .name("t".to_owned())
            .location("memory://warehouse/t".to_owned())
            .partition_spec(parse_partition_spec("id", &schema).unwrap())
            .schema(schema)
            .properties([("encryption.key-id".to_owned(), KEY_ID.to_owned())])
            .format_version(FormatVersion::V3)
            .build();
        Self { document: Arc::new(TableDocument::create(creation).unwrap()), storage: Storage::in_memory() }
    }

    /// The table, loaded anew.
    fn load(&self, encryption: &CatalogEncryption) -> Table {
        let properties = EncryptionProperties::from_table(self.document.metadata()).unwrap();
        let io = EncryptingFileIO::new(self.storage.clone(), encryption.manager("db.t", properties));
        let identifier = TableIdent::from_strs(["db", "t"]).unwrap();
        Table::new(identifier, Arc::clone(&self.document), "memory://warehouse/t/metadata/v.json".to_owned(), io)
    }

    /// Appends a file for each id.
    async fn append(&mut self, encryption: &CatalogEncryption, ids: std::ops::Range<i64>) {
        let table = self.load(encryption);
        let mut writer = DataFileWriter::new(&table, WriteOptions::default()).unwrap();
        let ids: Arc<Int64Array> = Arc::new(ids.collect::<Vec<_>>().into());
        writer.write(RecordBatch::try_from_iter([("id", ids as _)]).unwrap()).await.unwrap();
        let files = writer.close().await.unwrap();
        let commit = AppendFiles::new(files).prepare(&table).await.unwrap();
        let document = self.document.apply(&commit.updates, "memory://warehouse/t/metadata/v.json").unwrap();
        self.document = Arc::new(document);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scan_of_a_thousand_files_under_three_keks_costs_three_calls() {
    const KEK_LIFE_MS: i64 = 730 * 24 * 60 * 60 * 1000;
    let aws = Aws::start();
    let clock = Arc::new(SetClock(AtomicI64::new(SystemClock.now_ms())));
    let mut table = Growing::new();
    let encryption = aws.encryption(Arc::clone(&clock) as Arc<dyn Clock>);
    let grow = async {
        for ids in [0..334, 334..667, 667..1000] {
            table.append(&encryption, ids).await;
            clock.0.fetch_add(KEK_LIFE_MS + 1, Ordering::SeqCst);
        }
    };
    let ((), counts) = aws.moto.count(grow).await;
    // A KEK for each, and that of the version before, which after two years is not at hand any more.
    assert_eq!(counts, counted(&[("Decrypt", 2), ("Encrypt", 3)]));
    let keks = table.document.metadata().encryption_keys_iter().filter(|key| key.encrypted_by_id() == Some(KEY_ID));
    assert_eq!(keks.count(), 3);

    // Every version, and so every KEK, several times at once, by tables that are loaded anew each time.
    let reader = aws.encryption(Arc::new(SystemClock));
    let snapshots: Vec<i64> = table.document.metadata().snapshots().map(|snapshot| snapshot.snapshot_id()).collect();
    let scan = async {
        let one = async |snapshot: i64| {
            let provider = LakelockTableProvider::try_new_at(table.load(&reader), snapshot).unwrap();
            let text = "select count(*) as n, count(distinct _file) as files, sum(id) as total from t";
            rows::of(query(&session(provider), text).await).await.remove(0)
        };
        let again = snapshots.iter().chain(&snapshots).map(|snapshot| one(*snapshot));
        let mut found = futures::future::join_all(again).await;
        found.sort_by_key(|row| row["n"].as_i64());
        found.dedup();
        found
    };
    let (found, counts) = aws.moto.count(scan).await;
    let expected = [334, 667, 1000].map(|n: i64| json!({"n": n, "files": n, "total": n * (n - 1) / 2}));
    assert_eq!(found, expected);
    assert_eq!(counts, counted(&[("Decrypt", 3)]));
}
