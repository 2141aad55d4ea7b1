//! Queries on an encrypted table against the same on an unencrypted one.
//!
//! `cargo bench -p lakelock-benches --bench scan -- [--rows N] [--rounds N] [--folder DIR]`

use datafusion::prelude::SessionContext;
use futures::TryStreamExt;
use lakelock_benches::{
    Comparison, Cost, Fixture, LINEITEM, Options, Result, Watch, compare, lineitem_rows, processor,
};
use lakelock_catalog::commit;
use lakelock_datafusion::session_context;
use lakelock_iceberg::commit::AppendFiles;
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};
use tokio::runtime::{Builder, Runtime};

const BATCH: usize = 8_192;
const PLAIN: &str = "plain";
const ENCRYPTED: &str = "encrypted";

/// What is asked; `$t` stands for the table.
const QUERIES: [(&str, &str); 3] = [
    ("all columns", "select * from $t"),
    (
        "aggregate",
        "select returnflag, linestatus, sum(quantity), sum(extendedprice), avg(discount), count(*) from $t group by 1, 2",
    ),
    (
        "filter",
        "select orderkey, extendedprice, comment from $t
            where shipmode = 'AIR' and shipdate between date '1994-01-01' and date '1994-12-31' and quantity < 10",
    ),
];

fn main() -> Result<()> {
    let options = Options::from_command_line(&["rows", "rounds", "folder"])?;
    let rows: usize = options.get("rows", 6_000_000)?;
    let rounds = options.get("rounds", 9)?;
    let folder = options.get("folder", std::env::temp_dir().join("lakelock-benches"))?;
    println!("{}; {rows} rows of lineitem; the fastest of {rounds} rounds", processor());
    let two = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let fixture = two.block_on(Fixture::new(&folder))?;
    two.block_on(load(&fixture, rows))?;
    let one = Builder::new_current_thread().enable_all().build()?;
    println!("\n                          unencrypted  encrypted  ratio  median  CPU time");
    for (threads, runtime) in [(1, one), (2, two)] {
        let context = runtime.block_on(session(&fixture, threads))?;
        for (name, query) in QUERIES {
            let found = measure(&runtime, &context, query, rounds)?;
            let Comparison { baseline, contender, ratio, median_ratio, cpu_ratio } = found;
            let (plain, encrypted) = (baseline.as_millis(), contender.as_millis());
            let name = format!("{name}, {threads} thread{}", if threads == 1 { "" } else { "s" });
            println!("{name:<25} {plain:>8} ms {encrypted:>7} ms  {ratio:>5.3}  {median_ratio:>6.3}  {cpu_ratio:>8.3}");
        }
    }
    Ok(())
}

/// The same rows into both tables.
async fn load(fixture: &Fixture, rows: usize) -> Result<()> {
    for (name, encrypted) in [(PLAIN, false), (ENCRYPTED, true)] {
        // Several files: with one row group there is nothing for a second thread.
        let properties = [("write.target-file-size-bytes", "33554432")];
        let identifier = fixture.create(name, LINEITEM, encrypted, &properties).await?;
        let table = fixture.catalog.load_table(&identifier).await?;
        let mut writer = DataFileWriter::new(&table, WriteOptions::default())?;
        for start in (0..rows).step_by(BATCH) {
            writer.write(lineitem_rows(i64::try_from(start)?, BATCH.min(rows - start))?).await?;
        }
        let files = writer.close().await?;
        commit(&*fixture.catalog, &identifier, &AppendFiles::new(files)).await?;
    }
    Ok(())
}

async fn session(fixture: &Fixture, threads: usize) -> Result<SessionContext> {
    let context = session_context([fixture.catalog.clone()]).await?;
    let set = format!("set datafusion.execution.target_partitions = {threads}");
    context.sql(&set).await?.collect().await?;
    Ok(context)
}

fn measure(runtime: &Runtime, context: &SessionContext, query: &str, rounds: usize) -> Result<Comparison> {
    let plain = async || run(context, query, PLAIN).await;
    let encrypted = async || run(context, query, ENCRYPTED).await;
    runtime.block_on(compare(rounds, plain, encrypted))
}

/// From the text of the query to its last batch, which is thrown away like those before it.
async fn run(context: &SessionContext, query: &str, table: &str) -> Result<Cost> {
    let query = query.replace("$t", &format!("bench.{table}"));
    let watch = Watch::start();
    let mut batches = context.sql(&query).await?.execute_stream().await?;
    while let Some(batch) = batches.try_next().await? {
        std::hint::black_box(batch);
    }
    Ok(watch.stop())
}
