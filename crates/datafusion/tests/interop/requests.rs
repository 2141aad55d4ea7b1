//! What a query asks S3 for: requests, and bytes of answers. Of an encrypted table and of the same table unencrypted, and
//! with and without what leaves pages and row groups out.
//!
//! With `--nocapture` this prints the numbers that docs/benchmarks.md shows.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::physical_plan::collect;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use lakelock_catalog::{Catalog, TableCreation, catalog_from_properties, commit};
use lakelock_crypto::KeyLength;
use lakelock_datafusion::session_context;
use lakelock_iceberg::arrow_schema::arrow_to_schema;
use lakelock_iceberg::commit::AppendFiles;
use lakelock_iceberg::schema_text::parse_partition_spec;
use lakelock_iceberg::spec::TableIdent;
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};
use lakelock_interop::proxy::{Exchange, Proxy, Reply};
use lakelock_interop::servers::SeaweedFs;
use lakelock_kms::{Keystore, Protection};

use crate::rows;
use crate::tables::query;

/// From one day of one month to all months, from few columns to all.
const QUERIES: [(&str, &str); 4] = [
    (
        "three columns of one day",
        "select carrier, flight, dep_delay from $t
            where time_hour >= timestamp '2013-07-04 00:00:00Z' and time_hour < timestamp '2013-07-05 00:00:00Z'",
    ),
    ("one flight, all columns", "select * from $t where tailnum = 'N380HA' and month = 7 and day = 4"),
    ("an average by carrier", "select carrier, avg(arr_delay) as delay from $t where dest = 'HNL' group by carrier"),
    ("the number of rows", "select count(*) as n from $t"),
];

/// Queries that an index answers for the most part, and the setting that does without it.
const PRUNING: [(&str, &str, &str); 2] = [
    (
        "a day, by the page index",
        "select * from $t
            where time_hour >= timestamp '2013-07-30 00:00:00Z' and time_hour < timestamp '2013-07-31 00:00:00Z'",
        "set datafusion.execution.parquet.enable_page_index = false",
    ),
    (
        "no plane, by bloom filters",
        "select * from $t where tailnum = 'N380XX'",
        "set datafusion.execution.parquet.bloom_filter_on_read = false",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn encryption_costs_no_request_and_few_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let seaweedfs = SeaweedFs::start(&folder.path().join("seaweedfs"));
    let proxy = Proxy::before(seaweedfs.url(), |_| Reply::Forward);
    let lake = Lake::create(folder.path(), &proxy.url()).await;
    println!("requests and bytes         unencrypted             encrypted              ratio");
    for (name, text) in QUERIES {
        drop(proxy.take_exchanges());
        let expected = lake.rows(&text.replace("$t", "lake.db.plain"), &[]).await;
        let plain = Cost::of(&proxy.take_exchanges());
        let found = lake.rows(&text.replace("$t", "lake.db.encrypted"), &[]).await;
        let exchanges = proxy.take_exchanges();
        let encrypted = Cost::of(&exchanges);
        assert!(!expected.is_empty(), "{name}");
        rows::assert_same(&found, &expected, name);
        println!("{name:<26} {plain}  {encrypted}  {:.3}", ratio(encrypted.bytes, plain.bytes));
        assert!(encrypted.requests <= plain.requests, "{name}: {encrypted:?}, unencrypted {plain:?}");
        assert!(10 * encrypted.bytes <= 11 * plain.bytes, "{name}: {encrypted:?}, unencrypted {plain:?}");
        assert_nothing_twice(&exchanges);
    }

    println!("\nbytes read of data files      without         with  ratio");
    for (name, text, setting) in PRUNING {
        let text = text.replace("$t", "lake.db.encrypted");
        rows::assert_same(&lake.rows(&text, &[]).await, &lake.rows(&text, &[setting]).await, name);
        let [without, with] = [lake.bytes_scanned(&text, &[setting]).await, lake.bytes_scanned(&text, &[]).await];
        println!("{name:<26} {without:>10} {with:>12}  {:.3}", ratio(with, without));
        assert!(2 * with < without, "{name}: {with} bytes, without {without}");
    }
}

#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// What the server was asked for.
#[derive(Debug)]
struct Cost {
    requests: usize,
    bytes: usize,
}

impl Cost {
    fn of(exchanges: &[Exchange]) -> Self {
        Self { requests: exchanges.len(), bytes: exchanges.iter().map(|exchange| exchange.answer_length).sum() }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8} {:>12}", self.requests, self.bytes)
    }
}

