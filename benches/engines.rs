//! TPC-H's lineitem at a scale, encrypted and unencrypted, read by Lakelock, Spark and `DuckDB`, each on one thread.
//!
//! `cargo bench -p lakelock-benches --bench engines -- [--scale N] [--rounds N] [--folder DIR]`
//!
//! `DuckDB` makes the rows. Lakelock writes them to two tables in a Hive metastore, which Spark reads as well. `DuckDB` reads
//! the files of the unencrypted one, and a copy of them in its own dialect of encryption, as it cannot read the other.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use datafusion::prelude::{ParquetReadOptions, SessionContext};
use futures::TryStreamExt;
use lakelock_benches::{Cost, MASTER_KEY, MASTER_KEY_ID, Options, Result, Watch, median, processor};
use lakelock_catalog::{Catalog, TableCreation, catalog_from_properties, commit};
use lakelock_datafusion::session_context;
use lakelock_iceberg::arrow_schema::arrow_to_schema;
use lakelock_iceberg::commit::AppendFiles;
use lakelock_iceberg::scan::TableScan;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};
use lakelock_interop::hive::{Metastore, Spark};
use lakelock_interop::statements::Statements;

/// As TPC-H has them, with its dates worked out.
const QUERIES: [(&str, &str); 3] = [
    (
        "Q1",
        "select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
            sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
            avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
        from $t where l_shipdate <= date '1998-09-02'
        group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus",
    ),
    (
        "Q6",
        "select sum(l_extendedprice * l_discount) from $t
        where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
            and l_discount between 0.05 and 0.07 and l_quantity < 24",
    ),
    ("all columns", "select * from $t"),
];
/// Which of them is encrypted.
const TABLES: [(&str, bool); 2] = [("plain", false), ("encrypted", true)];
const ENGINES: [&str; 3] = ["Lakelock", "Spark", "DuckDB"];
/// Java compiles what it has run a few times.
const WARM_UP: usize = 3;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let options = Options::from_command_line(&["scale", "rounds", "folder"])?;
    let scale: f64 = options.get("scale", 1.0)?;
    let rounds: usize = options.get("rounds", 7)?;
    let folder = options.get("folder", std::env::temp_dir().join("lakelock-benches"))?;
    std::fs::create_dir_all(&folder)?;
    let folder = tempfile::TempDir::new_in(folder)?;
    println!("{}; lineitem at scale {scale}, one thread; {rounds} rounds", processor());
    let mut engines = Engines::start(folder.path(), scale).await?;
    println!("\nmedians of the time       unencrypted  encrypted  ratio  CPU time");
    for (name, query) in QUERIES {
        let mut costs: [[Vec<Cost>; 2]; 3] = Default::default();
        for round in 0..WARM_UP + rounds {
            for (engine, costs) in costs.iter_mut().enumerate() {
                // Who is first changes.
                for table in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
                    let cost = engines.run(engine, table, query).await?;
                    if round >= WARM_UP {
                        costs[table].push(cost);
                    }
                }
            }
        }
        for (engine, [plain, encrypted]) in ENGINES.iter().zip(&costs) {
            let times = [plain, encrypted].map(|costs| median(costs.iter().map(|cost| cost.time)));
            let cpu = [plain, encrypted].map(|costs| costs.iter().map(|cost| cost.cpu).sum::<Duration>());
            let ratio = |[plain, encrypted]: [Duration; 2]| encrypted.as_secs_f64() / plain.as_secs_f64();
            println!(
                "{:<25} {:>8} ms {:>7} ms  {:>5.3}  {:>8.3}",
                format!("{name}, {engine}"),
                times[0].as_millis(),
                times[1].as_millis(),
                ratio(times),
                ratio(cpu)
            );
        }
    }
    Ok(())
}

/// All of them, and what they call the two tables.
struct Engines {
    lakelock: SessionContext,
    spark: Spark,
    duckdb: Statements,
    duckdb_tables: [String; 2],
    _metastore: Metastore,
}

