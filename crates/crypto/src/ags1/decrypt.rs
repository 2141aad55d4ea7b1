//! Reading a stream, whole or in part.

use std::fmt;

use super::{
    BlockAad,
    layout::{self, HEADER_LENGTH, Layout},
    parallel,
};
use crate::{
    aes_gcm::{Cipher, NONCE_LENGTH, OVERHEAD, TAG_LENGTH},
    error::{Detail, Result},
    key::SecretKey,
    provider::{Nonce, Tag, Unauthentic},
};

/// Decrypts the blocks of one stream, in any order.
pub struct Decryptor {
    cipher: Cipher,
    aad: BlockAad,
    layout: Layout,
}

impl Decryptor {
    /// Makes `key` ready, for a stream whose blocks are bound to `aad_prefix`.
    ///
    /// `layout` comes from a length that can be trusted, such as the one in the key metadata: a stream that was cut at the end
    /// of a block looks whole by its own length.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the cryptographic library fails.
    pub fn new(key: &SecretKey, aad_prefix: &[u8], layout: Layout) -> Result<Self> {
        Ok(Self { cipher: Cipher::new(key)?, aad: BlockAad::new(aad_prefix), layout })
    }

    /// The lengths of the stream.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Decrypts a whole stream in its own memory. Bytes beyond its length are ignored, as Java ignores them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`](crate::ErrorKind::InvalidData) for a bad header or fewer bytes than there should be,
    /// [`ErrorKind::Authentication`](crate::ErrorKind::Authentication) for a wrong key, a wrong AAD prefix or altered bytes.
    pub fn decrypt(&self, mut stored: Vec<u8>, threads: usize) -> Result<Vec<u8>> {
        layout::check_header_for(&stored, self.layout.block_length())?;
        let expected = self.layout.stored_length();
        let found = stored.len() as u64;
        if found < expected {
            return Err(Detail::StreamCut { found, expected }.into());
        }
        stored.truncate(usize::try_from(expected).unwrap_or(usize::MAX));
        let length = self.compact(0, &mut stored, HEADER_LENGTH, threads)?;
        stored.truncate(length);
        Ok(stored)
    }

