//! Sessions over catalogs, and SQL that may ask for metadata columns.

use std::sync::Arc;

use datafusion::catalog::CatalogProvider;
use datafusion::dataframe::DataFrame;
use datafusion::error::Result;
use datafusion::prelude::{SessionConfig, SessionContext};
use lakelock_catalog::Catalog;

use crate::catalog::LakelockCatalogProvider;
use crate::error::external;
use crate::interrupt::Interrupt;
use crate::star;

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

/// Plans a statement as [`SessionContext::sql`] does, and also finds [`MetadataColumn`](crate::MetadataColumn)s by
/// name, which `*` never includes.
///
/// # Errors
/// As DataFusion's, and for the few queries in which `*` cannot be told apart from metadata columns: with
/// `natural join`, or `join ... using` together with `*`.
pub async fn sql(context: &SessionContext, sql: &str) -> Result<DataFrame> {
    let mut state = context.state();
    let dialect = state.config_options().sql_parser.dialect;
    let mut statement = state.sql_to_statement(sql, &dialect)?;
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

/// Whether a statement may read `information_schema`.
fn lists_names(statement: &datafusion::sql::parser::Statement) -> bool {
    let text = statement.to_string().to_ascii_lowercase();
    text.starts_with("show") || text.contains("information_schema")
}
