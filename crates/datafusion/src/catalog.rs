//! Catalogs in DataFusion: `catalog.namespace.table`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::plan_err;
use datafusion::error::Result;
use lakelock_catalog::{Catalog, ErrorKind};
use lakelock_iceberg::Table;
use lakelock_iceberg::scan::TableScan;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};

use crate::error::external;
use crate::footer_cache::FooterCache;
use crate::metadata_table::MetadataTableProvider;
use crate::provider::LakelockTableProvider;
use crate::table_name::TableName;

/// A catalog's namespaces as schemas; a nested namespace is one schema, its levels joined with dots.
///
/// Tables are loaded anew for each query, which sees one snapshot of each. The lists of names that `information_schema`
/// and `show tables` show are those of the last [`refresh`](Self::refresh); [`crate::sql`] refreshes before such a
/// statement.
pub struct LakelockCatalogProvider {
    shared: Arc<Shared>,
}

struct Shared {
    catalog: Arc<dyn Catalog>,
    footers: Arc<FooterCache>,
    /// Tables by schema.
    names: RwLock<BTreeMap<String, Vec<String>>>,
}

impl LakelockCatalogProvider {
    /// A provider of the catalog, with the names it has now.
    ///
    /// # Errors
    /// When the catalog cannot be listed.
    pub async fn try_new(catalog: Arc<dyn Catalog>) -> lakelock_catalog::Result<Self> {
        let shared = Shared { catalog, footers: Arc::default(), names: RwLock::default() };
        let provider = Self { shared: Arc::new(shared) };
        provider.refresh().await?;
        Ok(provider)
    }

    /// Lists namespaces and tables anew.
    ///
    /// # Errors
    /// When the catalog cannot be listed; the old names stay.
    pub async fn refresh(&self) -> lakelock_catalog::Result<()> {
        let catalog = &self.shared.catalog;
        let mut names = BTreeMap::new();
        let mut namespaces = catalog.list_namespaces(None).await?;
        while let Some(namespace) = namespaces.pop() {
            namespaces.extend(catalog.list_namespaces(Some(&namespace)).await?);
            let tables = catalog.list_tables(&namespace).await?;
            names.insert(schema_name(&namespace), tables.into_iter().map(|table| table.name).collect());
        }
        *self.shared.names.write().unwrap_or_else(PoisonError::into_inner) = names;
        Ok(())
    }

    /// The catalog.
    #[must_use]
    pub fn catalog(&self) -> &Arc<dyn Catalog> {
        &self.shared.catalog
    }
}

impl CatalogProvider for LakelockCatalogProvider {
    fn schema_names(&self) -> Vec<String> {
        self.shared.names.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        // Whether it exists shows when a table is asked for: this must not wait for the catalog.
        let namespace = NamespaceIdent::from_vec(name.split('.').map(str::to_owned).collect()).ok()?;
        Some(Arc::new(LakelockSchemaProvider { shared: Arc::clone(&self.shared), namespace }))
    }
}

impl fmt::Debug for LakelockCatalogProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LakelockCatalogProvider").field("catalog", &self.shared.catalog.name()).finish_non_exhaustive()
    }
}

/// The tables of a namespace, and by the suffixes of [`TableName`] their versions and metadata tables.
pub struct LakelockSchemaProvider {
    shared: Arc<Shared>,
    namespace: NamespaceIdent,
}

impl LakelockSchemaProvider {
    async fn load(&self, name: &str) -> lakelock_catalog::Result<Option<Table>> {
        let identifier = TableIdent::new(self.namespace.clone(), name.to_owned());
        match self.shared.catalog.load_table(&identifier).await {
            Ok(table) => Ok(Some(table)),
            // Of a table that is there, something else was not found.
            Err(e) if e.kind() == ErrorKind::NotFound && !self.shared.catalog.table_exists(&identifier).await? => {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
}

#[async_trait]
impl SchemaProvider for LakelockSchemaProvider {
    fn table_names(&self) -> Vec<String> {
        let names = self.shared.names.read().unwrap_or_else(PoisonError::into_inner);
        names.get(&schema_name(&self.namespace)).cloned().unwrap_or_default()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let meant = TableName::parse(name);
        let own = match self.load(name).await {
            // Not every catalog bears such names.
            Err(e) if e.kind() == ErrorKind::InvalidInput && !meant.is_plain() => None,
            loaded => loaded.map_err(external)?,
        };
        if let Some(table) = own {
            let provider = LakelockTableProvider::try_new(table).map_err(external)?;
            let provider = provider.with_footer_cache(Arc::clone(&self.shared.footers));
            return Ok(Some(Arc::new(provider.with_catalog(Arc::clone(&self.shared.catalog)))));
        }
        if meant.is_plain() {
            return Ok(None);
        }
        let Some(table) = self.load(&meant.table).await.map_err(external)? else {
            return plan_err!("table '{}.{}' not found", schema_name(&self.namespace), meant.table);
        };
        match (meant.metadata_table, meant.version) {
            (Some(kind), version) => {
                let provider = MetadataTableProvider::try_new(table, kind, version).map_err(external)?;
                Ok(Some(Arc::new(provider)))
            }
            (None, Some(version)) => {
                let scan = TableScan::new(&table).with_version(&version).map_err(external)?;
                let provider = LakelockTableProvider::from_scan(scan).map_err(external)?;
                Ok(Some(Arc::new(provider.with_footer_cache(Arc::clone(&self.shared.footers)))))
            }
            (None, None) => Ok(None),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        self.table_names().iter().any(|table| table == name)
    }
}

impl fmt::Debug for LakelockSchemaProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LakelockSchemaProvider").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

fn schema_name(namespace: &NamespaceIdent) -> String {
    namespace.as_ref().join(".")
}
