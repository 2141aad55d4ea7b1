//! The commit of one small file to a table with a long history, against Java on the same table.
//!
//! `cargo bench -p lakelock-benches --bench commit -- [--snapshots N,N,...] [--commits N] [--rounds N] [--folder DIR]`
//!
//! Needs `interop/java/run.sh`, which makes the tables; they are kept in the folder for the next run. Both sides start from
//! the same metadata file, on a history of their own, warmed up by commits on another such history.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Int64Array, RecordBatch, StringArray};
use lakelock_benches::{Fixture, MASTER_KEY_ID, Options, Result, median, processor};
use lakelock_catalog::commit;
use lakelock_iceberg::Table;
use lakelock_iceberg::arrow_schema::schema_to_arrow;
use lakelock_iceberg::commit::AppendFiles;
use lakelock_iceberg::manifest::DataFile;
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};

/// As many as Java's side of the benchmark.
const WARM_UP: usize = 20;

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let options = Options::from_command_line(&["snapshots", "commits", "rounds", "folder"])?;
    let commits: usize = options.get("commits", 25)?;
    let rounds: usize = options.get("rounds", 3)?;
    let folder = options.get("folder", std::env::temp_dir().join("lakelock-benches"))?;
    println!("{}; medians of {rounds} rounds of {commits} commits", processor());
    println!("\nsnapshots      Java   Lakelock  ratio");
    for snapshots in options.list("snapshots", &[10, 1_000, 5_000])? {
        let metadata = history(&folder, snapshots)?;
        let (mut java, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            java.extend(java_commits(&metadata, commits)?);
            lakelock_commits(&folder, &metadata, WARM_UP).await?;
            ours.extend(lakelock_commits(&folder, &metadata, commits).await?);
        }
        let (java, ours) = (1e3 * median(java).as_secs_f64(), 1e3 * median(ours).as_secs_f64());
        println!("{snapshots:>9} {java:>6.1} ms {ours:>7.1} ms  {:>5.3}", ours / java);
    }
    Ok(())
}

/// The metadata of an encrypted table with so many snapshots, made by Java unless it is there.
fn history(folder: &Path, snapshots: usize) -> Result<String> {
    let table = folder.join(format!("java-{snapshots}"));
    let known = folder.join(format!("java-{snapshots}.location"));
    if let Ok(metadata) = std::fs::read_to_string(&known) {
        return Ok(metadata);
    }
    std::fs::create_dir_all(folder)?;
    let table = table.to_str().ok_or("the folder's name is not UTF-8")?;
    let output = java(&["make-snapshots", table, &snapshots.to_string()])?;
    let metadata = output.trim();
    std::fs::write(known, metadata)?;
    Ok(metadata.to_owned())
}

fn java_commits(metadata: &str, commits: usize) -> Result<Vec<Duration>> {
    let output = java(&["bench-commit", metadata, &commits.to_string()])?;
    let times = output.lines().filter_map(|line| line.strip_prefix("commit ")?.strip_suffix(" ms")?.parse().ok());
    Ok(times.map(|ms: f64| Duration::from_secs_f64(ms / 1e3)).collect())
}

fn java(arguments: &[&str]) -> Result<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interop/java/run.sh");
    let output = Command::new(script).args(arguments).output()?;
    if !output.status.success() {
        return Err(format!("Java failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// What each commit took, from loading the table to having the new one in the catalog.
async fn lakelock_commits(folder: &Path, metadata: &str, commits: usize) -> Result<Vec<Duration>> {
    let fixture = Fixture::new(folder).await?;
    let identifier = Fixture::identifier("history")?;
    let table = fixture.catalog.register_table(&identifier, metadata, Some(MASTER_KEY_ID)).await?;
    let mut times = Vec::with_capacity(commits);
    for file in files(&table, commits).await? {
        let append = AppendFiles::new(file);
        let start = Instant::now();
        commit(&*fixture.catalog, &identifier, &append).await?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Data files of one row each.
async fn files(table: &Table, count: usize) -> Result<Vec<Vec<DataFile>>> {
    let schema = schema_to_arrow(table.metadata().current_schema())?;
    let mut files = Vec::with_capacity(count);
    for id in (0..).take(count) {
        let row: [Arc<dyn arrow::array::Array>; 2] =
            [Arc::new(Int64Array::from(vec![id])), Arc::new(StringArray::from(vec![format!("row {id}")]))];
        let mut writer = DataFileWriter::new(table, WriteOptions::default())?;
        writer.write(RecordBatch::try_new(schema.clone(), row.to_vec())?).await?;
        files.push(writer.close().await?);
    }
    Ok(files)
}
