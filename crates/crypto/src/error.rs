//! What can go wrong, by what the caller can do about it.

use std::fmt;

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate: a [kind](Error::kind) to act on and a message to show.
///
/// The message never holds key material or plaintext.
#[derive(Debug)]
pub struct Error(Detail);

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The key or the associated data is wrong, or the bytes were altered: which of these cannot be told.
    Authentication,
    /// The bytes are not what they should be: damaged, cut off or of another format.
    InvalidData,
    /// An argument is not acceptable: fix the call.
    InvalidInput,
    /// The operating system gave no random bytes, or a cryptographic library failed.
    System,
}

impl Error {
    /// What to do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self.0 {
            Detail::Block { .. } | Detail::Sealed => ErrorKind::Authentication,
            Detail::BlockLength { .. }
            | Detail::KeyMetadata(_)
            | Detail::KeyMetadataKey { .. }
            | Detail::Magic { .. }
            | Detail::SealedTooShort { .. }
            | Detail::StreamCut { .. }
            | Detail::StreamLength { .. }
            | Detail::StreamTooShort { .. } => ErrorKind::InvalidData,
            Detail::BlockRange { .. }
            | Detail::KeyLength { .. }
            | Detail::StoredBlocks { .. }
            | Detail::TooLong { .. } => ErrorKind::InvalidInput,
            Detail::Cipher | Detail::Random => ErrorKind::System,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Error {}

impl From<Detail> for Error {
    fn from(detail: Detail) -> Self {
        Self(detail)
    }
}

/// One variant for each message.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Detail {
    #[error("block {index} of the AGS1 stream cannot be authenticated: wrong key or AAD prefix, or altered bytes")]
    Block { index: u64 },
    #[error("the AGS1 header gives a block length of {found} bytes, expected {expected}")]
    BlockLength { found: u32, expected: u32 },
    #[error("blocks {start}..{end} were asked for, the AGS1 stream has {count}")]
    BlockRange { start: u64, end: u64, count: u64 },
    #[error("the AES-GCM implementation failed")]
    Cipher,
    #[error("a key of {length} bytes, expected 16, 24 or 32")]
    KeyLength { length: usize },
    #[error("invalid key metadata: {0}")]
    KeyMetadata(&'static str),
    #[error("invalid key metadata: an encryption key of {length} bytes, expected 16, 24 or 32")]
    KeyMetadataKey { length: usize },
    #[error("not an AGS1 stream: it starts with {found:02x?}, expected \"AGS1\"")]
    Magic { found: [u8; 4] },
    #[error("the operating system gave no random bytes")]
    Random,
    #[error("the sealed bytes cannot be authenticated: wrong key or associated data, or altered bytes")]
    Sealed,
    #[error("{length} sealed bytes, expected at least the 28 of a nonce and a tag")]
    SealedTooShort { length: usize },
    #[error("{found} bytes given for the stored blocks {start}..{end}, expected {expected}")]
    StoredBlocks { start: u64, end: u64, found: u64, expected: u64 },
    #[error("the AGS1 stream is cut off: {found} bytes, expected {expected}")]
    StreamCut { found: u64, expected: u64 },
    #[error("{length} bytes cannot be the length of an AGS1 stream: its last block would be too short")]
    StreamLength { length: u64 },
    #[error("an AGS1 stream of {length} bytes, expected at least 36")]
    StreamTooShort { length: u64 },
    #[error("a plaintext of {length} bytes is too long for an AGS1 stream")]
    TooLong { length: u64 },
}
