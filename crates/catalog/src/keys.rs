//! How the tables of a catalog are encrypted.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use lakelock_crypto::StandardKeyMetadata;
use lakelock_iceberg::encryption::{EncryptionManager, WrappedManifestListKey};
use lakelock_iceberg::spec::{Snapshot, TableMetadata};
use lakelock_iceberg::{Error as TableError, ErrorKind as TableErrorKind, Result as TableResult};
use lakelock_kms::{KeyManagementClient, KmsRegistry};

use crate::Result;

/// The KMS client that all tables of a catalog share, and with it what it has unwrapped.
#[derive(Debug)]
pub(crate) struct TableKeys {
    client: Option<Arc<dyn KeyManagementClient>>,
}

impl TableKeys {
    pub(crate) fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        Ok(Self { client: KmsRegistry::with_builtins().from_catalog_properties(properties)? })
    }

    pub(crate) fn manager(&self, metadata: &TableMetadata) -> Result<Arc<dyn EncryptionManager>> {
        let key_id = metadata.properties().get("encryption.key-id").cloned();
        Ok(Arc::new(Interim { key_id, _client: self.client.clone() }))
    }
}

#[derive(Debug)]
struct Interim {
    key_id: Option<String>,
    _client: Option<Arc<dyn KeyManagementClient>>,
}

impl Interim {
    fn none<T>(&self) -> TableResult<Option<T>> {
        match &self.key_id {
            None => Ok(None),
            Some(key_id) => Err(TableError::new(TableErrorKind::Encryption, format!("no access to key {key_id}"))),
        }
    }
}

#[async_trait]
impl EncryptionManager for Interim {
    fn is_encrypting(&self) -> bool {
        self.key_id.is_some()
    }

    fn new_file_key(&self) -> TableResult<Option<StandardKeyMetadata>> {
        self.none()
    }

    async fn manifest_list_key(&self, _: &TableMetadata, _: &Snapshot) -> TableResult<Option<StandardKeyMetadata>> {
        self.none()
    }

    async fn wrap_manifest_list_key(
        &self,
        _: &TableMetadata,
        _: &StandardKeyMetadata,
    ) -> TableResult<WrappedManifestListKey> {
        Err(TableError::new(TableErrorKind::Encryption, "no access to keys"))
    }
}
