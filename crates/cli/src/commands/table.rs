//! `lakelock table`: its subcommands, those about one table's inside in modules of their own.

mod create;
mod describe;
mod files;
mod history;
mod register;

use std::io::{self, IsTerminal as _, Write as _};

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Context as _, Failure, Result};
use crate::names;
use crate::output::Listing;

pub(crate) use create::{KEY_ID, Layout, Protection, create, drop_again};
pub(crate) use describe::columns;

/// Make tables and look at them
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Create(create::Arguments),
    Register(register::Arguments),
    /// List tables
    #[command(after_help = "\
Examples:
  lakelock table list
  lakelock table list shop --output json")]
    List {
        /// Only the tables of this namespace
        namespace: Option<String>,
    },
    /// Show a table's columns, partitioning, snapshots and keys; works without its keys
    #[command(after_help = "\
Examples:
  lakelock table describe shop.orders
  lakelock table describe shop.orders --output json")]
    Describe {
        /// NAMESPACE.TABLE
        table: String,
    },
    /// List a table's snapshots, the newest first; works without its keys
    #[command(after_help = "\
Examples:
  lakelock table history shop.orders
  lakelock table history shop.orders --output csv")]
    History {
        /// NAMESPACE.TABLE
        table: String,
    },
    /// List a table's data files
    #[command(after_help = "\
Examples:
  lakelock table files shop.orders
  lakelock table files shop.orders --snapshot 3051729675574597004 --output json")]
    Files {
        /// NAMESPACE.TABLE
        table: String,
        /// As of this snapshot instead of the current one
        #[arg(long, value_name = "ID")]
        snapshot: Option<i64>,
    },
    /// Remove a table from the catalog
    #[command(after_help = "\
Examples:
  lakelock table drop shop.orders                 its files stay
  lakelock table drop shop.orders --purge --yes   its files are deleted too")]
    Drop {
        /// NAMESPACE.TABLE
        table: String,
        /// Delete the table's files too
        #[arg(long)]
        purge: bool,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    match arguments.command {
        Command::Create(arguments) => create::run(context, arguments).await,
        Command::Register(arguments) => register::run(context, &arguments).await,
        Command::List { namespace } => list(context, namespace.as_deref()).await,
        Command::Describe { table } => describe::run(context, &table).await,
        Command::History { table } => history::run(context, &table).await,
        Command::Files { table, snapshot } => files::run(context, &table, snapshot).await,
        Command::Drop { table, purge, yes } => drop_table(context, &table, purge, yes).await,
    }
}

async fn list(context: &Context, namespace: Option<&str>) -> Result<()> {
    let catalog = context.catalog().await?;
    let tables = match namespace {
        Some(namespace) => catalog.list_tables(&names::namespace(namespace)?).await?,
        None => names::all_tables(&*catalog).await?,
    };
    Listing::default()
        .text("table", tables.iter().map(|ident| Some(names::show(ident))))
        .print(context.format(), context.paint())
}

async fn drop_table(context: &Context, table: &str, purge: bool, yes: bool) -> Result<()> {
    let ident = names::table(table)?;
    let catalog = if purge { context.catalog_with_keys().await? } else { context.catalog().await? };
    if purge && !yes && !confirm(&format!("Delete {table} and all of its files?"))? {
        return Err(Failure::new(format!("{table} was not dropped")));
    }
    catalog.drop_table(&ident, purge).await?;
    context.say(format!("dropped {table}{}", if purge { " and its files" } else { "; its files are still there" }));
    Ok(())
}

fn confirm(question: &str) -> Result<bool> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage("this deletes files, and there is no terminal to ask on").hint("add --yes"));
    }
    write!(io::stderr(), "{question} [y/N] ")?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
