//! Making a stream.

use std::fmt;

use super::{BlockAad, MAX_BLOCKS, PLAIN_BLOCK_LENGTH, layout, layout::Layout, parallel};
use crate::{
    aes_gcm::{Cipher, NONCE_LENGTH, OVERHEAD, TAG_LENGTH},
    error::{Detail, Error, Result},
    key::SecretKey,
};

/// Encrypts `plain` to a whole stream.
///
/// # Errors
///
/// [`ErrorKind::System`](crate::ErrorKind::System) if the operating system gives no random bytes.
pub fn encrypt(key: &SecretKey, aad_prefix: &[u8], plain: &[u8], threads: usize) -> Result<Vec<u8>> {
    BlockEncryptor::new(key, aad_prefix)?.encrypt(plain, threads)
}

/// Encrypts blocks where they lie, for a producer that can put its plaintext there.
pub struct BlockEncryptor {
    cipher: Cipher,
    aad: BlockAad,
    block_length: u32,
}

impl BlockEncryptor {
    /// Makes `key` ready, for a stream whose blocks are bound to `aad_prefix`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the cryptographic library fails.
    pub fn new(key: &SecretKey, aad_prefix: &[u8]) -> Result<Self> {
        Self::with_block_length(key, aad_prefix, PLAIN_BLOCK_LENGTH)
    }

    pub(super) fn with_block_length(key: &SecretKey, aad_prefix: &[u8], block_length: u32) -> Result<Self> {
        Ok(Self { cipher: Cipher::new(key)?, aad: BlockAad::new(aad_prefix), block_length })
    }

    /// Encrypts consecutive blocks in place, of which `first_block` is the first.
    ///
    /// `blocks` is laid out as the stream is: 12 bytes for the nonce, the plaintext, 16 bytes for the tag, and so on. Each
    /// block but the last has 1 MiB of plaintext. A block that is already encrypted would be so twice.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the last block has no room for nonce and tag, or a block
    /// has too high an index; [`ErrorKind::System`](crate::ErrorKind::System) if the operating system gives no random bytes.
    pub fn encrypt_blocks(&self, first_block: u64, blocks: &mut [u8], threads: usize) -> Result<()> {
        let stored_block = self.stored_block_length();
        let count = blocks.len().div_ceil(stored_block) as u64;
        let Some(first) = index_of_first(first_block, count) else {
            return Err(self.too_long(first_block.saturating_add(count)));
        };
        let partial = blocks.len() % stored_block;
        if (1..OVERHEAD).contains(&partial) {
            return Err(Detail::SealedTooShort { length: partial }.into());
        }
        parallel::for_each(blocks.chunks_mut(stored_block), threads, || {
            let mut aad = self.aad.clone();
            move |index, block: &mut [u8]| self.encrypt_block(block, aad.of(first + index))
        })
    }

    fn encrypt_block(&self, block: &mut [u8], aad: &[u8]) -> Result<()> {
        self.cipher.seal_in_place(block, aad)
    }

    /// A whole stream, each block copied to its place just before it is encrypted there.
    pub(super) fn encrypt(&self, plain: &[u8], threads: usize) -> Result<Vec<u8>> {
        let layout = Layout::from_plain_length_for(plain.len() as u64, self.block_length)?;
        let length = usize::try_from(layout.stored_length()).map_err(|_| self.too_long(layout.block_count()))?;
        let header = layout::header(self.block_length);
        // The empty stream has one block and no plaintext to go with it.
        let empty = plain.is_empty().then_some(&[][..]);
        let pieces = plain.chunks(self.block_length as usize).chain(empty);

        if threads <= 1 {
            let mut aad = self.aad.clone();
            let mut stream = Vec::with_capacity(length);
            stream.extend_from_slice(&header);
            for (index, plain) in (0..).zip(pieces) {
                let start = stream.len();
                stream.extend_from_slice(&[0; NONCE_LENGTH]);
                stream.extend_from_slice(plain);
                stream.extend_from_slice(&[0; TAG_LENGTH]);
                self.encrypt_block(&mut stream[start..], aad.of(index))?;
            }
            return Ok(stream);
        }

        let mut stream = vec![0; length];
        let (start, blocks) = stream.split_at_mut(header.len());
        start.copy_from_slice(&header);
        parallel::for_each(blocks.chunks_mut(self.stored_block_length()).zip(pieces), threads, || {
            let mut aad = self.aad.clone();
            move |index, (block, plain): (&mut [u8], &[u8])| {
                block[NONCE_LENGTH..][..plain.len()].copy_from_slice(plain);
                self.encrypt_block(block, aad.of(index))
            }
        })?;
        Ok(stream)
    }

    fn stored_block_length(&self) -> usize {
        self.block_length as usize + OVERHEAD
    }

    fn too_long(&self, blocks: u64) -> Error {
        Detail::TooLong { length: blocks.saturating_mul(u64::from(self.block_length)) }.into()
    }
}

impl fmt::Debug for BlockEncryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockEncryptor").field("cipher", &self.cipher).finish_non_exhaustive()
    }
}

