//! Key management for Lakelock: who holds the master keys, and how other keys are wrapped with them.
//!
//! - [`KeyManagementClient`] is the interface of every key management service: wrap, unwrap, perhaps generate.
//! - [`KmsRegistry`] finds the client that a catalog's properties ask for, by Iceberg's rules.
//! - [`LocalKms`] and its [`Keystore`]: master keys in one sealed file on this machine, the embedded default.
//! - [`MemoryKms`]: keys in memory with counted calls, for tests.
//!
//! This crate knows no Iceberg table: what a wrapped key is for, and where it is stored, is its caller's business.
//!
//! Features: `conformance` adds the behaviour suite that every client must pass.

mod client;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod local;
mod memory;
mod registry;
mod secret;
mod wrapping;

pub use client::{GeneratedKey, KeyManagementClient};
pub use error::{Error, ErrorKind, Operation, Result};
pub use local::{
    DEFAULT_PASSPHRASE_ENV, KEYSTORE_KEY_FILE, KEYSTORE_PASSPHRASE_ENV, KEYSTORE_PATH, KeyInfo, Keystore, LocalKms,
    Protection,
};
pub use memory::{MEMORY_KEY_PREFIX, MemoryKms};
pub use registry::{KMS_IMPL, KMS_TYPE, KmsRegistry};
pub use secret::SecretString;
