use std::collections::HashMap;
use std::error::Error as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;

use lakelock_crypto::{KeyLength, SecretKey};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::protection::Argon2Cost;
use super::*;
use crate::conformance::{Subject, check};

/// Argon2id as cheap as it can be: what is tested is not how slow it is.
const CHEAP: Argon2Cost = Argon2Cost { memory_kib: 8, iterations: 1, lanes: 1 };

fn passphrase(text: &str) -> Protection {
    Protection::Passphrase(SecretString::from(text.to_owned()))
}

fn test_folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keystore.json");
    (folder, path)
}

fn passphrase_keystore(path: &Path) -> Keystore {
    Keystore::create_with_cost(path, &passphrase("open sesame"), CHEAP).unwrap()
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut json);
    fs::write(path, json.to_string()).unwrap();
}

#[tokio::test]
async fn behaves_as_every_client_with_either_protection() {
    let (folder, path) = test_folder();
    let key_file = Protection::create_key_file(folder.path().join("new/folder/keystore.key")).unwrap();
    for (path, protection) in [(path, passphrase("open sesame")), (folder.path().join("b.json"), key_file)] {
        let keystore = Keystore::create_with_cost(&path, &protection, CHEAP).unwrap();
        keystore.create_key("orders", KeyLength::Aes128).unwrap();
        keystore.create_key("people", KeyLength::Aes256).unwrap();
        let client = LocalKms::new(&path, protection);
        check(&Subject { client: &client, key_ids: ["orders", "people"], missing_key_id: "Orders" }).await;
    }
}

