//! The command line.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{ArgAction, Args, Parser, Subcommand};

use crate::commands::{completions, demo, ducklake, init, inspect, keystore, kms, load, namespace, sql, table};
use crate::output::OutputFormat;
use crate::terminal::ColorChoice;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::White.on_default().bold())
    .usage(AnsiColor::White.on_default().bold())
    .literal(AnsiColor::Cyan.on_default())
    .placeholder(AnsiColor::Cyan.on_default());

/// Encrypted Apache Iceberg tables: make them, load them, query them, look inside
#[derive(Debug, Parser)]
#[command(
    name = "lakelock",
    version,
    styles = STYLES,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "\
Every file of such a table is encrypted under a key of its own, and those keys
under a master key that stays in a key management service or a local keystore.
Java, Spark, Flink and Trino read and write the same tables.

Start here:
  lakelock demo                    a tour on real data, in ./lakelock-demo

Or with a table of your own:
  lakelock init                    a catalog and a keystore in this folder
  lakelock keystore create-key orders-key
  lakelock load shop.orders orders.csv --create --key orders-key
  lakelock sql 'select count(*) from shop.orders'

`lakelock COMMAND --help` explains a command, with examples.

Configuration is a file lakelock.toml: that of --config, else $LAKELOCK_CONFIG,
in the current folder, in ~/.config/lakelock/. It has a table of Iceberg catalog
properties for each catalog:
  [catalog.main]
  type = \"sql\"                       # or \"memory\", or \"hive\" with
                                     # uri = \"thrift://HOST:9083\"
  uri = \"sqlite:catalog.db\"          # paths start at the file's folder
  warehouse = \"warehouse\"
  encryption.kms-impl = \"local\"
  keystore.path = \"keystore.json\"
  keystore.key-file = \"keystore.key\" # else $LAKELOCK_KEYSTORE_PASSPHRASE, or
                                     # the passphrase is asked for
Variables LAKELOCK_CATALOG__NAME__PROPERTY override the file: upper case stands
for lower case, `__` for `.` and `_` for `-`, so that keystore.key-file of main
is LAKELOCK_CATALOG__MAIN__KEYSTORE__KEY_FILE. --set overrides both.

Data goes to standard output, everything else to standard error.
Exit codes: 0 fine, 1 failed, 2 wrong usage, 3 a check found something,
130 interrupted."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct GlobalOptions {
    /// The configuration file
    #[arg(long, global = true, value_name = "FILE", env = "LAKELOCK_CONFIG", hide_env_values = true)]
    pub(crate) config: Option<PathBuf>,
    /// The catalog to work on, if several are configured
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) catalog: Option<String>,
    /// Set a property of the catalog, over file and environment (repeatable)
    #[arg(long, global = true, value_name = "KEY=VALUE", value_parser = property)]
    pub(crate) set: Vec<(String, String)>,
    /// How data is written
    #[arg(
        long,
        short,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value_t,
        hide_possible_values = false
    )]
    pub(crate) output: OutputFormat,
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: ColorChoice,
    /// Say only what went wrong
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more of what is done (-vv: much more)
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Arguments),
    Init(init::Arguments),
    Keystore(keystore::Arguments),
    Kms(kms::Arguments),
    Namespace(namespace::Arguments),
    Table(table::Arguments),
    Load(load::Arguments),
    Sql(sql::Arguments),
    Inspect(inspect::Arguments),
    Ducklake(ducklake::Arguments),
    Completions(completions::Arguments),
}

/// Parses `KEY=VALUE`.
pub(crate) fn property(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().to_owned(), value.to_owned())),
        _ => Err("expected KEY=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Arguments::command().debug_assert();
    }

    /// Help that teaches: an example for everything that can be run.
    #[test]
    fn every_command_has_examples() {
        fn check(command: &clap::Command) {
            if command.has_subcommands() {
                command.get_subcommands().for_each(check);
            } else {
                let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains("lakelock "), "{} has no example", command.get_name());
            }
        }
        check(&super::Arguments::command());
    }
}
