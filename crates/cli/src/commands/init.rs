//! `lakelock init`: a place to start.

use std::path::{Path, PathBuf};

use clap::Args;

use lakelock_storage::Storage;

use super::keystore::Place;
use crate::config::{Config, FILE_NAME, Surroundings};
use crate::context::{Context, open_catalog};
use crate::failure::{Context as _, Failure, Result};

/// Make a catalog, a keystore and a configuration in a folder
#[derive(Debug, Args)]
#[command(after_help = "\
Makes lakelock.toml, a keystore, a SQLite catalog and a warehouse folder.
Nothing that exists is overwritten.

The keystore holds the master keys. It is sealed with a key file next to it, so
that nothing has to be typed: that protects a warehouse that is copied away, but
not from somebody who can read this folder. For production move the key file
away (keystore.key-file in lakelock.toml) or use --passphrase.

Examples:
  lakelock init                       in the current folder
  lakelock init lake                  in ./lake
  lakelock init lake --passphrase     the keystore asks for a passphrase
  lakelock init --catalog prod        call the catalog prod
  lakelock init --warehouse s3://lake/tables
                                      tables go to a bucket

A bucket is reached by properties of the catalog in lakelock.toml (s3.endpoint,
client.region and others) and the credentials of the environment. It is not
connected to yet.

Then:
  lakelock keystore create-key orders-key
  lakelock load shop.orders orders.csv --create --key orders-key")]
pub(crate) struct Arguments {
    /// The folder, made if need be
    #[arg(default_value = ".")]
    dir: PathBuf,
    /// Protect the keystore with a passphrase instead of a key file
    #[arg(long)]
    passphrase: bool,
    /// Where tables are made, if not in a folder next to the catalog: a path, or a folder of a bucket
    #[arg(long, value_name = "LOCATION")]
    warehouse: Option<String>,
}

/// What the catalog is called unless `--catalog` says otherwise.
pub(crate) const DEFAULT_CATALOG: &str = "main";

/// Names of what is made, besides the configuration.
pub(crate) const KEYSTORE: &str = "keystore.json";
pub(crate) const KEY_FILE: &str = "keystore.key";
pub(crate) const DATABASE: &str = "catalog.db";
pub(crate) const WAREHOUSE: &str = "warehouse";

pub(crate) async fn run(context: &Context, arguments: &Arguments) -> Result<()> {
    let folder = context.absolute(&arguments.dir);
    let catalog = context.catalog_name().unwrap_or(DEFAULT_CATALOG);
    check_folder(&folder)?;
    let warehouse = arguments.warehouse.as_deref().map(|location| warehouse(context, location)).transpose()?;
    refuse_existing(&folder, warehouse.is_none())?;
    let make = Lake { catalog, passphrase: arguments.passphrase, warehouse: warehouse.as_deref(), title: "" };
    make.make_in(context, &folder).await?;

    let paint = context.paint_stderr();
    let shown = arguments.dir.display();
    match &warehouse {
        None => context.say(format!("created {FILE_NAME}, {DATABASE} and {WAREHOUSE}/ in {shown}")),
        Some(location) => {
            context.say(format!("created {FILE_NAME} and {DATABASE} in {shown}; tables go to {location}"));
        }
    }
    if !arguments.passphrase {
        context.say(format!("for production, keep {KEY_FILE} elsewhere and say where in {FILE_NAME}"));
    }
    context.say("");
    context.say(paint.bold("Next:"));
    if arguments.dir != Path::new(".") {
        context.say(format!("  {}", paint.command(format!("cd {shown}"))));
    }
    for command in [
        "lakelock keystore create-key orders-key",
        "lakelock load shop.orders orders.csv --create --key orders-key",
        "lakelock sql 'select count(*) from shop.orders'",
    ] {
        context.say(format!("  {}", paint.command(command)));
    }
    Ok(())
}

fn refuse_existing(folder: &Path, with_warehouse: bool) -> Result<()> {
    let names = [FILE_NAME, KEYSTORE, KEY_FILE, DATABASE].into_iter().chain(with_warehouse.then_some(WAREHOUSE));
    for name in names {
        let path = folder.join(name);
        if path.symlink_metadata().is_ok() {
            return Err(Failure::new(format!("{} exists already: nothing was made", path.display()))
                .hint("name another folder: lakelock init DIR"));
        }
    }
    Ok(())
}

