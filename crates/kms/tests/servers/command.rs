//! A program as KMS.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use futures::future::join_all;
use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_interop::servers;
use lakelock_kms::conformance::{Subject, check};
use lakelock_kms::{CommandKms, ErrorKind, KMS_COMMAND, KeyManagementClient, KmsRegistry};
use serde_json::json;
use tempfile::TempDir;

use crate::faults::{HASTY, PATIENT, expect, waiting};

const ORDERS: &str = "30313233343536373839303132333435";
const PEOPLE: &str = "3031323334353637383930313233343536373839303132333435363738393031";

/// A program with two master keys.
struct Program {
    _folder: TempDir,
    words: Vec<String>,
}

impl Program {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys.json");
        fs::write(&keys, json!({"orders": ORDERS, "people": PEOPLE}).to_string()).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/servers/command_kms.py");
        let words = [servers::python(), script, keys].map(|path: PathBuf| path.to_str().unwrap().to_owned());
        Self { _folder: folder, words: words.to_vec() }
    }

    fn client(&self) -> CommandKms {
        CommandKms::new(self.words[0].clone(), self.words[1..].to_vec())
    }
}

#[tokio::test]
async fn behaves_as_every_client() {
    let program = Program::new();
    check(&Subject { client: &program.client(), key_ids: ["orders", "people"], missing_key_id: "Orders" }).await;
}

#[tokio::test]
async fn is_found_by_property_and_makes_keys_if_it_can() {
    let program = Program::new();
    let properties = HashMap::from([
        ("encryption.kms-impl".to_owned(), "command".to_owned()),
        (KMS_COMMAND.to_owned(), json!(program.words).to_string()),
    ]);
    let client = KmsRegistry::with_builtins().from_catalog_properties(&properties).unwrap().unwrap();
    for length in [KeyLength::Aes128, KeyLength::Aes192, KeyLength::Aes256] {
        let generated = client.generate_key(length, "orders").await.unwrap().unwrap();
        assert_eq!(generated.key.length(), length);
        assert!(client.unwrap_key(&generated.wrapped, "orders").await.unwrap() == generated.key);
    }
    let mut words = vec!["COMMAND_KMS_GENERATES_NOT=1".to_owned()];
    words.extend(program.words.clone());
    let client = CommandKms::new("env", words);
    assert!(client.generate_key(KeyLength::Aes128, "orders").await.unwrap().is_none());
    client.wrap_key(&SecretKey::generate(KeyLength::Aes128).unwrap(), "orders").await.unwrap();
}

#[tokio::test]
async fn each_failure_gives_its_error() {
    let program = Program::new();
    let [patient, hasty] = [PATIENT, HASTY].map(|time| waiting(program.client(), time));
    let cases = [
        ("kind-access-denied", ErrorKind::AccessDenied, "says: as wanted"),
        ("kind-credentials", ErrorKind::Credentials, "says: as wanted"),
        ("kind-disabled", ErrorKind::Disabled, "says: as wanted"),
        ("kind-invalid-input", ErrorKind::InvalidInput, "says: as wanted"),
        ("kind-not-found", ErrorKind::NotFound, "says: as wanted"),
        ("kind-throttled", ErrorKind::Throttled, "3 attempts"),
        ("kind-unreachable", ErrorKind::Unreachable, "3 attempts"),
        ("kind-unsupported", ErrorKind::Unsupported, "says: as wanted"),
        ("kind-wrong-key", ErrorKind::WrongKey, "says: as wanted"),
        ("kind-of-its-own", ErrorKind::Damaged, "unknown kind"),
        ("hangs", ErrorKind::Unreachable, "within 1 s"),
        ("floods", ErrorKind::Damaged, "cannot talk to"),
        ("crashes", ErrorKind::Damaged, "RuntimeError: the HSM is on fire"),
        ("shows-the-key", ErrorKind::Damaged, "ended with"),
        ("shows-the-cut-key", ErrorKind::Damaged, "ended with"),
        ("shows-the-key-in-an-error", ErrorKind::Damaged, ""),
        ("answers-and-fails", ErrorKind::Damaged, "messages are left out"),
        ("says-nothing", ErrorKind::Damaged, "ends too early"),
        ("says-no-json", ErrorKind::Damaged, "not JSON"),
        ("says-two-things", ErrorKind::Damaged, "not JSON"),
        ("says-half", ErrorKind::Damaged, "ends too early"),
        ("says-bad-base64", ErrorKind::Damaged, "not of the form"),
        ("says-a-short-key", ErrorKind::Damaged, ""),
        ("says-an-error-and-more", ErrorKind::Damaged, "an error and more"),
        ("lacks-the-answer", ErrorKind::Damaged, "has no"),
    ];
    join_all(cases.map(async |(how, expected, text)| {
        let client = if how == "hangs" { &hasty } else { &patient };
        for error in expect(client, None, &format!("fails:{how}"), expected, how).await {
            assert!(error.to_string().contains(text), "{how}: {error}");
            assert!(!error.to_string().contains("HRlc3Rz"), "{how}: {error}");
        }
    }))
    .await;
    let absent = waiting(CommandKms::new("/nowhere/kms", Vec::new()), PATIENT);
    expect(&absent, None, "orders", ErrorKind::InvalidInput, "no program").await;
}

#[test]
fn a_command_is_one_program_or_an_array_of_words() {
    for (value, is_fine) in [
        ("kms-client", true),
        ("/opt/my kms/client", true),
        (r#"["/opt/kms", "--profile", "a b"]"#, true),
        ("./client", false),
        ("", false),
        ("[]", false),
        (r#"[""]"#, false),
        (r#"["bin/kms"]"#, false),
        (r#"["kms", 1]"#, false),
        (r#"["kms""#, false),
    ] {
        let properties = HashMap::from([(KMS_COMMAND.to_owned(), value.to_owned())]);
        let outcome = CommandKms::from_properties(&properties);
        assert_eq!(outcome.is_ok(), is_fine, "{value}");
        if let Err(error) = outcome {
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains(KMS_COMMAND), "{error}");
        }
    }
}

/// The example of the guide.
#[tokio::test]
async fn the_program_of_the_guide_behaves_as_every_client() {
    let guide = include_str!("../../../../docs/guide/kms.md");
    let program = guide.split_once("```python\n").and_then(|(_, rest)| rest.split_once("```")).unwrap().0;
    assert!(program.contains("/etc/keys/"));
    let folder = tempfile::tempdir().unwrap();
    for (name, key) in [("orders", ORDERS), ("people", PEOPLE)] {
        fs::write(folder.path().join(name), hex::decode(key).unwrap()).unwrap();
    }
    let file = folder.path().join("program.py");
    fs::write(&file, program.replace("/etc/keys", folder.path().to_str().unwrap())).unwrap();
    let words = [servers::python(), file].map(|path| path.to_str().unwrap().to_owned());
    let client = CommandKms::new(words[0].clone(), vec![words[1].clone()]);
    check(&Subject { client: &client, key_ids: ["orders", "people"], missing_key_id: "Orders" }).await;
    assert!(client.generate_key(KeyLength::Aes128, "orders").await.unwrap().is_none());
}
