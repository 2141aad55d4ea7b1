//! `lakelock ducklake`: catalogs of DuckLake that Lakelock keeps.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use lakelock_ducklake::{Access, Contents, Lake, OpenOptions};
use lakelock_ducklake_datafusion::{CatalogLocation, ErrorKind, Exported};
use lakelock_storage::Storage;

use crate::context::Context;
use crate::failure::{Context as _, Failure, Result};
use crate::output::Listing;
use crate::terminal::printable;

/// Make and look into catalogs of DuckLake
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    after_help = "\
A catalog is a folder, local or in a bucket, that DuckDB attaches with the
extension of Lakelock:
  ATTACH 'ducklake:lakelock:s3://bucket/catalog' AS lake
      (DATA_PATH 's3://bucket/data/', ENCRYPTED);
The keys of data files are never shown; `export --with-keys` writes them to a file."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a catalog
    #[command(after_help = "\
Whether the data files are encrypted is fixed by that. DuckLake's own tables come
when DuckDB attaches the catalog for the first time.

Examples:
  lakelock ducklake init lake/catalog --encrypted
  lakelock ducklake init s3://bucket/catalog")]
    Init {
        /// Where it is to be
        #[arg(value_parser = folder)]
        location: String,
        /// Of a lake whose data files are encrypted
        #[arg(long)]
        encrypted: bool,
    },
    /// Check that the files of a lake are there and encrypted
    #[command(after_help = "\
For each live file: whether its table is there, and in an encrypted lake whether
the catalog has its key. With --files also whether it is in its place, as long as
the catalog says, and begins like an encrypted file.

With --at-rest also whether S3 itself keeps the lake under a key of its KMS: every
object of the catalog and of the data path, and the default of the buckets, under
which comes what DuckDB writes without asking for a key. The key is that of
--kms-key, else that of s3.sse.key in lakelock.toml, else the bucket's default.

Exit code 3 if anything is wrong.

Examples:
  lakelock ducklake check lake/catalog
  lakelock ducklake check s3://bucket/catalog --files --output json
  lakelock ducklake check s3://bucket/catalog --at-rest \\
      --kms-key arn:aws:kms:eu-west-1:111122223333:key/1234abcd-...")]
    Check {
        /// Where the catalog is
        #[arg(value_parser = folder)]
        location: String,
        #[command(flatten)]
        of: Of,
        #[command(flatten)]
        checks: Checks,
    },
    /// List the tables of a lake
    #[command(after_help = "\
Examples:
  lakelock ducklake tables lake/catalog
  lakelock ducklake tables lake/catalog --snapshot 12 --output json")]
    Tables {
        /// Where the catalog is
        #[arg(value_parser = folder)]
        location: String,
        #[command(flatten)]
        of: Of,
    },
    /// List the data files and delete files of a lake
    #[command(after_help = "\
Examples:
  lakelock ducklake files lake/catalog
  lakelock ducklake files lake/catalog shop.orders --output csv")]
    Files {
        /// Where the catalog is
        #[arg(value_parser = folder)]
        location: String,
        /// Those of this table only
        #[arg(value_name = "SCHEMA.TABLE")]
        table: Option<String>,
        #[command(flatten)]
        of: Of,
    },
    /// Write the catalog to an SQLite file, which DuckDB attaches without Lakelock
    #[command(after_help = "\
The file is one that DuckLake attaches as ducklake:sqlite:FILE, to read and to go
on writing; the data files stay where they are. From then on the catalog and the
file are two lakes over the same files: write to one of them only.

An encrypted lake needs --with-keys: the keys of all data files are in the file as
they are, and only its owner can read it.

Examples:
  lakelock ducklake export lake/catalog meta.sqlite
  lakelock ducklake export s3://bucket/catalog meta.sqlite --with-keys")]
    Export {
        /// Where the catalog is
        #[arg(value_parser = folder)]
        location: String,
        /// The file to make
        file: PathBuf,
        /// The schema of the catalog that has the lake's tables
        #[arg(long, value_name = "SCHEMA", default_value = "main")]
        metadata_schema: String,
        /// Write the keys of data files, readable
        #[arg(long)]
        with_keys: bool,
    },
}

