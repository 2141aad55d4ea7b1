//! `lakelock namespace`.

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::{Failure, Result};
use crate::names;
use crate::output::Listing;

/// Make, list and drop namespaces, which hold tables
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a namespace
    #[command(after_help = "\
Examples:
  lakelock namespace create shop
  lakelock namespace create shop.archive      within shop")]
    Create {
        /// Its name; dots separate levels
        namespace: String,
    },
    /// List namespaces
    #[command(after_help = "\
Examples:
  lakelock namespace list
  lakelock namespace list --output json")]
    List,
    /// Drop an empty namespace
    #[command(after_help = "\
Examples:
  lakelock namespace drop shop.archive")]
    Drop {
        /// Its name
        namespace: String,
    },
}

pub(crate) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    let catalog = context.catalog().await?;
    match arguments.command {
        Command::Create { namespace } => {
            let ident = names::namespace(&namespace)?;
            catalog.create_namespace(&ident, std::collections::HashMap::new()).await.map_err(hinted)?;
            context.say(format!("created namespace {namespace}"));
        }
        Command::List => {
            let all = names::all_namespaces(&*catalog).await?;
            let names: Vec<String> = all.iter().map(names::show_namespace).collect();
            Listing::default().text("namespace", names.iter().map(Some)).print(context.format(), context.paint())?;
        }
        Command::Drop { namespace } => {
            catalog.drop_namespace(&names::namespace(&namespace)?).await.map_err(hinted)?;
            context.say(format!("dropped namespace {namespace}"));
        }
    }
    Ok(())
}

fn hinted(error: lakelock_catalog::Error) -> Failure {
    let what = error.kind();
    let failure = Failure::from(error);
    match what {
        lakelock_catalog::ErrorKind::NotFound => {
            failure.hint("`lakelock namespace list` shows the namespaces there are")
        }
        _ => failure,
    }
}
