//! `lakelock inspect`.

use std::io::{self, Write as _};
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
its manifest says.

Examples:
  lakelock inspect warehouse/shop/orders/data/00000-0.parquet
  lakelock inspect s3://lake/shop/orders/metadata/snap-1.avro --output json
  lakelock inspect warehouse/shop/orders/metadata/snap-1.avro --table shop.orders")]
pub(crate) struct Arguments {
    /// A path, or a location like s3://...
    file: String,
    /// The table that the file belongs to, whose keys open it
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    let location = context.location(&arguments.file);
    let is_remote = location.contains("://") && !location.starts_with("file:");
    if let Some(name) = &arguments.table {
        let table = context.catalog_with_keys().await?.load_table(&names::table(name)?).await?;
        return print_document(&of_table(&table, name, &location).await?);
    }
    let storage =
        if is_remote { Storage::from_properties(&context.settings()?.properties.to_map())? } else { Storage::local() };
    let report = Subject::open(&storage, &location).await?.describe().await?;
    match context.format() {
        OutputFormat::Json => print_document(&report.into_json()),
        OutputFormat::Csv => {
            let lines = report.lines();
            Listing::default()
                .text("property", lines.iter().map(|(name, _)| Some(name)))
                .text("value", lines.iter().map(|(_, value)| Some(value)))
                .print(OutputFormat::Csv, context.paint())
        }
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

/// Finds what the table says of a file, the newest snapshot first, and shows what is in it.
async fn of_table(table: &Table, name: &str, location: &str) -> Result<Value> {
    let metadata = table.metadata();
    let mut snapshots: Vec<&Arc<Snapshot>> = metadata.snapshots().collect();
    snapshots.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.sequence_number()));
    if let Some(snapshot) = snapshots.iter().find(|snapshot| is_same(snapshot.manifest_list(), location)) {
        let manifests = read_manifest_list(table.io(), metadata, snapshot).await?;
        return Ok(json!({
            "file": location, "kind": "manifest list", "snapshot_id": snapshot.snapshot_id(),
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

/// Whether two locations are the same file: local ones may be written in several ways.
fn is_same(known: &str, asked: &str) -> bool {
    fn path(location: &str) -> Option<std::path::PathBuf> {
        let path = match location.strip_prefix("file:") {
            Some(rest) => rest.strip_prefix("//").unwrap_or(rest),
            None if location.starts_with('/') => location,
            None => return None,
        };
        std::fs::canonicalize(path).ok()
    }
    known == asked || path(known).is_some_and(|known| Some(known) == path(asked))
}
