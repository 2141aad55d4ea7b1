//! Google Cloud KMS and Azure Key Vault, as a local stub has them: over TLS, with real cryptography.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use futures::future::join_all;
use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_interop::servers::Clouds;
use lakelock_kms::conformance::{Subject, check};
use lakelock_kms::{AzureKms, Error, ErrorKind, GcpKms, KeyManagementClient, KmsRegistry};
use serde_json::json;
use tempfile::TempDir;

use crate::faults::{PATIENT, waiting};

const RING: &str = "projects/lakelock/locations/test/keyRings/ring/cryptoKeys/";

struct Stub {
    folder: TempDir,
    clouds: Clouds,
}

impl Stub {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clouds = Clouds::start(folder.path());
        Self { folder, clouds }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn properties(&self, more: &[(&str, &str)]) -> HashMap<String, String> {
        let mut all = HashMap::from([
            ("kms.endpoint".to_owned(), self.clouds.url().to_owned()),
            ("azure.keyvault.url".to_owned(), self.clouds.url().to_owned()),
            ("kms.ca-file".to_owned(), self.file("ca.pem")),
        ]);
        all.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        all
    }

    fn google(&self, token: &str) -> GcpKms {
        GcpKms::from_properties(&self.properties(&[("gcs.oauth2.token", token)])).unwrap()
    }

    fn azure(&self, token: &str) -> AzureKms {
        AzureKms::from_properties(&self.properties(&[("azure.keyvault.token", token)])).unwrap()
    }

    async fn rotate(&self, name: &str) {
        let ca = reqwest::Certificate::from_pem(&fs::read(self.file("ca.pem")).unwrap()).unwrap();
        let client = reqwest::Client::builder().add_root_certificate(ca).build().unwrap();
        let answer = client.post(format!("{}/test/rotate/{name}", self.clouds.url())).send().await.unwrap();
        assert!(answer.status().is_success());
    }
}

fn key() -> SecretKey {
    SecretKey::generate(KeyLength::Aes256).unwrap()
}