/// Refuses a folder in which a lake could be made but not be found again.
pub(crate) fn check_folder(folder: &Path) -> Result<()> {
    let problem = match folder.to_str() {
        None => "its path is not valid UTF-8, which locations of tables must be",
        Some(path) if path.contains('?') => "a ? in its path would start parameters in the uri of the catalog",
        Some(_) => return Ok(()),
    };
    Err(Failure::usage(format!("nothing can be made in {}: {problem}", folder.display())).hint("name another folder"))
}

/// A location for a warehouse as the user typed it, made absolute.
fn warehouse(context: &Context, text: &str) -> Result<String> {
    let location = context.location(text);
    Storage::canonical(&location).with_context(|| format!("no tables can be made in {text}")).map_err(|failure| {
        let kinds =
            "a path, s3://BUCKET/FOLDER, gs://BUCKET/FOLDER or abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER";
        failure.into_usage().hint(format!("a warehouse is {kinds}"))
    })?;
    Ok(location.trim_end_matches('/').to_owned())
}

/// What there is to make.
pub(crate) struct Lake<'a> {
    /// What the catalog is called.
    pub(crate) catalog: &'a str,
    /// Whether the keystore has a passphrase in place of a key file.
    pub(crate) passphrase: bool,
    /// Where tables go, if not into a folder next to the catalog.
    pub(crate) warehouse: Option<&'a str>,
    /// What goes on top of the configuration.
    pub(crate) title: &'a str,
}

impl Lake<'_> {
    /// Makes everything in a folder that has none of it.
    pub(crate) async fn make_in(&self, context: &Context, folder: &Path) -> Result<()> {
        let cannot_make = |path: &Path| format!("cannot make {}", path.display());
        std::fs::create_dir_all(folder).with_context(|| cannot_make(folder))?;
        let text = self.configuration();
        let file = folder.join(FILE_NAME);
        let surroundings = Surroundings { folder: folder.to_owned(), user_folder: None, variables: Vec::new() };
        // Last, so that a failure before leaves nothing that looks complete.
        let parsed = Config::from_text(&text, &file)?.catalog(Some(self.catalog), &[], &surroundings.folder)?;
        Place::of(&parsed.properties)?.create(context)?;
        if self.warehouse.is_none() {
            std::fs::create_dir_all(folder.join(WAREHOUSE)).with_context(|| cannot_make(&folder.join(WAREHOUSE)))?;
        }
        open_catalog(&parsed).await?;
        std::fs::write(&file, text).with_context(|| cannot_make(&file))
    }

    fn configuration(&self) -> String {
        let Self { title, .. } = self;
        let catalog = toml::Value::String(self.catalog.to_owned());
        let warehouse = toml::Value::String(self.warehouse.unwrap_or(WAREHOUSE).to_owned());
        let reached = match self.warehouse {
            Some(location) if location.contains("://") => {
                "\n# How it is reached: Iceberg's properties for its store, such as client.region and s3.endpoint. Credentials come from\n\
                 # the environment, unless properties hold some."
            }
            _ => "",
        };
        let unlock = if self.passphrase {
            "# The passphrase is asked for, or taken from this environment variable.\n\
             keystore.passphrase-env = \"LAKELOCK_KEYSTORE_PASSPHRASE\""
        } else {
            "# Whoever has this file can open the keystore. For production keep it elsewhere, or remove this line and use a\n\
             # passphrase (with a new keystore).\n\
             keystore.key-file = \"keystore.key\""
        };
        format!(
        "{title}\
# Lakelock's catalogs. Each [catalog.NAME] is a table of Iceberg catalog properties; relative paths start at this folder.
# `lakelock --help` tells which variables and flags override them.

[catalog.{catalog}]
# Table names and the pins of their keys: a SQLite database.
type = \"sql\"
uri = \"sqlite:{DATABASE}\"

# Where tables are made.
warehouse = {warehouse}{reached}

# Who holds the master keys: the keystore on this machine.
encryption.kms-impl = \"local\"
keystore.path = \"{KEYSTORE}\"
{unlock}
"
    )
    }
}
