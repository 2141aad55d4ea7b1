//! Writing AGS1 files.

use std::fmt;

use lakelock_crypto::{
    StandardKeyMetadata,
    ags1::{self, Encryptor, Finished},
};
use object_store::{MultipartUpload, ObjectStoreExt};
use tokio::{runtime::Handle, task::JoinSet};

use crate::{
    error::{Error, ErrorKind, Result},
    storage::Storage,
};

/// The lengths of a file that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The length of the file: what key metadata and manifests record.
    pub stored_length: u64,
    /// The length of the plaintext.
    pub plain_length: u64,
}

/// Writes `plain` to a new encrypted file.
///
/// The caller records the stored length with the key metadata: without it the file cannot be read.
///
/// # Errors
///
/// [`ErrorKind::AlreadyExists`] if there is a file, and whatever the store answers. There is no new file then.
pub async fn write_encrypted(
    storage: &Storage,
    location: &str,
    key_metadata: &StandardKeyMetadata,
    plain: impl AsRef<[u8]> + Send,
) -> Result<Written> {
    let plain = plain.as_ref();
    let stored = ags1::encrypt(key_metadata.encryption_key(), key_metadata.aad_prefix(), plain, 1)
        .map_err(|error| Error::from_crypto(error, location, "encrypt"))?;
    let written = Written { stored_length: stored.len() as u64, plain_length: plain.len() as u64 };
    storage.write_new(location, stored).await?;
    Ok(written)
}

/// Writes an encrypted file of any length, in bounded memory: about four chunks of 8 MiB.
///
/// The file appears with [`close`](Self::close). A writer that is dropped before leaves no file, and so does one of which a
/// `write` failed or was cancelled: it cannot be closed any more.
pub struct EncryptingWriter {
    encryptor: Encryptor,
    upload: Upload,
    /// Whether some plaintext may have been lost on its way.
    broken: bool,
}

impl EncryptingWriter {
    /// Prepares to write a file at `location`, where there must be none. The store is not touched yet.
    ///
    /// The key metadata must be of this file alone; its file length is not looked at.
    ///
    /// # Errors
    ///
    /// Those of [`Storage::resolve`].
    pub fn create(storage: &Storage, location: &str, key_metadata: &StandardKeyMetadata) -> Result<Self> {
        storage.resolve(location)?;
        let encryptor = Encryptor::new(key_metadata.encryption_key(), key_metadata.aad_prefix())
            .map_err(|error| Error::from_crypto(error, location, "encrypt"))?
            .with_chunk_blocks(PART_BLOCKS);
        let upload =
            Upload { storage: storage.clone(), location: location.to_owned(), started: None, parts: JoinSet::new() };
        Ok(Self { encryptor, upload, broken: false })
    }

    /// How many blocks of a chunk may be encrypted at a time; the default is one.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { encryptor: self.encryptor.with_threads(threads), ..self }
    }

    /// The plaintext so far.
    #[must_use]
    pub fn plain_length(&self) -> u64 {
        self.encryptor.plain_length()
    }

    /// Appends plaintext. Now and then this waits until an earlier part of the file is stored.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`] if there is a file, [`ErrorKind::InvalidInput`] after an earlier failure, and whatever the store
    /// answers.
    pub async fn write(&mut self, mut plain: &[u8]) -> Result<()> {
        self.check()?;
        self.broken = true;
        while let Some(chunk) = self.encryptor.push(&mut plain).map_err(|error| self.upload.not_encrypted(error))? {
            self.upload.send(chunk).await?;
        }
        self.broken = false;
        Ok(())
    }

    /// Ends the file and makes it visible.
    ///
    /// # Errors
    ///
    /// Those of [`write`](Self::write).
    pub async fn close(self) -> Result<Written> {
        self.check()?;
        let Self { encryptor, upload, .. } = self;
        let Finished { chunk, layout } = encryptor.finish().map_err(|error| upload.not_encrypted(error))?;
        upload.finish(chunk).await?;
        Ok(Written { stored_length: layout.stored_length(), plain_length: layout.plain_length() })
    }

    fn check(&self) -> Result<()> {
        if self.broken {
            let message = "an earlier write failed or was cancelled: the file cannot be finished";
            return Err(Error::new(ErrorKind::InvalidInput, &self.upload.location, message));
        }
        Ok(())
    }
}

impl fmt::Debug for EncryptingWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptingWriter")
            .field("location", &self.upload.location)
            .field("plain_length", &self.plain_length())
            .finish_non_exhaustive()
    }
}

/// The way of the encrypted chunks to the store. Dropped before it is finished, it removes what is there.
struct Upload {
    storage: Storage,
    location: String,
    /// Nothing, as long as the file fits in one chunk.
    started: Option<Box<dyn MultipartUpload>>,
    parts: JoinSet<object_store::Result<()>>,
}

impl Upload {
    async fn send(&mut self, chunk: Vec<u8>) -> Result<()> {
        while self.parts.len() >= MAX_PARTS_IN_FLIGHT {
            self.wait_for_part().await?;
        }
        let started = match &mut self.started {
            Some(started) => started,
            none => {
                // Uploads of several parts replace what is there, so this is looked at before.
                if self.storage.exists(&self.location).await? {
                    return Err(Error::new(ErrorKind::AlreadyExists, &self.location, "there is a file already"));
                }
                let (store, path) = self.storage.resolve(&self.location)?;
                let upload = store.put_multipart(&path).await;
                none.insert(upload.map_err(|error| Error::from_store(error, &self.location, "write"))?)
            }
        };
        self.parts.spawn(started.put_part(chunk.into()));
        Ok(())
    }

    async fn finish(mut self, chunk: Vec<u8>) -> Result<()> {
        if self.started.is_none() {
            return self.storage.write_new(&self.location, chunk).await;
        }
        self.send(chunk).await?;
        while self.wait_for_part().await? {}
        if let Some(started) = &mut self.started {
            let completed = started.complete().await;
            completed.map_err(|error| Error::from_store(error, &self.location, "write"))?;
        }
        self.started = None;
        Ok(())
    }

    /// Whether there was one.
    async fn wait_for_part(&mut self) -> Result<bool> {
        match self.parts.join_next().await {
            None => Ok(false),
            Some(part) => match part.map_err(object_store::Error::from).flatten() {
                Ok(()) => Ok(true),
                Err(error) => Err(Error::from_store(error, &self.location, "write")),
            },
        }
    }

    fn not_encrypted(&self, error: lakelock_crypto::Error) -> Error {
        Error::from_crypto(error, &self.location, "encrypt")
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        let (Some(mut started), Ok(runtime)) = (self.started.take(), Handle::try_current()) else {
            return;
        };
        let mut parts = std::mem::take(&mut self.parts);
        let location = std::mem::take(&mut self.location);
        runtime.spawn(async move {
            parts.shutdown().await;
            if let Err(error) = started.abort().await {
                tracing::debug!(%location, %error, "an unfinished upload could not be aborted");
            }
        });
    }
}

/// The blocks of a part: object stores want at least 5 MiB.
const PART_BLOCKS: usize = 8;
/// How many parts are on their way while the next one is encrypted.
const MAX_PARTS_IN_FLIGHT: usize = 2;