/// No byte of a file is fetched by two requests.
fn assert_nothing_twice(exchanges: &[Exchange]) {
    let mut fetched = BTreeMap::<&str, Vec<Range<u64>>>::new();
    for Exchange { request, .. } in exchanges.iter().filter(|exchange| exchange.request.method == "GET") {
        let range = match request.header("range") {
            None => 0..u64::MAX,
            Some(range) => {
                let (first, last) = range.strip_prefix("bytes=").and_then(|range| range.split_once('-')).unwrap();
                first.parse().unwrap()..last.parse::<u64>().unwrap() + 1
            }
        };
        fetched.entry(&request.target).or_default().push(range);
    }
    for (file, mut ranges) in fetched {
        ranges.sort_by_key(|range| range.start);
        for pair in ranges.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{file}: {pair:?} of {ranges:?}");
        }
    }
}

/// The flights in two tables, `db.encrypted` and `db.plain`, partitioned by month.
struct Lake {
    properties: HashMap<String, String>,
}

impl Lake {
    async fn create(folder: &Path, endpoint: &str) -> Self {
        let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let keystore: [PathBuf; 2] = ["keystore.json", "keystore.key"].map(|name| folder.join(name));
        let protection = Protection::create_key_file(&keystore[1]).unwrap();
        Keystore::create(&keystore[0], &protection).unwrap().create_key("k", KeyLength::Aes256).unwrap();
        let properties = [
            ("type", "sql".to_owned()),
            ("uri", format!("sqlite:{}", path("catalog.db"))),
            ("warehouse", "s3://lake/flights".to_owned()),
            ("encryption.kms-impl", "local".to_owned()),
            ("keystore.path", path("keystore.json")),
            ("keystore.key-file", path("keystore.key")),
            ("s3.endpoint", endpoint.to_owned()),
            ("s3.path-style-access", "true".to_owned()),
            ("s3.access-key-id", "lakelock".to_owned()),
            ("s3.secret-access-key", "lakelock-secret".to_owned()),
            ("client.region", "us-east-1".to_owned()),
        ];
        let lake = Self { properties: properties.map(|(name, value)| (name.to_owned(), value)).into() };
        lake.load().await;
        lake
    }

    /// A catalog without anything in its caches.
    async fn catalog(&self) -> Arc<dyn Catalog> {
        catalog_from_properties("lake", &self.properties).await.unwrap()
    }

    async fn load(&self) {
        let catalog = self.catalog().await;
        let flights = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/data/flights.parquet");
        let files = SessionContext::new();
        let flights = files.read_parquet(flights.to_str().unwrap(), ParquetReadOptions::default()).await.unwrap();
        let schema = arrow_to_schema(flights.schema().inner()).unwrap();
        let ident = |name| TableIdent::from_strs(["db", name]).unwrap();
        catalog.create_namespace(ident("plain").namespace(), HashMap::new()).await.unwrap();
        let key = ("encryption.key-id".to_owned(), "k".to_owned());
        let bloom = ("write.parquet.bloom-filter-enabled.column.tailnum".to_owned(), "true".to_owned());
        for (name, key) in [("plain", None), ("encrypted", Some(key))] {
            let creation = TableCreation::new(ident(name), schema.clone())
                .with_partition_spec(parse_partition_spec("month(time_hour)", &schema).unwrap())
                .with_properties(key.into_iter().chain([bloom.clone()]));
            catalog.create_table(creation).await.unwrap();
        }
        let flights = flights.collect().await.unwrap();
        for name in ["plain", "encrypted"] {
            let table = catalog.load_table(&ident(name)).await.unwrap();
            let mut writer = DataFileWriter::new(&table, WriteOptions::default()).unwrap();
            for batch in &flights {
                writer.write(batch.clone()).await.unwrap();
            }
            let action = AppendFiles::new(writer.close().await.unwrap());
            commit(&*catalog, &ident(name), &action).await.unwrap();
        }
    }

    /// A session without anything in its caches.
    async fn session(&self, settings: &[&str]) -> SessionContext {
        let session = session_context([self.catalog().await]).await.unwrap();
        for setting in settings {
            query(&session, setting).await.collect().await.unwrap();
        }
        session
    }

    async fn rows(&self, text: &str, settings: &[&str]) -> Vec<serde_json::Value> {
        rows::of(query(&self.session(settings).await, text).await).await
    }

    /// How many bytes of data files a query asks for. On the way to the store ranges that lie close together become one.
    async fn bytes_scanned(&self, text: &str, settings: &[&str]) -> usize {
        let session = self.session(settings).await;
        let plan = query(&session, text).await.create_physical_plan().await.unwrap();
        collect(Arc::clone(&plan), session.task_ctx()).await.unwrap();
        let (mut plans, mut bytes) = (vec![plan], 0);
        while let Some(plan) = plans.pop() {
            bytes +=
                plan.metrics().and_then(|metrics| metrics.sum_by_name("bytes_scanned")).map_or(0, |sum| sum.as_usize());
            plans.extend(plan.children().into_iter().cloned());
        }
        bytes
    }
}
