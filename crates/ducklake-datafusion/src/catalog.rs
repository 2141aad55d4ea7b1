//! A lake in DataFusion: `lake.schema.table`.

use std::{
    fmt,
    sync::{Arc, PoisonError, RwLock},
};

use async_trait::async_trait;
use datafusion::{
    catalog::{CatalogProvider, SchemaProvider, TableProvider},
    common::plan_err,
    dataframe::DataFrame,
    error::Result as PlanResult,
    prelude::{SessionConfig, SessionContext},
};
use lakelock_datafusion::TableName;

use crate::{
    DuckLake,
    error::{Result, unsupported},
    lake::{LakeTable, Overview},
    table::DuckLakeTable,
};

/// The schema that unqualified names are of.
const MAIN: &str = "main";

/// The schemas and tables of a lake, in the snapshot that was the newest one at the last [`refresh`](Self::refresh).
#[derive(Clone)]
pub struct DuckLakeCatalog {
    shared: Arc<Shared>,
}

struct Shared {
    lake: DuckLake,
    seen: RwLock<Arc<Seen>>,
}

/// A lake as queries see it.
struct Seen {
    overview: Arc<Overview>,
    snapshot: i64,
}

impl DuckLakeCatalog {
    /// The lake as it is now.
    ///
    /// # Errors
    /// When the catalog cannot be read, or is of a version of `DuckLake` that is not known here.
    pub async fn try_new(lake: DuckLake) -> Result<Self> {
        let seen = Seen::read(&lake).await?;
        Ok(Self { shared: Arc::new(Shared { lake, seen: RwLock::new(Arc::new(seen)) }) })
    }

    /// Goes on to the newest snapshot.
    ///
    /// # Errors
    /// When the catalog cannot be read; the old snapshot stays.
    pub async fn refresh(&self) -> Result<()> {
        let seen = Seen::read(&self.shared.lake).await?;
        *self.shared.seen.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(seen);
        Ok(())
    }
}

impl Shared {
    fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.seen.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Seen {
    async fn read(lake: &DuckLake) -> Result<Self> {
        let overview = Arc::new(lake.overview().await?);
        let snapshot = overview.newest()?;
        // What makes no sense shows now, not as tables that are missing.
        overview.tables(snapshot)?;
        Ok(Self { overview, snapshot })
    }

    /// The table of a name in a snapshot: in exactly this case, or else in any.
    fn table(&self, schema: &str, name: &str, snapshot: i64) -> Result<Option<LakeTable>> {
        let mut tables = self.overview.tables(snapshot)?;
        let exact = tables.iter().position(|table| table.schema == schema && table.name == name);
        let alike = || {
            let same =
                |table: &LakeTable| table.schema.eq_ignore_ascii_case(schema) && table.name.eq_ignore_ascii_case(name);
            tables.iter().position(same)
        };
        let at = exact.or_else(alike);
        Ok(at.map(|at| tables.swap_remove(at)))
    }
}

impl CatalogProvider for DuckLakeCatalog {
    fn schema_names(&self) -> Vec<String> {
        let seen = self.shared.seen();
        seen.overview.schemas(seen.snapshot).unwrap_or_default()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        // An older snapshot may have had it: whether it is there shows when a table is asked for.
        Some(Arc::new(DuckLakeSchema { shared: Arc::clone(&self.shared), name: name.to_owned() }))
    }
}

impl fmt::Debug for DuckLakeCatalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DuckLakeCatalog").field(&self.shared.lake).finish()
    }
}

/// The tables of a schema, and by the suffixes of [`TableName`] those of older snapshots.
struct DuckLakeSchema {
    shared: Arc<Shared>,
    name: String,
}

impl DuckLakeSchema {
    fn provide(&self, seen: &Seen, table: LakeTable, snapshot: i64) -> Result<Arc<dyn TableProvider>> {
        let (lake, overview) = (self.shared.lake.clone(), Arc::clone(&seen.overview));
        Ok(Arc::new(DuckLakeTable::new(lake, overview, table, snapshot)?))
    }

    fn find(&self, seen: &Seen, name: &str, snapshot: i64) -> Result<Option<Arc<dyn TableProvider>>> {
        if let Some(table) = seen.table(&self.name, name, snapshot)? {
            return self.provide(seen, table, snapshot).map(Some);
        }
        if seen.overview.has_view(&self.name, name, snapshot)? {
            let message = format!("{}.{name} is a view in DuckDB's SQL, which cannot be queried here", self.name);
            return Err(unsupported(message));
        }
        Ok(None)
    }
}

#[async_trait]
impl SchemaProvider for DuckLakeSchema {
    fn table_names(&self) -> Vec<String> {
        let seen = self.shared.seen();
        let tables = seen.overview.tables(seen.snapshot).unwrap_or_default().into_iter();
        tables.filter(|table| table.schema == self.name).map(|table| table.name).collect()
    }

    async fn table(&self, name: &str) -> PlanResult<Option<Arc<dyn TableProvider>>> {
        let seen = self.shared.seen();
        let meant = TableName::parse(name);
        if let Some(table) = self.find(&seen, name, seen.snapshot)? {
            // What `VERSION AS OF` becomes is a name that a table may have.
            if meant.version.is_some() && seen.table(&self.name, &meant.table, seen.snapshot)?.is_some() {
                return plan_err!(
                    "\"{name}\" is a table and may mean a version of {}: rename one of the two tables in DuckDB",
                    meant.table
                );
            }
            return Ok(Some(table));
        }
        if meant.metadata_table.is_some() {
            return plan_err!("tables of DuckLake have no metadata tables such as {name}");
        }
        let Some(version) = meant.version else { return Ok(None) };
        let snapshot = seen.overview.snapshot(&version)?;
        let found = self.find(&seen, &meant.table, snapshot)?;
        if found.is_none() {
            return plan_err!("table '{}.{}' not found in snapshot {snapshot}", self.name, meant.table);
        }
        Ok(found)
    }

    fn table_exist(&self, name: &str) -> bool {
        self.table_names().iter().any(|table| table == name)
    }
}

impl fmt::Debug for DuckLakeSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DuckLakeSchema").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A session in which the tables of a lake can be queried: `schema.table`, or `table` of the schema `main`.
///
/// # Errors
/// Those of [`DuckLakeCatalog::try_new`].
pub async fn session_context(name: &str, lake: DuckLake) -> Result<SessionContext> {
    let catalog = DuckLakeCatalog::try_new(lake).await?;
    let config = SessionConfig::new()
        .with_information_schema(true)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(name, MAIN);
    let context = SessionContext::new_with_config(config);
    context.register_catalog(name, Arc::new(catalog));
    Ok(context)
}

/// Plans a statement as [`lakelock_datafusion::sql`] does: all tables in it are of one snapshot, the newest, but those that
/// `VERSION AS OF` (a snapshot's number) or `TIMESTAMP AS OF` follows.
///
/// # Errors
/// As DataFusion's, and when the catalog cannot be read.
pub async fn sql(context: &SessionContext, sql: &str) -> PlanResult<DataFrame> {
    for name in context.catalog_names() {
        let catalog = context.catalog(&name);
        if let Some(lake) = catalog.as_deref().and_then(<dyn CatalogProvider>::downcast_ref::<DuckLakeCatalog>) {
            lake.refresh().await?;
        }
    }
    lakelock_datafusion::sql(context, sql).await
}
