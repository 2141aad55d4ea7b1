//! Encrypted tables of format version 2.
//!
//! Java refuses to make one, but a table that is given a key id later is encrypted all the same: its metadata has the key
//! ids of snapshots and the keys in the fields that version 3 has for them. Such a table is read; a commit to it is refused.

use std::sync::Arc;

use async_trait::async_trait;
use lakelock_crypto::StandardKeyMetadata;

use super::{EncryptionManager, WrappedManifestListKey};
use crate::Result;
use crate::spec::{Snapshot, TableMetadata};

/// Finds the keys of snapshots in the fields of version 3; all else is the other manager's.
#[derive(Debug)]
pub(crate) struct Version2EncryptionManager {
    inner: Arc<dyn EncryptionManager>,
    /// The same metadata, read as if it were of version 3.
    metadata: Arc<TableMetadata>,
}

impl Version2EncryptionManager {
    pub(crate) fn new(inner: Arc<dyn EncryptionManager>, metadata: Arc<TableMetadata>) -> Self {
        Self { inner, metadata }
    }
}

#[async_trait]
impl EncryptionManager for Version2EncryptionManager {
    fn is_encrypting(&self) -> bool {
        self.inner.is_encrypting()
    }

    fn allows_plaintext_files(&self) -> bool {
        self.inner.allows_plaintext_files()
    }

    fn new_file_key(&self) -> Result<Option<StandardKeyMetadata>> {
        self.inner.new_file_key()
    }

    async fn manifest_list_key(&self, _: &TableMetadata, snapshot: &Snapshot) -> Result<Option<StandardKeyMetadata>> {
        let same = self.metadata.snapshot_by_id(snapshot.snapshot_id());
        self.inner.manifest_list_key(&self.metadata, same.map_or(snapshot, |same| same)).await
    }

    async fn wrap_manifest_list_key(
        &self,
        metadata: &TableMetadata,
        key: &StandardKeyMetadata,
    ) -> Result<WrappedManifestListKey> {
        self.inner.wrap_manifest_list_key(metadata, key).await
    }
}
