//! The encryption of a table that has a master key and a KMS that holds it.

use std::sync::Arc;

use async_trait::async_trait;
use lakelock_crypto::{StandardKeyMetadata, aes_gcm};

use super::kek_cache::{KEY_TIMESTAMP, KekCache, new_key_id, no_randomness};
use super::{EncryptionManager, EncryptionProperties, WrappedManifestListKey, plaintext_snapshot};
use crate::spec::{EncryptedKey, FormatVersion, Snapshot, TableMetadata};
use crate::{Error, ErrorKind, Result};

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A KEK wraps new keys until it is this old (NIST SP 800-57 allows two years).
const KEK_LIFE_MS: i64 = 730 * DAY_MS;

/// How far another writer's clock may be ahead of ours. A KEK from further in the future is not used for new keys:
/// it would never grow old.
const CLOCK_SKEW_MS: i64 = DAY_MS;

/// Encrypts by Iceberg's standard scheme: the KMS wraps KEKs, a KEK wraps the keys of manifest lists, and every file has
/// a key of its own.
///
/// ```text
/// KEK entry:           encrypted-key-metadata = what the KMS returns, encrypted-by-id = encryption.key-id,
///                      properties = {KEY_TIMESTAMP: milliseconds since 1970}
/// manifest list entry: encrypted-key-metadata = nonce[12] | AES-GCM(KEK, StandardKeyMetadata) | tag[16],
///                      AAD = the KEK's KEY_TIMESTAMP as text, encrypted-by-id = the KEK's key-id
/// ```
///
/// It holds no keys: they are in the cache of the [`CatalogEncryption`](super::CatalogEncryption) that made it.
#[derive(Debug)]
pub struct StandardEncryptionManager {
    table: String,
    properties: EncryptionProperties,
    keks: Arc<KekCache>,
    allow_plaintext_files: bool,
}

impl StandardEncryptionManager {
    pub(super) fn new(
        table: &str,
        properties: EncryptionProperties,
        keks: Arc<KekCache>,
        allow_plaintext_files: bool,
    ) -> Self {
        Self { table: table.to_owned(), properties, keks, allow_plaintext_files }
    }

    /// The KEK to wrap new keys with, if the table has one: of those young enough, the newest.
    fn current_kek<'a>(&self, metadata: &'a TableMetadata) -> Option<&'a EncryptedKey> {
        let now_ms = self.keks.clock().now_ms();
        let (too_old, latest) = (now_ms.saturating_sub(KEK_LIFE_MS), now_ms.saturating_add(CLOCK_SKEW_MS));
        metadata
            .encryption_keys_iter()
            .filter(|entry| entry.encrypted_by_id() == Some(self.properties.key_id()))
            .filter_map(|entry| Some((entry.properties().get(KEY_TIMESTAMP)?.parse::<i64>().ok()?, entry)))
            .filter(|(made_ms, _)| too_old < *made_ms && *made_ms <= latest)
            .max_by_key(|(made_ms, entry)| (*made_ms, entry.key_id()))
            .map(|(_, entry)| entry)
    }

    /// The entries that open the manifest list of a snapshot whose key id is `key_id`.
    fn list_entries<'a>(
        &self,
        metadata: &'a TableMetadata,
        snapshot: &Snapshot,
        key_id: &str,
    ) -> Result<ListEntries<'a>> {
        let bad = |detail: String| self.snapshot_error(ErrorKind::Encryption, snapshot, &detail);
        let list = metadata
            .encryption_key(key_id)
            .ok_or_else(|| bad(format!("its key-id {key_id:?} is not among the table's encryption-keys")))?;
        let wrapped_by = list.encrypted_by_id().ok_or_else(|| {
            bad(format!("encryption key {key_id:?} has no encrypted-by-id, expected that of its KEK"))
        })?;
        let kek = metadata.encryption_key(wrapped_by).ok_or_else(|| {
            bad(format!("KEK {wrapped_by:?} of encryption key {key_id:?} is not among the table's encryption-keys"))
        })?;
        if kek.encrypted_by_id().is_none() {
            let expected = self.properties.key_id();
            return Err(bad(format!("KEK {wrapped_by:?} has no encrypted-by-id, expected {expected:?}")));
        }
        let timestamp = kek
            .properties()
            .get(KEY_TIMESTAMP)
            .ok_or_else(|| bad(format!("KEK {wrapped_by:?} has no property {KEY_TIMESTAMP}")))?;
        Ok(ListEntries { list, kek, timestamp })
    }

    fn snapshot_error(&self, kind: ErrorKind, snapshot: &Snapshot, detail: &str) -> Error {
        Error::new(kind, format!("snapshot {} of table {}: {detail}", snapshot.snapshot_id(), self.table))
    }

    fn list_error(&self, kind: ErrorKind, detail: &str) -> Error {
        Error::new(kind, format!("table {}: {detail}", self.table))
    }
}