impl Engines {
    async fn start(folder: &Path, scale: f64) -> Result<Self> {
        let path = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let mut duckdb = Statements::duckdb();
        let (rows, copy) = (path("lineitem.parquet"), path("duckdb.parquet"));
        duckdb.sql(&format!("call dbgen(sf = {scale})"));
        duckdb.sql(&format!("copy lineitem to '{rows}'"));
        duckdb.sql("set threads = 1");

        let metastore = Metastore::start(&folder.join("metastore"));
        let properties = [
            ("type", "hive".to_owned()),
            ("uri", metastore.uri().to_owned()),
            ("warehouse", path("warehouse")),
            (lakelock_kms::KMS_IMPL, "memory".to_owned()),
            (&format!("{}{MASTER_KEY_ID}", lakelock_kms::MEMORY_KEY_PREFIX), hex::encode(MASTER_KEY)),
        ];
        let properties = properties.map(|(name, value)| (name.to_owned(), value)).into();
        let catalog = catalog_from_properties("locked", &properties).await?;
        let files = load(&catalog, &rows).await?;
        let files = files.iter().map(|file| format!("'{file}'")).collect::<Vec<_>>().join(", ");
        let plain = format!("read_parquet([{files}])");
        duckdb.sql("pragma add_parquet_key('key', '0123456789012345')");
        let key = "encryption_config {footer_key: 'key'}";
        duckdb.sql(&format!("copy (select * from {plain}) to '{copy}' (compression zstd, {key})"));
        let encrypted = format!("read_parquet('{copy}', encryption_config = {{footer_key: 'key'}})");

        let compiled = [("spark.driver.extraJavaOptions", "-XX:+UseSerialGC"), ("spark.driver.memory", "4g")];
        let spark = Spark::start_with(&metastore, &folder.join("spark"), &compiled);
        let lakelock = session_context([catalog]).await?;
        lakelock.sql("set datafusion.execution.target_partitions = 1").await?.collect().await?;
        Ok(Self { lakelock, spark, duckdb, duckdb_tables: [plain, encrypted], _metastore: metastore })
    }

    /// From the text of a query to its last row, which is thrown away like those before it.
    async fn run(&mut self, engine: usize, table: usize, query: &str) -> Result<Cost> {
        let table_name = format!("locked.bench.{}", TABLES[table].0);
        let timing = match engine {
            0 => {
                let watch = Watch::start();
                let query = query.replace("$t", &table_name);
                let mut batches = self.lakelock.sql(&query).await?.execute_stream().await?;
                while let Some(batch) = batches.try_next().await? {
                    std::hint::black_box(batch);
                }
                return Ok(watch.stop());
            }
            1 => self.spark.time(&query.replace("$t", &table_name)),
            _ => self.duckdb.time(&query.replace("$t", &self.duckdb_tables[table])),
        };
        Ok(Cost { time: timing.time, cpu: timing.cpu })
    }
}

/// The rows of a file into both tables; the files of the unencrypted one.
async fn load(catalog: &Arc<dyn Catalog>, rows: &str) -> Result<Vec<String>> {
    let session = SessionContext::new();
    let rows = session.read_parquet(rows, ParquetReadOptions::default()).await?;
    let schema = arrow_to_schema(rows.schema().inner())?;
    catalog.create_namespace(&NamespaceIdent::new("bench".to_owned()), HashMap::new()).await?;
    let mut plain = Vec::new();
    for (name, encrypted) in TABLES {
        let identifier = TableIdent::from_strs(["bench", name])?;
        let key = encrypted.then(|| ("encryption.key-id".to_owned(), MASTER_KEY_ID.to_owned()));
        let creation = TableCreation::new(identifier.clone(), schema.clone()).with_properties(key);
        let table = catalog.create_table(creation).await?;
        let mut writer = DataFileWriter::new(&table, WriteOptions::default())?;
        let mut batches = rows.clone().execute_stream().await?;
        while let Some(batch) = batches.try_next().await? {
            writer.write(batch).await?;
        }
        let written = commit(&**catalog, &identifier, &AppendFiles::new(writer.close().await?)).await?;
        if !encrypted {
            let scan = TableScan::new(&written).plan().await?;
            plain.extend(scan.tasks.iter().map(|task| task.location().to_owned()));
        }
    }
    Ok(plain)
}
