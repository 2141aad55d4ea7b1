//! Vault when it fails, and logins that no local server has.

use std::collections::HashMap;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use lakelock_crypto::SecretKey;
use lakelock_interop::faults::{Answer, FaultServer, Request, nobody};
use lakelock_kms::{ErrorKind, KeyManagementClient, Remote, VaultKms};
use serde_json::json;
use tempfile::TempDir;

use crate::faults::{ATTEMPTS, HASTY, KEY, PATIENT, expect, waiting};

const WRAPPED: &[u8] = b"vault:v1:d3JhcHBlZA==";

struct Client {
    _folder: TempDir,
    kms: Remote<VaultKms>,
}

fn client(url: &str, time: Duration, more: &[(&str, &str)]) -> Client {
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret");
    fs::write(&secret, "s3cret").unwrap();
    let secret = secret.to_str().unwrap();
    let mut properties = HashMap::from([("vault.address".to_owned(), url.to_owned())]);
    if more.is_empty() {
        properties.insert("vault.token-file".to_owned(), secret.to_owned());
    }
    properties.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.replace("SECRET", secret))));
    let kms = waiting(VaultKms::from_properties(&properties).unwrap(), time);
    Client { _folder: folder, kms }
}

fn is_operation(request: &Request) -> bool {
    request.path.starts_with("/v1/transit/encrypt/") || request.path.starts_with("/v1/transit/decrypt/")
}

/// What a server in good order says.
fn healthy(request: &Request) -> Answer {
    let data = match request.path.as_str() {
        "/v1/auth/token/lookup-self" => json!({"ttl": 0, "renewable": false}),
        "/v1/transit/keys/orders" => json!({"type": "aes256-gcm96", "supports_encryption": true}),
        _ => json!({"ciphertext": "vault:v1:d3JhcHBlZA==", "plaintext": "YSBrZXkgZm9yIHRlc3RzIQ=="}),
    };
    Answer::json(200, &json!({"data": data}))
}

/// As [`expect`], where only the operation itself fails, which other requests come before.
async fn expect_of(fault: Answer, time: Duration, expected: ErrorKind, text: &str) {
    let what = format!("{fault:?}").chars().take(80).collect::<String>();
    let key = SecretKey::new(&KEY).unwrap();
    let server = FaultServer::start(move |r| if is_operation(r) { fault.clone() } else { healthy(r) }).await;
    let client = client(&server.url(), time, &[]);
    let asked = || server.requests().iter().filter(|r| is_operation(r)).count();
    for operation in ["wrap", "unwrap"] {
        let before = asked();
        let outcome = match operation {
            "wrap" => client.kms.wrap_key(&key, "orders").await.map(|_| ()),
            _ => client.kms.unwrap_key(WRAPPED, "orders").await.map(|_| ()),
        };
        let error = outcome.unwrap_err();
        let shown = format!("{error:?}");
        assert_eq!(error.kind(), expected, "{what}, {operation}: {shown}");
        assert!(shown.contains("orders") && shown.contains(operation) && shown.contains(text), "{what}: {shown}");
        for secret in ["a key for tests!", "YSBrZXkg", "s3cret"] {
            assert!(!shown.contains(secret), "{what}: {shown}");
        }
        let due = if expected.is_retryable() { ATTEMPTS } else { 1 };
        assert_eq!(asked() - before, due, "{what}, {operation}");
    }
}

