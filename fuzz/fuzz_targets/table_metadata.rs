//! Whatever the bytes: an error, or metadata that can be changed and reads back as what the change made of it.
#![no_main]

use std::collections::HashMap;

use lakelock_iceberg::{metadata::TableDocument, spec::TableUpdate};
use libfuzzer_sys::fuzz_target;

const LOCATION: &str = "memory://t/metadata/00001-x.metadata.json";

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = TableDocument::read(bytes, LOCATION) else { return };
    let again = TableDocument::read(&document.to_json(), LOCATION).unwrap();
    assert!(again.metadata() == document.metadata());
    if let Ok(hash) = document.java_sha256() {
        assert!(again.java_sha256().is_ok_and(|same| same == hash));
    }
    let updates = [
        TableUpdate::SetProperties { updates: HashMap::from([("k".into(), "v".into())]) },
        TableUpdate::RemoveSnapshots { snapshot_ids: vec![1] },
        TableUpdate::RemoveEncryptionKey { key_id: "a".into() },
    ];
    for update in updates {
        if let Ok(changed) = document.apply(&[update], LOCATION) {
            let again = TableDocument::read(&changed.to_json(), LOCATION).unwrap();
            assert!(again.metadata() == changed.metadata());
        }
    }
});
