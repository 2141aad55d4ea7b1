//! `lakelock load`: files into a table, in one commit.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use lakelock_catalog::Catalog;
use lakelock_iceberg::arrow_schema::{arrow_to_schema, schema_to_arrow};
use lakelock_iceberg::commit::AppendFiles;
use lakelock_iceberg::manifest::DataFile;
use lakelock_iceberg::schema_text::parse_schema;
use lakelock_iceberg::spec::{Schema, TableIdent};
use lakelock_iceberg::write::{DataFileWriter, WriteOptions};
use lakelock_iceberg::{Error as TableError, Table};
use tokio::sync::mpsc;

use super::table::{self, KEY_ID, Layout, Protection};
use crate::context::{Context, OpenCatalog};
use crate::failure::{Context as _, Failure, Result};
use crate::ingest::{self, CsvOptions, FileFormat, Progress, Source};
use crate::interrupt::interruption;
use crate::names;
use crate::terminal::{byte_size, grouped};

/// Batches that may wait for the writer.
const QUEUE: usize = 4;

/// Append files to a table: CSV, JSON lines, Parquet
#[derive(Debug, Args)]
#[command(after_help = "\
All files go into one commit. A row that does not fit stops all of it: nothing
is committed then, and no file is left. Columns are matched by name.
CSV files start with a line of names; an empty field is null, \"\" an empty
string. JSON files hold one object a line. Text is read as `lakelock sql` writes
it: dates and times in ISO 8601 (UTC if a timestamptz has no zone), binary in hex.

Examples:
  lakelock load shop.orders orders.parquet more.csv
  lakelock load shop.orders orders.csv --create --key orders-key
  lakelock load shop.events events.jsonl --create --key k --partition-by 'day(at)'
  lakelock load shop.flights flights.csv --null NA --create --key k \\
    --schema 'day date, delay int, tail string'")]
pub(crate) struct Arguments {
    /// NAMESPACE.TABLE
    table: String,
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What the files are, if their names do not tell
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// CSV: what is between fields, instead of a comma (a tab in .tsv files)
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
    /// CSV: an unquoted text that means null, besides the empty one (repeatable)
    #[arg(long, value_name = "TEXT")]
    null: Vec<String>,
    /// Make the table first; its columns are those of the first file unless --schema says otherwise
    #[arg(long, requires = "protection")]
    create: bool,
    /// With --create: encrypt the table under this master key
    #[arg(long, value_name = "KEY", requires = "create", group = "protection")]
    key: Option<String>,
    /// With --create: do not encrypt the table
    #[arg(long, requires = "create", group = "protection")]
    plaintext: bool,
    /// With --create: the columns, as for `table create`
    #[arg(long, requires = "create")]
    schema: Option<String>,
    #[command(flatten)]
    layout: Layout,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !b"\"\r\n".contains(byte) => Ok(*byte),
        _ => Err("expected one ASCII character".to_owned()),
    }
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    if !arguments.create && (arguments.layout.partition_by.is_some() || !arguments.layout.property.is_empty()) {
        return Err(Failure::usage("--partition-by and --property describe a new table").hint("add --create"));
    }
    let ident = names::table(&arguments.table)?;
    let csv = CsvOptions { delimiter: arguments.delimiter, nulls: arguments.null.clone() };
    let sources =
        arguments.files.iter().map(|file| Source::new(file.clone(), arguments.format)).collect::<Result<Vec<_>>>()?;
    let catalog = context.catalog_with_keys().await?;
    if !arguments.create {
        let table = catalog.load_table(&ident).await?;
        return load(context, &catalog, &table, sources, csv).await;
    }

    if catalog.table_exists(&ident).await? {
        return Err(Failure::new(format!("{} exists already", arguments.table)).hint("leave --create out to add to it"));
    }
    let schema = new_schema(&arguments, &sources, &csv)?;
    let protection = Protection::under(arguments.key.clone());
    let new_namespace = !catalog.namespace_exists(ident.namespace()).await?;
    let table = table::create(context, &catalog, &ident, schema, &protection, &arguments.layout).await?;
    let loaded = load(context, &catalog, &table, sources, csv).await;
    if loaded.is_err() {
        take_back(context, &*catalog, &ident).await;
        if new_namespace {
            table::drop_again(&*catalog, ident.namespace()).await;
        }
    }
    loaded
}

fn new_schema(arguments: &Arguments, sources: &[Source], csv: &CsvOptions) -> Result<Schema> {
    match &arguments.schema {
        Some(text) => parse_schema(text).context("--schema cannot be understood"),
        None => {
            Ok(arrow_to_schema(&ingest::infer_schema(sources, csv)?)
                .context("no table can be made of these columns")?)
        }
    }
}

/// The table was made for this load, which failed.
async fn take_back(context: &Context, catalog: &dyn Catalog, ident: &TableIdent) {
    match catalog.drop_table(ident, true).await {
        Ok(()) => context.say(format!("dropped table {} again", names::show(ident))),
        Err(error) => tracing::warn!(%error, table = %names::show(ident), "the new, empty table could not be dropped"),
    }
}