#[tokio::test]
async fn each_fault_gives_its_error_and_no_denial_is_repeated() {
    let refusal = |status, text: &str| Answer::json(status, &json!({"errors": [text]}));
    let success = healthy(&Request { method: String::new(), path: String::new(), headers: vec![], body: vec![] });
    let cases = [
        (refusal(403, "permission denied"), ErrorKind::AccessDenied, "policies"),
        (refusal(404, "no handler for route"), ErrorKind::NotFound, "no handler for route"),
        (refusal(405, "unsupported operation"), ErrorKind::InvalidInput, "405"),
        (refusal(412, "required index state not present"), ErrorKind::Unreachable, "try again later"),
        (refusal(429, "rate limit quota exceeded"), ErrorKind::Throttled, "429"),
        (refusal(500, "internal error"), ErrorKind::Unreachable, "internal error"),
        (refusal(503, "Vault is sealed"), ErrorKind::Unreachable, "unseal"),
        (Answer::Full(502, b"<html>a proxy</html>".to_vec()), ErrorKind::Unreachable, "502"),
        (Answer::Full(307, Vec::new()), ErrorKind::InvalidInput, "redirects"),
        (success.clone().truncated(), ErrorKind::Unreachable, "cut off"),
        (Answer::Full(200, b"{\"data\":{".to_vec()), ErrorKind::Damaged, "ends too early"),
        (Answer::json(200, &json!({"data": {}})), ErrorKind::Damaged, "not of the form"),
        (Answer::json(200, &json!({"data": {"ciphertext": "c", "plaintext": "cA=="}})), ErrorKind::Damaged, ""),
        (Answer::Full(200, vec![b' '; 100_000]), ErrorKind::Damaged, "longer than"),
        (Answer::Closed, ErrorKind::Unreachable, "no answer"),
    ];
    join_all(cases.into_iter().map(|(fault, expected, text)| expect_of(fault, PATIENT, expected, text))).await;
    // Not beside the others, which keep this thread busy.
    expect_of(Answer::Nothing, 2 * HASTY, ErrorKind::Unreachable, "within 2 s").await;
    expect(&client(&nobody(), PATIENT, &[]).kms, None, "orders", ErrorKind::Unreachable, "nobody there").await;
}

#[tokio::test]
async fn a_pod_logs_in_by_its_service_account() {
    let logins = AtomicUsize::new(0);
    let server = FaultServer::start(move |request| match request.path.as_str() {
        "/v1/auth/k8s/login" if request.json() == json!({"role": "lakelock", "jwt": "s3cret"}) => {
            let token = format!("token-{}", logins.fetch_add(1, Ordering::SeqCst));
            Answer::json(200, &json!({"auth": {"client_token": token, "lease_duration": 3600, "renewable": true}}))
        }
        "/v1/auth/token/lookup-self" => Answer::json(403, &json!({"errors": ["permission denied"]})),
        _ if request.header("x-vault-token") == Some("token-1") => healthy(request),
        _ => Answer::json(403, &json!({"errors": ["permission denied"]})),
    })
    .await;
    let properties = [
        ("vault.auth", "kubernetes"),
        ("vault.auth-mount", "k8s"),
        ("vault.role", "lakelock"),
        ("vault.jwt-file", "SECRET"),
        ("vault.namespace", "team/a"),
    ];
    let client = client(&server.url(), PATIENT, &properties);
    // The first token is refused at once: a second login does it, and its token is kept.
    let key = client.kms.unwrap_key(WRAPPED, "orders").await.unwrap();
    assert_eq!(key.expose_secret(), KEY);
    client.kms.unwrap_key(WRAPPED, "orders").await.unwrap();
    let requests = server.requests();
    assert_eq!(requests.iter().filter(|request| request.path.ends_with("/login")).count(), 2);
    for request in &requests {
        assert_eq!(request.header("x-vault-namespace"), Some("team/a"));
        assert_eq!(request.header("x-vault-request"), Some("true"));
    }
}

#[test]
fn properties_that_make_no_sense_are_named() {
    let base = [("vault.address", "https://vault.example.com")];
    for (more, text) in [
        (vec![("vault.address", "vault.example.com")], "vault.address"),
        (vec![("vault.address", "http://vault.example.com")], "https"),
        (vec![("vault.mount", "../sys")], "vault.mount"),
        (vec![("vault.auth", "ldap")], "vault.auth"),
        (vec![("vault.auth", "approle")], "vault.role-id"),
        (vec![("vault.auth", "approle"), ("vault.role-id", "r")], "vault.secret-id-file"),
        (vec![("vault.auth", "kubernetes")], "vault.role"),
        (vec![("vault.token-env", "A"), ("vault.token-file", "b")], "not both"),
        (vec![("vault.namespace", "a\nb")], "vault.namespace"),
    ] {
        let pairs = base.iter().chain(&more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let error = VaultKms::from_properties(&pairs.collect()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{more:?}");
        assert!(error.to_string().contains(text), "{more:?}: {error}");
    }
}
