//! Sessions over catalogs, and the SQL that is understood in them.

use std::sync::Arc;

use datafusion::catalog::CatalogProvider;
use datafusion::common::plan_err;
use datafusion::dataframe::DataFrame;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::dialect::dialect_from_str;
use lakelock_catalog::Catalog;

use crate::catalog::LakelockCatalogProvider;
use crate::error::external;
use crate::interrupt::Interrupt;
use crate::{as_of, relations, star};

/// A session in which the tables of catalogs can be queried: `namespace.table` in the first, `catalog.namespace.table`
/// in any.
///
/// # Errors
/// When a catalog cannot be listed.
pub async fn session_context(catalogs: impl IntoIterator<Item = Arc<dyn Catalog>>) -> Result<SessionContext> {
    let mut providers = Vec::new();
    for catalog in catalogs {
        let name = catalog.name().to_owned();
        providers.push((name, LakelockCatalogProvider::try_new(catalog).await.map_err(external)?));
    }
    let mut config = SessionConfig::new().with_information_schema(true).with_extension(Arc::new(Interrupt::default()));
    if let Some((first, _)) = providers.first() {
        config = config.with_create_default_catalog_and_schema(false).with_default_catalog_and_schema(first, "default");
    }
    let context = SessionContext::new_with_config(config);
    for (name, provider) in providers {
        context.register_catalog(name, Arc::new(provider));
    }
    Ok(context)
}

/// Plans a statement as [`SessionContext::sql`] does, and understands more:
///
/// - [`MetadataColumn`](crate::MetadataColumn)s by name, which `*` never includes;
/// - earlier versions, as Spark writes them: `t VERSION AS OF 123` (a snapshot id), `t VERSION AS OF 'audit'` (a branch
///   or tag), `t TIMESTAMP AS OF '2026-01-02 03:04:05'` (or seconds since 1970); a time without a zone is in that of the
///   session, else UTC;
/// - [`MetadataTable`](lakelock_iceberg::metadata_table::MetadataTable)s: `namespace.table.snapshots`.
///
/// # Errors
/// As DataFusion's, and for the few queries in which `*` cannot be told apart from metadata columns: with
/// `natural join`, or `join ... using` together with `*`.
pub async fn sql(context: &SessionContext, sql: &str) -> Result<DataFrame> {
    let mut statement = parse(context, sql)?;
    let mut state = context.state();
    relations::resolve(&state, &mut statement).await?;
    if lists_names(&statement) {
        for name in state.catalog_list().catalog_names() {
            let catalog = state.catalog_list().catalog(&name);
            let lakelock = catalog.as_deref().and_then(<dyn CatalogProvider>::downcast_ref::<LakelockCatalogProvider>);
            if let Some(lakelock) = lakelock {
                lakelock.refresh().await.map_err(external)?;
            }
        }
    }
    if star::mentions_metadata_columns(&statement) {
        state = star::expose_metadata_columns(state, &mut statement).await?;
    }
    let plan = state.statement_to_plan(statement).await?;
    context.execute_logical_plan(plan).await
}

/// Parses a statement of the language that [`sql`] understands. Planning it takes more than that: `sql` does all.
///
/// # Errors
/// When it is none.
pub fn parse(context: &SessionContext, sql: &str) -> Result<Statement> {
    let state = context.state();
    let options = state.config_options();
    let dialect = options.sql_parser.dialect;
    let Some(parsed) = dialect_from_str(dialect) else { return plan_err!("unknown SQL dialect {dialect}") };
    let zone = options.execution.time_zone.as_deref().unwrap_or("UTC");
    let options = as_of::Options {
        dialect: parsed.as_ref(),
        lower_case: options.sql_parser.enable_ident_normalization,
        zone: zone.parse()?,
    };
    state.sql_to_statement(&as_of::rewrite(sql, &options)?, &dialect)
}

/// Whether a statement may read `information_schema`.
fn lists_names(statement: &Statement) -> bool {
    let text = statement.to_string().to_ascii_lowercase();
    text.starts_with("show") || text.contains("information_schema")
}
