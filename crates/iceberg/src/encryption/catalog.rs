//! What the tables of one catalog share: the KMS, the KEKs it unwrapped, and how strict their readers are.

use std::collections::HashMap;
use std::sync::Arc;

use lakelock_kms::{KeyManagementClient, KmsRegistry};

use super::kek_cache::KekCache;
use super::{
    Clock, EncryptionManager, EncryptionProperties, NoKmsEncryptionManager, PlaintextEncryptionManager,
    StandardEncryptionManager, SystemClock,
};
use crate::{Error, ErrorKind, Result};

/// Catalog property: `true` lets readers accept plaintext files in encrypted tables.
///
/// It counts among the properties of the catalog only. A table cannot say so of itself: whoever can forge a plaintext
/// file can forge a property in metadata.json.
pub const ALLOW_PLAINTEXT_FILES: &str = "encryption.allow-plaintext-files";

/// The encryption of a catalog's tables: makes the [`EncryptionManager`] of each. Cloning is cheap.
///
/// One for each catalog, for as long as the catalog lives: the KEKs unwrapped by its KMS are cached here for an hour,
/// across tables and reloads, so that a hundred commits cost one call.
#[derive(Clone, Debug)]
pub struct CatalogEncryption {
    keks: Option<Arc<KekCache>>,
    allow_plaintext_files: bool,
}

impl CatalogEncryption {
    /// The encryption by a catalog's properties: `encryption.kms-type` or `encryption.kms-impl` with what the KMS itself
    /// needs, and [`ALLOW_PLAINTEXT_FILES`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] and [`ErrorKind::Unsupported`] as [`KmsRegistry::from_catalog_properties`] has them;
    /// [`ErrorKind::InvalidInput`] for another value than `true` and `false`.
    pub fn from_properties(registry: &KmsRegistry, properties: &HashMap<String, String>) -> Result<Self> {
        let client = registry.from_catalog_properties(properties).map_err(|source| {
            let kind = match source.kind() {
                lakelock_kms::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
                lakelock_kms::ErrorKind::Unsupported => ErrorKind::Unsupported,
                _ => ErrorKind::Encryption,
            };
            Error::new(kind, "the catalog's KMS cannot be set up").with_source(source)
        })?;
        let encryption = Self::new(client);
        match properties.get(ALLOW_PLAINTEXT_FILES).map(|value| value.to_ascii_lowercase()).as_deref() {
            None | Some("false") => Ok(encryption),
            Some("true") => Ok(encryption.danger_allow_plaintext_files()),
            Some(value) => {
                let message = format!("{ALLOW_PLAINTEXT_FILES} is {value:?}: expected true or false");
                Err(Error::new(ErrorKind::InvalidInput, message))
            }
        }
    }

    /// The encryption with the given KMS; without one, encrypted tables can only be described.
    #[must_use]
    pub fn new(client: Option<Arc<dyn KeyManagementClient>>) -> Self {
        Self::with_clock(client, Arc::new(SystemClock))
    }

    /// As [`new`](Self::new), with a clock that says how old KEKs are.
    #[must_use]
    pub fn with_clock(client: Option<Arc<dyn KeyManagementClient>>, clock: Arc<dyn Clock>) -> Self {
        let keks = client.map(|client| Arc::new(KekCache::new(client, clock)));
        Self { keks, allow_plaintext_files: false }
    }

    /// Lets readers accept plaintext files, also forged ones, in encrypted tables.
    #[must_use]
    pub fn danger_allow_plaintext_files(self) -> Self {
        Self { allow_plaintext_files: true, ..self }
    }

    /// Whether there is a KMS.
    #[must_use]
    pub fn has_kms(&self) -> bool {
        self.keks.is_some()
    }

    /// The manager of the table named `table`, by the properties that its catalog trusts: those it has pinned, if it
    /// pins, else the table's own. `None` is a table that is not encrypted.
    #[must_use]
    pub fn manager(&self, table: &str, properties: Option<EncryptionProperties>) -> Arc<dyn EncryptionManager> {
        let allow = self.allow_plaintext_files;
        match (properties, &self.keks) {
            (None, _) => Arc::new(PlaintextEncryptionManager::new(table)),
            (Some(properties), None) => Arc::new(NoKmsEncryptionManager::new(table, properties, allow)),
            (Some(properties), Some(keks)) => {
                Arc::new(StandardEncryptionManager::new(table, properties, Arc::clone(keks), allow))
            }
        }
    }
}
