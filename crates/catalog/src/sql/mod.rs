//! A catalog in an SQLite file, in the tables that Java's `JdbcCatalog` (schema V1) and `PyIceberg` use.

mod pointers;
mod schema;
#[cfg(test)]
mod tests;
mod uri;

use std::collections::HashMap;

use lakelock_kms::KmsRegistry;

use crate::tables::{HasTables, Tables};
use crate::{Error, ErrorKind, Result};

use self::pointers::SqlPointers;

/// A catalog in an SQLite file.
///
/// Java's `JdbcCatalog` and `PyIceberg` can open the same file, under the same catalog name. Several processes may work on
/// it at the same time; on a network file system that is only as safe as its locks are.
///
/// Properties: `uri` is `sqlite:///abs/file.db`, `sqlite:file.db` or the same with `jdbc:` before it; the file is made if
/// there is none. `warehouse` is the folder of tables that name no place of their own.
#[derive(Debug)]
pub struct SqlCatalog {
    tables: Tables,
}

impl SqlCatalog {
    /// Opens the catalog, and makes what is missing of its tables.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for impossible properties; [`ErrorKind::Database`] when the file cannot be opened or
    /// is none of SQLite's; what setting up the KMS client answers.
    pub async fn open(name: &str, properties: &HashMap<String, String>) -> Result<Self> {
        Self::open_with_registry(name, properties, &KmsRegistry::with_builtins()).await
    }

    /// As [`open`](Self::open), with KMS clients of your own.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub async fn open_with_registry(
        name: &str,
        properties: &HashMap<String, String>,
        registry: &KmsRegistry,
    ) -> Result<Self> {
        let uri = properties.get("uri").ok_or_else(|| {
            Error::new(ErrorKind::InvalidInput, format!("catalog {name} has no property `uri`: expected sqlite:FILE"))
        })?;
        let pointers = SqlPointers::open(name, &uri::sqlite_file(uri)?).await?;
        let warehouse = properties.get("warehouse").map(String::as_str);
        Ok(Self { tables: Tables::new(name, warehouse, properties, registry, Box::new(pointers))? })
    }
}

impl HasTables for SqlCatalog {
    fn tables(&self) -> &Tables {
        &self.tables
    }
}
