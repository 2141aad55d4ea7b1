//! A KMS in memory, for tests: keys given in code or by property, with counted calls and failures on demand.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use lakelock_crypto::SecretKey;
use zeroize::Zeroizing;

use crate::{Error, ErrorKind, KeyManagementClient, Operation, Result, wrapping};

/// Property prefix: `memory.key.ID` = the master key `ID` in hexadecimal.
pub const MEMORY_KEY_PREFIX: &str = "memory.key.";

/// Master keys in memory, gone with the process: for tests only.
///
/// Wraps as the [local keystore](crate::LocalKms) does. Counts every call, also those that fail, so that a test can
/// assert how often the service was asked.
///
/// ```
/// use lakelock_crypto::{KeyLength, SecretKey};
/// use lakelock_kms::{KeyManagementClient, MemoryKms};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let kms = MemoryKms::new().with_key("orders", SecretKey::generate(KeyLength::Aes256)?);
/// let key = SecretKey::generate(KeyLength::Aes128)?;
/// let wrapped = kms.wrap_key(&key, "orders").await?;
/// assert!(kms.unwrap_key(&wrapped, "orders").await? == key);
/// assert_eq!((kms.wrap_count(), kms.unwrap_count()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct MemoryKms {
    keys: Mutex<HashMap<String, SecretKey>>,
    failures: Mutex<VecDeque<ErrorKind>>,
    wraps: AtomicUsize,
    unwraps: AtomicUsize,
}

impl MemoryKms {
    /// A service without keys.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A service with the keys named by [`MEMORY_KEY_PREFIX`] properties.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a value that is not 16, 24 or 32 bytes in hexadecimal.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let mut client = Self::new();
        for (name, value) in properties {
            if let Some(id) = name.strip_prefix(MEMORY_KEY_PREFIX) {
                client = client.with_key(id, key_from_hex(name, value)?);
            }
        }
        Ok(client)
    }

    /// Adds a master key, or replaces the one of that id.
    #[must_use]
    pub fn with_key(self, id: impl Into<String>, key: SecretKey) -> Self {
        lock(&self.keys).insert(id.into(), key);
        self
    }

    /// Forgets a master key.
    pub fn remove_key(&self, id: &str) {
        lock(&self.keys).remove(id);
    }

    /// Lets one coming call fail with `kind`; several such orders are served in turn.
    pub fn fail_next(&self, kind: ErrorKind) {
        lock(&self.failures).push_back(kind);
    }

    /// How often [`wrap_key`](KeyManagementClient::wrap_key) was called.
    #[must_use]
    pub fn wrap_count(&self) -> usize {
        self.wraps.load(Ordering::SeqCst)
    }

    /// How often [`unwrap_key`](KeyManagementClient::unwrap_key) was called.
    #[must_use]
    pub fn unwrap_count(&self) -> usize {
        self.unwraps.load(Ordering::SeqCst)
    }

    fn master_key(&self, id: &str, operation: Operation) -> Result<SecretKey> {
        if let Some(kind) = lock(&self.failures).pop_front() {
            return Err(Error::on_key(kind, operation, id, "failure ordered by a test"));
        }
        lock(&self.keys)
            .get(id)
            .cloned()
            .ok_or_else(|| Error::on_key(ErrorKind::NotFound, operation, id, "the memory KMS has no key of that id"))
    }
}

#[async_trait]
impl KeyManagementClient for MemoryKms {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        self.wraps.fetch_add(1, Ordering::SeqCst);
        let master = self.master_key(wrapping_key_id, Operation::Wrap)?;
        wrapping::wrap(&master, key, wrapping_key_id)
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        self.unwraps.fetch_add(1, Ordering::SeqCst);
        let master = self.master_key(wrapping_key_id, Operation::Unwrap)?;
        wrapping::unwrap(&master, wrapped, wrapping_key_id)
    }
}

fn key_from_hex(property: &str, value: &str) -> Result<SecretKey> {
    // The cause is left out: a hexadecimal error quotes characters of the key.
    hex::decode(value).ok().map(Zeroizing::new).and_then(|bytes| SecretKey::new(&bytes).ok()).ok_or_else(|| {
        Error::new(ErrorKind::InvalidInput, format!("{property}: expected 16, 24 or 32 bytes in hexadecimal"))
    })
}

/// No code panics while it holds one of these locks, so a poisoned one still guards consistent data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Subject, check};

    const KEY_A: &str = "30313233343536373839303132333435";

    fn properties(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[tokio::test]
    async fn behaves_as_every_client() {
        let given = [("memory.key.a", KEY_A), ("memory.key.b", "31313233343536373839303132333435"), ("uri", "x")];
        let client = MemoryKms::from_properties(&properties(&given)).unwrap();
        check(&Subject { client: &client, key_ids: ["a", "b"], missing_key_id: "c" }).await;
    }

    #[test]
    fn a_bad_key_property_is_named_but_not_shown() {
        for value in ["", "3031", "zz313233343536373839303132333435", "0123456789012345"] {
            let error = MemoryKms::from_properties(&properties(&[("memory.key.a", value)])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            let shown = format!("{error} {error:?}");
            assert!(shown.contains("memory.key.a"), "{shown}");
            assert!(value.is_empty() || !shown.contains(value), "{shown}");
        }
    }

    #[tokio::test]
    async fn ordered_failures_happen_once_and_are_counted() {
        let client = MemoryKms::from_properties(&properties(&[("memory.key.a", KEY_A)])).unwrap();
        client.fail_next(ErrorKind::Throttled);
        let error = client.unwrap_key(&[], "a").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Throttled);
        assert!(error.kind().is_retryable());
        assert_eq!(client.unwrap_key(&[], "a").await.unwrap_err().kind(), ErrorKind::WrongKey);
        assert_eq!(client.unwrap_count(), 2);
    }

    #[test]
    fn debug_shows_no_key() {
        let client = MemoryKms::from_properties(&properties(&[("memory.key.a", KEY_A)])).unwrap();
        let shown = format!("{client:?}");
        assert!(!shown.contains("30313233") && !shown.contains("48, 49") && !shown.contains("012345"), "{shown}");
    }
}
