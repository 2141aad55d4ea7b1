//! The manager of encrypted tables against a KMS in memory, on the metadata of a table that Java made.

mod keys;
mod policy;

use std::error::Error as _;
use std::path::PathBuf;
use std::sync::Arc;

use lakelock_crypto::{KeyLength, SecretKey, StandardKeyMetadata};
use lakelock_kms::MemoryKms;
use serde_json::{Value, json};

use super::clock::test::ManualClock;
use super::*;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const KEY_A: &[u8] = b"0123456789012345";
/// When Java made the fixture's KEK.
const KEK_MADE_MS: i64 = 1_795_988_607_439;

/// A catalog with a KMS that holds `keyA`, and a clock.
struct Setting {
    kms: Arc<MemoryKms>,
    clock: Arc<ManualClock>,
    encryption: CatalogEncryption,
}

impl Setting {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        clock.set(KEK_MADE_MS + 1000);
        Self::with_kms(Arc::new(MemoryKms::new().with_key("keyA", SecretKey::new(KEY_A).unwrap())), clock)
    }

    fn with_kms(kms: Arc<MemoryKms>, clock: Arc<ManualClock>) -> Self {
        let encryption = CatalogEncryption::with_clock(Some(Arc::clone(&kms) as _), Arc::clone(&clock) as _);
        Self { kms, clock, encryption }
    }

    /// Another catalog on the same KMS: nothing is cached.
    fn another(&self) -> Self {
        Self::with_kms(Arc::clone(&self.kms), Arc::clone(&self.clock))
    }

    fn manager(&self, metadata: &TableMetadata) -> Arc<dyn EncryptionManager> {
        self.encryption.manager("db.t", EncryptionProperties::from_table(metadata).unwrap())
    }
}

fn fixtures() -> PathBuf {
    std::fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/fixtures")).unwrap()
}

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../../../interop/fixtures/manifest.json")).unwrap()
}

/// The metadata of the fixture's table with two encrypted snapshots, changed by `change`.
fn java_table(change: impl FnOnce(&mut Value)) -> TableMetadata {
    let location = vectors()["table"]["metadata"].as_str().unwrap().replace("file:/lakelock-fixture", "");
    let bytes = std::fs::read(format!("{}{location}", fixtures().display())).unwrap();
    let mut json = serde_json::from_slice(&bytes).unwrap();
    change(&mut json);
    serde_json::from_value(json).unwrap()
}

fn without_keys() -> TableMetadata {
    java_table(|json| json["encryption-keys"] = json!([]))
}

/// The metadata after a commit of `wrapped`, whose snapshot is not added: its key is what matters here.
fn committed(metadata: &TableMetadata, wrapped: &WrappedManifestListKey) -> TableMetadata {
    let mut json = serde_json::to_value(metadata).unwrap();
    if json["encryption-keys"].is_null() {
        json["encryption-keys"] = json!([]);
    }
    let entries = wrapped.new_entries.iter().map(|entry| serde_json::to_value(entry).unwrap());
    json["encryption-keys"].as_array_mut().unwrap().extend(entries);
    serde_json::from_value(json).unwrap()
}

/// The newest snapshot of the fixture with another key id.
fn snapshot_with(key_id: Option<&str>) -> Snapshot {
    let metadata = java_table(|json| {
        let snapshot = &mut json["snapshots"][1];
        match key_id {
            Some(key_id) => snapshot["key-id"] = json!(key_id),
            None => {
                snapshot.as_object_mut().unwrap().remove("key-id");
            }
        }
    });
    metadata.current_snapshot().unwrap().as_ref().clone()
}

fn list_key(file_length: u64) -> StandardKeyMetadata {
    StandardKeyMetadata::generate(KeyLength::Aes128).unwrap().with_file_length(file_length)
}

fn drop_field(entry: &mut Value, name: &str) {
    entry.as_object_mut().unwrap().remove(name).unwrap();
}

fn same(one: &StandardKeyMetadata, other: &StandardKeyMetadata) -> bool {
    one.encode() == other.encode()
}

/// All that an error and its causes show.
fn shown(error: &Error) -> String {
    let mut text = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(source) = cause {
        text.extend([" ".to_owned(), source.to_string()]);
        cause = source.source();
    }
    text
}
