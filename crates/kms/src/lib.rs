//! Key management for Lakelock: who holds the master keys, and how other keys are wrapped with them.
//!
//! - [`KeyManagementClient`] is the interface of every key management service: wrap, unwrap, perhaps generate.
//! - [`KmsRegistry`] finds the client that a catalog's properties ask for, by Iceberg's rules.
//! - [`LocalKms`] and its [`Keystore`]: master keys in one sealed file on this machine, the embedded default.
//! - [`MemoryKms`]: keys in memory with counted calls, for tests.
//! - [`CommandKms`] asks a program, for every service that has no client here.
//! - [`Remote`] gives a client of a service elsewhere its time-outs, its retries and a limit of calls at once.
//!
//! This crate knows no Iceberg table: what a wrapped key is for, and where it is stored, is its caller's business.
//!
//! Features:
//! - `aws` adds [`AwsKms`], `azure` [`AzureKms`] and `gcp` [`GcpKms`].
//! - `conformance` adds the behaviour suite that every client must pass.
//! - `pkcs11` adds [`Pkcs11Kms`], for hardware security modules.
//! - `vault` adds [`VaultKms`], for HashiCorp Vault and OpenBao.

#[cfg(feature = "aws")]
mod aws;
#[cfg(feature = "azure")]
mod azure;
mod call;
mod client;
mod command;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp", feature = "vault"))]
mod endpoint;
mod error;
#[cfg(feature = "gcp")]
mod gcp;
#[cfg(any(feature = "azure", feature = "gcp", feature = "vault"))]
mod http;
mod key_bytes;
mod local;
mod memory;
#[cfg(feature = "pkcs11")]
mod pkcs11;
mod registry;
mod remote;
mod secret;
#[cfg(feature = "vault")]
mod vault;
mod wrapping;

#[cfg(feature = "aws")]
pub use aws::{AwsKms, KMS_DATA_KEY_SPEC, KMS_ENCRYPTION_ALGORITHM_SPEC};
#[cfg(feature = "azure")]
pub use azure::{AZURE_KEYVAULT_KEY_WRAP_ALGORITHM, AZURE_KEYVAULT_TOKEN, AZURE_KEYVAULT_URL, AzureKms};
pub use client::{GeneratedKey, KeyManagementClient};
pub use command::{CommandKms, KMS_COMMAND};
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp", feature = "vault"))]
pub use endpoint::{KMS_ALLOW_HTTP, KMS_ENDPOINT};
pub use error::{Error, ErrorKind, Operation, Result};
#[cfg(feature = "gcp")]
pub use gcp::GcpKms;
#[cfg(any(feature = "azure", feature = "gcp"))]
pub use http::KMS_CA_FILE;
pub use local::{
    DEFAULT_PASSPHRASE_ENV, KEYSTORE_KEY_FILE, KEYSTORE_PASSPHRASE_ENV, KEYSTORE_PATH, KeyInfo, Keystore, LocalKms,
    Protection,
};
pub use memory::{MEMORY_KEY_PREFIX, MemoryKms};
#[cfg(feature = "pkcs11")]
pub use pkcs11::{
    DEFAULT_PIN_ENV, PKCS11_MODULE, PKCS11_PIN_ENV, PKCS11_PIN_FILE, PKCS11_SLOT_ID, PKCS11_TOKEN_LABEL, Pkcs11Kms,
};
pub use registry::{KMS_IMPL, KMS_TYPE, KmsRegistry};
pub use remote::{
    KMS_ATTEMPT_TIMEOUT_MS, KMS_MAX_ATTEMPTS, KMS_MAX_CONCURRENT_CALLS, KMS_TIMEOUT_MS, Remote, RemoteSettings,
};
pub use secret::SecretString;
#[cfg(feature = "vault")]
pub use vault::{
    VAULT_ADDRESS, VAULT_AUTH, VAULT_AUTH_MOUNT, VAULT_CA_FILE, VAULT_JWT_FILE, VAULT_MOUNT, VAULT_NAMESPACE,
    VAULT_ROLE, VAULT_ROLE_ID, VAULT_SECRET_ID_ENV, VAULT_SECRET_ID_FILE, VAULT_TOKEN_ENV, VAULT_TOKEN_FILE, VaultKms,
};
