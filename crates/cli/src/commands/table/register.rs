//! `lakelock table register`.

use clap::Args;
use lakelock_catalog::ErrorKind;

use super::create::in_namespace;
use crate::context::Context;
use crate::failure::Result;
use crate::names;

/// Add a table that something else wrote
#[derive(Debug, Args)]
#[command(after_help = "\
The catalog keeps the key's id, so that nobody can take the encryption out of
metadata.json unnoticed.

Examples:
  lakelock table register shop.orders /lake/orders/metadata/v3.metadata.json --key k
  lakelock table register shop.notes /lake/notes/metadata/v1.metadata.json --plaintext")]
pub(super) struct Arguments {
    /// NAMESPACE.TABLE, which must not exist yet
    table: String,
    /// The table's current metadata.json
    metadata_location: String,
    #[command(flatten)]
    expected: Expected,
}

/// What the table must be: this must be said, for metadata.json may have been tampered with.
#[derive(Debug, Args)]
#[group(id = "expected_protection", required = true, multiple = false)]
struct Expected {
    /// The master key that the table must be encrypted under
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The table must not be encrypted
    #[arg(long)]
    plaintext: bool,
}

pub(super) async fn run(context: &Context, arguments: &Arguments) -> Result<()> {
    let Arguments { table, metadata_location, expected } = arguments;
    let ident = names::table(table)?;
    let location = context.location(metadata_location);
    let catalog = context.catalog().await?;
    let registration = catalog.register_table(&ident, &location, expected.key.as_deref());
    let registered = in_namespace(context, &*catalog, ident.namespace(), registration).await;
    registered.map_err(|failure| {
        let kind = failure.find::<lakelock_catalog::Error>().map(lakelock_catalog::Error::kind);
        if kind == Some(ErrorKind::InvalidData) {
            failure.hint("name the table's metadata.json, the newest in its metadata folder")
        } else {
            failure
        }
    })?;
    context.say(format!("registered {table}"));
    Ok(())
}
