//! KEKs and the keys of manifest lists: made, found, unwrapped, refused.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use lakelock_crypto::{KeyLength, SecretKey, StandardKeyMetadata, aes_gcm};
use lakelock_kms::MemoryKms;
use lakelock_storage::Storage;
use serde_json::{Value, json};

use super::*;

#[tokio::test]
async fn the_manifest_lists_of_a_java_table_open() {
    let setting = Setting::new();
    let metadata = java_table(|_| ());
    let manager = setting.manager(&metadata);
    let io = EncryptingFileIO::new(Storage::local(), Arc::clone(&manager));
    for snapshot in metadata.snapshots() {
        let key = manager.manifest_list_key(&metadata, snapshot).await.unwrap().unwrap();
        let path = snapshot.manifest_list().replace("file:/lakelock-fixture", fixtures().to_str().unwrap());
        assert!(io.read(&path, Some(&key)).await.unwrap().starts_with(b"Obj\x01"));
    }
    assert_eq!((setting.kms.wrap_count(), setting.kms.unwrap_count()), (0, 1));
}

#[tokio::test]
async fn the_vectors_of_java_open() {
    let vectors = vectors();
    let base64 = |hex: &Value| STANDARD.encode(from_hex(hex));
    let (kek, list) = (&vectors["wrapped_kek"], &vectors["manifest_list_key"]);
    let metadata = java_table(|json| {
        json["encryption-keys"] = json!([
            {"key-id": "kek", "encrypted-key-metadata": base64(&kek["wrapped"]), "encrypted-by-id": "keyA",
             "properties": {"KEY_TIMESTAMP": list["key_timestamp"]}},
            {"key-id": "list", "encrypted-key-metadata": base64(&list["encrypted_key_metadata"]), "encrypted-by-id": "kek"},
        ]);
    });
    let manager = Setting::new().manager(&metadata);
    let key = manager.manifest_list_key(&metadata, &snapshot_with(Some("list"))).await.unwrap().unwrap();
    assert_eq!(*key.encode(), from_hex(&list["key_metadata"]));
    assert_eq!(key.file_length(), Some(4321));
}

