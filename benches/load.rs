//! Writing an encrypted table against writing the same rows unencrypted.
//!
//! `cargo bench -p lakelock-benches --bench load -- [--rows N] [--rounds N] [--folder DIR]`

use std::path::Path;

use arrow::array::RecordBatch;
use lakelock_benches::{Cost, Fixture, LINEITEM, Options, Result, Watch, compare, lineitem_rows, processor};
use lakelock_catalog::commit;
use lakelock_iceberg::commit::AppendFiles;
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};

const BATCH: usize = 8_192;

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::from_command_line(&["rows", "rounds", "folder"])?;
    let rows: usize = options.get("rows", 1_000_000)?;
    let rounds = options.get("rounds", 9)?;
    let folder = options.get("folder", std::env::temp_dir().join("lakelock-benches"))?;
    println!("{}; {rows} rows of lineitem; the fastest of {rounds} rounds", processor());
    let batches = batches(rows)?;
    let plain = async || load(&folder, &batches, false).await;
    let encrypted = async || load(&folder, &batches, true).await;
    let found = compare(rounds, plain, encrypted).await?;
    println!("\n                unencrypted  encrypted  ratio  median  CPU time");
    let (plain, encrypted) = (found.baseline.as_millis(), found.contender.as_millis());
    let (ratio, median, cpu) = (found.ratio, found.median_ratio, found.cpu_ratio);
    println!("write, commit   {plain:>8} ms {encrypted:>7} ms  {ratio:>5.3}  {median:>6.3}  {cpu:>8.3}");
    Ok(())
}

fn batches(rows: usize) -> Result<Vec<RecordBatch>> {
    let starts = (0..rows).step_by(BATCH);
    starts.map(|start| lineitem_rows(i64::try_from(start)?, BATCH.min(rows - start))).collect()
}

/// Into a new table, from the first row to the end of the commit.
async fn load(folder: &Path, batches: &[RecordBatch], encrypted: bool) -> Result<Cost> {
    let fixture = Fixture::new(folder).await?;
    let identifier = fixture.create("lineitem", LINEITEM, encrypted, &[]).await?;
    let table = fixture.catalog.load_table(&identifier).await?;
    let watch = Watch::start();
    let mut writer = DataFileWriter::new(&table, WriteOptions::default())?;
    for batch in batches {
        writer.write(batch.clone()).await?;
    }
    let append = AppendFiles::new(writer.close().await?);
    commit(&*fixture.catalog, &identifier, &append).await?;
    Ok(watch.stop())
}