/// Which lake of the catalog, and as of when.
#[derive(Debug, Args)]
struct Of {
    /// The schema of the catalog that has the lake's tables
    #[arg(long, value_name = "SCHEMA", default_value = "main")]
    metadata_schema: String,
    /// An older snapshot
    #[arg(long, value_name = "NUMBER")]
    snapshot: Option<i64>,
}

/// What is looked at beside the catalog.
#[derive(Debug, Args)]
struct Checks {
    /// Look at the files, too
    #[arg(long)]
    files: bool,
    /// Look at what S3 itself encrypts the objects with
    #[arg(long)]
    at_rest: bool,
    /// The key that they are to be under, by its ARN or id
    #[arg(long, value_name = "KEY", requires = "at_rest")]
    kms_key: Option<String>,
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    match arguments.command {
        Command::Init { location, encrypted } => init(context, &location, encrypted).await,
        Command::Check { location, of, checks } => check(context, &location, &of, checks).await,
        Command::Tables { location, of } => tables(context, &location, &of).await,
        Command::Files { location, table, of } => files(context, &location, table.as_deref(), &of).await,
        Command::Export { location, file, metadata_schema, with_keys } => {
            export(context, &location, &file, &metadata_schema, with_keys).await
        }
    }
}

async fn init(context: &Context, location: &str, encrypted: bool) -> Result<()> {
    let there = context.location(location);
    let storage = storage(context, &there)?;
    match Lake::open(&storage, &there, OpenOptions::default()).await {
        Ok(_) => return Err(Failure::new(format!("there is a catalog at {} already", printable(location)))),
        Err(error) if error.kind() == lakelock_ducklake::ErrorKind::NotFound => {}
        Err(error) => return Err(error.into()),
    }
    let options =
        OpenOptions { access: Access::ReadWrite, create: true, encrypted: Some(encrypted), ..OpenOptions::default() };
    Lake::open(&storage, &there, options).await?.close().await?;
    context.say(format!("made the catalog {}", printable(location)));
    Ok(())
}

/// The key that a lake is to be under at rest; none, if that is up to the bucket.
fn expected_key(context: &Context, given: Option<String>) -> Result<Option<String>> {
    let key = match given {
        Some(key) => Some(key),
        None => context.settings()?.properties.to_map().remove("s3.sse.key"),
    };
    match key {
        Some(key) if key.starts_with("alias/") || key.contains(":alias/") => {
            let message = format!("{} is the alias of a key, and S3 says which key itself it is", printable(&key));
            Err(Failure::usage(message).hint("give the key's ARN or id by --kms-key"))
        }
        key => Ok(key),
    }
}

async fn check(context: &Context, location: &str, of: &Of, checks: Checks) -> Result<()> {
    let Checks { files, at_rest, kms_key } = checks;
    let there = context.location(location);
    let lake = open(context, location).await?;
    let transaction = lake.begin().await?;
    let contents = Contents::read(&transaction, &of.metadata_schema, of.snapshot).await?;
    let data = files.then(|| storage(context, contents.data_path())).transpose()?;
    let mut problems = contents.check(data.as_ref()).await?;
    let mut under = String::new();
    if at_rest {
        let key = expected_key(context, kms_key)?;
        let found = contents.check_at_rest(&there, &storage(context, &there)?, key.as_deref()).await?;
        under = format!("; at rest all {} objects are under {}", found.objects, printable(&found.key));
        problems.extend(found.problems);
    }
    Listing::default()
        .text("file", problems.iter().map(|problem| Some(&problem.location)))
        .text("problem", problems.iter().map(|problem| Some(problem.what.to_string())))
        .print(context.format(), context.paint())?;
    if problems.is_empty() {
        let is = if contents.is_encrypted() { "encrypted" } else { "not encrypted" };
        context
            .say(format!("nothing is wrong with snapshot {} of the lake, which is {is}{under}", contents.snapshot()));
        return Ok(());
    }
    Err(Failure::finding(format!("{} files of the lake are not as they should be", problems.len())))
}

