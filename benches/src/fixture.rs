//! Catalogs and tables to measure on.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use lakelock_catalog::{Catalog, TableCreation, catalog_from_properties};
use lakelock_iceberg::schema_text::parse_schema;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};
use tempfile::TempDir;

use crate::Result;

/// The master key that tables of benchmarks are encrypted under: one that Java's tests know as well.
pub const MASTER_KEY_ID: &str = "keyA";
/// Its bytes.
pub const MASTER_KEY: &[u8; 16] = b"0123456789012345";

/// An SQLite catalog with a warehouse, in a folder that is gone with it.
#[derive(Debug)]
pub struct Fixture {
    /// Has one namespace, `bench`.
    pub catalog: Arc<dyn Catalog>,
    _folder: TempDir,
}

impl Fixture {
    /// Makes a folder in `parent` and a catalog in it.
    ///
    /// # Errors
    /// When that is not possible there.
    pub async fn new(parent: &Path) -> Result<Self> {
        Self::with_properties(parent, &[]).await
    }

    /// The same with more properties of the catalog.
    ///
    /// # Errors
    /// When that is not possible there.
    pub async fn with_properties(parent: &Path, more: &[(&str, &str)]) -> Result<Self> {
        std::fs::create_dir_all(parent)?;
        let folder = TempDir::new_in(parent)?;
        let path = folder.path().display();
        let mut properties = HashMap::from([
            ("type".to_owned(), "sql".to_owned()),
            ("uri".to_owned(), format!("sqlite://{path}/catalog.db")),
            ("warehouse".to_owned(), format!("{path}/warehouse")),
            (lakelock_kms::KMS_IMPL.to_owned(), "memory".to_owned()),
            (format!("{}{MASTER_KEY_ID}", lakelock_kms::MEMORY_KEY_PREFIX), hex::encode(MASTER_KEY)),
        ]);
        properties.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let catalog = catalog_from_properties("lake", &properties).await?;
        catalog.create_namespace(&NamespaceIdent::new("bench".to_owned()), HashMap::new()).await?;
        Ok(Self { catalog, _folder: folder })
    }

    /// The name of a table in the namespace.
    ///
    /// # Errors
    /// Never for a usual name.
    pub fn identifier(name: &str) -> Result<TableIdent> {
        Ok(TableIdent::from_strs(["bench", name])?)
    }

    /// Makes an empty table.
    ///
    /// # Errors
    /// When there is one of this name, or the schema cannot be understood.
    pub async fn create(
        &self,
        name: &str,
        schema: &str,
        encrypted: bool,
        properties: &[(&str, &str)],
    ) -> Result<TableIdent> {
        let identifier = Self::identifier(name)?;
        let key = encrypted.then(|| ("encryption.key-id".to_owned(), MASTER_KEY_ID.to_owned()));
        let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let creation = TableCreation::new(identifier.clone(), parse_schema(schema)?)
            .with_properties(key.into_iter().chain(properties));
        self.catalog.create_table(creation).await?;
        Ok(identifier)
    }
}