fn from_hex(text: &Value) -> Vec<u8> {
    let digits = text.as_str().unwrap().as_bytes();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

#[tokio::test]
async fn a_hundred_commits_and_reads_through_one_catalog_ask_the_kms_once() {
    let setting = Setting::new();
    let mut metadata = without_keys();
    let mut keys = Vec::new();
    for number in 0..100 {
        let key = list_key(1000 + number);
        // Each load of the table makes a manager of its own.
        let wrapped = setting.manager(&metadata).wrap_manifest_list_key(&metadata, &key).await.unwrap();
        metadata = committed(&metadata, &wrapped);
        keys.push((wrapped.key_id, key));
    }
    assert_eq!(metadata.encryption_keys_iter().len(), 101);
    for setting in [&setting, &setting.another()] {
        let manager = setting.manager(&metadata);
        for (key_id, key) in &keys {
            let snapshot = snapshot_with(Some(key_id));
            let found = manager.manifest_list_key(&metadata, &snapshot).await.unwrap().unwrap();
            assert!(same(&found, key));
        }
    }
    // One wrap by the first catalog, one unwrap by the second.
    assert_eq!((setting.kms.wrap_count(), setting.kms.unwrap_count()), (1, 1));
}

#[tokio::test]
async fn new_entries_have_java_s_form() {
    let setting = Setting::new();
    let metadata = without_keys();
    let wrapped = setting.manager(&metadata).wrap_manifest_list_key(&metadata, &list_key(100)).await.unwrap();
    let [kek, list] = &wrapped.new_entries[..] else { panic!("{wrapped:?}") };
    for entry in [kek, list] {
        assert_eq!(STANDARD.decode(entry.key_id()).unwrap().len(), 16);
    }
    assert_eq!(kek.encrypted_by_id(), Some("keyA"));
    assert_eq!(kek.encrypted_key_metadata().len(), 44);
    assert_eq!(kek.properties(), &HashMap::from([("KEY_TIMESTAMP".to_owned(), (KEK_MADE_MS + 1000).to_string())]));
    assert_eq!(list.encrypted_by_id(), Some(kek.key_id()));
    assert_eq!(list.key_id(), wrapped.key_id);
    assert!(list.properties().is_empty());
}

#[tokio::test]
async fn a_hundred_tasks_cost_one_call() {
    let setting = Setting::new();
    let (fresh, metadata) = (without_keys(), java_table(|_| ()));
    let (manager, snapshot) = (setting.manager(&metadata), metadata.current_snapshot().unwrap());
    for key in join_all((0..100).map(|_| manager.manifest_list_key(&metadata, snapshot))).await {
        key.unwrap().unwrap();
    }
    let (manager, key) = (setting.manager(&fresh), list_key(100));
    let commits = join_all((0..100).map(|_| manager.wrap_manifest_list_key(&fresh, &key))).await;
    let keks: Vec<_> = commits.into_iter().map(|wrapped| wrapped.unwrap().new_entries.swap_remove(0)).collect();
    assert!(keks.iter().all(|kek| *kek == keks[0]));
    assert_eq!((setting.kms.wrap_count(), setting.kms.unwrap_count()), (1, 1));
}

#[tokio::test]
async fn a_retried_commit_takes_the_kek_it_made_before() {
    let setting = Setting::new();
    let (metadata, key) = (without_keys(), list_key(100));
    setting.kms.fail_next(lakelock_kms::ErrorKind::Throttled);
    let error = setting.manager(&metadata).wrap_manifest_list_key(&metadata, &key).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encryption);
    let first = setting.manager(&metadata).wrap_manifest_list_key(&metadata, &key).await.unwrap();
    let again = setting.manager(&metadata).wrap_manifest_list_key(&metadata, &key).await.unwrap();
    assert_eq!(first.new_entries[0], again.new_entries[0]);
    assert_ne!(first.key_id, again.key_id);
    assert_eq!(setting.kms.wrap_count(), 2, "one that failed, one that did not");
    // Somebody else's KEK has been committed meanwhile.
    let others = setting.another().manager(&metadata).wrap_manifest_list_key(&metadata, &key).await.unwrap();
    let metadata = committed(&metadata, &others);
    let retried = setting.manager(&metadata).wrap_manifest_list_key(&metadata, &key).await.unwrap();
    assert_eq!(retried.new_entries.len(), 1);
    assert_eq!(retried.new_entries[0].encrypted_by_id(), Some(others.new_entries[0].key_id()));
}

#[tokio::test]
async fn a_kek_is_rotated_at_730_days_and_the_old_one_stays_in_use_for_reading() {
    let setting = Setting::new();
    let metadata = java_table(|_| ());
    let key = list_key(100);
    setting.clock.set(KEK_MADE_MS + 730 * DAY_MS - 1);
    let wrapped = setting.manager(&metadata).wrap_manifest_list_key(&metadata, &key).await.unwrap();
    assert_eq!(wrapped.new_entries.len(), 1);
    setting.clock.set(KEK_MADE_MS + 730 * DAY_MS);
    let wrapped = setting.manager(&metadata).wrap_manifest_list_key(&metadata, &key).await.unwrap();
    assert_eq!(wrapped.new_entries.len(), 2);
    let metadata = committed(&metadata, &wrapped);
    let manager = setting.manager(&metadata);
    assert_eq!(manager.wrap_manifest_list_key(&metadata, &key).await.unwrap().new_entries.len(), 1);
    for snapshot in metadata.snapshots() {
        manager.manifest_list_key(&metadata, snapshot).await.unwrap().unwrap();
    }
    let new = manager.manifest_list_key(&metadata, &snapshot_with(Some(&wrapped.key_id))).await.unwrap().unwrap();
    assert!(same(&new, &key));
}

