//! Catalogs from their properties.

use std::collections::HashMap;
use std::sync::Arc;

use lakelock_kms::KmsRegistry;

use crate::{Catalog, Error, ErrorKind, HiveCatalog, MemoryCatalog, Result, SqlCatalog};

const TYPES: &str = "sql, hive or memory";

/// Opens the catalog that the properties describe: `type` is `sql` (the default if there is a `uri`), `hive` (the default for
/// a `uri` with `thrift://`) or `memory`.
///
/// Further properties: `uri` and `warehouse` as the catalog's type documents, and those of the storage, the KMS
/// client (`encryption.kms-type`, `encryption.kms-impl`) and the local keystore.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] naming the property; what opening the catalog answers.
#[expect(clippy::implicit_hasher, reason = "configuration comes in the standard map")]
pub async fn catalog_from_properties(name: &str, properties: &HashMap<String, String>) -> Result<Arc<dyn Catalog>> {
    catalog_from_properties_with_registry(name, properties, &KmsRegistry::with_builtins()).await
}

/// As [`catalog_from_properties`], with KMS clients of your own.
///
/// # Errors
/// As [`catalog_from_properties`].
#[expect(clippy::implicit_hasher, reason = "configuration comes in the standard map")]
pub async fn catalog_from_properties_with_registry(
    name: &str,
    properties: &HashMap<String, String>,
    registry: &KmsRegistry,
) -> Result<Arc<dyn Catalog>> {
    let kind = properties.get("type").map(|kind| kind.to_ascii_lowercase());
    let by_uri = || properties.get("uri").map(|uri| if uri.starts_with("thrift://") { "hive" } else { "sql" });
    match kind.as_deref().or_else(by_uri) {
        Some("hive") => Ok(Arc::new(HiveCatalog::with_registry(name, properties, registry)?)),
        Some("sql") => Ok(Arc::new(SqlCatalog::open_with_registry(name, properties, registry).await?)),
        Some("memory") => Ok(Arc::new(MemoryCatalog::with_registry(name, properties, registry)?)),
        Some(other) => Err(invalid(format!("catalog {name} has the unknown type {other}: expected {TYPES}"))),
        None => Err(invalid(format!("catalog {name} has no property `type`: expected {TYPES}"))),
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
