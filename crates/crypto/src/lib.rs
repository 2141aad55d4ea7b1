//! The cryptography of encrypted Iceberg tables, and nothing else: no I/O, no async, no Iceberg types.
//!
//! | to | use |
//! |---|---|
//! | hold a key | [`SecretKey`], [`KeyLength`] |
//! | say how one file is encrypted | [`StandardKeyMetadata`] |
//! | encrypt a small value, such as a key | [`aes_gcm::seal`], [`aes_gcm::open`] |
//! | decrypt what another format authenticates, or nothing does | [`aes_ctr::Cipher`] |
//! | encrypt a file of any length | [`ags1::Encryptor`], [`ags1::encrypt`] |
//! | decrypt a file, or a part of it | [`ags1::Layout`], [`ags1::Decryptor`] |
//!
//! ```
//! use lakelock_crypto::{KeyLength, StandardKeyMetadata, ags1};
//!
//! # fn main() -> lakelock_crypto::Result<()> {
//! let plain = b"a manifest".to_vec();
//! let metadata = StandardKeyMetadata::generate(KeyLength::Aes128)?;
//! let stored = ags1::encrypt(metadata.encryption_key(), metadata.aad_prefix(), &plain, 1)?;
//! let metadata = metadata.with_file_length(stored.len() as u64);
//!
//! // The length comes from the key metadata, never from the file: that is how a missing block is noticed.
//! let layout = ags1::Layout::from_stored_length(metadata.file_length().unwrap())?;
//! let decryptor = ags1::Decryptor::new(metadata.encryption_key(), metadata.aad_prefix(), layout)?;
//! assert_eq!(decryptor.decrypt(stored, 1)?, plain);
//! # Ok(())
//! # }
//! ```
//!
//! Every nonce and key is drawn from the operating system. Bytes that fail authentication are one outcome,
//! [`ErrorKind::Authentication`], whatever the reason, and no plaintext of them is returned.

pub mod aes_ctr;
pub mod aes_gcm;
pub mod ags1;
mod error;
mod key;
mod key_metadata;
mod provider;
mod random;

pub use error::{Error, ErrorKind, Result};
pub use key::{KeyLength, SecretKey};
pub use key_metadata::StandardKeyMetadata;
pub use random::random_aad_prefix;
