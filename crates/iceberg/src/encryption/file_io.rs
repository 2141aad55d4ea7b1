//! What a table hands out to open and write its files.

use std::sync::Arc;

use bytes::Bytes;
use lakelock_crypto::StandardKeyMetadata;
use lakelock_storage::{EncryptedReader, Storage, write_encrypted};

use super::{ALLOW_PLAINTEXT_FILES, EncodedKeyMetadata, EncryptionManager};
use crate::{Error, ErrorKind, Result};

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
    /// [`ErrorKind::InvalidData`] naming the file if it is damaged or forged, if the key metadata has no file length, or
    /// if it is to be read without a key in an encrypted table, unless that was allowed; [`ErrorKind::NotFound`];
    /// [`ErrorKind::Storage`].
    pub async fn read(&self, location: &str, key_metadata: Option<&StandardKeyMetadata>) -> Result<Bytes> {
        let Some(key_metadata) = key_metadata else {
            self.check_plaintext(location)?;
            return self.storage.read(location).await.map_err(|error| from_storage("read", location, error));
        };
        if key_metadata.file_length().is_none() {
            return Err(Error::new(
                ErrorKind::InvalidData,
                format!("the key metadata of {location} has no file length"),
            ));
        }
        let reader = EncryptedReader::open(&self.storage, location, key_metadata);
        match reader {
            Ok(reader) => reader.read_all().await,
            Err(error) => Err(error),
        }
        .map_err(|error| from_storage("read", location, error))
    }

    /// The key metadata with which a file (data file, delete file or manifest) found in the table is to be opened, by
    /// the bytes its parent keeps for it: `None` for a plaintext file that may be one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] naming the file, for a plaintext file in an encrypted table unless plaintext files were
    /// allowed, for an encrypted file in a plaintext table, and for malformed key metadata.
    pub fn file_key(
        &self,
        location: &str,
        key_metadata: Option<&EncodedKeyMetadata>,
    ) -> Result<Option<StandardKeyMetadata>> {
        match key_metadata {
            None => self.check_plaintext(location).map(|()| None),
            Some(_) if !self.manager.is_encrypting() => {
                let message =
                    format!("{location} is encrypted, but its table is not: the table may have lost its key id");
                Err(Error::new(ErrorKind::InvalidData, message))
            }
            Some(encoded) => encoded.decode(location).map(Some),
        }
    }

    /// Writes a whole new file (a manifest or manifest list), encrypted with a fresh key if the table is encrypted.
    ///
    /// # Errors
    /// [`ErrorKind::Encryption`] when there is no way to keep the key, before anything is written;
    /// [`ErrorKind::Storage`] when the file exists or the store fails.
    pub async fn write(&self, location: &str, plain: Vec<u8>) -> Result<WrittenFile> {
        let failed = |error| from_storage("write", location, error);
        let location = location.to_owned();
        let Some(key) = self.manager.new_file_key()? else {
            let stored_length = plain.len() as u64;
            self.storage.write_new(&location, plain).await.map_err(failed)?;
            return Ok(WrittenFile { location, stored_length, key_metadata: None });
        };
        let written = write_encrypted(&self.storage, &location, &key, plain).await.map_err(failed)?;
        let key = key.with_file_length(written.stored_length);
        Ok(WrittenFile {
            location,
            stored_length: written.stored_length,
            key_metadata: Some(EncodedKeyMetadata::from(&key)),
        })
    }

    fn check_plaintext(&self, location: &str) -> Result<()> {
        if self.manager.allows_plaintext_files() {
            return Ok(());
        }
        let message = format!(
            "{location} is a plaintext file in an encrypted table, perhaps forged ({ALLOW_PLAINTEXT_FILES} lets it be read)"
        );
        Err(Error::new(ErrorKind::InvalidData, message))
    }
}

fn from_storage(doing: &str, location: &str, error: lakelock_storage::Error) -> Error {
    use lakelock_storage::ErrorKind as Stored;
    let kind = match error.kind() {
        Stored::Authentication | Stored::InvalidData => ErrorKind::InvalidData,
        Stored::InvalidInput => ErrorKind::InvalidInput,
        Stored::NotFound => ErrorKind::NotFound,
        Stored::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Storage,
    };
    Error::new(kind, format!("cannot {doing} {location}")).with_source(error)
}
