//! `lakelock inspect`.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use lakelock_iceberg::Table;
use lakelock_iceberg::manifest::{Manifest, manifest_list_to_json, read_manifest_list};
use lakelock_iceberg::spec::Snapshot;
use lakelock_storage::Storage;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::inspect::Subject;
use crate::names;
use crate::output::{Listing, OutputFormat, print_document};
use crate::terminal::printable;

/// Say what a file is: encrypted or not, its lengths, blocks and keys
#[derive(Debug, Args)]
#[command(after_help = "\
Knows Parquet with an encrypted or plaintext footer, AES GCM streams (AGS1),
Avro, Puffin and table metadata. With --table, a manifest list or manifest of
that table is decrypted and shown as JSON, keys redacted; of a data file, what
its manifest says; its metadata needs no key.

Examples:
  lakelock inspect warehouse/shop/orders/data/00000-0.parquet
  lakelock inspect warehouse/shop/orders/metadata/snap-1.avro --output json
  lakelock inspect warehouse/shop/orders/metadata/snap-1.avro --table shop.orders
  lakelock inspect s3://lake/shop/orders/data/00000-0.parquet")]
pub(crate) struct Arguments {
    /// Its path, or its location in an object store
    file: String,
    /// The table that the file belongs to, whose keys open it
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    let location = context.location(&arguments.file);
    let is_remote = location.contains("://") && !location.starts_with("file:");
    if local_path(&location).is_some_and(Path::is_dir) {
        return Err(Failure::new(format!("{} is a folder", arguments.file)).hint("name a file in it"));
    }
    // Its metadata is the same for everybody: no key is asked for.
    if let Some(name) = &arguments.table
        && !is_metadata(&context.catalog().await?.load_table(&names::table(name)?).await?, &location)
    {
        if context.format() == OutputFormat::Csv {
            return Err(Failure::usage("what a table says of a file is shown as JSON, not as CSV")
                .hint("leave --output out, or say `--output json`"));
        }
        let table = context.catalog_with_keys().await?.load_table(&names::table(name)?).await?;
        return print_document(&of_table(&table, name, &location).await?);
    }
    let storage =
        if is_remote { Storage::from_properties(&context.settings()?.properties.to_map())? } else { Storage::local() };
    let report = Subject::open(&storage, &location).await?.describe().await?;
    match context.format() {
        OutputFormat::Json => print_document(&report.into_json()),
        OutputFormat::Csv => Listing::default()
            .text("key", report.plain().map(|(key, _)| Some(key)))
            .text("value", report.plain().map(|(_, value)| value))
            .print(OutputFormat::Csv, context.paint()),
        OutputFormat::Table => {
            let lines = report.lines();
            let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
            let mut out = io::stdout().lock();
            for (name, value) in lines {
                writeln!(out, "{}  {}", context.paint().dim(format!("{name:<width$}")), printable(&value))?;
            }
            Ok(())
        }
    }
}

/// Whether a file is the table's metadata.json, or was before.
fn is_metadata(table: &Table, location: &str) -> bool {
    let before = table.metadata().metadata_log().iter().map(|entry| entry.metadata_file.as_str());
    before.chain([table.metadata_location()]).any(|file| is_same(file, location))
}

/// Finds what the table says of a file, the newest snapshot first, and shows what is in it.
async fn of_table(table: &Table, name: &str, location: &str) -> Result<Value> {
    let metadata = table.metadata();
    let mut snapshots: Vec<&Arc<Snapshot>> = metadata.snapshots().collect();
    snapshots.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.sequence_number()));
    if let Some(snapshot) = snapshots.iter().find(|snapshot| is_same(snapshot.manifest_list(), location)) {
        let manifests = read_manifest_list(table.io(), metadata, snapshot).await?;
        return Ok(json!({
            "file": location, "kind": "manifest list", "snapshot_id": snapshot.snapshot_id().to_string(),
            "manifests": manifest_list_to_json(&manifests, |id| {
                metadata.partition_spec_by_id(id)?.partition_type(metadata.current_schema()).ok()
            }),
        }));
    }
    let mut seen = std::collections::HashSet::new();
    for snapshot in snapshots {
        for file in read_manifest_list(table.io(), metadata, snapshot).await? {
            if !seen.insert(file.manifest_path.clone()) {
                continue;
            }
            let manifest = Manifest::read(table.io(), metadata, &file).await?;
            if is_same(&file.manifest_path, location) {
                return Ok(json!({"file": location, "kind": "manifest", "manifest": manifest.to_json()}));
            }
            if let Some(place) = manifest.entries.iter().position(|entry| is_same(&entry.data_file.file_path, location))
            {
                let report = Subject::open(table.io().storage(), location).await?.describe().await?;
                let entry = manifest.to_json()["entries"][place].take();
                return Ok(json!({"file": report.into_json(), "manifest": file.manifest_path, "entry": entry}));
            }
        }
    }
    Err(Failure::new(format!("{location} is not a file of {name}"))
        .hint(format!("`lakelock table files {name}` lists its data files")))
}

/// Whether two locations are the same file: they may be written in several ways.
fn is_same(known: &str, asked: &str) -> bool {
    let path = |location| std::fs::canonicalize(local_path(location)?).ok();
    let canonical = |location| Storage::canonical(location).ok();
    canonical(known).is_some_and(|known| Some(known) == canonical(asked))
        || path(known).is_some_and(|known| Some(known) == path(asked))
}

/// The path of a location on this machine.
fn local_path(location: &str) -> Option<&Path> {
    let path = match location.strip_prefix("file:") {
        Some(rest) => rest.strip_prefix("//").unwrap_or(rest),
        None if location.starts_with('/') => location,
        None => return None,
    };
    Some(Path::new(path))
}
