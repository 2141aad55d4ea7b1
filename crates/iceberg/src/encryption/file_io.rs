//! What a table hands out to open and write its files.

use std::sync::Arc;

use bytes::Bytes;
use lakelock_crypto::StandardKeyMetadata;
use lakelock_storage::Storage;

use super::{EncodedKeyMetadata, EncryptionManager};
use crate::Result;

/// Opens and writes a table's files, encrypting and decrypting by itself. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct EncryptingFileIO {
    storage: Storage,
    manager: Arc<dyn EncryptionManager>,
}

/// A file just written through [`EncryptingFileIO`].
#[derive(Debug, Clone)]
pub struct WrittenFile {
    /// Where it is.
    pub location: String,
    /// Its length in storage, in bytes: ciphertext if it is encrypted.
    pub stored_length: u64,
    /// What opens it, to be kept in its encrypted parent: `None` in a plaintext table.
    pub key_metadata: Option<EncodedKeyMetadata>,
}

impl EncryptingFileIO {
    /// Combines storage with the table's encryption.
    #[must_use]
    pub fn new(storage: Storage, manager: Arc<dyn EncryptionManager>) -> Self {
        Self { storage, manager }
    }

    /// The storage below, which neither encrypts nor decrypts: for metadata.json and for Parquet, whose encryption is
    /// part of the format.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The table's encryption.
    #[must_use]
    pub fn manager(&self) -> &Arc<dyn EncryptionManager> {
        &self.manager
    }

    /// Reads a whole file (a manifest or manifest list), decrypted.
    ///
    /// # Errors
    /// A missing, damaged or forged file; a plaintext file in an encrypted table, unless that was allowed.
    pub async fn read(&self, location: &str, key_metadata: Option<&StandardKeyMetadata>) -> Result<Bytes> {
        let _ = (location, key_metadata);
        todo!()
    }

    /// The key metadata with which a file (data file, delete file or manifest) found in the table is to be opened, by
    /// the bytes its parent keeps for it: `None` for a plaintext file that may be one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidData`] naming the file, for a plaintext file in an encrypted table unless plaintext files were
    /// allowed, and for malformed key metadata.
    pub fn file_key(
        &self,
        location: &str,
        key_metadata: Option<&EncodedKeyMetadata>,
    ) -> Result<Option<StandardKeyMetadata>> {
        let _ = (location, key_metadata);
        todo!()
    }

    /// Writes a whole new file (a manifest or manifest list), encrypted with a fresh key if the table is encrypted.
    ///
    /// # Errors
    /// When the file exists, the store fails, or there is no way to keep the key.
    pub async fn write(&self, location: &str, plain: Vec<u8>) -> Result<WrittenFile> {
        let _ = (location, plain);
        todo!()
    }
}