    /// Decrypts consecutive blocks, of which `first_block` is the first, in the memory of `stored`. Returns the plaintext, which
    /// lies together at the beginning of it.
    ///
    /// `stored` is all of [`Layout::stored_range`] of these blocks.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) unless `stored` has the length of some blocks from `first_block`
    /// on, and as for [`decrypt`](Self::decrypt). `stored` is of no use after an error.
    pub fn decrypt_blocks<'a>(&self, first_block: u64, stored: &'a mut [u8], threads: usize) -> Result<&'a mut [u8]> {
        let first = self.check_blocks(first_block, stored.len())?;
        let length = self.compact(first, stored, 0, threads)?;
        Ok(&mut stored[..length])
    }

    /// Like [`decrypt_blocks`](Self::decrypt_blocks), but each block stays where it lies: 12 bytes after the beginning of the block
    /// as stored. This is the faster one if the plaintext need not lie together.
    ///
    /// # Errors
    ///
    /// Those of [`decrypt_blocks`](Self::decrypt_blocks).
    pub fn decrypt_blocks_in_place(&self, first_block: u64, stored: &mut [u8], threads: usize) -> Result<()> {
        let first = self.check_blocks(first_block, stored.len())?;
        parallel::for_each(stored.chunks_mut(self.layout.stored_block_length()), threads, || {
            let mut aad = self.aad.clone();
            move |index, block: &mut [u8]| {
                let index = first + index;
                let (nonce, tag) = nonce_and_tag(block);
                let end = block.len() - TAG_LENGTH;
                self.open(index, &mut aad, nonce, tag, &mut block[NONCE_LENGTH..end], 0)
            }
        })
    }

    /// Decrypts the blocks that follow `lead` bytes in `memory`, and leaves the plaintext at the beginning of it.
    ///
    /// Several threads each take a run of consecutive blocks. The plaintext of a run begins a bit before its first block does, where
    /// the run before still has ciphertext: so that one block stays where it is until all are done, and what the next one
    /// overwrites of it is kept aside.
    fn compact(&self, first: u32, memory: &mut [u8], lead: usize, threads: usize) -> Result<usize> {
        let block_length = self.layout.block_length() as usize;
        let stored_block = self.layout.stored_block_length();
        let count = (memory.len() - lead).div_ceil(stored_block);
        let plain_length = memory.len() - lead - count * OVERHEAD;

        // What a run keeps aside must be a part of its first block.
        let fits = lead + count * OVERHEAD + NONCE_LENGTH < block_length;
        let threads = if fits { threads.min(count / MIN_BLOCKS_OF_RUN).max(1) } else { 1 };
        let start_of = |run: usize| count * run / threads;

        let mut runs = Vec::with_capacity(threads);
        let mut rest = &mut *memory;
        for index in 0..threads {
            let (start, end) = (start_of(index), start_of(index + 1));
            let (lead, gap) = if index == 0 { (lead, 0) } else { (0, lead + start * OVERHEAD) };
            let stored = rest.len().min(lead + (end - start) * stored_block);
            let (memory, after) = rest.split_at_mut(stored);
            rest = after;
            runs.push(Run { first: first + count_of(start), memory, lead, gap, aside: Vec::new() });
        }
        parallel::for_each(runs.iter_mut(), threads, || |_, run: &mut Run<'_>| run.decrypt(self))?;

        let asides: Vec<_> = runs.into_iter().map(|run| run.aside).collect();
        for (index, aside) in asides.iter().enumerate().skip(1) {
            let target = start_of(index) * block_length;
            let start = lead + start_of(index) * stored_block + NONCE_LENGTH;
            let here = block_length - aside.len();
            memory.copy_within(start..start + here, target);
            memory[target + here..target + block_length].copy_from_slice(aside);
        }
        Ok(plain_length)
    }

    /// Checks that `length` bytes are some blocks from `first_block` on, and returns that as the AAD counts it.
    fn check_blocks(&self, first_block: u64, length: usize) -> Result<u32> {
        let count = self.layout.block_count();
        let end = first_block.saturating_add(length.div_ceil(self.layout.stored_block_length()) as u64);
        if end > count {
            return Err(Detail::BlockRange { start: first_block, end, count }.into());
        }
        let stored = self.layout.stored_range(first_block..end);
        if stored.end - stored.start != length as u64 {
            let (found, expected) = (length as u64, stored.end - stored.start);
            return Err(Detail::StoredBlocks { start: first_block, end, found, expected }.into());
        }
        u32::try_from(first_block).map_err(|_| Detail::BlockRange { start: first_block, end, count }.into())
    }

    fn open(
        &self,
        index: u32,
        aad: &mut BlockAad,
        nonce: Nonce,
        tag: Tag,
        text: &mut [u8],
        start: usize,
    ) -> Result<()> {
        self.cipher
            .prepared()
            .open(nonce, aad.of(index), tag, text, start)
            .map_err(|Unauthentic| Detail::Block { index: index.into() }.into())
    }
}

impl fmt::Debug for Decryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decryptor").field("cipher", &self.cipher).field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// Consecutive blocks in their memory.
struct Run<'a> {
    /// The index of the first block.
    first: u32,
    memory: &'a mut [u8],
    /// How far from the beginning of `memory` the first block begins.
    lead: usize,
    /// How far before `memory` the plaintext belongs. If it does, the first block stays where it is.
    gap: usize,
    /// The end of the first block, where the second one is now.
    aside: Vec<u8>,
}

impl Run<'_> {
    fn decrypt(&mut self, decryptor: &Decryptor) -> Result<()> {
        let block_length = decryptor.layout.block_length() as usize;
        let stored_block = decryptor.layout.stored_block_length();
        let mut aad = decryptor.aad.clone();
        let count = (self.memory.len() - self.lead).div_ceil(stored_block);
        for (index, position) in (self.first..).zip(0..count) {
            let start = self.lead + position * stored_block;
            let end = self.memory.len().min(start + stored_block);
            let stays = self.gap > 0 && position == 0;
            let target = if stays { start + NONCE_LENGTH } else { position * block_length - self.gap };
            let (nonce, tag) = nonce_and_tag(&self.memory[start..end]);
            let text = &mut self.memory[target..end - TAG_LENGTH];
            decryptor.open(index, &mut aad, nonce, tag, text, start + NONCE_LENGTH - target)?;
            if stays {
                self.aside = text[block_length - self.gap - NONCE_LENGTH..].to_vec();
            }
        }
        Ok(())
    }
}

/// The nonce and the tag of a block, which has room for both.
fn nonce_and_tag(block: &[u8]) -> (Nonce, Tag) {
    (block.first_chunk().copied().unwrap_or_default(), block.last_chunk().copied().unwrap_or_default())
}

/// A number of blocks as the AAD counts them. No stream has more.
fn count_of(blocks: usize) -> u32 {
    u32::try_from(blocks).unwrap_or(u32::MAX)
}

/// A run of fewer blocks is not worth a thread, as one of them is moved twice.
const MIN_BLOCKS_OF_RUN: usize = 2;
