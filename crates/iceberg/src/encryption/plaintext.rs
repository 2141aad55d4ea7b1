//! Tables that are not encrypted.

use async_trait::async_trait;
use lakelock_crypto::StandardKeyMetadata;

use super::{EncryptionManager, KEY_ID, WrappedManifestListKey};
use crate::spec::{Snapshot, TableMetadata};
use crate::{Error, ErrorKind, Result};

/// The manager of a table without a key id: its files are written and read as they are.
///
/// A snapshot that has a key id all the same is an error: the table was encrypted and lost its property.
#[derive(Clone, Debug)]
pub struct PlaintextEncryptionManager {
    table: String,
}

impl PlaintextEncryptionManager {
    /// The manager of `table`, whose name is for errors.
    #[must_use]
    pub fn new(table: impl Into<String>) -> Self {
        Self { table: table.into() }
    }
}

#[async_trait]
impl EncryptionManager for PlaintextEncryptionManager {
    fn is_encrypting(&self) -> bool {
        false
    }

    fn new_file_key(&self) -> Result<Option<StandardKeyMetadata>> {
        Ok(None)
    }

    async fn manifest_list_key(
        &self,
        _metadata: &TableMetadata,
        snapshot: &Snapshot,
    ) -> Result<Option<StandardKeyMetadata>> {
        let Some(key_id) = snapshot.encryption_key_id() else { return Ok(None) };
        let (id, table) = (snapshot.snapshot_id(), &self.table);
        let message = format!(
            "snapshot {id} of table {table} is encrypted (key-id {key_id:?}), but the table has no property {KEY_ID}: it \
             was removed, or the metadata is forged"
        );
        Err(Error::new(ErrorKind::InvalidData, message))
    }

    async fn wrap_manifest_list_key(
        &self,
        _metadata: &TableMetadata,
        _key: &StandardKeyMetadata,
    ) -> Result<WrappedManifestListKey> {
        let message = format!("table {} is not encrypted: a manifest list has no key to wrap", self.table);
        Err(Error::new(ErrorKind::InvalidInput, message))
    }
}
