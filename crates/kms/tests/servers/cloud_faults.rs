//! Google Cloud KMS and Azure Key Vault when they fail.

use std::collections::HashMap;
use std::time::Duration;

use futures::future::join_all;
use lakelock_crypto::SecretKey;
use lakelock_interop::faults::{Answer, FaultServer, nobody};
use lakelock_kms::{AzureKms, ErrorKind, GcpKms, KeyManagementClient, Remote};
use serde_json::{Value, json};

use crate::faults::{HASTY, KEY, PATIENT, expect, waiting};

const GOOGLE_KEY: &str = "projects/p/locations/l/keyRings/r/cryptoKeys/orders";
const AZURE_KEY: &str = "orders/0123456789abcdef";
/// CRC-32C of `wrapped` and of the key, made by another implementation.
const SUM_OF_WRAPPED: &str = "1098444173";
const SUM_OF_KEY: &str = "2167739765";

fn google(url: &str, time: Duration) -> Remote<GcpKms> {
    let pairs = [("kms.endpoint", url), ("gcs.oauth2.token", "t0ken")];
    waiting(GcpKms::from_properties(&properties(&pairs)).unwrap(), time)
}

fn azure(url: &str, time: Duration) -> Remote<AzureKms> {
    let pairs = [("azure.keyvault.url", url), ("azure.keyvault.token", "t0ken")];
    waiting(AzureKms::from_properties(&properties(&pairs)).unwrap(), time)
}

