//! Bytes made by Iceberg's Java implementation: see `interop/fixtures/README.md`.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::{fs, path::PathBuf};

use lakelock_crypto::{ErrorKind, SecretKey, StandardKeyMetadata, aes_gcm, ags1};
use serde_json::Value;

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../interop/fixtures").join(name);
    fs::read(path).unwrap()
}

fn manifest() -> Value {
    serde_json::from_slice(&fixture("manifest.json")).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    hex::decode(value.as_str().unwrap()).unwrap()
}

fn key(value: &Value) -> SecretKey {
    SecretKey::new(&bytes(value)).unwrap()
}

fn parts(vector: &Value) -> StandardKeyMetadata {
    let prefix = vector["aad_prefix"].as_str().map(|prefix| hex::decode(prefix).unwrap());
    let metadata = StandardKeyMetadata::new(key(&vector["encryption_key"]), prefix);
    match vector["file_length"].as_u64() {
        Some(length) => metadata.with_file_length(length),
        None => metadata,
    }
}

#[test]
fn key_metadata_is_the_same_bytes() {
    let manifest = manifest();
    let vectors = manifest["key_metadata"].as_array().unwrap();
    assert!(!vectors.is_empty());
    for vector in vectors {
        let encoded = bytes(&vector["hex"]);
        assert!(StandardKeyMetadata::decode(&encoded).unwrap() == parts(vector), "{}", vector["name"]);
        assert_eq!(*parts(vector).encode(), encoded, "{}", vector["name"]);
    }
}

#[test]
fn what_java_refuses_is_refused() {
    for vector in manifest()["refused_key_metadata"].as_array().unwrap() {
        let error = StandardKeyMetadata::decode(&bytes(&vector["hex"])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{}", vector["name"]);
    }
}

#[test]
fn streams_decrypt_to_what_java_encrypted() {
    let manifest = manifest();
    let vectors = manifest["ags1"].as_array().unwrap();
    assert!(!vectors.is_empty());
    for vector in vectors {
        let name = vector["file"].as_str().unwrap();
        let stored = fixture(name);
        let layout = ags1::Layout::from_stored_length(vector["stored_length"].as_u64().unwrap()).unwrap();
        assert_eq!(layout.plain_length(), vector["plain_length"].as_u64().unwrap(), "{name}");
        let decryptor = ags1::Decryptor::new(&key(&vector["key"]), &bytes(&vector["aad_prefix"]), layout).unwrap();
        for threads in [1, 2] {
            let plain = decryptor.decrypt(stored.clone(), threads).unwrap();
            assert!((0_usize..).zip(&plain).all(|(i, &byte)| byte == (i * 31 + 7).to_le_bytes()[0]), "{name}");
            assert_eq!(plain.len() as u64, layout.plain_length(), "{name}");
        }
    }
}

#[test]
fn keys_open_with_the_keys_above_them() {
    let manifest = manifest();
    let kek = &manifest["wrapped_kek"];
    let opened = aes_gcm::open(&key(&kek["master_key"]), &bytes(&kek["wrapped"]), b"").unwrap();
    assert!(*opened == bytes(&kek["kek"]));

    let entry = &manifest["manifest_list_key"];
    let sealed = bytes(&entry["encrypted_key_metadata"]);
    let timestamp = entry["key_timestamp"].as_str().unwrap();
    let opened = aes_gcm::open(&key(&entry["kek"]), &sealed, timestamp.as_bytes()).unwrap();
    assert!(*opened == bytes(&entry["key_metadata"]));
    assert!(StandardKeyMetadata::decode(&opened).unwrap() == parts(entry));
}