async fn tables(context: &Context, location: &str, of: &Of) -> Result<()> {
    let lake = open(context, location).await?;
    let transaction = lake.begin().await?;
    let tables = Contents::read(&transaction, &of.metadata_schema, of.snapshot).await?.tables().await?;
    Listing::default()
        .text("schema", tables.iter().map(|table| Some(&table.schema)))
        .text("table", tables.iter().map(|table| Some(&table.name)))
        .numbers("files", tables.iter().map(|table| i64::try_from(table.files).ok()))
        .numbers("rows", tables.iter().map(|table| Some(table.rows)))
        .numbers("bytes", tables.iter().map(|table| Some(table.bytes)))
        .print(context.format(), context.paint())
}

async fn files(context: &Context, location: &str, table: Option<&str>, of: &Of) -> Result<()> {
    let lake = open(context, location).await?;
    let transaction = lake.begin().await?;
    let contents = Contents::read(&transaction, &of.metadata_schema, of.snapshot).await?;
    let tables = contents.tables().await?;
    let full_name = |table: &lakelock_ducklake::LakeTable| format!("{}.{}", table.schema, table.name);
    let table = match table {
        None => None,
        Some(name) => {
            let found = tables.iter().find(|table| full_name(table) == name);
            let missing = || {
                Failure::new(format!("there is no table {} in the lake", printable(name)))
                    .hint("`lakelock ducklake tables` shows the tables there are")
            };
            Some(found.ok_or_else(missing)?.id)
        }
    };
    let files = contents.files(table).await?;
    let name = |id| tables.iter().find(|table| table.id == id).map(full_name);
    Listing::default()
        .text("table", files.iter().map(|file| name(file.table_id)))
        .text("file", files.iter().map(|file| Some(&file.location)))
        .flags("deletes", files.iter().map(|file| file.deletes))
        .numbers("rows", files.iter().map(|file| file.rows))
        .numbers("bytes", files.iter().map(|file| file.bytes))
        .numbers("snapshot", files.iter().map(|file| file.begin_snapshot))
        .text("encryption_key", files.iter().map(|file| file.has_key.then_some("[redacted]")))
        .print(context.format(), context.paint())
}

async fn export(context: &Context, location: &str, file: &Path, schema: &str, with_keys: bool) -> Result<()> {
    let lake = open(context, location).await?;
    let exported = lakelock_ducklake_datafusion::export_sqlite(&lake, schema, &context.absolute(file), with_keys).await;
    let Exported { tables, rows } = exported.map_err(|error| {
        let needs_keys = !with_keys && error.kind() == ErrorKind::InvalidInput && !file.exists();
        let failure = Failure::from(error);
        if needs_keys { failure.hint("--with-keys writes them all the same") } else { failure }
    })?;
    let keys = if with_keys { ", its keys included: keep it as safe as the keys" } else { "" };
    context.say(format!("wrote {tables} tables with {rows} rows to {}{keys}", printable(&file.display().to_string())));
    Ok(())
}

/// Where a catalog is, also as DuckDB's `ATTACH` has it.
fn folder(text: &str) -> Result<String, String> {
    match CatalogLocation::parse(text).map_err(|error| error.to_string())? {
        CatalogLocation::Lakelock(folder) => Ok(folder),
        // What is not there yet is not known to be a folder.
        CatalogLocation::DuckDb(path) => Ok(path.to_string_lossy().into_owned()),
        other => Err(format!("{other} is a catalog of DuckLake's own, which `lakelock sql --ducklake` reads")),
    }
}

/// A catalog, to read.
async fn open(context: &Context, location: &str) -> Result<Lake> {
    let there = context.location(location);
    let opened = Lake::open(&storage(context, &there)?, &there, OpenOptions::default()).await;
    opened.with_context(|| format!("cannot open the catalog {}", printable(location)))
}

/// What leads to a location: for an object store the properties of the configured catalog say how.
fn storage(context: &Context, location: &str) -> Result<Storage> {
    let is_remote = location.contains("://") && !location.starts_with("file:");
    if is_remote {
        Ok(Storage::from_properties(&context.settings()?.properties.to_map())?)
    } else {
        Ok(Storage::local())
    }
}
