//! The encryption of an encrypted table in a catalog that has no KMS.

use async_trait::async_trait;
use lakelock_crypto::StandardKeyMetadata;

use super::{EncryptionManager, EncryptionProperties, WrappedManifestListKey, plaintext_snapshot};
use crate::spec::{Snapshot, TableMetadata};
use crate::{Error, ErrorKind, Result};

/// Lets an encrypted table be loaded and described where no KMS is configured, and refuses everything that needs a key:
/// a commit fails before it writes its first file.
#[derive(Debug)]
pub struct NoKmsEncryptionManager {
    table: String,
    properties: EncryptionProperties,
    allow_plaintext_files: bool,
}

impl NoKmsEncryptionManager {
    pub(super) fn new(table: &str, properties: EncryptionProperties, allow_plaintext_files: bool) -> Self {
        Self { table: table.to_owned(), properties, allow_plaintext_files }
    }

    fn no_kms(&self) -> Error {
        let message = format!(
            "table {} is encrypted with key {:?}, but no KMS is configured; set {} or {}",
            self.table,
            self.properties.key_id(),
            lakelock_kms::KMS_IMPL,
            lakelock_kms::KMS_TYPE
        );
        Error::new(ErrorKind::Encryption, message)
    }
}

#[async_trait]
impl EncryptionManager for NoKmsEncryptionManager {
    fn is_encrypting(&self) -> bool {
        true
    }

    fn allows_plaintext_files(&self) -> bool {
        self.allow_plaintext_files
    }

    fn new_file_key(&self) -> Result<Option<StandardKeyMetadata>> {
        Err(self.no_kms())
    }

    async fn manifest_list_key(&self, _: &TableMetadata, snapshot: &Snapshot) -> Result<Option<StandardKeyMetadata>> {
        match snapshot.encryption_key_id() {
            Some(_) => Err(self.no_kms()),
            None => plaintext_snapshot(&self.table, snapshot, self.allow_plaintext_files),
        }
    }

    async fn wrap_manifest_list_key(
        &self,
        _metadata: &TableMetadata,
        _key: &StandardKeyMetadata,
    ) -> Result<WrappedManifestListKey> {
        Err(self.no_kms())
    }
}
