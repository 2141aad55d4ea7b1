//! The life of a table's keys: which are needed, made, wrapped and unwrapped, and the I/O that uses them.
//!
//! The master key stays in the KMS and wraps KEKs, kept in the table metadata; a KEK wraps the key metadata of a
//! manifest list; manifests and data files carry their own key metadata in their (encrypted) parents.

mod catalog;
mod clock;
mod file_io;
mod file_reader;
mod kek_cache;
mod key_metadata;
mod manifest_cache;
mod no_kms;
mod plaintext;
mod properties;
mod single_flight;
mod standard;
#[cfg(test)]
mod tests;
mod version_2;

use std::fmt::Debug;

use async_trait::async_trait;
use lakelock_crypto::StandardKeyMetadata;

pub use catalog::{ALLOW_PLAINTEXT_FILES, CatalogEncryption};
pub use clock::{Clock, SystemClock};
pub(crate) use file_io::encrypted_length;
pub use file_io::{EncryptingFileIO, PendingFile, WrittenFile};
pub use file_reader::FileReader;
pub use key_metadata::EncodedKeyMetadata;
pub use manifest_cache::{
    MANIFEST_CACHE_ENABLED, MANIFEST_CACHE_MAX_CONTENT_LENGTH, MANIFEST_CACHE_MAX_TOTAL_BYTES, ManifestCache,
};
pub use no_kms::NoKmsEncryptionManager;
pub use plaintext::PlaintextEncryptionManager;
pub use properties::{DATA_KEY_LENGTH, EncryptionProperties, KEY_ID};
pub use standard::StandardEncryptionManager;
pub(crate) use version_2::Version2EncryptionManager;

use crate::spec::{EncryptedKey, Snapshot, TableMetadata};
use crate::{Error, ErrorKind, Result};

/// Decides how the files of one table are encrypted, and opens the keys of those that are.
///
/// Implementations keep no key state of their own besides a cache of unwrapped KEKs: what a commit must add to the
/// table metadata is returned as values, computed from the metadata it is applied to.
#[async_trait]
pub trait EncryptionManager: Debug + Send + Sync {
    /// Whether the table is encrypted.
    fn is_encrypting(&self) -> bool;

    /// Whether plaintext files found in the table may be read: in an encrypted table only if its reader was told so.
    fn allows_plaintext_files(&self) -> bool {
        !self.is_encrypting()
    }

    /// Fresh key metadata for a file about to be written: `None` in a plaintext table.
    ///
    /// # Errors
    /// When the table is encrypted but there is no way to wrap its keys (no KMS client): before a file is written.
    fn new_file_key(&self) -> Result<Option<StandardKeyMetadata>>;

    /// The key metadata of a snapshot's manifest list: `None` when the list is plaintext and may be.
    ///
    /// # Errors
    /// An entry that is missing, malformed or cannot be unwrapped, named together with the snapshot; a snapshot
    /// without a key id in an encrypted table, unless plaintext files were allowed.
    async fn manifest_list_key(
        &self,
        metadata: &TableMetadata,
        snapshot: &Snapshot,
    ) -> Result<Option<StandardKeyMetadata>>;

    /// Wraps the key metadata of a new manifest list, which must carry the file length.
    ///
    /// # Errors
    /// When the KMS fails, or the table is not an encrypted one.
    async fn wrap_manifest_list_key(
        &self,
        metadata: &TableMetadata,
        key: &StandardKeyMetadata,
    ) -> Result<WrappedManifestListKey>;
}

/// The outcome of [`EncryptionManager::wrap_manifest_list_key`].
#[derive(Debug, Clone)]
pub struct WrappedManifestListKey {
    /// The snapshot's `key-id`.
    pub key_id: String,
    /// Entries the commit must add before its snapshot: the KEK if it is new, then the manifest list's key.
    pub new_entries: Vec<EncryptedKey>,
}

/// What becomes of a snapshot without a key id in an encrypted table.
fn plaintext_snapshot(table: &str, snapshot: &Snapshot, allowed: bool) -> Result<Option<StandardKeyMetadata>> {
    let (id, list) = (snapshot.snapshot_id(), snapshot.manifest_list());
    if allowed {
        return Ok(None);
    }
    let message = format!(
        "snapshot {id} of encrypted table {table} has no key-id: its manifest list {list} is plaintext, perhaps forged \
         ({ALLOW_PLAINTEXT_FILES} lets it be read)"
    );
    Err(Error::new(ErrorKind::InvalidData, message))
}