#[tokio::test]
async fn of_several_keks_the_newest_usable_one_wraps_and_each_unwraps() {
    let setting = Setting::new();
    let (mut metadata, mut lists) = (without_keys(), Vec::new());
    for (age, length) in [(3, "32"), (2, "24"), (1, "16")] {
        setting.clock.set(KEK_MADE_MS - age * DAY_MS);
        let with_length = java_table(|json| {
            json["encryption-keys"] = json!([]);
            json["properties"]["encryption.data-key-length"] = json!(length);
        });
        let catalog = setting.another();
        let manager = catalog.manager(&with_length);
        assert_eq!(manager.new_file_key().unwrap().unwrap().encryption_key().length().bytes().to_string(), length);
        let key = list_key(100);
        let wrapped = manager.wrap_manifest_list_key(&with_length, &key).await.unwrap();
        metadata = committed(&metadata, &wrapped);
        lists.push((wrapped, key));
    }
    setting.clock.set(KEK_MADE_MS);
    let newest = lists[2].0.new_entries[0].key_id().to_owned();
    // None of these is a KEK of the table that may be used, however new it looks.
    let mut json = serde_json::to_value(&metadata).unwrap();
    for (key_id, by, made) in [
        ("another key's", "keyB", KEK_MADE_MS.to_string()),
        ("from the future", "keyA", (KEK_MADE_MS + 2 * DAY_MS).to_string()),
        ("no number", "keyA", "today".to_owned()),
    ] {
        let properties = json!({"KEY_TIMESTAMP": made});
        let entry = json!({"key-id": key_id, "encrypted-key-metadata": "AAAA", "encrypted-by-id": by, "properties": properties});
        json["encryption-keys"].as_array_mut().unwrap().push(entry);
    }
    let metadata: TableMetadata = serde_json::from_value(json).unwrap();
    let manager = setting.manager(&metadata);
    let wrapped = manager.wrap_manifest_list_key(&metadata, &list_key(100)).await.unwrap();
    assert_eq!(wrapped.new_entries.len(), 1);
    assert_eq!(wrapped.new_entries[0].encrypted_by_id(), Some(newest.as_str()));
    for (list, key) in &lists {
        let found = manager.manifest_list_key(&metadata, &snapshot_with(Some(&list.key_id))).await.unwrap().unwrap();
        assert!(same(&found, key));
    }
}

#[tokio::test]
async fn an_unwrapped_kek_is_kept_for_an_hour() {
    let setting = Setting::new();
    let metadata = java_table(|_| ());
    let snapshot = metadata.current_snapshot().unwrap();
    let start = KEK_MADE_MS + 1000;
    for (after_ms, calls) in [(0, 1), (3_599_999, 1), (3_600_000, 2)] {
        setting.clock.set(start + after_ms);
        setting.manager(&metadata).manifest_list_key(&metadata, snapshot).await.unwrap();
        assert_eq!(setting.kms.unwrap_count(), calls);
    }
}

#[tokio::test]
async fn each_bad_entry_is_named_with_its_snapshot() {
    type Edit = fn(&mut Value);
    // Entry 0 is the KEK, entry 2 that of the current snapshot's list.
    let cases: [(&str, Edit, ErrorKind, &str); 9] = [
        (
            "no list entry",
            |keys| drop(keys.as_array_mut().unwrap().remove(2)),
            ErrorKind::Encryption,
            "tbUZG+nFD2eQHaREFVn+aQ==",
        ),
        (
            "no KEK",
            |keys| drop(keys.as_array_mut().unwrap().remove(0)),
            ErrorKind::Encryption,
            "sH8BcdIHwjQ9NnoPJX7hUw==",
        ),
        (
            "list without encrypted-by-id",
            |keys| drop_field(&mut keys[2], "encrypted-by-id"),
            ErrorKind::Encryption,
            "tbUZG",
        ),
        (
            "KEK without encrypted-by-id",
            |keys| drop_field(&mut keys[0], "encrypted-by-id"),
            ErrorKind::Encryption,
            "sH8Bcd",
        ),
        (
            "KEK without time",
            |keys| drop_field(&mut keys[0]["properties"], "KEY_TIMESTAMP"),
            ErrorKind::Encryption,
            "KEY_TIMESTAMP",
        ),
        (
            "KEK with another time",
            |keys| keys[0]["properties"]["KEY_TIMESTAMP"] = json!("1795988607440"),
            ErrorKind::InvalidData,
            "tbUZG",
        ),
        ("changed KEK", |keys| keys[0]["encrypted-key-metadata"] = json!("AAAA"), ErrorKind::Encryption, "sH8Bcd"),
        ("changed list", |keys| keys[2]["encrypted-key-metadata"] = json!("AAAA"), ErrorKind::InvalidData, "tbUZG"),
        (
            "wrapped by the master key itself",
            |keys| keys[2]["encrypted-by-id"] = json!("keyA"),
            ErrorKind::Encryption,
            "keyA",
        ),
    ];
    for (what, edit, kind, named) in cases {
        let metadata = java_table(|json| edit(&mut json["encryption-keys"]));
        let manager = Setting::new().manager(&metadata);
        let snapshot = metadata.current_snapshot().unwrap();
        let error = manager.manifest_list_key(&metadata, snapshot).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        let text = shown(&error);
        assert!(
            text.contains(named) && text.contains("2973060609074270455") && text.contains("db.t"),
            "{what}: {text}"
        );
    }
}