/// Loads files into a table, with a progress bar, and says what was loaded.
pub(crate) async fn load(
    context: &Context,
    catalog: &OpenCatalog,
    table: &Table,
    sources: Vec<Source>,
    csv: CsvOptions,
) -> Result<()> {
    check_keys(catalog, table).await?;
    let started = Instant::now();
    let files = sources.len();
    let progress = Progress::default();
    let bar = progress_bar(context, &sources, &progress);
    let written = write(table, sources, csv, progress).await;
    bar.finish_and_clear();
    let written = written?;
    let rows: u64 = written.iter().map(|file| file.record_count).sum();
    if rows == 0 {
        context.say("there are no rows in these files: nothing was loaded");
        return Ok(());
    }
    let (count, bytes) = (written.len(), written.iter().map(|file| file.file_size_in_bytes).sum::<u64>());
    commit(&**catalog, table, written).await?;
    let plural = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    context.say(format!(
        "loaded {} row{} of {} into {}: {}, {}, {:.1} s",
        grouped(rows),
        if rows == 1 { "" } else { "s" },
        plural(files, "file"),
        names::show(table.identifier()),
        plural(count, "data file"),
        byte_size(bytes),
        started.elapsed().as_secs_f64(),
    ));
    Ok(())
}

/// Opens the key of the newest manifest list, or without one tries the master key: what the commit will need is better
/// missed before the rows are written.
async fn check_keys(catalog: &OpenCatalog, table: &Table) -> Result<()> {
    let metadata = table.metadata();
    match (metadata.current_snapshot(), metadata.properties().get(KEY_ID)) {
        (Some(snapshot), _) => drop(table.io().manager().manifest_list_key(metadata, snapshot).await?),
        (None, Some(key_id)) => catalog.check_master_key(key_id).await?,
        (None, None) => {}
    }
    Ok(())
}

async fn commit(catalog: &dyn Catalog, table: &Table, files: Vec<DataFile>) -> Result<()> {
    let locations: Vec<String> = files.iter().map(|file| file.file_path.clone()).collect();
    let Err(error) = lakelock_catalog::commit(catalog, table.identifier(), &AppendFiles::new(files)).await else {
        return Ok(());
    };
    // After an unknown outcome the files may be part of the table.
    if error.kind() != lakelock_catalog::ErrorKind::UnknownOutcome {
        for location in locations {
            if let Err(error) = table.io().storage().delete(&location).await {
                tracing::warn!(%error, "a data file that was not committed is left");
            }
        }
    }
    Err(error).context("the rows were written, but could not be committed")
}

/// Reads on a thread of its own, while this one encodes and encrypts. Stops when the user wants it to; what was written
/// is removed then.
async fn write(table: &Table, sources: Vec<Source>, csv: CsvOptions, progress: Progress) -> Result<Vec<DataFile>> {
    let schema = schema_to_arrow(table.metadata().current_schema())?;
    let mut interruption = pin!(interruption()?);
    // First of all: it refuses a table that cannot be written.
    let mut writer = DataFileWriter::new(table, WriteOptions::default())?;
    let (sender, mut batches) = mpsc::channel(QUEUE);
    let sources = Arc::new(sources);
    let reader = tokio::task::spawn_blocking({
        let sources = sources.clone();
        move || read(&sources, &schema, &csv, &progress, &sender)
    });
    let mut first_row = 1;
    let mut current = 0;
    let mut outcome = Ok(());
    loop {
        let received = tokio::select! {
            received = batches.recv() => received,
            interrupted = &mut interruption => {
                // The reader is left behind: it may be waiting for a pipe.
                writer.abort().await;
                return Err(interrupted);
            }
        };
        let Some((file, batch)) = received else { break };
        if file != current {
            (current, first_row) = (file, writer.rows() + 1);
        }
        if let Err(error) = writer.write(batch).await {
            outcome = Err(of_file(error, &sources[file], first_row));
            break;
        }
    }
    // The reader notices that nobody listens any more.
    drop(batches);
    let read = reader.await.context("reading the files stopped unexpectedly")?;
    match outcome.and(read) {
        Ok(()) => Ok(writer.close().await?),
        Err(failure) => {
            writer.abort().await;
            Err(failure)
        }
    }
}

/// The writer counts rows over all files.
fn of_file(error: TableError, source: &Source, first_row: u64) -> Failure {
    let path = source.path.display();
    let message = if first_row == 1 {
        format!("cannot load {path}")
    } else {
        format!("cannot load {path}, whose first row is row {first_row} of this load")
    };
    match Err::<(), _>(error).context(message) {
        Err(failure) => failure,
        Ok(()) => Failure::new("no error"),
    }
}

fn read(
    sources: &[Source],
    schema: &SchemaRef,
    csv: &CsvOptions,
    progress: &Progress,
    sender: &mpsc::Sender<(usize, RecordBatch)>,
) -> Result<()> {
    for (i, source) in sources.iter().enumerate() {
        for batch in ingest::open(source, schema, csv, progress)? {
            if sender.blocking_send((i, batch?)).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// A bar on a terminal; elsewhere nothing.
fn progress_bar(context: &Context, sources: &[Source], progress: &Progress) -> ProgressBar {
    if context.is_quiet() || !std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(sources.iter().map(|source| source.bytes).sum());
    let template = "{bar:30} {percent:>3}%  {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("━━─"));
    }
    let (watched, progress) = (bar.clone(), progress.clone());
    tokio::spawn(async move {
        while !watched.is_finished() {
            watched.set_position(progress.bytes());
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    bar
}
