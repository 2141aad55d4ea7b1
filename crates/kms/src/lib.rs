//! Key management for Lakelock: who holds the master keys, and how other keys are wrapped with them.
//!
//! - [`KeyManagementClient`] is the interface of every key management service: wrap, unwrap, perhaps generate.
//! - [`KmsRegistry`] finds the client that a catalog's properties ask for, by Iceberg's rules.
//! - [`LocalKms`] and its [`Keystore`]: master keys in one sealed file on this machine, the embedded default.
//! - [`MemoryKms`]: keys in memory with counted calls, for tests.
//! - [`Remote`] gives a client of a service elsewhere its time-outs, its retries and a limit of calls at once.
//!
//! This crate knows no Iceberg table: what a wrapped key is for, and where it is stored, is its caller's business.
//!
//! Features:
//! - `aws` adds [`AwsKms`].
//! - `conformance` adds the behaviour suite that every client must pass.

#[cfg(feature = "aws")]
mod aws;
mod client;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp", feature = "vault"))]
mod endpoint;
mod error;
mod local;
mod memory;
mod registry;
mod remote;
mod secret;
mod wrapping;

#[cfg(feature = "aws")]
pub use aws::{AwsKms, KMS_DATA_KEY_SPEC, KMS_ENCRYPTION_ALGORITHM_SPEC, KMS_ENDPOINT};
pub use client::{GeneratedKey, KeyManagementClient};
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp", feature = "vault"))]
pub use endpoint::KMS_ALLOW_HTTP;
pub use error::{Error, ErrorKind, Operation, Result};
pub use local::{
    DEFAULT_PASSPHRASE_ENV, KEYSTORE_KEY_FILE, KEYSTORE_PASSPHRASE_ENV, KEYSTORE_PATH, KeyInfo, Keystore, LocalKms,
    Protection,
};
pub use memory::{MEMORY_KEY_PREFIX, MemoryKms};
pub use registry::{KMS_IMPL, KMS_TYPE, KmsRegistry};
pub use remote::{
    KMS_ATTEMPT_TIMEOUT_MS, KMS_MAX_ATTEMPTS, KMS_MAX_CONCURRENT_CALLS, KMS_TIMEOUT_MS, Remote, RemoteSettings,
};
pub use secret::SecretString;
