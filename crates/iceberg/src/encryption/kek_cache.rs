//! The KEKs of a catalog's tables: made and unwrapped by the KMS, and kept unwrapped for an hour.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lakelock_crypto::{KeyLength, SecretKey, random_aad_prefix};
use lakelock_kms::KeyManagementClient;
use uuid::Uuid;

use super::single_flight::SingleFlight;
use super::{Clock, EncryptionProperties};
use crate::spec::EncryptedKey;
use crate::{Error, ErrorKind, Result};

/// The property of a KEK's entry that holds when it was made, in milliseconds since 1970, as a decimal number.
pub(super) const KEY_TIMESTAMP: &str = "KEY_TIMESTAMP";

const HOUR_MS: i64 = 60 * 60 * 1000;

/// One for each catalog, shared by its tables and by all loads of them, so that the KMS is asked once.
///
/// What is cached is found by content: the wrapped bytes and the master key's id, or the table for which a KEK was
/// made. So it holds no state of a table that could be out of date.
pub(super) struct KekCache {
    client: Arc<dyn KeyManagementClient>,
    clock: Arc<dyn Clock>,
    unwrapped: SingleFlight<WrappedKek, SecretKey, lakelock_kms::Error>,
    /// KEKs made but perhaps not committed yet: a retried commit takes the same one instead of wrapping another.
    made: SingleFlight<MadeFor, EncryptedKey, lakelock_kms::Error>,
}

/// What the KMS is given to unwrap.
#[derive(Clone, PartialEq, Eq, Hash)]
struct WrappedKek {
    master_key_id: String,
    bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct MadeFor {
    table: Uuid,
    master_key_id: String,
    length: usize,
}

impl KekCache {
    pub(super) fn new(client: Arc<dyn KeyManagementClient>, clock: Arc<dyn Clock>) -> Self {
        Self {
            client,
            unwrapped: SingleFlight::new(HOUR_MS, Arc::clone(&clock)),
            made: SingleFlight::new(HOUR_MS, Arc::clone(&clock)),
            clock,
        }
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// The KEK of an entry, unwrapped with the table's master key.
    pub(super) async fn unwrap(&self, entry: &EncryptedKey, master_key_id: &str) -> Result<SecretKey> {
        let wrapped =
            WrappedKek { master_key_id: master_key_id.to_owned(), bytes: entry.encrypted_key_metadata().to_vec() };
        let (client, asked) = (Arc::clone(&self.client), wrapped.clone());
        let call = async move { client.unwrap_key(&asked.bytes, &asked.master_key_id).await };
        self.unwrapped.get_or_load(wrapped, call).await.map_err(|source| {
            let message = format!("cannot unwrap KEK {:?} with master key {master_key_id:?}", entry.key_id());
            Error::new(ErrorKind::Encryption, message).with_source(source)
        })
    }

    /// A new KEK for a table: its entry, while the key itself is in the cache.
    ///
    /// Within an hour the same one is returned again. It is meant for metadata without a KEK that can be used: once the
    /// KEK is committed, this is not asked any more.
    pub(super) async fn make(&self, table: Uuid, properties: &EncryptionProperties) -> Result<EncryptedKey> {
        let length = properties.data_key_length();
        let master_key_id = properties.key_id().to_owned();
        let made_for = MadeFor { table, master_key_id: master_key_id.clone(), length: length.bytes() };
        let (kek, key_id) = new_kek(length)?;
        let (client, clock, unwrapped) = (Arc::clone(&self.client), Arc::clone(&self.clock), self.unwrapped.clone());
        let call = async move {
            let bytes = client.wrap_key(&kek, &master_key_id).await?;
            unwrapped.insert(WrappedKek { master_key_id: master_key_id.clone(), bytes: bytes.clone() }, kek);
            let entry = EncryptedKey::builder()
                .key_id(key_id)
                .encrypted_key_metadata(bytes)
                .encrypted_by_id(master_key_id)
                .properties(HashMap::from([(KEY_TIMESTAMP.to_owned(), clock.now_ms().to_string())]));
            Ok(entry.build())
        };
        self.made.get_or_load(made_for, call).await.map_err(|source| {
            let message = format!("cannot wrap a new KEK with master key {:?}", properties.key_id());
            Error::new(ErrorKind::Encryption, message).with_source(source)
        })
    }
}

impl fmt::Debug for KekCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KekCache")
            .field("client", &self.client)
            .field("unwrapped", &self.unwrapped)
            .finish_non_exhaustive()
    }
}

/// An id as Java makes them for the entries of `encryption-keys`: 16 random bytes in base64.
pub(super) fn new_key_id() -> Result<String> {
    random_aad_prefix().map(|bytes| STANDARD.encode(bytes)).map_err(no_randomness)
}

fn new_kek(length: KeyLength) -> Result<(SecretKey, String)> {
    Ok((SecretKey::generate(length).map_err(no_randomness)?, new_key_id()?))
}

pub(super) fn no_randomness(source: lakelock_crypto::Error) -> Error {
    Error::new(ErrorKind::Encryption, "cannot generate a key").with_source(source)
}
