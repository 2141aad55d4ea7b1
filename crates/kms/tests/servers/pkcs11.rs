//! PKCS#11, as SoftHSM has it.
//!
//! SoftHSM is configured by an environment variable, so each test runs in a process of its own: the test of the name
//! starts this binary again with what it runs ignored otherwise.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::process::Command;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::Attribute;
use cryptoki::session::{Session, UserType};
use cryptoki::types::AuthPin;
use futures::future::join_all;
use lakelock_crypto::{KeyLength, SecretKey, aes_gcm};
use lakelock_interop::servers::SoftHsm;
use lakelock_kms::conformance::{Subject, check};
use lakelock_kms::{Error, ErrorKind, KeyManagementClient, Pkcs11Kms};

const MODULE: &str = "LAKELOCK_TEST_MODULE";

/// Runs an ignored test of this file with a token of its own.
fn with_token(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let token = SoftHsm::create(folder.path());
    let status = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env("SOFTHSM2_CONF", token.config())
        .env(MODULE, token.module())
        .env("LAKELOCK_PKCS11_PIN", SoftHsm::PIN)
        .status()
        .unwrap();
    assert!(status.success(), "{test}");
}

fn properties(more: &[(&str, &str)]) -> HashMap<String, String> {
    let mut all = HashMap::from([("pkcs11.module".to_owned(), env::var(MODULE).unwrap())]);
    if !more.iter().any(|(name, _)| *name == "pkcs11.slot-id") {
        all.insert("pkcs11.token-label".to_owned(), SoftHsm::LABEL.to_owned());
    }
    all.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    all
}

fn client(more: &[(&str, &str)]) -> Pkcs11Kms {
    Pkcs11Kms::from_properties(&properties(more)).unwrap()
}

/// A session of the token's user, beside those of a client.
fn session(login: bool) -> Session {
    let module = Pkcs11::new(env::var(MODULE).unwrap()).unwrap();
    // Another part of this process may have done it.
    let _ = module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK));
    let slot = module.get_slots_with_initialized_token().unwrap()[0];
    let session = module.open_rw_session(slot).unwrap();
    if login {
        let _ = session.login(UserType::User, Some(&AuthPin::from(SoftHsm::PIN.to_owned())));
    }
    session
}

fn make_key(session: &Session, label: &str, length: u64, more: &[Attribute]) {
    let mut template = vec![
        Attribute::Token(true),
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        Attribute::Label(label.as_bytes().to_vec()),
        Attribute::ValueLen(length.into()),
    ];
    if more.is_empty() {
        template.extend([Attribute::Encrypt(true), Attribute::Decrypt(true)]);
    }
    template.extend(more.iter().cloned());
    session.generate_key(&Mechanism::AesKeyGen, &template).unwrap();
}

