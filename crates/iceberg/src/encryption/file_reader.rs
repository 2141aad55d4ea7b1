//! Files that are read in parts.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use lakelock_crypto::StandardKeyMetadata;
use lakelock_storage::EncryptedReader;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore};

use super::EncryptingFileIO;
use super::file_io::from_storage;
use crate::{Error, ErrorKind, Result};

/// One file, read by positions in its plaintext. Cloning is cheap.
#[derive(Clone)]
pub struct FileReader {
    location: Arc<str>,
    source: Source,
}

#[derive(Clone)]
enum Source {
    Encrypted(EncryptedReader),
    Plain { store: Arc<dyn ObjectStore>, path: Path, length: u64 },
}

impl EncryptingFileIO {
    /// Prepares to read a file that is AGS1 if it is encrypted; the file is not touched yet. `stored_length` is what its
    /// manifest says: a file of another length is an error when it is read.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] if the key metadata has another file length or none, or if the file is to be read without
    /// a key in an encrypted table, unless that was allowed.
    pub fn open(
        &self,
        location: &str,
        key_metadata: Option<&StandardKeyMetadata>,
        stored_length: u64,
    ) -> Result<FileReader> {
        let source = if let Some(key_metadata) = key_metadata {
            let reader = self.decrypting(location, key_metadata)?;
            if reader.stored_length() != stored_length {
                let length = reader.stored_length();
                let message =
                    format!("{location} has {length} bytes by its key metadata, {stored_length} by its manifest");
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
            Source::Encrypted(reader)
        } else {
            self.check_plaintext(location)?;
            let (store, path) = self.storage().resolve(location).map_err(|e| from_storage("read", location, e))?;
            Source::Plain { store, path, length: stored_length }
        };
        Ok(FileReader { location: location.into(), source })
    }
}

impl FileReader {
    /// Full location.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.location
    }

    /// The length of the plaintext.
    #[must_use]
    pub fn length(&self) -> u64 {
        match &self.source {
            Source::Encrypted(reader) => reader.plain_length(),
            Source::Plain { length, .. } => *length,
        }
    }

    /// A part of the plaintext.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] for a file of another length than expected, and for one that was altered;
    /// [`ErrorKind::NotFound`]; [`ErrorKind::Storage`].
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        if range.start > range.end || range.end > self.length() {
            let message = format!("bytes {}..{} of {} were asked for", range.start, range.end, self.location);
            return Err(Error::new(ErrorKind::Internal, message));
        }
        match &self.source {
            Source::Encrypted(reader) => {
                reader.read_range(range).await.map_err(|e| from_storage("read", &self.location, e))
            }
            Source::Plain { store, path, length } => self.read_plain(store.as_ref(), path, *length, range).await,
        }
    }

    async fn read_plain(
        &self,
        store: &dyn ObjectStore,
        path: &Path,
        expected: u64,
        range: Range<u64>,
    ) -> Result<Bytes> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let failed = |e: object_store::Error| {
            let kind = match e {
                object_store::Error::NotFound { .. } => ErrorKind::NotFound,
                _ => ErrorKind::Storage,
            };
            Error::new(kind, format!("cannot read {}", self.location)).with_source(e)
        };
        let wanted = range.end - range.start;
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let answer = store.get_opts(path, options).await.map_err(failed)?;
        let length = answer.meta.size;
        let bytes = answer.bytes().await.map_err(failed)?;
        if length != expected || bytes.len() as u64 != wanted {
            let message = format!(
                "{} has {length} bytes, but its manifest says {expected}: it was cut or extended",
                self.location
            );
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        Ok(bytes)
    }
}

impl fmt::Debug for FileReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileReader").field("location", &self.location).finish_non_exhaustive()
    }
}
