//! `lakelock table create`, and making tables for `load --create`.

use std::collections::HashMap;

use clap::Args;
use lakelock_catalog::{Catalog, TableCreation};
use lakelock_iceberg::Table;
use lakelock_iceberg::schema_text::{parse_partition_spec, parse_schema};
use lakelock_iceberg::spec::{NamespaceIdent, Schema, TableIdent};

use crate::args::property;
use crate::context::{Context, OpenCatalog};
use crate::failure::{Context as _, Failure, Result};
use crate::names;

/// The table property that names the master key.
pub(crate) const KEY_ID: &str = "encryption.key-id";

/// Make a table
#[derive(Debug, Args)]
#[command(after_help = "\
Its namespace is made too if need be. Types are boolean, int, long, float,
double, decimal(P, S), date, time, timestamp, timestamptz, timestamp_ns,
timestamptz_ns, string, uuid, fixed(N), binary, list<T>, map<K, V> and
struct<name: T, ...>; `not null` after a type makes a column required.

Examples:
  lakelock table create shop.orders --key orders-key \\
    --schema 'id long not null, day date, total decimal(9, 2)'
  lakelock table create shop.events --key events-key \\
    --schema 'at timestamptz, kind string, tags map<string, string>' \\
    --partition-by 'day(at), bucket(16, kind)'
  lakelock table create shop.notes --plaintext --schema 'text string' \\
    --property write.parquet.compression-level=9")]
pub(super) struct Arguments {
    /// NAMESPACE.TABLE
    table: String,
    /// The columns: name and type, separated by commas
    #[arg(long)]
    schema: String,
    #[command(flatten)]
    protection: Protection,
    #[command(flatten)]
    layout: Layout,
}

/// Whether a table is encrypted: this must be said, so that no table is in the clear by oversight.
#[derive(Debug, Clone, Args)]
#[group(id = "protection_choice", required = true, multiple = false)]
pub(crate) struct Protection {
    /// Encrypt the table under this master key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Do not encrypt the table
    #[arg(long)]
    plaintext: bool,
}

impl Protection {
    /// The master key's id.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// As a choice already made.
    pub(crate) fn under(key: Option<String>) -> Self {
        Self { plaintext: key.is_none(), key }
    }
}

/// How a new table's files are laid out.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Layout {
    /// Partition fields, like 'month(day), bucket(16, id)': a column, or year, month, day, hour, bucket, truncate of one
    #[arg(long, value_name = "FIELDS")]
    pub(crate) partition_by: Option<String>,
    /// A table property (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = property)]
    pub(crate) property: Vec<(String, String)>,
}

pub(super) async fn run(context: &Context, arguments: Arguments) -> Result<()> {
    let ident = names::table(&arguments.table)?;
    let schema = parse_schema(&arguments.schema).context("--schema cannot be understood")?;
    let catalog = context.catalog_with_keys().await?;
    create(context, &catalog, &ident, schema, &arguments.protection, &arguments.layout).await?;
    Ok(())
}

/// Makes a table and says so.
pub(crate) async fn create(
    context: &Context,
    catalog: &OpenCatalog,
    ident: &TableIdent,
    schema: Schema,
    protection: &Protection,
    layout: &Layout,
) -> Result<Table> {
    let spec = match &layout.partition_by {
        Some(fields) => Some(parse_partition_spec(fields, &schema).context("--partition-by cannot be understood")?),
        None => None,
    };
    if layout.property.iter().any(|(name, _)| name == KEY_ID) {
        return Err(
            Failure::usage(format!("{KEY_ID} is not given as a property")).hint("use --key KEY, or --plaintext")
        );
    }
    let key = protection.key().map(|key| (KEY_ID.to_owned(), key.to_owned()));
    let mut creation =
        TableCreation::new(ident.clone(), schema).with_properties(layout.property.iter().cloned().chain(key));
    if let Some(spec) = spec {
        creation = creation.with_partition_spec(spec);
    }
    if let Some(key) = protection.key() {
        catalog.check_master_key(key).await?;
    }
    let table = in_namespace(context, &**catalog, ident.namespace(), catalog.create_table(creation)).await?;
    let how = match protection.key() {
        Some(key) => format!("encrypted under {key}"),
        None => "not encrypted".to_owned(),
    };
    context.say(format!("created table {}, {how}", names::show(ident)));
    Ok(table)
}

/// Does something that needs a namespace, which is made before if there is none, and goes again if that fails.
pub(super) async fn in_namespace<T>(
    context: &Context,
    catalog: &dyn Catalog,
    namespace: &NamespaceIdent,
    work: impl Future<Output = lakelock_catalog::Result<T>>,
) -> Result<T> {
    let made = !catalog.namespace_exists(namespace).await?;
    if made {
        catalog.create_namespace(namespace, HashMap::new()).await?;
    }
    let outcome = work.await;
    if made {
        match &outcome {
            Ok(_) => context.say(format!("created namespace {}", names::show_namespace(namespace))),
            Err(_) => drop_again(catalog, namespace).await,
        }
    }
    Ok(outcome?)
}

/// Drops a namespace that was made for something that failed.
pub(crate) async fn drop_again(catalog: &dyn Catalog, namespace: &NamespaceIdent) {
    if let Err(error) = catalog.drop_namespace(namespace).await {
        tracing::warn!(%error, namespace = %names::show_namespace(namespace), "the new, empty namespace stays");
    }
}
