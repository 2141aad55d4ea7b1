//! AWS KMS when it fails.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::future::join_all;
use lakelock_cloud::aws::{Credentials, with_credentials};
use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_interop::faults::{Answer, FaultServer, nobody};
use lakelock_kms::{AwsKms, ErrorKind, KMS_ENDPOINT, KeyManagementClient, Remote};
use serde_json::{Value, json};

use crate::faults::{HASTY, KEY, PATIENT, expect, waiting};

const KEY_ID: &str = "alias/orders";

fn client(url: &str) -> Remote<AwsKms> {
    client_waiting(url, PATIENT)
}

fn client_waiting(url: &str, attempt_timeout: Duration) -> Remote<AwsKms> {
    let credentials = Credentials::new("testing", "testing", None, None, "test");
    let properties = HashMap::from([(KMS_ENDPOINT.to_owned(), url.to_owned())]);
    waiting(AwsKms::new(with_credentials("eu-west-1", credentials), &properties).unwrap(), attempt_timeout)
}

fn refusal(code: &str) -> Answer {
    Answer::json(400, &json!({"__type": code, "message": format!("the words of {code}")}))
}

fn success() -> Value {
    json!({"KeyId": KEY_ID, "CiphertextBlob": "d3JhcHBlZA==", "Plaintext": "YSBrZXkgZm9yIHRlc3RzIQ=="})
}

#[tokio::test]
async fn each_fault_gives_its_error_and_no_denial_is_repeated() {
    // It begins with the key.
    let half = br#"{"Plaintext": "YSBrZXkgZm9yIHRlc3RzIQ==", "Ciphertext"#.to_vec();
    let cases = [
        (refusal("AccessDeniedException"), ErrorKind::AccessDenied, "allow kms:"),
        (refusal("DependencyTimeoutException"), ErrorKind::Unreachable, "try again later"),
        (refusal("DisabledException"), ErrorKind::Disabled, "enable it"),
        (refusal("ExpiredTokenException"), ErrorKind::Credentials, "expired"),
        (refusal("IncorrectKeyException"), ErrorKind::WrongKey, "another master key"),
        (refusal("InvalidArnException"), ErrorKind::InvalidInput, "does not take"),
        (refusal("InvalidCiphertextException"), ErrorKind::WrongKey, "another master key"),
        (refusal("InvalidKeyUsageException"), ErrorKind::InvalidInput, "another type"),
        (refusal("InvalidSignatureException"), ErrorKind::Credentials, "clock"),
        (refusal("KMSInternalException"), ErrorKind::Unreachable, "try again later"),
        (refusal("KMSInvalidStateException"), ErrorKind::Disabled, "cancel its deletion"),
        (refusal("KeyUnavailableException"), ErrorKind::Unreachable, "try again later"),
        (refusal("NotFoundException"), ErrorKind::NotFound, "region"),
        (refusal("ThrottlingException"), ErrorKind::Throttled, "slow down"),
        (refusal("UnrecognizedClientException"), ErrorKind::Credentials, "does not accept"),
        (refusal("ValidationException"), ErrorKind::InvalidInput, "does not take"),
        (Answer::Full(403, b"<html>a proxy</html>".to_vec()), ErrorKind::AccessDenied, "denies"),
        (Answer::Full(429, Vec::new()), ErrorKind::Throttled, "slow down"),
        (Answer::Full(500, Vec::new()), ErrorKind::Unreachable, "try again later"),
        (Answer::json(503, &json!({"__type": "ServiceUnavailable"})), ErrorKind::Unreachable, "try again later"),
        (Answer::json(200, &success()).truncated(), ErrorKind::Unreachable, "broken off"),
        (Answer::Full(200, half), ErrorKind::Unreachable, "no answer of AWS KMS"),
        (Answer::json(200, &json!({})), ErrorKind::Damaged, "has no"),
        (Answer::Closed, ErrorKind::Unreachable, "cannot be reached"),
    ];
    join_all(cases.map(async |(answer, expected, text)| {
        let what = format!("{answer:?}");
        let server = FaultServer::start(move |_| answer.clone()).await;
        for error in expect(&client(&server.url()), Some(&server), KEY_ID, expected, &what).await {
            assert!(error.to_string().contains(text), "{what}: {error}");
        }
    }))
    .await;
    let server = FaultServer::start(|_| Answer::Nothing).await;
    let hasty = client_waiting(&server.url(), HASTY);
    let errors = expect(&hasty, Some(&server), KEY_ID, ErrorKind::Unreachable, "no answer").await;
    assert!(errors[0].to_string().contains("did not answer within 1 s (3 attempts in"), "{}", errors[0]);
    let errors = expect(&client(&nobody()), None, KEY_ID, ErrorKind::Unreachable, "nobody there").await;
    assert!(errors[0].to_string().contains("(3 attempts in"), "{}", errors[0]);
}

