//! Planning scans of a table with very many files, against Java on the same table.
//!
//! `cargo run --release -p lakelock-benches --bin planning -- [--manifests N] [--files N] [--rounds N] [--folder DIR]`
//!
//! Needs `interop/java/run.sh`, which makes the table: an encrypted one of `--manifests` manifests of `--files` entries each,
//! with statistics of twelve columns. It is kept in the folder for the next run. What is compared is CPU time, as both sides
//! work alone and need little else. It is a program and not a bench of Cargo's since those are built with the query engine.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lakelock_benches::{Cost, Fixture, MASTER_KEY_ID, Options, Result, Watch, processor};
use lakelock_iceberg::Table;
use lakelock_iceberg::encryption::{MANIFEST_CACHE_ENABLED, MANIFEST_CACHE_MAX_TOTAL_BYTES};
use lakelock_iceberg::scan::{Comparison, Predicate, TableScan, Test};
use lakelock_iceberg::spec::Datum;
use tokio::runtime::{Builder, Runtime};

/// Each file has this many rows: as Java's side of the benchmark says.
const ROWS: i64 = 1000;

/// A round takes at least this long, that the steps of the CPU clock do not matter.
const ROUND: Duration = Duration::from_millis(500);

fn main() -> Result<()> {
    let options = Options::from_command_line(&["manifests", "files", "rounds", "folder"])?;
    let (manifests, files): (i64, i64) = (options.get("manifests", 100)?, options.get("files", 10_000)?);
    let rounds = options.get("rounds", 5)?;
    let folder = options.get("folder", std::env::temp_dir().join("lakelock-benches"))?;
    let metadata = many_files(&folder, manifests, files)?;
    let scans = scans(manifests, files);
    println!("{}; {manifests} manifests of {files} entries; the best of {rounds} rounds\n", processor());

    let java = java_plans(&metadata, rounds, &scans)?;
    let (one, two) = (runtime(1)?, runtime(2)?);
    let cold = one.block_on(open(&folder, &metadata, &[(MANIFEST_CACHE_ENABLED, "false")]))?;
    let warm = one.block_on(open(&folder, &metadata, &[(MANIFEST_CACHE_MAX_TOTAL_BYTES, "4294967296")]))?;
    println!("scan         files   Java CPU   Lakelock CPU   ratio   two threads   ratio   cached CPU   ratio");
    for (scan, java) in scans.iter().zip(java) {
        let measure = |runtime: &Runtime, table: &Table| plans(runtime, table, scan, rounds);
        let (found, alone) = measure(&one, &cold.1)?;
        if found != java.files {
            return Err(format!("{}: Java finds {} files, Lakelock {found}", scan.java, java.files).into());
        }
        let (_, both) = measure(&two, &cold.1)?;
        let (_, cached) = measure(&one, &warm.1)?;
        let ms = |seconds: f64| seconds * 1e3;
        let (cpu, elapsed, cached) = (alone.cpu, both.time, cached.cpu);
        println!(
            "{:<9} {found:>8} {:>7.1} ms {:>11.1} ms {:>7.2} {:>10.1} ms {:>7.2} {:>9.1} ms {:>7.2}",
            scan.name,
            ms(java.cpu),
            ms(cpu.as_secs_f64()),
            java.cpu / cpu.as_secs_f64(),
            ms(elapsed.as_secs_f64()),
            java.cpu / elapsed.as_secs_f64(),
            ms(cached.as_secs_f64()),
            java.cpu / cached.as_secs_f64(),
        );
    }
    Ok(())
}

/// A scan, as each side says it.
struct Scan {
    name: &'static str,
    java: String,
    filter: Predicate,
}

