//! What may be plaintext, what is refused, and that no key shows.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lakelock_crypto::{KeyLength, StandardKeyMetadata};
use lakelock_kms::KmsRegistry;
use lakelock_storage::Storage;
use serde_json::{Value, json};

use super::*;

#[tokio::test]
async fn without_a_kms_all_that_needs_a_key_fails_and_says_what_to_set() {
    let metadata = java_table(|_| ());
    let properties = EncryptionProperties::from_table(&metadata).unwrap();
    let manager = CatalogEncryption::new(None).manager("db.t", properties);
    let storage = Storage::in_memory();
    let io = EncryptingFileIO::new(storage.clone(), Arc::clone(&manager));
    assert!(manager.is_encrypting());
    for error in [
        manager.new_file_key().unwrap_err(),
        manager.manifest_list_key(&metadata, metadata.current_snapshot().unwrap()).await.unwrap_err(),
        manager.wrap_manifest_list_key(&metadata, &list_key(100)).await.unwrap_err(),
        io.write("memory://t/m.avro", vec![1]).await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::Encryption);
        let text = error.to_string();
        let named = ["db.t", "keyA", "encryption.kms-impl", "encryption.kms-type"];
        assert!(named.into_iter().all(|name| text.contains(name)), "{text}");
    }
    assert!(!storage.exists("memory://t/m.avro").await.unwrap());
    let error = manager.manifest_list_key(&metadata, &snapshot_with(None)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[tokio::test]
async fn a_snapshot_without_key_id_is_refused_unless_the_catalog_allows_it() {
    let setting = Setting::new();
    // What the table says of itself does not count.
    let metadata = java_table(|json| json["properties"][ALLOW_PLAINTEXT_FILES] = json!("true"));
    let snapshot = snapshot_with(None);
    let error = setting.manager(&metadata).manifest_list_key(&metadata, &snapshot).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let text = error.to_string();
    assert!(text.contains("2973060609074270455") && text.contains(snapshot.manifest_list()), "{text}");
    let properties = EncryptionProperties::from_table(&metadata).unwrap();
    let allowing = setting.encryption.clone().danger_allow_plaintext_files().manager("db.t", properties);
    assert!(allowing.manifest_list_key(&metadata, &snapshot).await.unwrap().is_none());
}

#[tokio::test]
async fn a_table_that_lost_its_key_id_is_noticed() {
    let metadata = java_table(|json| drop_field(&mut json["properties"], KEY_ID));
    let manager = Setting::new().manager(&metadata);
    assert!(!manager.is_encrypting());
    let error = manager.manifest_list_key(&metadata, metadata.current_snapshot().unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    assert!(manager.manifest_list_key(&metadata, &snapshot_with(None)).await.unwrap().is_none());
    let error = manager.wrap_manifest_list_key(&metadata, &list_key(100)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let io = EncryptingFileIO::new(Storage::in_memory(), manager);
    let encoded = EncodedKeyMetadata::from(&list_key(100));
    assert_eq!(io.file_key("memory://t/d.parquet", Some(&encoded)).unwrap_err().kind(), ErrorKind::InvalidData);
    assert!(io.file_key("memory://t/d.parquet", None).unwrap().is_none());
}

#[tokio::test]
async fn files_come_back_through_their_key_metadata_and_only_so() {
    let setting = Setting::new();
    let metadata = java_table(|_| ());
    let storage = Storage::in_memory();
    let io = EncryptingFileIO::new(storage.clone(), setting.manager(&metadata));
    let plain = vec![7; 3000];
    let written = io.write("memory://t/m.avro", plain.clone()).await.unwrap();
    let stored = storage.read("memory://t/m.avro").await.unwrap();
    assert_eq!(&stored[..4], b"AGS1");
    assert_eq!(written.stored_length, stored.len() as u64);
    let key = io.file_key(&written.location, written.key_metadata.as_ref()).unwrap().unwrap();
    assert_eq!(key.file_length(), Some(written.stored_length));
    assert_eq!(io.read(&written.location, Some(&key)).await.unwrap(), plain);

    let again = io.write("memory://t/m.avro", plain.clone()).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Storage);
    let lengthless = StandardKeyMetadata::new(key.encryption_key().clone(), Some(key.aad_prefix().to_vec()));
    storage.write("memory://t/forged.avro", plain).await.unwrap();
    let malformed = EncodedKeyMetadata::new(vec![1, 2, 3]);
    for error in [
        io.read("memory://t/m.avro", None).await.unwrap_err(),
        io.read("memory://t/m.avro", Some(&lengthless)).await.unwrap_err(),
        io.read("memory://t/m.avro", Some(&list_key(written.stored_length))).await.unwrap_err(),
        io.file_key("memory://t/m.avro", None).unwrap_err(),
        io.file_key("memory://t/m.avro", Some(&malformed)).unwrap_err(),
        io.file_key("memory://t/m.avro", Some(&EncodedKeyMetadata::new(Vec::new()))).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains("memory://t/m.avro"), "{error}");
    }
    let error = io.read("memory://t/forged.avro", Some(&key)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let error = io.read("memory://t/gone.avro", Some(&key)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_cached_manifest_is_had_by_its_own_key_alone() {
    let metadata = java_table(|_| ());
    let storage = Storage::in_memory();
    let cache = Some(Arc::new(ManifestCache::new(10_000, 10_000)));
    let io = EncryptingFileIO::new(storage.clone(), Setting::new().manager(&metadata));
    let io = io.with_manifest_cache(cache.clone());
    let location = "memory://t/m.avro";
    let written = io.write(location, vec![7; 3000]).await.unwrap();
    let key = written.key_metadata.as_ref();
    assert_eq!(io.read_manifest(location, key).await.unwrap(), vec![7; 3000]);
    storage.delete(location).await.unwrap();
    assert_eq!(io.read_manifest(location, key).await.unwrap(), vec![7; 3000]);

    let other = EncodedKeyMetadata::from(&list_key(written.stored_length));
    assert_eq!(io.read_manifest(location, Some(&other)).await.unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(io.read_manifest(location, None).await.unwrap_err().kind(), ErrorKind::InvalidData);
    let plaintext = EncryptingFileIO::new(storage, CatalogEncryption::new(None).manager("db.t", None));
    let error = plaintext.with_manifest_cache(cache).read_manifest(location, key).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[tokio::test]
async fn a_reader_told_so_takes_plaintext_files_and_a_writer_never_makes_them() {
    let metadata = java_table(|_| ());
    let properties = EncryptionProperties::from_table(&metadata).unwrap();
    let storage = Storage::in_memory();
    let encryption = Setting::new().encryption.danger_allow_plaintext_files();
    let io = EncryptingFileIO::new(storage.clone(), encryption.manager("db.t", properties));
    storage.write("memory://t/plain.avro", vec![7; 9]).await.unwrap();
    assert!(io.file_key("memory://t/plain.avro", None).unwrap().is_none());
    assert_eq!(io.read("memory://t/plain.avro", None).await.unwrap(), vec![7; 9]);
    assert!(io.write("memory://t/new.avro", vec![7; 9]).await.unwrap().key_metadata.is_some());
}

#[tokio::test]
async fn a_plaintext_table_has_plaintext_files() {
    let io = EncryptingFileIO::new(Storage::in_memory(), CatalogEncryption::new(None).manager("db.t", None));
    let written = io.write("memory://t/m.avro", vec![7; 9]).await.unwrap();
    assert!(written.key_metadata.is_none());
    assert_eq!(written.stored_length, 9);
    assert_eq!(io.read("memory://t/m.avro", None).await.unwrap(), vec![7; 9]);
}

#[tokio::test]
async fn without_the_document_keys_of_format_version_2_are_missing() {
    let mut json: Value = serde_json::to_value(java_table(|_| ())).unwrap();
    json["format-version"] = json!(2);
    let metadata: TableMetadata = serde_json::from_value(json).unwrap();
    let manager = Setting::new().manager(&metadata);
    let error = manager.manifest_list_key(&metadata, metadata.current_snapshot().unwrap()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let error = manager.wrap_manifest_list_key(&metadata, &list_key(100)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn catalog_properties_choose_the_kms_and_the_policy() {
    let of = |pairs: &[(&str, &str)]| {
        let properties = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        CatalogEncryption::from_properties(&KmsRegistry::with_builtins(), &properties)
    };
    assert!(!of(&[]).unwrap().has_kms());
    let memory = of(&[("encryption.kms-impl", "memory"), (ALLOW_PLAINTEXT_FILES, "True")]).unwrap();
    assert!(memory.has_kms());
    let properties = EncryptionProperties::new("keyA", KeyLength::Aes128).unwrap();
    assert!(memory.manager("db.t", Some(properties.clone())).allows_plaintext_files());
    let strict = of(&[(ALLOW_PLAINTEXT_FILES, "false")]).unwrap();
    assert!(!strict.manager("db.t", Some(properties)).allows_plaintext_files());
    for (pairs, kind) in [
        (&[(ALLOW_PLAINTEXT_FILES, "yes")][..], ErrorKind::InvalidInput),
        (&[("encryption.kms-type", "vault")], ErrorKind::InvalidInput),
    ] {
        assert_eq!(of(pairs).unwrap_err().kind(), kind);
    }
}

#[tokio::test]
async fn no_key_shows() {
    let setting = Setting::new();
    let metadata = java_table(|_| ());
    let manager = setting.manager(&metadata);
    let key = manager.manifest_list_key(&metadata, metadata.current_snapshot().unwrap()).await.unwrap().unwrap();
    let wrapped = manager.wrap_manifest_list_key(&metadata, &key).await.unwrap();
    let io = EncryptingFileIO::new(Storage::in_memory(), Arc::clone(&manager));
    let written = io.write("memory://t/m.avro", vec![7]).await.unwrap();
    let encoded = written.key_metadata.clone().unwrap();
    let of_file = encoded.decode("memory://t/m.avro").unwrap();
    let shown =
        format!("{key:?} {of_file:?} {encoded:?} {written:?} {wrapped:?} {io:?} {manager:?} {:?}", setting.encryption);
    for secret in [KEY_A, key.encryption_key().expose_secret(), of_file.encryption_key().expose_secret()] {
        let list = format!("{secret:?}");
        let hex = secret.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        for form in [list.trim_matches(['[', ']']), &hex, &STANDARD.encode(secret)] {
            assert!(!shown.contains(form), "{shown}");
        }
    }
    assert!(shown.contains("[redacted]"));
}
