//! The one interface that every key management service is used through.

use std::fmt::Debug;

use async_trait::async_trait;
use lakelock_crypto::{KeyLength, SecretKey};

use crate::Result;

/// A key management service: it holds master keys and wraps other keys with them.
///
/// A client is shared by all tables of a catalog and called from many tasks at once. What [`wrap_key`] returns is
/// stored in table metadata as it is and must be readable by every other implementation of the same service: a client
/// adds no framing, no encryption context and no additional authenticated data of its own.
///
/// `Debug` must not show credentials or keys.
///
/// [`wrap_key`]: KeyManagementClient::wrap_key
#[async_trait]
pub trait KeyManagementClient: Debug + Send + Sync {
    /// Encrypts `key` with the master key `wrapping_key_id` and returns the bytes to store.
    ///
    /// # Errors
    /// The error's kind says why; its message names the key id and the operation, never key bytes.
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>>;

    /// Decrypts what [`wrap_key`](Self::wrap_key) returned for the same master key.
    ///
    /// `wrapped` comes from table metadata and is not to be trusted.
    ///
    /// # Errors
    /// As [`wrap_key`](Self::wrap_key); [`ErrorKind::WrongKey`](crate::ErrorKind::WrongKey) when the bytes do not open.
    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey>;

    /// Makes a new key inside the service, where the service can do that.
    ///
    /// `None`: it cannot, and the caller generates a key and wraps it.
    ///
    /// # Errors
    /// As [`wrap_key`](Self::wrap_key).
    async fn generate_key(&self, _length: KeyLength, _wrapping_key_id: &str) -> Result<Option<GeneratedKey>> {
        Ok(None)
    }
}

/// A key made by a service, with its wrapped form.
#[derive(Clone, Debug)]
pub struct GeneratedKey {
    /// The key itself.
    pub key: SecretKey,
    /// The same key, wrapped: what [`KeyManagementClient::unwrap_key`] takes.
    pub wrapped: Vec<u8>,
}