fn scans(manifests: i64, files: i64) -> [Scan; 4] {
    let (middle, part) = (manifests * files / 2 * ROWS, manifests / 2);
    let column = |id, comparison, value| Predicate::Column(id, Test::Compare(comparison, value));
    let name = middle + ROWS / 2;
    [
        Scan { name: "all", java: "all".to_owned(), filter: Predicate::True },
        Scan {
            name: "id range",
            java: format!("id:{middle}:{}", middle + 100 * ROWS),
            filter: column(1, Comparison::GreaterOrEqual, Datum::long(middle)).and(column(
                1,
                Comparison::Less,
                Datum::long(middle + 100 * ROWS),
            )),
        },
        Scan {
            name: "string",
            java: format!("name:{name}"),
            filter: column(2, Comparison::Equal, Datum::string(format!("n{name:012}"))),
        },
        Scan {
            name: "partition",
            java: format!("part:{part}"),
            filter: column(3, Comparison::Equal, Datum::int(i32::try_from(part).unwrap_or(i32::MAX))),
        },
    ]
}

/// The metadata of the table, made by Java unless it is there.
fn many_files(folder: &Path, manifests: i64, files: i64) -> Result<String> {
    let name = format!("files-{manifests}-{files}");
    let known = folder.join(format!("{name}.location"));
    if let Ok(metadata) = std::fs::read_to_string(&known) {
        return Ok(metadata);
    }
    std::fs::create_dir_all(folder)?;
    let table = folder.join(name);
    let table = table.to_str().ok_or("the folder's name is not UTF-8")?;
    let output = java(&["make-manifests", table, &manifests.to_string(), &files.to_string()])?;
    std::fs::write(known, output.trim())?;
    Ok(output.trim().to_owned())
}

/// What Java found, and its CPU time in seconds.
struct JavaPlan {
    files: usize,
    cpu: f64,
}

fn java_plans(metadata: &str, rounds: usize, scans: &[Scan]) -> Result<Vec<JavaPlan>> {
    let rounds = rounds.to_string();
    let mut arguments = vec!["bench-plan", metadata, &rounds];
    arguments.extend(scans.iter().map(|scan| scan.java.as_str()));
    let output = java(&arguments)?;
    let plans = output.lines().map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, files, "files", cpu, "CPU", "seconds"] = words[..] else { return None };
        Some(JavaPlan { files: files.parse().ok()?, cpu: cpu.parse().ok()? })
    });
    let plans: Option<Vec<_>> = plans.collect();
    plans.filter(|plans| plans.len() == scans.len()).ok_or_else(|| format!("Java answered {output}").into())
}

fn java(arguments: &[&str]) -> Result<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../interop/java/run.sh");
    let output = Command::new(script).args(arguments).output()?;
    if !output.status.success() {
        return Err(format!("Java failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// A runtime on which so many threads decode.
fn runtime(threads: usize) -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(threads).max_blocking_threads(threads).enable_all().build()?)
}

/// The table in a catalog with these properties, which goes when the fixture goes.
async fn open(folder: &Path, metadata: &str, properties: &[(&str, &str)]) -> Result<(Fixture, Table)> {
    let fixture = Fixture::with_properties(folder, properties).await?;
    let identifier = Fixture::identifier("files")?;
    let table = fixture.catalog.register_table(&identifier, metadata, Some(MASTER_KEY_ID)).await?;
    Ok((fixture, table))
}

/// How many files are found, and what one plan costs in the best of the rounds after one to warm up.
fn plans(runtime: &Runtime, table: &Table, scan: &Scan, rounds: usize) -> Result<(usize, Cost)> {
    let (mut found, mut best) = (0, Cost { time: Duration::MAX, cpu: Duration::MAX });
    let scan = TableScan::new(table).with_filter(scan.filter.clone());
    for round in 0..=rounds {
        let (watch, mut plans) = (Watch::start(), 0);
        let whole = loop {
            let scan = scan.clone();
            found = runtime.block_on(plan(scan))?;
            plans += 1;
            let cost = watch.so_far();
            if cost.time >= ROUND {
                break cost;
            }
        };
        if round > 0 {
            best.time = best.time.min(whole.time / plans);
            best.cpu = best.cpu.min(whole.cpu / plans);
        }
    }
    Ok((found, best))
}

/// Plans on a thread of the runtime, and drops what was found, as Java's collector does in its own time.
async fn plan(scan: TableScan) -> Result<usize> {
    let plan = tokio::spawn(async move { scan.plan().await.map(|plan| plan.tasks.len()) });
    Ok(plan.await??)
}