fn properties(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// What a service in good order says, to either operation.
fn google_success() -> Value {
    json!({
        "name": format!("{GOOGLE_KEY}/cryptoKeyVersions/7"),
        "ciphertext": "d3JhcHBlZA==",
        "ciphertextCrc32c": SUM_OF_WRAPPED,
        "verifiedPlaintextCrc32c": true,
        "plaintext": "YSBrZXkgZm9yIHRlc3RzIQ==",
        "plaintextCrc32c": SUM_OF_KEY,
    })
}

fn azure_success() -> Value {
    json!({"kid": "https://v.vault.azure.net/keys/orders/0123456789abcdef", "value": "YSBrZXkgZm9yIHRlc3RzIQ"})
}

/// The success with a field changed.
fn but(mut success: Value, field: &str, value: Value) -> Answer {
    success[field] = value;
    Answer::json(200, &success)
}

fn common(success: &Value) -> Vec<(Answer, ErrorKind, &'static str)> {
    vec![
        (Answer::Full(403, b"<html>a proxy</html>".to_vec()), ErrorKind::AccessDenied, "403"),
        (Answer::Full(401, Vec::new()), ErrorKind::Credentials, "401"),
        (Answer::Full(302, Vec::new()), ErrorKind::InvalidInput, "redirects"),
        (Answer::Full(429, Vec::new()), ErrorKind::Throttled, "429"),
        (Answer::Full(500, Vec::new()), ErrorKind::Unreachable, "500"),
        (Answer::Full(503, Vec::new()), ErrorKind::Unreachable, "503"),
        (Answer::json(200, success).truncated(), ErrorKind::Unreachable, "cut off"),
        (Answer::Full(200, b"{\"name".to_vec()), ErrorKind::Damaged, "ends too early"),
        (Answer::json(200, &json!({})), ErrorKind::Damaged, "not of the form"),
        (Answer::Full(200, vec![b' '; 100_000]), ErrorKind::Damaged, "longer than"),
        (Answer::Closed, ErrorKind::Unreachable, "no answer"),
    ]
}

#[tokio::test]
async fn each_fault_of_google_gives_its_error_and_no_denial_is_repeated() {
    let refusal = |status, code: &str| {
        Answer::json(
            u16::try_from(status).unwrap(),
            &json!({"error": {"code": status, "status": code, "message": "words"}}),
        )
    };
    let mut cases = common(&google_success());
    cases.extend([
        (refusal(400, "FAILED_PRECONDITION"), ErrorKind::Disabled, "words"),
        (refusal(401, "UNAUTHENTICATED"), ErrorKind::Credentials, "words"),
        (refusal(403, "PERMISSION_DENIED"), ErrorKind::AccessDenied, "cryptoKeyEncrypterDecrypter"),
        (refusal(404, "NOT_FOUND"), ErrorKind::NotFound, "check the key's name"),
        (refusal(429, "RESOURCE_EXHAUSTED"), ErrorKind::Throttled, "words"),
        (refusal(504, "DEADLINE_EXCEEDED"), ErrorKind::Unreachable, "words"),
    ]);
    join_all(cases.into_iter().map(async |(answer, expected, text)| {
        let what = format!("{answer:?}").chars().take(80).collect::<String>();
        let server = FaultServer::start(move |_| answer.clone()).await;
        for error in expect(&google(&server.url(), PATIENT), Some(&server), GOOGLE_KEY, expected, &what).await {
            let shown = format!("{error:?}");
            assert!(shown.contains(text) && !shown.contains("t0ken"), "{what}: {shown}");
        }
    }))
    .await;
    // Not beside the others, which keep this thread busy.
    let server = FaultServer::start(|_| Answer::Nothing).await;
    expect(&google(&server.url(), HASTY), Some(&server), GOOGLE_KEY, ErrorKind::Unreachable, "no answer").await;
    expect(&google(&nobody(), PATIENT), None, GOOGLE_KEY, ErrorKind::Unreachable, "nobody there").await;
}

#[tokio::test]
async fn each_fault_of_azure_gives_its_error_and_no_denial_is_repeated() {
    let refusal = |status, code: &str, inner: &str| {
        let error = json!({"code": code, "message": "words", "innererror": {"code": inner}});
        Answer::json(status, &json!({"error": error}))
    };
    let mut cases = common(&azure_success());
    cases.extend([
        (refusal(401, "Unauthorized", ""), ErrorKind::Credentials, "tenant"),
        (refusal(403, "Forbidden", "ForbiddenByRbac"), ErrorKind::AccessDenied, "Crypto Service Encryption User"),
        (refusal(403, "Forbidden", "ForbiddenByFirewall"), ErrorKind::AccessDenied, "firewall"),
        (refusal(403, "Forbidden", "KeyDisabled"), ErrorKind::Disabled, "enable"),
        (refusal(404, "KeyNotFound", ""), ErrorKind::NotFound, "azure.keyvault.url"),
        (refusal(409, "Conflict", "ObjectIsDeletedButRecoverable"), ErrorKind::Disabled, "recover"),
        (refusal(429, "Throttled", ""), ErrorKind::Throttled, "words"),
        (
            but(azure_success(), "kid", json!("https://v/keys/people/0123456789abcdef")),
            ErrorKind::Damaged,
            "another key",
        ),
        (
            but(azure_success(), "kid", json!("https://v/keys/orders/fedcba9876543210")),
            ErrorKind::Damaged,
            "another key",
        ),
        (but(azure_success(), "value", json!("a+b/")), ErrorKind::Damaged, "not of the form"),
    ]);
    join_all(cases.into_iter().map(async |(answer, expected, text)| {
        let what = format!("{answer:?}").chars().take(80).collect::<String>();
        let server = FaultServer::start(move |_| answer.clone()).await;
        for error in expect(&azure(&server.url(), PATIENT), Some(&server), AZURE_KEY, expected, &what).await {
            let shown = format!("{error:?}");
            assert!(shown.contains(text) && !shown.contains("t0ken"), "{what}: {shown}");
        }
    }))
    .await;
    // Not beside the others, which keep this thread busy.
    let server = FaultServer::start(|_| Answer::Nothing).await;
    expect(&azure(&server.url(), HASTY), Some(&server), AZURE_KEY, ErrorKind::Unreachable, "no answer").await;
    expect(&azure(&nobody(), PATIENT), None, AZURE_KEY, ErrorKind::Unreachable, "nobody there").await;
}

#[tokio::test]
async fn google_damages_no_key_unnoticed() {
    let key = SecretKey::new(&KEY).unwrap();
    let success = FaultServer::start(|_| Answer::json(200, &google_success())).await;
    let client = google(&success.url(), PATIENT);
    assert_eq!(client.wrap_key(&key, GOOGLE_KEY).await.unwrap(), b"wrapped");
    assert!(client.unwrap_key(b"wrapped", GOOGLE_KEY).await.unwrap() == key);
    let [wrap, unwrap] = <[_; 2]>::try_from(success.requests()).unwrap();
    assert_eq!(
        (wrap.path.as_str(), wrap.header("authorization")),
        (&*format!("/v1/{GOOGLE_KEY}:encrypt"), Some("Bearer t0ken"))
    );
    // Nothing but these: an AAD would lock Java out.
    assert_eq!(wrap.json(), json!({"plaintext": "YSBrZXkgZm9yIHRlc3RzIQ==", "plaintextCrc32c": SUM_OF_KEY}));
    assert_eq!(unwrap.json(), json!({"ciphertext": "d3JhcHBlZA==", "ciphertextCrc32c": SUM_OF_WRAPPED}));

    // A project may be named otherwise in the answer.
    let by_number = format!("projects/7/{}/cryptoKeyVersions/1", GOOGLE_KEY.split_once("/p/").unwrap().1);
    let server = FaultServer::start(move |_| but(google_success(), "name", json!(by_number))).await;
    google(&server.url(), PATIENT).wrap_key(&key, GOOGLE_KEY).await.unwrap();

    let cases = [
        ("verifiedPlaintextCrc32c", json!(false), "wrap", ErrorKind::Unreachable),
        ("ciphertextCrc32c", json!("1"), "wrap", ErrorKind::Unreachable),
        ("ciphertext", json!("d3JhcHBlZB=="), "wrap", ErrorKind::Damaged),
        (
            "name",
            json!("projects/p/locations/l/keyRings/r/cryptoKeys/people/cryptoKeyVersions/1"),
            "wrap",
            ErrorKind::Damaged,
        ),
        ("plaintextCrc32c", json!("1"), "unwrap", ErrorKind::Unreachable),
        ("plaintextCrc32c", json!("-1"), "unwrap", ErrorKind::Damaged),
        ("plaintextCrc32c", Value::Null, "unwrap", ErrorKind::Damaged),
    ];
    let key = &key;
    join_all(cases.into_iter().map(async |(field, value, operation, expected)| {
        let what = format!("{field}={value}");
        let server = FaultServer::start(move |_| but(google_success(), field, value.clone())).await;
        let client = google(&server.url(), PATIENT);
        let outcome = match operation {
            "wrap" => client.wrap_key(key, GOOGLE_KEY).await.map(|_| ()),
            _ => client.unwrap_key(b"wrapped", GOOGLE_KEY).await.map(|_| ()),
        };
        assert_eq!(outcome.unwrap_err().kind(), expected, "{what}");
    }))
    .await;
}

#[tokio::test]
async fn azure_is_asked_as_java_asks() {
    let key = SecretKey::new(&KEY).unwrap();
    let server = FaultServer::start(|_| Answer::json(200, &azure_success())).await;
    let client = azure(&server.url(), PATIENT);
    assert_eq!(client.wrap_key(&key, AZURE_KEY).await.unwrap(), KEY);
    assert!(client.unwrap_key(b"wrapped", "orders").await.unwrap() == key);
    let [wrap, unwrap] = <[_; 2]>::try_from(server.requests()).unwrap();
    assert_eq!(wrap.path, "/keys/orders/0123456789abcdef/wrapkey?api-version=7.4");
    assert_eq!(wrap.json(), json!({"alg": "RSA-OAEP-256", "value": "YSBrZXkgZm9yIHRlc3RzIQ"}));
    assert_eq!(unwrap.path, "/keys/orders/unwrapkey?api-version=7.4");
    assert_eq!(unwrap.json(), json!({"alg": "RSA-OAEP-256", "value": "d3JhcHBlZA"}));
    assert_eq!(wrap.header("authorization"), Some("Bearer t0ken"));
}
