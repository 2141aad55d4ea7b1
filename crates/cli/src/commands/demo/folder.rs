//! The demo's folder: made, or cleared of an earlier demo, and of nothing else.

use std::fs;
use std::io;
use std::path::Path;

use crate::commands::init::{DATABASE, DEFAULT_CATALOG, KEY_FILE, KEYSTORE, WAREHOUSE};
use crate::config::{Config, FILE_NAME};
use crate::context::open_catalog;
use crate::failure::{Context as _, Failure, Result};
use crate::names;

/// First line of the demo's configuration, which tells its folder from others.
pub(super) const MARK: &str = "# Made by `lakelock demo`, which may replace all of this folder.\n";
/// The rows that are loaded.
pub(super) const FLIGHTS: &str = "flights.parquet";
/// The one table of the demo.
pub(super) const TABLE: &str = "demo.flights";

/// Everything that the demo makes.
const OURS: [&str; 6] = [FILE_NAME, KEYSTORE, KEY_FILE, DATABASE, WAREHOUSE, FLIGHTS];

/// Makes sure that the folder is there and empty.
pub(super) async fn prepare(folder: &Path, shown: &Path) -> Result<()> {
    let shown = shown.display();
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>().with_context(|| format!("cannot read {shown}"))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot use {shown}")),
    };
    if !entries.is_empty() {
        let refuse = |why: &str| {
            Err(Failure::new(format!("{shown} {why}: nothing was touched"))
                .hint("name another folder: lakelock demo DIR"))
        };
        let file = folder.join(FILE_NAME);
        let Some(text) = fs::read_to_string(&file).ok().filter(|text| text.starts_with(MARK)) else {
            return refuse("is not empty, and not an earlier demo");
        };
        let foreign = entries.iter().find(|entry| !is_ours(&entry.file_name().to_string_lossy()));
        if let Some(foreign) = foreign {
            return refuse(&format!("has {} in it, which the demo did not make", foreign.file_name().display()));
        }
        if let Some(table) = foreign_table(&text, &file).await? {
            return refuse(&format!("has the table {table} in it, which the demo did not make"));
        }
        clear(folder).with_context(|| format!("cannot clear {shown}"))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {shown}"))
}

/// Locks and journals stand next to the file that they belong to.
fn is_ours(name: &str) -> bool {
    OURS.contains(&name)
        || [DATABASE, KEYSTORE, KEY_FILE].iter().any(|file| {
            name.trim_start_matches('.').strip_prefix(file).is_some_and(|rest| rest.starts_with(['-', '.']))
        })
}

/// A table that somebody added since.
async fn foreign_table(configuration: &str, file: &Path) -> Result<Option<String>> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    if !folder.join(DATABASE).exists() {
        return Ok(None);
    }
    let settings = Config::from_text(configuration, file)?.catalog(Some(DEFAULT_CATALOG), &[], folder)?;
    let tables = names::all_tables(&*open_catalog(&settings).await?).await?;
    Ok(tables.iter().map(names::show).find(|table| table != TABLE))
}

fn clear(folder: &Path) -> io::Result<()> {
    // The configuration goes last: without it the folder would not be known as ours.
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(|entry| entry.file_name() == FILE_NAME);
    for entry in entries {
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
