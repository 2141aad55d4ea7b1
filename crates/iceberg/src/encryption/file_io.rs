//! What a table hands out to open and write its files.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lakelock_crypto::StandardKeyMetadata;
use lakelock_crypto::ags1::Layout;
use lakelock_storage::{EncryptedReader, Storage, write_encrypted};

use super::manifest_cache::CacheKey;
use super::{ALLOW_PLAINTEXT_FILES, EncodedKeyMetadata, EncryptionManager, ManifestCache};
use crate::{Error, ErrorKind, Result};

/// Opens and writes a table's files, encrypting and decrypting by itself. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct EncryptingFileIO {
    storage: Storage,
    manager: Arc<dyn EncryptionManager>,
    manifests: Option<Arc<ManifestCache>>,
}

/// A file written, or to be written, through [`EncryptingFileIO`].
#[derive(Debug, Clone)]
pub struct WrittenFile {
    /// Where it is.
    pub location: String,
    /// Its length in storage, in bytes: ciphertext if it is encrypted.
    pub stored_length: u64,
    /// What opens it, to be kept in its encrypted parent: `None` in a plaintext table.
    pub key_metadata: Option<EncodedKeyMetadata>,
}

/// A file of which everything is known, but that is not stored yet.
pub struct PendingFile {
    storage: Storage,
    plain: Vec<u8>,
    key: Option<StandardKeyMetadata>,
    file: WrittenFile,
}

impl PendingFile {
    /// What it will be.
    #[must_use]
    pub fn file(&self) -> &WrittenFile {
        &self.file
    }

    /// Stores it, encrypted if it has a key.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`] when the file exists or the store fails.
    pub async fn store(self) -> Result<()> {
        let Self { storage, plain, key, file: WrittenFile { location, stored_length, .. } } = self;
        let failed = |error| from_storage("write", &location, error);
        let Some(key) = key else {
            return storage.write_new(&location, plain).await.map_err(failed);
        };
        let written = write_encrypted(&storage, &location, &key, plain).await.map_err(failed)?;
        if written.stored_length != stored_length {
            let message = format!("{location} was written with another length than its key metadata has");
            return Err(Error::new(ErrorKind::Internal, message));
        }
        Ok(())
    }
}

impl fmt::Debug for PendingFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingFile").field("file", &self.file).finish_non_exhaustive()
    }
}

impl EncryptingFileIO {
    /// Combines storage with the table's encryption.
    #[must_use]
    pub fn new(storage: Storage, manager: Arc<dyn EncryptionManager>) -> Self {
        Self { storage, manager, manifests: None }
    }

    /// The same with a cache for manifests, which the tables of a catalog share.
    #[must_use]
    pub fn with_manifest_cache(self, manifests: Option<Arc<ManifestCache>>) -> Self {
        Self { manifests, ..self }
    }

    /// The storage below, which neither encrypts nor decrypts: for metadata.json and for Parquet, whose encryption is
    /// part of the format.
    #[must_use]
    pub fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The same storage with another manager, made of this one.
    pub(crate) fn with_manager(
        self,
        make: impl FnOnce(Arc<dyn EncryptionManager>) -> Arc<dyn EncryptionManager>,
    ) -> Self {
        Self { manager: make(self.manager), ..self }
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
        self.decrypting(location, key_metadata)?.read_all().await.map_err(|error| from_storage("read", location, error))
    }

    /// Reads a manifest that a manifest list of the table has, decrypted, or takes it from the cache.
    pub(crate) async fn read_manifest(
        &self,
        location: &str,
        key_metadata: Option<&EncodedKeyMetadata>,
    ) -> Result<Bytes> {
        // What may not be read is not in the cache, but the error tells why.
        let key = self.file_key(location, key_metadata)?;
        let (Some(cache), Some(encoded)) = (&self.manifests, key_metadata) else {
            return self.read(location, key.as_ref()).await;
        };
        let cached = CacheKey::new(location, encoded);
        match cache.get(cached) {
            Some(plain) => Ok(plain),
            None => Ok(cache.insert(cached, self.read(location, key.as_ref()).await?)),
        }
    }

    /// Reads a part of a file that is read as AGS1 if it is encrypted: `range` counts plaintext bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read); [`ErrorKind::InvalidData`] too if the file is shorter.
    pub async fn read_range(
        &self,
        location: &str,
        key_metadata: Option<&StandardKeyMetadata>,
        range: Range<u64>,
    ) -> Result<Bytes> {
        let Some(key_metadata) = key_metadata else {
            self.check_plaintext(location)?;
            let read = self.storage.read_range(location, range).await;
            return read.map_err(|error| from_storage("read", location, error));
        };
        let reader = self.decrypting(location, key_metadata)?;
        let length = reader.plain_length();
        if range.end > length {
            let message = format!("bytes {}..{} of {location} were asked for: it has {length}", range.start, range.end);
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        reader.read_range(range).await.map_err(|error| from_storage("read", location, error))
    }

    pub(super) fn decrypting(&self, location: &str, key_metadata: &StandardKeyMetadata) -> Result<EncryptedReader> {
        if key_metadata.file_length().is_none() {
            let message = format!("the key metadata of {location} has no file length");
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        EncryptedReader::open(&self.storage, location, key_metadata)
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
        let pending = self.prepare(location, plain)?;
        let written = pending.file().clone();
        pending.store().await?;
        Ok(written)
    }

    /// The first half of [`write`](Self::write): draws the key and works out the lengths, so that what refers to the file
    /// can be made while it is being stored.
    ///
    /// # Errors
    /// [`ErrorKind::Encryption`] when there is no way to keep the key.
    pub fn prepare(&self, location: &str, plain: Vec<u8>) -> Result<PendingFile> {
        let key = self.manager.new_file_key()?;
        let plain_length = plain.len() as u64;
        let stored_length = if key.is_some() { encrypted_length(plain_length)? } else { plain_length };
        let key = key.map(|key| key.with_file_length(stored_length));
        let key_metadata = key.as_ref().map(EncodedKeyMetadata::from);
        let file = WrittenFile { location: location.to_owned(), stored_length, key_metadata };
        Ok(PendingFile { storage: self.storage.clone(), plain, key, file })
    }

    pub(super) fn check_plaintext(&self, location: &str) -> Result<()> {
        if self.manager.allows_plaintext_files() {
            return Ok(());
        }
        let message = format!(
            "{location} is a plaintext file in an encrypted table, perhaps forged ({ALLOW_PLAINTEXT_FILES} lets it be read)"
        );
        Err(Error::new(ErrorKind::InvalidData, message))
    }
}

/// The length of an encrypted file, by that of its plaintext.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for lengths that no encrypted file can have.
pub(crate) fn encrypted_length(plain_length: u64) -> Result<u64> {
    let layout = Layout::from_plain_length(plain_length)
        .map_err(|e| Error::new(ErrorKind::InvalidInput, "a file is too long to be encrypted").with_source(e))?;
    Ok(layout.stored_length())
}

pub(super) fn from_storage(doing: &str, location: &str, error: lakelock_storage::Error) -> Error {
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