fn kind<T>(outcome: Result<T, Error>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

#[test]
fn behaves_as_every_client() {
    with_token("pkcs11::behaves_as_every_client_with_a_token");
}

#[tokio::test]
#[ignore = "run by behaves_as_every_client"]
async fn behaves_as_every_client_with_a_token() {
    let session = session(true);
    make_key(&session, "orders", 32, &[]);
    make_key(&session, "people", 16, &[]);
    let slot = session.get_session_info().unwrap().slot_id().id().to_string();
    drop(session);
    for client in [client(&[]), client(&[("pkcs11.slot-id", &slot)])] {
        check(&Subject { client: &client, key_ids: ["orders", "people"], missing_key_id: "Orders" }).await;
    }
    let client = client(&[]);
    let key = SecretKey::generate(KeyLength::Aes256).unwrap();
    let outcomes = join_all((0..50).map(|_| async {
        let wrapped = client.wrap_key(&key, "orders").await?;
        client.unwrap_key(&wrapped, "orders").await
    }))
    .await;
    assert!(outcomes.into_iter().all(|outcome| outcome.is_ok_and(|unwrapped| unwrapped == key)));
}

#[test]
fn wraps_in_the_layout_of_the_keystore() {
    with_token("pkcs11::wraps_in_the_layout_of_the_keystore_with_a_token");
}

#[tokio::test]
#[ignore = "run by wraps_in_the_layout_of_the_keystore"]
async fn wraps_in_the_layout_of_the_keystore_with_a_token() {
    let master = SecretKey::new(b"0123456789abcdef0123456789abcdef").unwrap();
    let template = [
        Attribute::Class(cryptoki::object::ObjectClass::SECRET_KEY),
        Attribute::KeyType(cryptoki::object::KeyType::AES),
        Attribute::Token(true),
        Attribute::Label(b"orders".to_vec()),
        Attribute::Encrypt(true),
        Attribute::Decrypt(true),
        Attribute::Value(master.expose_secret().to_vec()),
    ];
    session(true).create_object(&template).unwrap();
    let client = client(&[]);
    let key = SecretKey::generate(KeyLength::Aes128).unwrap();
    let wrapped = client.wrap_key(&key, "orders").await.unwrap();
    assert_eq!(wrapped.len(), 12 + 16 + 16);
    assert_eq!(aes_gcm::open(&master, &wrapped, &[]).unwrap().as_slice(), key.expose_secret());
    let sealed = aes_gcm::seal(&master, key.expose_secret(), &[]).unwrap();
    assert!(client.unwrap_key(&sealed, "orders").await.unwrap() == key);
}

#[test]
fn outlives_its_sessions_and_logins() {
    with_token("pkcs11::outlives_its_sessions_and_logins_with_a_token");
}

#[tokio::test]
#[ignore = "run by outlives_its_sessions_and_logins"]
async fn outlives_its_sessions_and_logins_with_a_token() {
    let other = session(true);
    make_key(&other, "orders", 32, &[]);
    let client = client(&[]);
    let key = SecretKey::generate(KeyLength::Aes256).unwrap();
    let wrapped = client.wrap_key(&key, "orders").await.unwrap();

    // Whoever logs out does so for the whole process.
    other.logout().unwrap();
    assert!(client.unwrap_key(&wrapped, "orders").await.unwrap() == key);

    // So does who finalises the module, and all sessions are gone.
    let module = Pkcs11::new(env::var(MODULE).unwrap()).unwrap();
    module.finalize().unwrap();
    assert!(client.unwrap_key(&wrapped, "orders").await.unwrap() == key);
}

#[test]
fn names_what_is_wrong_with_a_token() {
    with_token("pkcs11::names_what_is_wrong_with_a_token_there");
}

#[tokio::test]
#[ignore = "run by names_what_is_wrong_with_a_token"]
async fn names_what_is_wrong_with_a_token_there() {
    let other = session(true);
    make_key(&other, "orders", 32, &[]);
    make_key(&other, "twice", 32, &[]);
    make_key(&other, "twice", 32, &[]);
    make_key(&other, "encrypts", 32, &[Attribute::Encrypt(true), Attribute::Decrypt(false)]);
    make_key(&other, "decrypts", 32, &[Attribute::Encrypt(false), Attribute::Decrypt(true)]);
    let client = client(&[]);
    let key = SecretKey::generate(KeyLength::Aes256).unwrap();
    let wrapped = client.wrap_key(&key, "encrypts").await.unwrap();
    assert_eq!(kind(client.unwrap_key(&wrapped, "encrypts").await), Some(ErrorKind::AccessDenied));
    assert_eq!(kind(client.wrap_key(&key, "decrypts").await), Some(ErrorKind::AccessDenied));
    assert_eq!(kind(client.wrap_key(&key, "twice").await), Some(ErrorKind::InvalidInput));
    for (property, value, expected) in [
        ("pkcs11.token-label", "elsewhere", ErrorKind::NotFound),
        ("pkcs11.slot-id", "99999", ErrorKind::NotFound),
        ("pkcs11.module", "/nowhere/module.so", ErrorKind::InvalidInput),
        ("pkcs11.pin-env", "LAKELOCK_NO_PIN", ErrorKind::Credentials),
        ("pkcs11.pin-file", "/nowhere/pin", ErrorKind::Credentials),
    ] {
        // Everybody is logged in while anybody is.
        other.logout().ok();
        let error = self::client(&[(property, value)]).wrap_key(&key, "orders").await.unwrap_err();
        assert_eq!(error.kind(), expected, "{property}={value}: {error:?}");
        assert!(error.to_string().contains("orders") && error.to_string().contains("wrap"), "{error}");
    }

    // A wrong PIN is tried once, however often it is used: the token would lock. A new one is tried.
    other.logout().ok();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pin");
    fs::write(&file, "wrong\n").unwrap();
    let client = self::client(&[("pkcs11.pin-file", file.to_str().unwrap())]);
    for text in ["does not accept the PIN", "not tried again", "not tried again"] {
        let error = client.wrap_key(&key, "orders").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Credentials);
        assert!(error.to_string().contains(text), "{error}");
        assert!(!format!("{error:?}").contains("wrong"));
    }
    fs::write(&file, SoftHsm::PIN).unwrap();
    client.wrap_key(&key, "orders").await.unwrap();
}

#[test]
fn properties_that_make_no_sense_are_named() {
    for (pairs, text) in [
        (&[][..], "pkcs11.module"),
        (&[("pkcs11.module", "softhsm2.so"), ("pkcs11.token-label", "l")], "absolute"),
        (&[("pkcs11.module", "/m.so")], "pkcs11.token-label"),
        (&[("pkcs11.module", "/m.so"), ("pkcs11.token-label", "l"), ("pkcs11.slot-id", "1")], "one of"),
        (&[("pkcs11.module", "/m.so"), ("pkcs11.slot-id", "first")], "pkcs11.slot-id"),
        (
            &[("pkcs11.module", "/m.so"), ("pkcs11.slot-id", "1"), ("pkcs11.pin-env", "A"), ("pkcs11.pin-file", "b")],
            "not both",
        ),
    ] {
        let owned = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let error = Pkcs11Kms::from_properties(&owned).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{pairs:?}");
        assert!(error.to_string().contains(text), "{pairs:?}: {error}");
    }
}
