//! The behaviour that every [`KeyManagementClient`] must have, as one suite to run against an implementation.
//!
//! Enable the feature `conformance` in a test build and call [`check`].
#![expect(clippy::expect_used, clippy::panic, reason = "this is a test suite: a panic is how it fails")]

use std::error::Error as StdError;

use lakelock_crypto::{KeyLength, SecretKey};

use crate::{Error, ErrorKind, KeyManagementClient};

/// A client to be checked, with what it holds.
#[derive(Debug)]
pub struct Subject<'a> {
    /// The client.
    pub client: &'a dyn KeyManagementClient,
    /// Two different master keys that it holds.
    pub key_ids: [&'a str; 2],
    /// A well-formed key id that it does not hold.
    pub missing_key_id: &'a str,
}

/// Runs the whole suite.
///
/// # Panics
/// When the client breaks a rule; the message says which.
pub async fn check(subject: &Subject<'_>) {
    round_trip_of_every_length(subject).await;
    wrapping_is_randomised_and_hides_the_key(subject).await;
    another_master_key_does_not_unwrap(subject).await;
    changed_bytes_do_not_unwrap(subject).await;
    a_missing_key_is_named(subject).await;
    a_generated_key_unwraps_to_itself(subject).await;
}

async fn round_trip_of_every_length(subject: &Subject<'_>) {
    for id in subject.key_ids {
        for length in [KeyLength::Aes128, KeyLength::Aes192, KeyLength::Aes256] {
            let key = new_key(length);
            let wrapped = subject.client.wrap_key(&key, id).await.expect("wrapping");
            let unwrapped = subject.client.unwrap_key(&wrapped, id).await.expect("unwrapping");
            assert!(unwrapped == key, "{length:?} does not come back from {id:?}");
        }
    }
}

async fn wrapping_is_randomised_and_hides_the_key(subject: &Subject<'_>) {
    let key = new_key(KeyLength::Aes128);
    let first = subject.client.wrap_key(&key, subject.key_ids[0]).await.expect("wrapping");
    let second = subject.client.wrap_key(&key, subject.key_ids[0]).await.expect("wrapping");
    assert_ne!(first, second, "wrapping one key twice gives equal bytes");
    assert!(!contains(&first, key.expose_secret()), "the wrapped key holds the key in the clear");
}

async fn another_master_key_does_not_unwrap(subject: &Subject<'_>) {
    let [one, other] = subject.key_ids;
    let wrapped = subject.client.wrap_key(&new_key(KeyLength::Aes128), one).await.expect("wrapping");
    let Err(error) = subject.client.unwrap_key(&wrapped, other).await else {
        panic!("{other:?} unwrapped what {one:?} wrapped")
    };
    assert_eq!(error.kind(), ErrorKind::WrongKey, "{error}");
    assert_names(&error, other, "unwrap");
}

async fn changed_bytes_do_not_unwrap(subject: &Subject<'_>) {
    let id = subject.key_ids[0];
    let key = new_key(KeyLength::Aes256);
    let wrapped = subject.client.wrap_key(&key, id).await.expect("wrapping");
    let mut changed: Vec<Vec<u8>> = (0..wrapped.len()).step_by(7).map(|at| flipped(&wrapped, at)).collect();
    changed.push(flipped(&wrapped, wrapped.len() - 1));
    changed.extend([0, 1, 11, 12, 27, 28, wrapped.len() - 1].map(|length| wrapped[..length].to_vec()));
    changed.push([wrapped.as_slice(), &[0]].concat());
    for bytes in changed {
        let Err(error) = subject.client.unwrap_key(&bytes, id).await else {
            panic!("{id:?} unwrapped {} changed bytes", bytes.len())
        };
        let expected = [ErrorKind::Damaged, ErrorKind::InvalidInput, ErrorKind::WrongKey];
        assert!(expected.contains(&error.kind()), "{:?}: {error}", error.kind());
        assert_names(&error, id, "unwrap");
        assert_hides(&error, &key);
    }
}

async fn a_missing_key_is_named(subject: &Subject<'_>) {
    let id = subject.missing_key_id;
    let key = new_key(KeyLength::Aes128);
    let wrapped = subject.client.wrap_key(&key, subject.key_ids[0]).await.expect("wrapping");
    for (operation, outcome) in [
        ("wrap", subject.client.wrap_key(&key, id).await.map(|_| ())),
        ("unwrap", subject.client.unwrap_key(&wrapped, id).await.map(|_| ())),
    ] {
        let Err(error) = outcome else { panic!("a missing key can {operation}") };
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert_names(&error, id, operation);
        assert_hides(&error, &key);
    }
}

async fn a_generated_key_unwraps_to_itself(subject: &Subject<'_>) {
    let id = subject.key_ids[0];
    if let Some(generated) = subject.client.generate_key(KeyLength::Aes256, id).await.expect("generating") {
        assert_eq!(generated.key.length(), KeyLength::Aes256);
        let unwrapped = subject.client.unwrap_key(&generated.wrapped, id).await.expect("unwrapping");
        assert!(unwrapped == generated.key, "the generated key does not come back");
    }
}

fn new_key(length: KeyLength) -> SecretKey {
    SecretKey::generate(length).expect("system randomness")
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    changed[at] ^= 1;
    changed
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn assert_names(error: &Error, key_id: &str, operation: &str) {
    let text = error.to_string();
    assert!(
        text.contains(key_id) && text.contains(operation),
        "the error does not name {key_id:?}, {operation}: {text}"
    );
}

fn assert_hides(error: &Error, key: &SecretKey) {
    let mut shown = vec![error.to_string(), format!("{error:?}")];
    let mut cause = error.source();
    while let Some(source) = cause {
        shown.extend([source.to_string(), format!("{source:?}")]);
        cause = source.source();
    }
    let shown = shown.join(" ");
    let list = format!("{:?}", key.expose_secret());
    assert!(!shown.contains(&hex::encode(key.expose_secret())), "the error shows the key");
    assert!(!shown.contains(list.trim_matches(['[', ']'])), "the error shows the key");
}