#[tokio::test]
async fn another_snapshot_s_entry_is_not_taken_for_this_one_s_list() {
    // Swapped entries still open, since Java binds them to the KEK only: the list's own AAD prefix and length tell.
    let metadata = java_table(|json| {
        let other = json["snapshots"][0]["key-id"].clone();
        json["snapshots"][1]["key-id"] = other;
    });
    let manager = Setting::new().manager(&metadata);
    let snapshot = metadata.current_snapshot().unwrap();
    let key = manager.manifest_list_key(&metadata, snapshot).await.unwrap().unwrap();
    let path = snapshot.manifest_list().replace("file:/lakelock-fixture", fixtures().to_str().unwrap());
    let error = EncryptingFileIO::new(Storage::local(), manager).read(&path, Some(&key)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[tokio::test]
async fn list_keys_must_have_a_file_length() {
    let setting = Setting::new();
    let metadata = java_table(|_| ());
    let manager = setting.manager(&metadata);
    let without = StandardKeyMetadata::generate(KeyLength::Aes128).unwrap();
    let error = manager.wrap_manifest_list_key(&metadata, &without).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    // An entry that lacks it all the same, made with the fixture's KEK.
    let master = SecretKey::new(KEY_A).unwrap();
    let kek_id = "sH8BcdIHwjQ9NnoPJX7hUw==";
    let kek = metadata.encryption_key(kek_id).unwrap();
    let kek = aes_gcm::open(&master, kek.encrypted_key_metadata(), &[]).unwrap();
    let kek = SecretKey::new(&kek).unwrap();
    let time = KEK_MADE_MS.to_string();
    let sealed = aes_gcm::seal(&kek, &without.encode(), time.as_bytes()).unwrap();
    let metadata = java_table(|json| {
        let entry =
            json!({"key-id": "x", "encrypted-key-metadata": STANDARD.encode(sealed), "encrypted-by-id": kek_id});
        json["encryption-keys"].as_array_mut().unwrap().push(entry);
    });
    let snapshot = snapshot_with(Some("x"));
    let error = manager.manifest_list_key(&metadata, &snapshot).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(error.to_string().contains(snapshot.manifest_list()), "{error}");
}

#[tokio::test]
async fn a_wrong_or_missing_master_key_is_an_encryption_error_with_its_cause() {
    let metadata = java_table(|_| ());
    let snapshot = metadata.current_snapshot().unwrap();
    let wrong = MemoryKms::new().with_key("keyA", SecretKey::new(b"1123456789012345").unwrap());
    for kms in [wrong, MemoryKms::new()] {
        let setting = Setting::with_kms(Arc::new(kms), Arc::new(ManualClock::default()));
        setting.clock.set(KEK_MADE_MS);
        let manager = setting.manager(&metadata);
        for error in [
            manager.manifest_list_key(&metadata, snapshot).await.unwrap_err(),
            manager.wrap_manifest_list_key(&metadata, &list_key(100)).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Encryption);
            assert!(shown(&error).contains("cannot unwrap a key with master key \"keyA\""), "{}", shown(&error));
        }
    }
}