/// What `encryption-keys` holds for one manifest list.
struct ListEntries<'a> {
    list: &'a EncryptedKey,
    kek: &'a EncryptedKey,
    /// The KEK's time as it is written there: the text itself is authenticated.
    timestamp: &'a str,
}

#[async_trait]
impl EncryptionManager for StandardEncryptionManager {
    fn is_encrypting(&self) -> bool {
        true
    }

    fn allows_plaintext_files(&self) -> bool {
        self.allow_plaintext_files
    }

    fn new_file_key(&self) -> Result<Option<StandardKeyMetadata>> {
        StandardKeyMetadata::generate(self.properties.data_key_length()).map(Some).map_err(no_randomness)
    }

    async fn manifest_list_key(
        &self,
        metadata: &TableMetadata,
        snapshot: &Snapshot,
    ) -> Result<Option<StandardKeyMetadata>> {
        let Some(key_id) = snapshot.encryption_key_id() else {
            return plaintext_snapshot(&self.table, snapshot, self.allow_plaintext_files);
        };
        let entries = self.list_entries(metadata, snapshot, key_id)?;
        // As Java does, with the table's master key whatever the entry says: an entry cannot lead to another key.
        let kek = self.keks.unwrap(entries.kek, self.properties.key_id()).await.map_err(|source| {
            let detail = "the key of its manifest list cannot be unwrapped";
            self.snapshot_error(source.kind(), snapshot, detail).with_source(source)
        })?;
        let damaged = |detail: String| self.snapshot_error(ErrorKind::InvalidData, snapshot, &detail);
        let sealed = entries.list.encrypted_key_metadata();
        let opened = aes_gcm::open(&kek, sealed, entries.timestamp.as_bytes()).map_err(|source| {
            let wrapped_by = entries.kek.key_id();
            let detail =
                format!("encryption key {key_id:?} does not open with KEK {wrapped_by:?}: one is damaged or forged");
            damaged(detail).with_source(source)
        })?;
        let key = StandardKeyMetadata::decode(&opened).map_err(|source| {
            damaged(format!("encryption key {key_id:?} holds no valid key metadata")).with_source(source)
        })?;
        if key.file_length().is_none() {
            let list = snapshot.manifest_list();
            return Err(damaged(format!("encryption key {key_id:?} has no file length for manifest list {list}")));
        }
        Ok(Some(key))
    }

    async fn wrap_manifest_list_key(
        &self,
        metadata: &TableMetadata,
        key: &StandardKeyMetadata,
    ) -> Result<WrappedManifestListKey> {
        if metadata.format_version() < FormatVersion::V3 {
            return Err(self.list_error(ErrorKind::Unsupported, "an encrypted commit needs format version 3"));
        }
        if key.file_length().is_none() {
            let detail = "the key metadata of a new manifest list has no file length";
            return Err(self.list_error(ErrorKind::InvalidInput, detail));
        }
        let failed = |source: Error| {
            self.list_error(source.kind(), "the key of a new manifest list cannot be wrapped").with_source(source)
        };
        let current = self.current_kek(metadata).cloned();
        let is_new = current.is_none();
        let kek_entry = match current {
            Some(entry) => entry,
            None => self.keks.make(metadata.uuid(), &self.properties).await.map_err(failed)?,
        };
        let kek = self.keks.unwrap(&kek_entry, self.properties.key_id()).await.map_err(failed)?;
        let timestamp = kek_entry.properties().get(KEY_TIMESTAMP).map(String::as_bytes).unwrap_or_default();
        let sealed = aes_gcm::seal(&kek, &key.encode(), timestamp)
            .map_err(|source| failed(Error::new(ErrorKind::Encryption, "encryption failed").with_source(source)))?;
        let key_id = new_key_id()?;
        let list_entry = EncryptedKey::builder()
            .key_id(key_id.clone())
            .encrypted_key_metadata(sealed)
            .encrypted_by_id(kek_entry.key_id())
            .build();
        let new_entries = is_new.then_some(kek_entry).into_iter().chain([list_entry]).collect();
        Ok(WrappedManifestListKey { key_id, new_entries })
    }
}
