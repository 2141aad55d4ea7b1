//! The local keystore and the KMS client on it: the embedded default, without a server or an account.

mod document;
mod file;
mod keystore;
mod protection;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use lakelock_crypto::SecretKey;
use tokio::sync::OnceCell;
use tokio::task;

pub use keystore::{KeyInfo, Keystore};
pub use protection::Protection;

use crate::{Error, ErrorKind, KeyManagementClient, Operation, Result, SecretString, wrapping};

/// Property: the keystore file.
pub const KEYSTORE_PATH: &str = "keystore.path";
/// Property: the key file that opens the keystore; not together with [`KEYSTORE_PASSPHRASE_ENV`].
pub const KEYSTORE_KEY_FILE: &str = "keystore.key-file";
/// Property: the environment variable that holds the keystore's passphrase.
pub const KEYSTORE_PASSPHRASE_ENV: &str = "keystore.passphrase-env";
/// The environment variable read when neither of the two properties is set.
pub const DEFAULT_PASSPHRASE_ENV: &str = "LAKELOCK_KEYSTORE_PASSPHRASE";

/// A KMS client that wraps keys with the master keys of a [`Keystore`]; `encryption.kms-impl` = `local`.
///
/// `wrapped = nonce[12] | AES-GCM ciphertext | tag[16]` without additional authenticated data.
///
/// The keystore is opened at the first wrap or unwrap, so a catalog whose tables are only listed or described needs no
/// passphrase. If opening fails, the next call tries again.
#[derive(Debug)]
pub struct LocalKms {
    path: PathBuf,
    unlock: Unlock,
    keystore: OnceCell<Arc<Keystore>>,
}

#[derive(Clone, Debug)]
enum Unlock {
    Environment(String),
    Given(Protection),
}

impl LocalKms {
    /// A client on the keystore at `path`, which need not exist yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, protection: Protection) -> Self {
        Self { path: path.into(), unlock: Unlock::Given(protection), keystore: OnceCell::new() }
    }

    /// A client by the catalog properties [`KEYSTORE_PATH`], [`KEYSTORE_KEY_FILE`] and [`KEYSTORE_PASSPHRASE_ENV`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] without a path, or with both of the others.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let Some(path) = properties.get(KEYSTORE_PATH).filter(|path| !path.is_empty()) else {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!("the local KMS needs the property {KEYSTORE_PATH}"),
            ));
        };
        let unlock = match (properties.get(KEYSTORE_KEY_FILE), properties.get(KEYSTORE_PASSPHRASE_ENV)) {
            (Some(_), Some(_)) => {
                let message = format!("set either {KEYSTORE_KEY_FILE} or {KEYSTORE_PASSPHRASE_ENV}, not both");
                return Err(Error::new(ErrorKind::InvalidInput, message));
            }
            (Some(key_file), None) => Unlock::Given(Protection::KeyFile(key_file.into())),
            (None, variable) => Unlock::Environment(variable.map_or(DEFAULT_PASSPHRASE_ENV, String::as_str).to_owned()),
        };
        Ok(Self { path: path.into(), unlock, keystore: OnceCell::new() })
    }

    async fn master_key(&self, id: &str, operation: Operation) -> Result<SecretKey> {
        let keystore = self.keystore.get_or_try_init(|| self.open()).await.map_err(|source| {
            Error::on_key(source.kind(), operation, id, "the keystore does not open").with_source(source)
        })?;
        let (keystore, id) = (Arc::clone(keystore), id.to_owned());
        blocking(move || keystore.master_key(&id, operation)).await
    }

    async fn open(&self) -> Result<Arc<Keystore>> {
        let (path, unlock) = (self.path.clone(), self.unlock.clone());
        blocking(move || Keystore::open(path, &unlock.protection()?).map(Arc::new)).await
    }
}

impl Unlock {
    fn protection(self) -> Result<Protection> {
        match self {
            Self::Given(protection) => Ok(protection),
            // The cause is left out: it quotes a value that is not UTF-8.
            Self::Environment(variable) => std::env::var(&variable)
                .map(|passphrase| Protection::Passphrase(SecretString::from(passphrase)))
                .map_err(|_| {
                    let remedy =
                        format!("set the environment variable {variable}, or the property {KEYSTORE_KEY_FILE}");
                    Error::new(ErrorKind::Credentials, format!("no passphrase: {remedy}"))
                }),
        }
    }
}

#[async_trait]
impl KeyManagementClient for LocalKms {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        let master = self.master_key(wrapping_key_id, Operation::Wrap).await?;
        wrapping::wrap(&master, key, wrapping_key_id)
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        let master = self.master_key(wrapping_key_id, Operation::Unwrap).await?;
        wrapping::unwrap(&master, wrapped, wrapping_key_id)
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(source) => Err(Error::new(ErrorKind::Internal, "a keystore call did not finish").with_source(source)),
    }
}

/// A key id is stored, printed and typed: it must survive all three.
fn check_key_id(id: &str) -> Result<()> {
    if id.is_empty() || id.len() > 1024 || id.trim() != id || id.chars().any(char::is_control) {
        let expected = "1 to 1024 bytes without control characters, and without space at either end";
        return Err(Error::new(ErrorKind::InvalidInput, format!("bad key id {id:?}: expected {expected}")));
    }
    Ok(())
}

fn no_randomness(source: lakelock_crypto::Error) -> Error {
    Error::new(ErrorKind::Internal, "cannot generate a key").with_source(source)
}

/// Bytes as padded base64 in JSON.
mod base64_bytes {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(|_| de::Error::custom("expected base64"))
    }
}
