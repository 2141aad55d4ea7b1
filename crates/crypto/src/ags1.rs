//! AGS1, the AES GCM Stream of Iceberg: a file in blocks of 1 MiB that are encrypted one by one.
//!
//! ```text
//! "AGS1" | plain block length: u32 LE = 1048576 | block 0 | block 1 | ...
//! block i = nonce[12] | ciphertext | tag[16]        AAD of block i = AAD prefix | i: u32 LE
//! ```
//!
//! - Every block but the last holds exactly 1 MiB of plaintext, the last one 1 byte to 1 MiB.
//! - The empty stream has one block of no plaintext: 36 bytes, the shortest stream there is.
//! - The index in the AAD keeps blocks from being swapped, the AAD prefix from being moved to another file. That blocks are
//!   missing at the end shows only against a length known from elsewhere: the key metadata's. [`Layout`] starts from it.
//!
//! Specification: <https://iceberg.apache.org/gcm-stream-spec/>. Like Java, this crate refuses any other block length.
//!
//! Plaintext and ciphertext share memory. A block is written between the gaps that its nonce and its tag will fill, and
//! encrypted where it lies; when it is decrypted the plaintext moves to the front over the gaps, in the same pass if the
//! cipher can do that. `threads` says how many blocks may be worked on at a time; 0 and 1 stay on the calling thread.

mod decrypt;
mod encrypt;
mod layout;
mod parallel;

pub use decrypt::Decryptor;
pub use encrypt::{BlockEncryptor, Encryptor, Finished, encrypt};
pub use layout::{
    CIPHER_BLOCK_LENGTH, HEADER_LENGTH, Layout, MAGIC, MIN_STREAM_LENGTH, PLAIN_BLOCK_LENGTH, check_header,
};

use layout::MAX_BLOCKS;

/// The AAD of one block after the other: the prefix stays, the index changes.
#[derive(Clone)]
struct BlockAad(Vec<u8>);

impl BlockAad {
    fn new(prefix: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(prefix.len() + size_of::<u32>());
        bytes.extend_from_slice(prefix);
        bytes.extend_from_slice(&[0; size_of::<u32>()]);
        Self(bytes)
    }

    fn of(&mut self, block: u32) -> &[u8] {
        if let Some(index) = self.0.last_chunk_mut() {
            *index = block.to_le_bytes();
        }
        &self.0
    }
}

#[cfg(test)]
mod tests;