#[tokio::test]
async fn requests_are_those_of_java_and_a_fault_that_passes_is_forgotten() {
    let asked = AtomicUsize::new(0);
    let server = FaultServer::start(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => refusal("ThrottlingException"),
        1 => Answer::Closed,
        _ => Answer::json(200, &success()),
    })
    .await;
    let (client, key) = (client(&server.url()), SecretKey::new(&KEY).unwrap());
    assert_eq!(client.wrap_key(&key, KEY_ID).await.unwrap(), b"wrapped");
    assert!(client.unwrap_key(b"wrapped", KEY_ID).await.unwrap() == key);
    let generated = client.generate_key(KeyLength::Aes128, KEY_ID).await.unwrap().unwrap();
    assert!(generated.key == key && generated.wrapped == b"wrapped");
    let error = client.generate_key(KeyLength::Aes256, KEY_ID).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged, "a key of 16 bytes for one of 32");

    // Three attempts to wrap, and one each of the others. None has an encryption context.
    let requests = server.requests();
    let found: Vec<(&str, Value)> =
        requests.iter().map(|request| (request.header("x-amz-target").unwrap(), request.json())).collect();
    let encrypt =
        json!({"KeyId": KEY_ID, "Plaintext": "YSBrZXkgZm9yIHRlc3RzIQ==", "EncryptionAlgorithm": "SYMMETRIC_DEFAULT"});
    let decrypt =
        json!({"KeyId": KEY_ID, "CiphertextBlob": "d3JhcHBlZA==", "EncryptionAlgorithm": "SYMMETRIC_DEFAULT"});
    let generate = |bytes| json!({"KeyId": KEY_ID, "NumberOfBytes": bytes});
    let expected = [
        ("TrentService.Encrypt", encrypt.clone()),
        ("TrentService.Encrypt", encrypt.clone()),
        ("TrentService.Encrypt", encrypt),
        ("TrentService.Decrypt", decrypt),
        ("TrentService.GenerateDataKey", generate(16)),
        ("TrentService.GenerateDataKey", generate(32)),
    ];
    assert_eq!(found, expected);
}

/// The environment or a profile can name an endpoint as well.
#[tokio::test]
async fn no_key_goes_to_another_machine_by_plain_http() {
    let credentials = Credentials::new("testing", "testing", None, None, "test");
    let config = with_credentials("eu-west-1", credentials).into_builder();
    let config = config.endpoint_url("http://kms.example.com").build();
    let client = waiting(AwsKms::new(config, &HashMap::new()).unwrap(), PATIENT);
    for error in expect(&client, None, KEY_ID, ErrorKind::InvalidInput, "plain HTTP").await {
        assert!(error.to_string().contains("unprotected") && error.to_string().contains("kms.allow-http"), "{error}");
    }
}

#[tokio::test]
async fn what_aws_cannot_have_made_is_not_sent_to_it() {
    let server = FaultServer::start(|_| Answer::json(200, &success())).await;
    let client = client(&server.url());
    for length in [0, 6145] {
        let error = client.unwrap_key(&vec![7; length], KEY_ID).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged, "{error}");
    }
    assert!(server.requests().is_empty());
}
