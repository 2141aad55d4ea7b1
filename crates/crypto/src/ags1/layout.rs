//! Where the blocks of a stream are.

use std::ops::Range;

use crate::{
    aes_gcm::OVERHEAD,
    error::{Detail, Result},
};

/// What a stream starts with.
pub const MAGIC: [u8; 4] = *b"AGS1";
/// The plaintext in each block but the last, in bytes.
pub const PLAIN_BLOCK_LENGTH: u32 = 1024 * 1024;
/// Each block but the last as it is stored, in bytes.
pub const CIPHER_BLOCK_LENGTH: u32 = PLAIN_BLOCK_LENGTH + 28;
/// The magic and the block length, in bytes.
pub const HEADER_LENGTH: usize = MAGIC.len() + size_of::<u32>();
/// The empty stream: a header, a nonce and a tag, in bytes.
pub const MIN_STREAM_LENGTH: usize = HEADER_LENGTH + OVERHEAD;

/// Java counts the blocks of a stream with an `int`.
pub(super) const MAX_BLOCKS: u64 = 0x7fff_ffff;

/// Checks the first bytes of a stream: the magic and a block length of 1 MiB.
///
/// # Errors
///
/// [`ErrorKind::InvalidData`](crate::ErrorKind::InvalidData).
pub fn check_header(stream: &[u8]) -> Result<()> {
    check_header_for(stream, PLAIN_BLOCK_LENGTH)
}

pub(super) fn check_header_for(stream: &[u8], block_length: u32) -> Result<()> {
    let too_short = Detail::StreamTooShort { length: stream.len() as u64 };
    let Some((&found, rest)) = stream.split_first_chunk() else {
        return Err(too_short.into());
    };
    if found != MAGIC {
        return Err(Detail::Magic { found }.into());
    }
    let Some(&length) = rest.first_chunk() else {
        return Err(too_short.into());
    };
    let length = u32::from_le_bytes(length);
    if length != block_length {
        return Err(Detail::BlockLength { found: length, expected: block_length }.into());
    }
    Ok(())
}

pub(super) fn header(block_length: u32) -> [u8; HEADER_LENGTH] {
    let mut header = [0; HEADER_LENGTH];
    header[..4].copy_from_slice(&MAGIC);
    header[4..].copy_from_slice(&block_length.to_le_bytes());
    header
}

/// The lengths of one stream and the place of each block, in the plaintext and as stored.
///
/// Positions in the plaintext count from its first byte, stored positions from the first byte of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    plain_length: u64,
    block_length: u32,
}

impl Layout {
    /// The layout of a stream of `length` bytes as stored, header included.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`](crate::ErrorKind::InvalidData) if no stream has this length.
    pub fn from_stored_length(length: u64) -> Result<Self> {
        Self::from_stored_length_for(length, PLAIN_BLOCK_LENGTH)
    }

    /// The layout of a stream that holds `length` bytes of plaintext.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) if it would have more blocks than can be numbered.
    pub fn from_plain_length(length: u64) -> Result<Self> {
        Self::from_plain_length_for(length, PLAIN_BLOCK_LENGTH)
    }

    pub(super) fn from_stored_length_for(length: u64, block_length: u32) -> Result<Self> {
        if length < MIN_STREAM_LENGTH as u64 {
            return Err(Detail::StreamTooShort { length }.into());
        }
        let blocks = length - HEADER_LENGTH as u64;
        let stored_block = u64::from(block_length) + OVERHEAD as u64;
        let full = blocks / stored_block;
        let plain_of_last = match blocks % stored_block {
            0 => 0,
            // A last block without plaintext belongs to the empty stream alone.
            last if last < OVERHEAD as u64 || (last == OVERHEAD as u64 && full > 0) => {
                return Err(Detail::StreamLength { length }.into());
            }
            last => last - OVERHEAD as u64,
        };
        let plain_length = full * u64::from(block_length) + plain_of_last;
        Self::from_plain_length_for(plain_length, block_length).map_err(|_| Detail::StreamLength { length }.into())
    }

    pub(super) fn from_plain_length_for(length: u64, block_length: u32) -> Result<Self> {
        if length.div_ceil(u64::from(block_length)) > MAX_BLOCKS {
            return Err(Detail::TooLong { length }.into());
        }
        Ok(Self { plain_length: length, block_length })
    }

    /// The length of the plaintext.
    #[must_use]
    pub fn plain_length(&self) -> u64 {
        self.plain_length
    }

    /// The length of the stream, header included.
    #[must_use]
    pub fn stored_length(&self) -> u64 {
        HEADER_LENGTH as u64 + self.plain_length + self.block_count() * OVERHEAD as u64
    }

    /// How many blocks there are: at least one.
    #[must_use]
    pub fn block_count(&self) -> u64 {
        self.plain_length.div_ceil(u64::from(self.block_length)).max(1)
    }

    /// The blocks that hold the bytes `plain` of the plaintext. What lies beyond its end is left out.
    #[must_use]
    pub fn blocks_of(&self, plain: Range<u64>) -> Range<u64> {
        let end = plain.end.min(self.plain_length);
        if plain.start >= end {
            return 0..0;
        }
        let block = u64::from(self.block_length);
        plain.start / block..end.div_ceil(block)
    }

    /// Where the file has `blocks`, one after the other. What lies beyond its end is left out.
    #[must_use]
    pub fn stored_range(&self, blocks: Range<u64>) -> Range<u64> {
        let stored_block = u64::from(self.block_length) + OVERHEAD as u64;
        let at = |block: u64| match block {
            block if block >= self.block_count() => self.stored_length(),
            block => HEADER_LENGTH as u64 + block * stored_block,
        };
        at(blocks.start)..at(blocks.end)
    }

    /// What `blocks` hold of the plaintext. What lies beyond its end is left out.
    #[must_use]
    pub fn plain_range(&self, blocks: Range<u64>) -> Range<u64> {
        let at = |block: u64| block.saturating_mul(u64::from(self.block_length)).min(self.plain_length);
        at(blocks.start)..at(blocks.end)
    }

    /// The plaintext in each block but the last.
    pub(super) fn block_length(&self) -> u32 {
        self.block_length
    }

    /// Each block but the last as it is stored.
    pub(super) fn stored_block_length(&self) -> usize {
        self.block_length as usize + OVERHEAD
    }
}