/// Encrypts a stream piece by piece, in memory bounded by one chunk of blocks.
///
/// [`push`](Self::push) copies plaintext to its place in the chunk, which is encrypted there and handed out when it is full.
/// Joined together, the chunks are the stream; what [`finish`](Self::finish) returns is the end of it. Without that
/// the stream is cut off, and a reader notices only if it knows the length.
///
/// ```
/// # use lakelock_crypto::{SecretKey, ags1::{Encryptor, Finished}};
/// # fn main() -> lakelock_crypto::Result<()> {
/// # let key = SecretKey::new(&[1; 16])?;
/// let mut encryptor = Encryptor::new(&key, b"prefix")?;
/// let mut stored = Vec::new();
/// for mut plain in [&b"a piece"[..], &b" and another"[..]] {
///     while let Some(chunk) = encryptor.push(&mut plain)? {
///         stored.extend(chunk);
///     }
/// }
/// let Finished { chunk, layout } = encryptor.finish()?;
/// stored.extend(chunk);
/// assert_eq!(stored.len() as u64, layout.stored_length());
/// # Ok(())
/// # }
/// ```
pub struct Encryptor {
    blocks: BlockEncryptor,
    chunk: Vec<u8>,
    /// What precedes the first block in `chunk`: the header in the first chunk, nothing in the others.
    lead: usize,
    /// How many blocks `chunk` has, the open one included.
    block_count: usize,
    /// The plaintext in the open block, if there is one.
    open: Option<usize>,
    /// The index of the first block in `chunk`.
    first_block: u64,
    plain_length: u64,
    chunk_blocks: usize,
    threads: usize,
}

/// The end of a stream.
#[derive(Debug)]
pub struct Finished {
    /// The last bytes of the stream; never empty.
    pub chunk: Vec<u8>,
    /// The lengths of the whole stream.
    pub layout: Layout,
}

impl Encryptor {
    /// Starts a stream under `key`, its blocks bound to `aad_prefix`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the cryptographic library fails.
    pub fn new(key: &SecretKey, aad_prefix: &[u8]) -> Result<Self> {
        Self::with_block_length(key, aad_prefix, PLAIN_BLOCK_LENGTH)
    }

    pub(super) fn with_block_length(key: &SecretKey, aad_prefix: &[u8], block_length: u32) -> Result<Self> {
        let header = layout::header(block_length);
        Ok(Self {
            blocks: BlockEncryptor::with_block_length(key, aad_prefix, block_length)?,
            chunk: header.to_vec(),
            lead: header.len(),
            block_count: 0,
            open: None,
            first_block: 0,
            plain_length: 0,
            chunk_blocks: DEFAULT_CHUNK_BLOCKS,
            threads: 1,
        })
    }

    /// How many blocks a chunk has; the default is 4. At least one.
    #[must_use]
    pub fn with_chunk_blocks(self, blocks: usize) -> Self {
        Self { chunk_blocks: blocks.max(1), ..self }
    }

    /// How many blocks of a chunk are encrypted at a time; the default is one, as soon as it is full.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// The plaintext so far.
    #[must_use]
    pub fn plain_length(&self) -> u64 {
        self.plain_length
    }

    /// Takes plaintext from the front of `plain` until it is empty (`None`) or a chunk is full.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the operating system gives no random bytes;
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if the stream would be too long. It cannot go on then.
    pub fn push(&mut self, plain: &mut &[u8]) -> Result<Option<Vec<u8>>> {
        let block_length = self.blocks.block_length as usize;
        while !plain.is_empty() {
            let filled = match self.open {
                Some(filled) => filled,
                None => self.open_block(),
            };
            let (now, later) = plain.split_at(plain.len().min(block_length - filled));
            self.chunk.extend_from_slice(now);
            self.plain_length += now.len() as u64;
            self.open = Some(filled + now.len());
            *plain = later;
            if filled + now.len() == block_length {
                self.close_block()?;
                if self.block_count == self.chunk_blocks {
                    return self.take_chunk().map(Some);
                }
            }
        }
        Ok(None)
    }

    /// Ends the stream.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub fn finish(mut self) -> Result<Finished> {
        let layout = Layout::from_plain_length_for(self.plain_length, self.blocks.block_length)?;
        if self.plain_length == 0 {
            self.open_block();
        }
        if self.open.is_some() {
            self.close_block()?;
        }
        let chunk = self.take_chunk()?;
        Ok(Finished { chunk, layout })
    }

    /// Leaves a gap for the nonce.
    fn open_block(&mut self) -> usize {
        self.chunk.extend_from_slice(&[0; NONCE_LENGTH]);
        self.block_count += 1;
        self.open = Some(0);
        0
    }

    /// Leaves a gap for the tag. One thread encrypts the block now, while it is in the cache; several wait for the chunk.
    fn close_block(&mut self) -> Result<()> {
        self.chunk.extend_from_slice(&[0; TAG_LENGTH]);
        self.open = None;
        if self.threads <= 1 {
            let before = self.block_count - 1;
            let start = self.lead + before * self.blocks.stored_block_length();
            self.blocks.encrypt_blocks(self.first_block + before as u64, &mut self.chunk[start..], 1)?;
        }
        Ok(())
    }

    fn take_chunk(&mut self) -> Result<Vec<u8>> {
        if self.threads > 1 {
            self.blocks.encrypt_blocks(self.first_block, &mut self.chunk[self.lead..], self.threads)?;
        }
        let next = Vec::with_capacity(self.chunk.len() - self.lead);
        self.first_block += self.block_count as u64;
        self.block_count = 0;
        self.lead = 0;
        Ok(std::mem::replace(&mut self.chunk, next))
    }
}

impl fmt::Debug for Encryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encryptor").field("plain_length", &self.plain_length).finish_non_exhaustive()
    }
}

/// The first index, if all are small enough.
fn index_of_first(first_block: u64, count: u64) -> Option<u32> {
    let end = first_block.checked_add(count).filter(|&end| end <= MAX_BLOCKS)?;
    u32::try_from(end - count).ok()
}

/// Larger chunks are slower: an allocator gives their memory back to the system and has it filled with zeros again.
const DEFAULT_CHUNK_BLOCKS: usize = 4;