fn kind<T>(outcome: Result<T, Error>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

#[tokio::test]
async fn google_behaves_as_every_client() {
    let stub = Stub::start();
    let client = stub.google("google-token");
    let [orders, people, missing] = ["orders", "people", "Orders"].map(|name| format!("{RING}{name}"));
    check(&Subject { client: &client, key_ids: [&orders, &people], missing_key_id: &missing }).await;
    assert!(client.generate_key(KeyLength::Aes128, &orders).await.unwrap().is_none());
    for id in [
        "orders",
        &format!("{orders}/cryptoKeyVersions/1"),
        &format!("/{orders}"),
        &orders.replace("lakelock", ".."),
        &orders.replace("lakelock", "a?b"),
        &orders.replace("keyRings", "rings"),
    ] {
        assert_eq!(kind(client.wrap_key(&key(), id).await), Some(ErrorKind::InvalidInput), "{id}");
    }
}

#[tokio::test]
async fn azure_behaves_as_every_client() {
    let stub = Stub::start();
    let client = stub.azure("azure-token");
    check(&Subject { client: &client, key_ids: ["orders", "people"], missing_key_id: "nobodys" }).await;
    for id in ["", "orders/", "orders/1/2", "a b", "../secrets", "orders?x"] {
        assert_eq!(kind(client.wrap_key(&key(), id).await), Some(ErrorKind::InvalidInput), "{id}");
    }
}

#[tokio::test]
async fn what_a_cloud_refuses_is_named() {
    let stub = Stub::start();
    let key = key();
    let states = [
        ("disabled", ErrorKind::Disabled),
        ("throttled", ErrorKind::Throttled),
        ("broken", ErrorKind::Unreachable),
        ("none", ErrorKind::NotFound),
    ];
    let (google, azure) = (waiting(stub.google("google-token"), PATIENT), waiting(stub.azure("azure-token"), PATIENT));
    join_all(states.map(async |(name, expected)| {
        let error = google.wrap_key(&key, &format!("{RING}{name}")).await.unwrap_err();
        assert_eq!(error.kind(), expected, "{error:?}");
        assert_eq!(kind(google.unwrap_key(&[1; 64], &format!("{RING}{name}")).await), Some(expected));
        let error = azure.wrap_key(&key, name).await.unwrap_err();
        assert_eq!(error.kind(), expected, "{error:?}");
        assert_eq!(kind(azure.unwrap_key(&[1; 256], name).await), Some(expected));
    }))
    .await;
    let orders = format!("{RING}orders");
    for (user, expected) in [("reader", ErrorKind::AccessDenied), ("nobody", ErrorKind::Credentials)] {
        let token = format!("google-{user}");
        let error = stub.google(&token).wrap_key(&key, &orders).await.unwrap_err();
        assert!(error.kind() == expected && !format!("{error:?}").contains(&token), "{error:?}");
        let token = format!("azure-{user}");
        let error = stub.azure(&token).wrap_key(&key, "orders").await.unwrap_err();
        assert!(error.kind() == expected && !format!("{error:?}").contains(&token), "{error:?}");
    }
    let foreign = [("azure.keyvault.token", "azure-token"), ("kms.ca-file", "")];
    let client = AzureKms::from_properties(&stub.properties(&foreign)).unwrap();
    let error = client.wrap_key(&key, "orders").await.unwrap_err();
    assert!(error.kind() == ErrorKind::Unreachable && format!("{error:?}").contains("certificate"), "{error:?}");
    let other = [("azure.keyvault.token", "azure-token"), ("azure.keyvault.key-wrap-algorithm", "RSA1_5")];
    assert_eq!(kind(AzureKms::from_properties(&stub.properties(&other))), Some(ErrorKind::Unsupported));
}

#[tokio::test]
async fn an_azure_key_survives_rotation_by_its_name_and_by_its_version() {
    let stub = Stub::start();
    let client = stub.azure("azure-token");
    let key = key();
    let wrapped = client.wrap_key(&key, "orders").await.unwrap();
    stub.rotate("orders").await;
    let newer = client.wrap_key(&key, "orders").await.unwrap();
    stub.rotate("orders").await;
    for wrapped in [&wrapped, &newer] {
        assert!(client.unwrap_key(wrapped, "orders").await.unwrap() == key);
    }
    assert_eq!(kind(client.unwrap_key(&wrapped, "people").await), Some(ErrorKind::WrongKey));
    assert_eq!(kind(client.wrap_key(&key, "orders/0123456789abcdef").await), Some(ErrorKind::NotFound));
}

/// Each chain of credentials, in a process with its environment.
#[test]
fn finds_the_credentials_of_a_platform() {
    let stub = Stub::start();
    let metadata = fs::read_to_string(stub.file("metadata-url")).unwrap();
    let assertion = stub.file("assertion");
    fs::write(&assertion, "azure-assertion").unwrap();
    let tools = stub.folder.path().join("tools");
    fs::create_dir(&tools).unwrap();
    let az = tools.join("az");
    let answer = json!({"accessToken": "azure-token", "expires_on": 9_999_999_999_u64, "tokenType": "Bearer"});
    fs::write(&az, format!("#!/bin/sh\necho '{answer}'\n")).unwrap();
    fs::set_permissions(&az, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", tools.display());
    let (ca, account) = (stub.file("ca.pem"), stub.file("service-account.json"));
    let principal = [("AZURE_TENANT_ID", "tenant"), ("AZURE_CLIENT_ID", "client"), ("SSL_CERT_FILE", ca.as_str())];
    let authority = ("AZURE_AUTHORITY_HOST", stub.clouds.url());
    let identity = format!("{metadata}/msi/token");
    let metadata_host = metadata.trim_start_matches("http://");
    let with = |more: &[(&'static str, &str)]| -> Vec<(&'static str, String)> {
        more.iter().map(|(name, value)| (*name, (*value).to_owned())).collect()
    };
    let principal_with = |more: &[(&'static str, &str)]| with(&[principal.as_slice(), &[authority], more].concat());
    for (kms, environment, expected) in [
        ("gcp", with(&[("GOOGLE_APPLICATION_CREDENTIALS", &account)]), "fine"),
        ("gcp", with(&[("GCE_METADATA_HOST", metadata_host)]), "fine"),
        ("gcp", with(&[("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere")]), "Credentials"),
        ("gcp", with(&[("GCE_METADATA_HOST", "127.0.0.1:1")]), "Unreachable"),
        ("azure", principal_with(&[("AZURE_CLIENT_SECRET", "azure-secret")]), "fine"),
        ("azure", principal_with(&[("AZURE_CLIENT_SECRET", "other-secret")]), "Credentials"),
        ("azure", principal_with(&[("AZURE_FEDERATED_TOKEN_FILE", &assertion)]), "fine"),
        ("azure", principal_with(&[("AZURE_CLIENT_CERTIFICATE_PATH", "/a.pem")]), "Unsupported"),
        ("azure", with(&[("IDENTITY_ENDPOINT", &identity), ("IDENTITY_HEADER", "azure-identity")]), "fine"),
        ("azure", with(&[("PATH", &path), ("AZURE_TOKEN_CREDENTIALS", "AzureCliCredential")]), "fine"),
        ("azure", with(&[("PATH", "/nowhere"), ("AZURE_TOKEN_CREDENTIALS", "dev")]), "Credentials"),
    ] {
        let properties = stub.properties(&[("encryption.kms-type", kms)]);
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", "clouds::in_an_environment", "--ignored", "--nocapture"])
            .env_clear()
            .env("HOME", stub.folder.path())
            .env(PROPERTIES, json!(properties).to_string())
            .envs(environment.iter().map(|(name, value)| (*name, value)))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let shown = format!("{kms} {environment:?}: {text} {}", String::from_utf8_lossy(&output.stderr));
        assert!(text.contains(&format!("outcome: {expected}\n")), "{shown}");
        assert!(!text.contains("other-secret"), "{shown}");
    }
}

const PROPERTIES: &str = "LAKELOCK_TEST_PROPERTIES";

#[tokio::test]
#[ignore = "run by finds_the_credentials_of_a_platform"]
async fn in_an_environment() {
    let properties: HashMap<String, String> = serde_json::from_str(&env::var(PROPERTIES).unwrap()).unwrap();
    let id = match properties["encryption.kms-type"].as_str() {
        "gcp" => format!("{RING}orders"),
        _ => "orders".to_owned(),
    };
    let client = KmsRegistry::with_builtins().from_catalog_properties(&properties).unwrap().unwrap();
    let key = key();
    let outcome = async {
        let wrapped = client.wrap_key(&key, &id).await?;
        // The second time with the token of the first.
        client.unwrap_key(&wrapped, &id).await
    };
    match outcome.await {
        Ok(unwrapped) => println!("outcome: {}", if unwrapped == key { "fine" } else { "another key" }),
        Err(error) => println!("{error:?}\noutcome: {:?}", error.kind()),
    }
}
