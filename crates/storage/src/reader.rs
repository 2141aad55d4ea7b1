//! Reading AGS1 files.

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use lakelock_crypto::{
    StandardKeyMetadata,
    aes_gcm::{NONCE_LENGTH, OVERHEAD},
    ags1::{self, Decryptor, HEADER_LENGTH, Layout},
};
use object_store::{ObjectStore, path::Path};

use crate::{
    error::{Error, ErrorKind, Result},
    storage::{Storage, read_exactly},
};

/// An encrypted file that is read by positions in its plaintext. A clone shares everything with the original.
///
/// The length of the file is the one in the key metadata. A file that is longer is an error at the first read, a shorter
/// one as soon as the missing part is asked for. Nothing is returned that has not been authenticated.
#[derive(Clone)]
pub struct EncryptedReader {
    inner: Arc<Inner>,
    threads: usize,
}

struct Inner {
    store: Arc<dyn ObjectStore>,
    path: Path,
    location: String,
    decryptor: Decryptor,
}

impl EncryptedReader {
    /// Prepares to read the file at `location`. The file is not touched yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`] if the key metadata has no file length or an impossible one, and those of
    /// [`Storage::resolve`].
    pub fn open(storage: &Storage, location: &str, key_metadata: &StandardKeyMetadata) -> Result<Self> {
        let (store, path) = storage.resolve(location)?;
        let length = key_metadata.file_length().ok_or_else(|| {
            Error::new(ErrorKind::InvalidData, location, "the key metadata of the file has no file length")
        })?;
        let decryptor = Layout::from_stored_length(length)
            .and_then(|layout| Decryptor::new(key_metadata.encryption_key(), key_metadata.aad_prefix(), layout))
            .map_err(|error| Error::from_crypto(error, location, "decrypt"))?;
        let inner = Inner { store, path, location: location.to_owned(), decryptor };
        Ok(Self { inner: Arc::new(inner), threads: 1 })
    }

    /// How many blocks of one read may be decrypted at a time; the default is one.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The length of the plaintext.
    #[must_use]
    pub fn plain_length(&self) -> u64 {
        self.inner.decryptor.layout().plain_length()
    }

    /// The length of the file.
    #[must_use]
    pub fn stored_length(&self) -> u64 {
        self.inner.decryptor.layout().stored_length()
    }

    /// The plaintext in `range`. Only the blocks that hold it are fetched, in one request.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if the range reaches beyond the plaintext; [`ErrorKind::InvalidData`] if the file is cut off,
    /// extended or no AGS1 file; [`ErrorKind::Authentication`] if the key is wrong or the file was altered; and whatever the store answers.
    pub async fn read_range(&self, range: Range<u64>) -> Result<Bytes> {
        let length = self.plain_length();
        if range.start > range.end || range.end > length {
            let message = format!("bytes {}..{} were asked for, its plaintext has {length}", range.start, range.end);
            return Err(Error::new(ErrorKind::InvalidInput, &self.inner.location, message));
        }
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let layout = self.inner.decryptor.layout();
        let blocks = layout.blocks_of(range.clone());
        let start = layout.plain_range(blocks.clone()).start;
        let plain = self.read_blocks(blocks).await?;
        // What lies in these blocks lies in memory.
        let at = |position: u64| usize::try_from(position - start).unwrap_or(usize::MAX);
        Ok(plain.slice(at(range.start)..at(range.end)))
    }

    /// All of the plaintext.
    ///
    /// # Errors
    ///
    /// Those of [`read_range`](Self::read_range).
    pub async fn read_all(&self) -> Result<Bytes> {
        // The empty file too has a block, which must be authentic.
        self.read_blocks(0..self.inner.decryptor.layout().block_count()).await
    }

    async fn read_blocks(&self, blocks: Range<u64>) -> Result<Bytes> {
        let Inner { store, path, location, decryptor } = &*self.inner;
        let length = self.stored_length();
        let mut stored = decryptor.layout().stored_range(blocks.clone());
        // The header is no request of its own.
        if blocks.start == 0 {
            stored.start = 0;
        }
        let stored = read_exactly(store.as_ref(), path, location, stored, Some(length)).await?;
        if stored.len() <= INLINE_LENGTH {
            return self.decrypt(blocks, stored);
        }
        let reader = self.clone();
        let decrypted = tokio::task::spawn_blocking(move || reader.decrypt(blocks, stored)).await;
        decrypted
            .map_err(|error| Error::new(ErrorKind::Unavailable, location, "cannot decrypt it").with_source(error))?
    }

    /// Decrypts `blocks`, the first after the header, in the memory that they were read to.
    fn decrypt(&self, blocks: Range<u64>, stored: Bytes) -> Result<Bytes> {
        let Inner { location, decryptor, .. } = &*self.inner;
        let failed = |error| Error::from_crypto(error, location, "decrypt");
        let header = if blocks.start == 0 { HEADER_LENGTH } else { 0 };
        if header > 0 {
            ags1::check_header(&stored).map_err(failed)?;
        }
        let mut memory = Vec::from(stored);
        let text = &mut memory[header..];
        let (start, length) = if blocks.end - blocks.start == 1 {
            decryptor.decrypt_blocks_in_place(blocks.start, text, 1).map_err(failed)?;
            (header + NONCE_LENGTH, text.len() - OVERHEAD)
        } else {
            let plain = decryptor.decrypt_blocks(blocks.start, text, self.threads).map_err(failed)?;
            (header, plain.len())
        };
        Ok(Bytes::from(memory).slice(start..start + length))
    }
}

impl fmt::Debug for EncryptedReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptedReader").field("location", &self.inner.location).finish_non_exhaustive()
    }
}

/// What is decrypted on the thread that asks: two blocks take about as long as a change of threads is worth.
const INLINE_LENGTH: usize = 2 * ags1::CIPHER_BLOCK_LENGTH as usize + HEADER_LENGTH;
