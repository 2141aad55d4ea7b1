//! Files of encrypted tables, wherever they are: object stores and local folders by the locations that Iceberg writes, and
//! AGS1 over them.
//!
//! | to | use |
//! |---|---|
//! | read and write the bytes of a file as they are | [`Storage`] |
//! | read an encrypted file, whole or in part | [`EncryptedReader`] |
//! | see what the store itself encrypts a file with | [`Storage::encryption_at_rest`] |
//! | write an encrypted file | [`EncryptingWriter`], [`write_encrypted`] |
//!
//! ```
//! use lakelock_crypto::{KeyLength, StandardKeyMetadata};
//! use lakelock_storage::{EncryptedReader, Storage, write_encrypted};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let storage = Storage::in_memory();
//! let metadata = StandardKeyMetadata::generate(KeyLength::Aes128)?;
//! let written = write_encrypted(&storage, "memory://table/manifest.avro", &metadata, b"entries").await?;
//!
//! let metadata = metadata.with_file_length(written.stored_length);
//! let reader = EncryptedReader::open(&storage, "memory://table/manifest.avro", &metadata)?;
//! assert_eq!(reader.read_range(1..4).await?, "ntr");
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here decides *whether* a file is encrypted. The encrypting types have no way through to the plain bytes, and
//! [`Storage`] has none through the cipher. Every [`Error`] names the location.
//!
//! Features: `aws`, `azure` and `gcp`, one for each kind of object store.
#![cfg_attr(
    not(any(feature = "aws", feature = "azure", feature = "gcp")),
    expect(dead_code, clippy::unnecessary_wraps, clippy::unused_self, reason = "what object stores have in common")
)]

mod at_rest;
#[cfg(feature = "azure")]
mod azure;
mod error;
#[cfg(feature = "gcp")]
mod gcs;
mod http;
mod local;
mod location;
mod properties;
mod reader;
mod remote;
mod repeats;
#[cfg(feature = "aws")]
mod s3;
mod storage;
mod upload;
mod writer;

pub use at_rest::ServerSideEncryption;
pub use error::{Error, ErrorKind, Result};
pub use reader::EncryptedReader;
pub use storage::{FileInfo, LOCAL_FSYNC, Storage};
pub use writer::{EncryptingWriter, Written, write_encrypted};
