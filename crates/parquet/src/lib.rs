//! Parquet's modular encryption, below the Parquet library: it reads encrypted files without knowing that they are.
//!
//! | to | use |
//! |---|---|
//! | open a file with its key | [`EncryptedFile::open`] |
//! | read it, as if it were not encrypted | [`EncryptedFile::read`] |
//! | say where its bytes come from | [`StoredBytes`] |
//! | write a file | [`EncryptingWriter`] |
//!
//! Files have an encrypted footer and one key for everything, as Iceberg writes them: 128, 192 or 256 bits. Pages, their
//! headers, indexes and bloom filters are decrypted when they are asked for, in the memory that they were read into.
//!
//! Nothing here knows tables, or where files are stored. Lengths, offsets and counts from a file are checked before they
//! are used; bytes that fail authentication are an error that names the file and the module.

mod crypto_metadata;
mod error;
mod file;
mod footer;
mod layout;
mod module;
mod page;
mod pages;
mod seal;
mod thrift;
mod writer;

pub use error::{Error, ErrorKind, Result};
pub use file::{EncryptedFile, StoredBytes};
pub use writer::EncryptingWriter;

/// How files are read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// How many bytes at the end of the file are read at first. A footer that is longer takes a second request.
    footer_prefetch: u64,
    accept_ctr: bool,
}

impl ReadOptions {
    /// Reads so many bytes at the end of the file at first.
    #[must_use]
    pub fn with_footer_prefetch(self, bytes: u64) -> Self {
        Self { footer_prefetch: bytes, ..self }
    }

    /// Accepts files with `AES_GCM_CTR_V1`, whose pages are not authenticated.
    ///
    /// What a file says of its algorithm is not authenticated either: with this, whoever can write to the storage can turn
    /// off the authentication of any file, and change rows unnoticed.
    #[must_use]
    pub fn danger_accept_ctr(self) -> Self {
        Self { accept_ctr: true, ..self }
    }
}

impl Default for ReadOptions {
    /// Reads 64 KiB at first, and accepts authenticated files only.
    fn default() -> Self {
        Self { footer_prefetch: 64 << 10, accept_ctr: false }
    }
}