/// The KEK wrapped by the KMS of Iceberg's own tests, and longer keys wrapped in the same way by the JDK.
#[tokio::test]
async fn an_imported_key_opens_what_java_wrapped() {
    let vectors = include_str!("../../../../interop/fixtures/manifest.json");
    let vector = serde_json::from_str::<Value>(vectors).unwrap()["wrapped_kek"].take();
    let text = |name: &str| vector[name].as_str().unwrap().to_owned();
    let cases = [
        (text("kek"), text("wrapped")),
        (
            String::from("101112131415161718191a1b1c1d1e1f2021222324252627"),
            String::from(
                "a0a1a2a3a4a5a6a7a8a9aaab8101d73dac9d50a9aa92193db554014cc8cd1e1919748bcb13d76141cd2f890278f92756cc380fcd",
            ),
        ),
        (
            String::from("101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f"),
            String::from(
                "a0a1a2a3a4a5a6a7a8a9aaab8101d73dac9d50a9aa92193db554014cc8cd1e1919748bcbbb7d0579abdd635aa20d29f526b67a04\
                 db9ed2871387200a",
            ),
        ),
    ];
    let (_folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    let master_key = SecretKey::new(&hex::decode(text("master_key")).unwrap()).unwrap();
    keystore.import_key(&text("master_key_id"), &master_key).unwrap();
    let client = LocalKms::new(&path, passphrase("open sesame"));
    for (key, wrapped) in cases {
        let unwrapped = client.unwrap_key(&hex::decode(wrapped).unwrap(), &text("master_key_id")).await.unwrap();
        assert_eq!(hex::encode(unwrapped.expose_secret()), key);
    }
}

#[test]
fn keys_are_listed_by_id_and_length_after_a_reopen() {
    let (_folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    keystore.create_key("b", KeyLength::Aes192).unwrap();
    keystore.import_key("a key", &SecretKey::new(&[7; 32]).unwrap()).unwrap();
    let reopened = Keystore::open(&path, &passphrase("open sesame")).unwrap();
    let shown: Vec<_> = reopened.list().unwrap().into_iter().map(|key| (key.id, key.length)).collect();
    assert_eq!(shown, [(String::from("a key"), KeyLength::Aes256), (String::from("b"), KeyLength::Aes192)]);
}

#[test]
fn nothing_is_overwritten() {
    let (folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    let key = SecretKey::new(&[7; 16]).unwrap();
    keystore.import_key("a", &key).unwrap();
    let key_file = folder.path().join("k");
    Protection::create_key_file(&key_file).unwrap();
    let before = fs::read(&path).unwrap();
    for error in [
        keystore.import_key("a", &key).unwrap_err(),
        keystore.create_key("a", KeyLength::Aes128).unwrap_err(),
        Keystore::create_with_cost(&path, &passphrase("open sesame"), CHEAP).unwrap_err(),
        Protection::create_key_file(&key_file).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn bad_key_ids_are_refused() {
    let (_folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    for id in ["", " a", "a ", "a\nb", "a\0", &"x".repeat(1025)] {
        let error = keystore.create_key(id, KeyLength::Aes128).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{id:?}");
    }
    keystore.create_key("arn:aws:kms:eu-west-1:1:key/ä b", KeyLength::Aes128).unwrap();
}

#[test]
fn what_does_not_open_the_keystore_is_one_error_that_names_it() {
    let (folder, path) = test_folder();
    passphrase_keystore(&path);
    let own_key_file = Protection::create_key_file(folder.path().join("own")).unwrap();
    let other_key_file = Protection::create_key_file(folder.path().join("other")).unwrap();
    let with_key_file = folder.path().join("b.json");
    Keystore::create(&with_key_file, &own_key_file).unwrap();
    for (path, protection) in [
        (&path, passphrase("open sesame ")),
        (&path, passphrase("")),
        (&path, own_key_file),
        (&with_key_file, other_key_file),
        (&with_key_file, passphrase("open sesame")),
    ] {
        let error = Keystore::open(path, &protection).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Credentials, "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
        assert!(!format!("{error:?}").contains("sesame"), "{error:?}");
    }
    let error = Keystore::create_with_cost(&folder.path().join("c.json"), &passphrase(""), CHEAP).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(!folder.path().join("c.json").exists());
}

#[test]
fn a_damaged_file_is_an_error_that_names_it() {
    type Edit = fn(&mut Value);
    let cases: [(&str, Edit, ErrorKind); 16] = [
        ("another format", |json| json["format"] = json!("age"), ErrorKind::Damaged),
        ("a newer version", |json| json["version"] = json!(2), ErrorKind::Unsupported),
        ("an unknown field", |json| json["comment"] = json!("x"), ErrorKind::Damaged),
        ("an unknown protection", |json| json["protection"]["kind"] = json!("none"), ErrorKind::Damaged),
        ("an unknown field in it", |json| json["protection"]["x"] = json!(1), ErrorKind::Damaged),
        ("too much memory", |json| argon2id(json)["memory-kib"] = json!(u32::MAX), ErrorKind::Damaged),
        ("more than a number holds", |json| argon2id(json)["memory-kib"] = json!(u64::MAX), ErrorKind::Damaged),
        ("too many passes", |json| argon2id(json)["iterations"] = json!(17), ErrorKind::Damaged),
        ("too many lanes", |json| argon2id(json)["lanes"] = json!(17), ErrorKind::Damaged),
        ("no passes", |json| argon2id(json)["iterations"] = json!(0), ErrorKind::Damaged),
        ("no salt", |json| argon2id(json)["salt"] = json!(""), ErrorKind::Damaged),
        ("no base64", |json| json["store-key"] = json!("?"), ErrorKind::Damaged),
        ("a short store key", |json| json["store-key"] = json!("AAAA"), ErrorKind::Damaged),
        ("a short key", |json| json["keys"][0]["sealed"] = json!("AAAA"), ErrorKind::Damaged),
        ("a key twice", |json| json["keys"][1] = json["keys"][0].clone(), ErrorKind::Damaged),
        ("an empty id", |json| json["keys"][0]["id"] = json!(""), ErrorKind::Damaged),
    ];
    let (_folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    keystore.create_key("a", KeyLength::Aes128).unwrap();
    keystore.create_key("b", KeyLength::Aes128).unwrap();
    let sound = fs::read(&path).unwrap();
    for (what, change, kind) in cases {
        fs::write(&path, &sound).unwrap();
        edit(&path, change);
        let error = Keystore::open(&path, &passphrase("open sesame")).unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{what}: {error}");
    }
    for bytes in [&b""[..], b"{", b"\xff\xfe", b"[1]", &sound[..sound.len() / 2]] {
        fs::write(&path, bytes).unwrap();
        let error = Keystore::open(&path, &passphrase("open sesame")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    }
    fs::File::create(&path).unwrap().set_len(document::SIZE_LIMIT + 1).unwrap();
    assert_eq!(Keystore::open(&path, &passphrase("open sesame")).unwrap_err().kind(), ErrorKind::Damaged);
}

fn argon2id(json: &mut Value) -> &mut Value {
    &mut json["protection"]["argon2id"]
}

#[test]
fn a_sealed_key_opens_under_its_own_id_only() {
    let (_folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    keystore.create_key("a", KeyLength::Aes256).unwrap();
    keystore.create_key("b", KeyLength::Aes256).unwrap();
    edit(&path, |json| {
        json["keys"][0]["sealed"] = json["keys"][1]["sealed"].take();
        json["keys"][1]["sealed"] = json["store-key"].clone();
    });
    for id in ["a", "b"] {
        let error = keystore.master_key(id, Operation::Unwrap).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.to_string().contains(&format!("{id:?}")), "{error}");
    }
}

#[test]
fn an_open_keystore_notices_another_in_its_place() {
    let (_folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    fs::remove_file(&path).unwrap();
    assert_eq!(keystore.list().unwrap_err().kind(), ErrorKind::NotFound);
    passphrase_keystore(&path);
    assert_eq!(keystore.create_key("a", KeyLength::Aes128).unwrap_err().kind(), ErrorKind::Credentials);
}

#[test]
fn writers_at_the_same_time_lose_no_key_and_one_id_has_one_winner() {
    let (_folder, path) = test_folder();
    passphrase_keystore(&path);
    let barrier = Barrier::new(8);
    let wins: usize = thread::scope(|scope| {
        let writer = |name: usize| {
            let keystore = Keystore::open(&path, &passphrase("open sesame")).unwrap();
            barrier.wait();
            for number in 0..8 {
                keystore.create_key(&format!("{name}-{number}"), KeyLength::Aes128).unwrap();
            }
            usize::from(keystore.create_key("shared", KeyLength::Aes128).is_ok())
        };
        let threads: Vec<_> = (0..8).map(|name| scope.spawn(move || writer(name))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(wins, 1);
    assert_eq!(Keystore::open(&path, &passphrase("open sesame")).unwrap().list().unwrap().len(), 65);
}

#[test]
fn a_temporary_file_of_a_crash_does_not_hinder() {
    let (folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    fs::write(folder.path().join("keystore.json.tmp"), "half a keyst").unwrap();
    keystore.create_key("a", KeyLength::Aes128).unwrap();
    assert_eq!(keystore.list().unwrap().len(), 1);
    assert!(!folder.path().join("keystore.json.tmp").exists());
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_private_and_refused_when_they_are_not() {
        let (folder, path) = test_folder();
        let key_file = folder.path().join("keystore.key");
        let protection = Protection::create_key_file(&key_file).unwrap();
        let keystore = Keystore::create(&path, &protection).unwrap();
        keystore.create_key("a", KeyLength::Aes128).unwrap();
        for file in [&path, &key_file] {
            assert_eq!(mode(file), 0o600);
            for open in [0o640, 0o604, 0o620, 0o610] {
                fs::set_permissions(file, fs::Permissions::from_mode(open)).unwrap();
                let error = Keystore::open(&path, &protection).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidInput);
                assert!(error.to_string().contains(&format!("chmod 600 {}", file.display())), "{error}");
            }
            fs::set_permissions(file, fs::Permissions::from_mode(0o400)).unwrap();
        }
        Keystore::open(&path, &protection).unwrap();
    }

    #[test]
    fn a_link_stays_a_link() {
        let (folder, path) = test_folder();
        passphrase_keystore(&path);
        let link = folder.path().join("link");
        symlink(&path, &link).unwrap();
        let keystore = Keystore::open(&link, &passphrase("open sesame")).unwrap();
        keystore.create_key("a", KeyLength::Aes128).unwrap();
        assert!(link.is_symlink());
        assert_eq!(Keystore::open(&path, &passphrase("open sesame")).unwrap().list().unwrap().len(), 1);
    }
}

#[test]
fn a_malformed_key_file_is_named_but_not_shown() {
    let (folder, _) = test_folder();
    let key_file = folder.path().join("keystore.key");
    let protection = Protection::create_key_file(&key_file).unwrap();
    let sound = fs::read_to_string(&key_file).unwrap();
    for text in
        [sound[..63].to_owned(), sound.replace('\n', "0\n"), sound.replace('\n', "\n\n"), sound.replace('\n', "\r\n")]
    {
        fs::write(&key_file, &text).unwrap();
        let error = Keystore::create(folder.path().join("new.json"), &protection).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "{text:?}");
        let shown = format!("{error:?}");
        assert!(shown.contains("keystore.key") && !shown.contains(&sound[..8]), "{shown}");
    }
}

#[tokio::test]
async fn a_client_opens_late_tries_again_and_sees_new_keys() {
    let (_folder, path) = test_folder();
    let client = LocalKms::new(&path, passphrase("open sesame"));
    let key = SecretKey::generate(KeyLength::Aes128).unwrap();
    let error = client.wrap_key(&key, "a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.source().unwrap().to_string().contains(path.to_str().unwrap()), "{error:?}");
    let keystore = passphrase_keystore(&path);
    assert_eq!(client.wrap_key(&key, "a").await.unwrap_err().kind(), ErrorKind::NotFound);
    keystore.create_key("a", KeyLength::Aes128).unwrap();
    client.wrap_key(&key, "a").await.unwrap();
}

#[tokio::test]
async fn properties_say_where_the_keystore_is_and_what_opens_it() {
    let (folder, path) = test_folder();
    let key_file = folder.path().join("k");
    // The environment cannot be changed here, so the test borrows a variable that cargo sets.
    let protections = [
        (KEYSTORE_PASSPHRASE_ENV, "CARGO_PKG_NAME", passphrase("lakelock-kms")),
        (KEYSTORE_KEY_FILE, key_file.to_str().unwrap(), Protection::create_key_file(&key_file).unwrap()),
    ];
    for (name, value, protection) in protections {
        let path = path.with_extension(name);
        Keystore::create_with_cost(&path, &protection, CHEAP).unwrap().create_key("a", KeyLength::Aes128).unwrap();
        let properties = properties(&[(KEYSTORE_PATH, path.to_str().unwrap()), (name, value)]);
        let client = LocalKms::from_properties(&properties).unwrap();
        client.wrap_key(&SecretKey::new(&[1; 16]).unwrap(), "a").await.unwrap();
        assert!(!format!("{client:?}").contains("lakelock-kms"), "{client:?}");
    }
}

#[tokio::test]
async fn an_unset_variable_is_named() {
    let properties = properties(&[(KEYSTORE_PATH, "/nonexistent"), (KEYSTORE_PASSPHRASE_ENV, "LAKELOCK_NOT_SET")]);
    let client = LocalKms::from_properties(&properties).unwrap();
    let error = client.unwrap_key(&[], "a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Credentials);
    assert!(error.source().unwrap().to_string().contains("LAKELOCK_NOT_SET"), "{error:?}");
}

#[test]
fn both_protections_at_once_are_refused() {
    let given = [(KEYSTORE_PATH, "/k"), (KEYSTORE_KEY_FILE, "/f"), (KEYSTORE_PASSPHRASE_ENV, "V")];
    assert_eq!(LocalKms::from_properties(&properties(&given)).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn no_secret_shows() {
    let (_folder, path) = test_folder();
    let keystore = passphrase_keystore(&path);
    let secret = *b"a master key of 32 bytes, known!";
    keystore.import_key("a", &SecretKey::new(&secret).unwrap()).unwrap();
    let protection = passphrase("open sesame");
    let client = LocalKms::new(&path, protection.clone());
    let shown = format!("{keystore:?} {protection:?} {client:?} {:?}", keystore.list().unwrap());
    let file = fs::read(&path).unwrap();
    for bytes in [&secret[..], b"open sesame"] {
        let list = format!("{bytes:?}");
        assert!(!shown.contains(list.trim_matches(['[', ']'])) && !shown.contains(&hex::encode(bytes)));
        assert!(!shown.contains("sesame") && !shown.contains("master key of"));
        assert!(!file.windows(bytes.len()).any(|window| window == bytes));
    }
}

fn properties(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}
