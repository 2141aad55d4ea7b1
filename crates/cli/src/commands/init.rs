//! `lakelock init`: a place to start.

use std::path::{Path, PathBuf};

use clap::Args;

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
    refuse_existing(&folder)?;
    make(context, &folder, catalog, arguments.passphrase, "").await?;

    let paint = context.paint_stderr();
    let shown = arguments.dir.display();
    context.say(format!("created {FILE_NAME}, {DATABASE} and {WAREHOUSE}/ in {shown}"));
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

fn refuse_existing(folder: &Path) -> Result<()> {
    for name in [FILE_NAME, KEYSTORE, KEY_FILE, DATABASE, WAREHOUSE] {
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

/// Makes everything in a folder that has none of it; `title` goes on top of the configuration.
pub(crate) async fn make(context: &Context, folder: &Path, catalog: &str, passphrase: bool, title: &str) -> Result<()> {
    let cannot_make = |path: &Path| format!("cannot make {}", path.display());
    std::fs::create_dir_all(folder).with_context(|| cannot_make(folder))?;
    let text = configuration(catalog, passphrase, title);
    let file = folder.join(FILE_NAME);
    let surroundings = Surroundings { folder: folder.to_owned(), user_folder: None, variables: Vec::new() };
    // Last, so that a failure before leaves nothing that looks complete.
    let parsed = Config::from_text(&text, &file)?.catalog(Some(catalog), &[], &surroundings.folder)?;
    Place::of(&parsed.properties)?.create(context)?;
    std::fs::create_dir_all(folder.join(WAREHOUSE)).with_context(|| cannot_make(&folder.join(WAREHOUSE)))?;
    open_catalog(&parsed).await?;
    std::fs::write(&file, text).with_context(|| cannot_make(&file))
}

fn configuration(catalog: &str, passphrase: bool, title: &str) -> String {
    let catalog = toml::Value::String(catalog.to_owned());
    let unlock = if passphrase {
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
warehouse = \"{WAREHOUSE}\"

# Who holds the master keys: the keystore on this machine.
encryption.kms-impl = \"local\"
keystore.path = \"{KEYSTORE}\"
{unlock}
"
    )
}
