//! Vault's Transit engine, as OpenBao has it.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_interop::servers::OpenBao;
use lakelock_kms::conformance::{Subject, check};
use lakelock_kms::{ErrorKind, KeyManagementClient, Result, VaultKms};
use reqwest::{Certificate, Client, Method};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server with the Transit keys `orders` and `people`.
struct Vault {
    folder: TempDir,
    bao: OpenBao,
    admin: Client,
}

impl Vault {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bao = OpenBao::start(folder.path());
        let ca = Certificate::from_pem(&fs::read(bao.ca_file()).unwrap()).unwrap();
        let admin = Client::builder().tls_built_in_root_certs(false).add_root_certificate(ca).build().unwrap();
        let vault = Self { folder, bao, admin };
        vault.post("sys/mounts/transit", json!({"type": "transit"})).await;
        vault.post("transit/keys/orders", json!({})).await;
        vault.post("transit/keys/people", json!({"type": "chacha20-poly1305"})).await;
        vault
    }

    async fn admin(&self, method: Method, path: &str, body: Value, namespace: &str) -> (u16, Value) {
        let request = self.admin.request(method, format!("{}/v1/{path}", self.bao.url()));
        let request = request.header("X-Vault-Token", OpenBao::ROOT_TOKEN).header("X-Vault-Namespace", namespace);
        let response = request.json(&body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap_or_default())
    }

    async fn post(&self, path: &str, body: Value) -> Value {
        let (status, answer) = self.admin(Method::POST, path, body, "").await;
        assert!(status < 300, "{path}: {status} {answer}");
        answer
    }

    async fn has_key(&self, name: &str) -> bool {
        self.admin(Method::GET, &format!("transit/keys/{name}"), Value::Null, "").await.0 == 200
    }

    /// A file with a token of the policies.
    async fn token(&self, file: &str, policies: &[(&str, &str)], more: Value) -> String {
        let rules: Vec<String> = policies
            .iter()
            .map(|(path, capability)| format!("path \"transit/{path}\" {{ capabilities = [\"{capability}\"] }}"))
            .collect();
        self.post(&format!("sys/policies/acl/{file}"), json!({"policy": rules.join("\n")})).await;
        let mut request = json!({"policies": [file]});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = self.post("auth/token/create", request).await;
        self.secret(file, answer["auth"]["client_token"].as_str().unwrap())
    }

    fn secret(&self, file: &str, text: &str) -> String {
        let path: PathBuf = self.folder.path().join(file);
        fs::write(&path, format!("{text}\n")).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn client(&self, properties: &[(&str, &str)]) -> VaultKms {
        let root = self.secret("root", OpenBao::ROOT_TOKEN);
        let mut all = HashMap::from([
            ("vault.address".to_owned(), self.bao.url().to_owned()),
            ("vault.ca-file".to_owned(), self.bao.ca_file().to_str().unwrap().to_owned()),
        ]);
        if !properties.iter().any(|(name, _)| *name == "vault.auth") {
            all.insert("vault.token-file".to_owned(), root);
        }
        all.extend(properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        VaultKms::from_properties(&all).unwrap()
    }
}

const MAY_USE: [(&str, &str); 2] = [("encrypt/*", "update"), ("decrypt/*", "update")];

fn key() -> SecretKey {
    SecretKey::generate(KeyLength::Aes256).unwrap()
}

fn kind<T>(outcome: Result<T>) -> (Option<ErrorKind>, String) {
    match outcome {
        Ok(_) => (None, String::new()),
        Err(error) => (Some(error.kind()), format!("{error:?}")),
    }
}

#[tokio::test]
async fn behaves_as_every_client_and_makes_no_key_by_mistake() {
    let vault = Vault::start().await;
    let client = vault.client(&[]);
    check(&Subject { client: &client, key_ids: ["orders", "people"], missing_key_id: "order" }).await;
    assert!(!vault.has_key("order").await, "the root token made a key");

    for length in [KeyLength::Aes128, KeyLength::Aes256] {
        let generated = client.generate_key(length, "orders").await.unwrap().unwrap();
        assert_eq!(generated.key.length(), length);
    }
    assert!(client.generate_key(KeyLength::Aes192, "orders").await.unwrap().is_none());
    assert_eq!(kind(client.generate_key(KeyLength::Aes128, "order").await).0, Some(ErrorKind::NotFound));
    for id in ["", ".", "..", "../sys", "a/b", "a?b", "a b", "\u{e9}"] {
        let (found, text) = kind(client.wrap_key(&key(), id).await);
        assert_eq!(found, Some(ErrorKind::InvalidInput), "{id:?}: {text}");
    }
}

#[tokio::test]
async fn a_wrapped_key_is_the_text_of_the_server_and_survives_rotation_as_far_as_the_key_says() {
    let vault = Vault::start().await;
    let client = vault.client(&[]);
    let key = key();
    let wrapped = client.wrap_key(&key, "orders").await.unwrap();
    let text = String::from_utf8(wrapped.clone()).unwrap();
    assert!(text.starts_with("vault:v1:"), "{text}");

    vault.post("transit/keys/orders/rotate", json!({})).await;
    assert!(client.unwrap_key(&wrapped, "orders").await.unwrap() == key);
    let newer = client.wrap_key(&key, "orders").await.unwrap();
    assert!(newer.starts_with(b"vault:v2:"));
    let rewrapped = vault.post("transit/rewrap/orders", json!({"ciphertext": text})).await;
    let rewrapped = rewrapped["data"]["ciphertext"].as_str().unwrap().as_bytes();
    assert!(rewrapped.starts_with(b"vault:v2:") && client.unwrap_key(rewrapped, "orders").await.unwrap() == key);

    vault.post("transit/keys/orders/config", json!({"min_decryption_version": 2})).await;
    let (found, shown) = kind(client.unwrap_key(&wrapped, "orders").await);
    assert!(found == Some(ErrorKind::Disabled) && shown.contains("min_decryption_version"), "{found:?} {shown}");
    assert!(client.unwrap_key(&newer, "orders").await.unwrap() == key);

    for (name, settings) in [("derived", json!({"derived": true})), ("signing", json!({"type": "ed25519"}))] {
        vault.post(&format!("transit/keys/{name}"), settings).await;
        assert_eq!(kind(client.wrap_key(&key, name).await).0, Some(ErrorKind::InvalidInput), "{name}");
        assert_eq!(kind(client.unwrap_key(&newer, name).await).0, Some(ErrorKind::InvalidInput), "{name}");
    }
    let (status, _) = vault.admin(Method::DELETE, "transit/keys/orders/soft-delete", Value::Null, "").await;
    assert!(status < 300);
    assert_eq!(kind(client.wrap_key(&key, "orders").await).0, Some(ErrorKind::Disabled));
    assert_eq!(kind(client.unwrap_key(&newer, "orders").await).0, Some(ErrorKind::Disabled));

    // The key may have any type that encrypts.
    vault.post("transit/keys/rsa", json!({"type": "rsa-2048"})).await;
    let wrapped = client.wrap_key(&key, "rsa").await.unwrap();
    assert!(client.unwrap_key(&wrapped, "rsa").await.unwrap() == key);
}

#[tokio::test]
async fn a_token_does_what_its_policies_allow() {
    let vault = Vault::start().await;
    let key = key();
    let wrapped = vault.client(&[]).wrap_key(&key, "orders").await.unwrap();
    let with = async |name: &str, policies: &[(&str, &str)], more| {
        let file = vault.token(name, policies, more).await;
        vault.client(&[("vault.token-file", &file)])
    };

    // The least: it may not look at keys, nor make any.
    let user = with("user", &MAY_USE, json!({})).await;
    let own = user.wrap_key(&key, "orders").await.unwrap();
    assert!(user.unwrap_key(&own, "orders").await.unwrap() == key);
    assert_eq!(kind(user.wrap_key(&key, "order").await).0, Some(ErrorKind::AccessDenied));
    assert_eq!(kind(user.unwrap_key(&own, "order").await).0, Some(ErrorKind::NotFound));
    assert_eq!(kind(user.unwrap_key(&own, "people").await).0, Some(ErrorKind::WrongKey));
    assert!(!vault.has_key("order").await);

    let reader = with("reader", &[("decrypt/orders", "update")], json!({})).await;
    assert!(reader.unwrap_key(&wrapped, "orders").await.unwrap() == key);
    assert_eq!(kind(reader.wrap_key(&key, "orders").await).0, Some(ErrorKind::AccessDenied));
    assert_eq!(kind(reader.unwrap_key(&wrapped, "people").await).0, Some(ErrorKind::AccessDenied));
    assert_eq!(kind(reader.generate_key(KeyLength::Aes128, "orders").await).0, Some(ErrorKind::AccessDenied));

    // Without the default policy a token may not even ask about itself.
    let silent = with("silent", &MAY_USE, json!({"no_default_policy": true})).await;
    assert!(silent.unwrap_key(&wrapped, "orders").await.unwrap() == key);

    for (secret, expected) in [("s.unknown", "does not accept the token"), ("", "no secret in")] {
        let file = vault.secret("bad", secret);
        let (found, shown) = kind(vault.client(&[("vault.token-file", &file)]).wrap_key(&key, "orders").await);
        assert!(found == Some(ErrorKind::Credentials) && shown.contains(expected), "{found:?} {shown}");
    }

    // A token is renewed when it is used with little time left, and read again when it was replaced.
    let file = vault.token("short", &MAY_USE, json!({"ttl": "25s"})).await;
    let client = vault.client(&[("vault.token-file", &file)]);
    client.wrap_key(&key, "orders").await.unwrap();
    client.wrap_key(&key, "orders").await.unwrap();
    let token = fs::read_to_string(&file).unwrap();
    let looked_up = vault.post("auth/token/lookup", json!({"token": token.trim()})).await;
    assert!(looked_up["data"]["last_renewal_time"].is_number(), "{looked_up}");
    vault.post("auth/token/revoke", json!({"token": token.trim()})).await;
    assert_eq!(kind(client.wrap_key(&key, "orders").await).0, Some(ErrorKind::Credentials));
    vault.secret("short", OpenBao::ROOT_TOKEN);
    client.wrap_key(&key, "orders").await.unwrap();
}

#[tokio::test]
async fn logs_in_by_app_role_and_again_when_the_token_is_gone() {
    let vault = Vault::start().await;
    vault.token("user", &MAY_USE, json!({})).await;
    vault.post("sys/auth/team/approle", json!({"type": "approle"})).await;
    let role = "auth/team/approle/role/lakelock";
    vault.post(role, json!({"token_policies": "user", "token_ttl": "1h"})).await;
    let (_, role_id) = vault.admin(Method::GET, &format!("{role}/role-id"), Value::Null, "").await;
    let role_id = role_id["data"]["role_id"].as_str().unwrap().to_owned();
    let secret_id = vault.post(&format!("{role}/secret-id"), json!({})).await;
    let secret = vault.secret("secret-id", secret_id["data"]["secret_id"].as_str().unwrap());
    let properties = [
        ("vault.auth", "approle"),
        ("vault.auth-mount", "team/approle"),
        ("vault.role-id", role_id.as_str()),
        ("vault.secret-id-file", secret.as_str()),
    ];
    let client = vault.client(&properties);
    let key = key();
    let wrapped = client.wrap_key(&key, "orders").await.unwrap();
    let accessors = vault.admin(Method::from_bytes(b"LIST").unwrap(), "auth/token/accessors", Value::Null, "").await.1;
    for accessor in accessors["data"]["keys"].as_array().unwrap() {
        let request = json!({"accessor": accessor});
        let found = vault.admin(Method::POST, "auth/token/lookup-accessor", request.clone(), "").await.1;
        if found["data"]["path"] == "auth/team/approle/login" {
            vault.post("auth/token/revoke-accessor", request).await;
        }
    }
    assert!(client.unwrap_key(&wrapped, "orders").await.unwrap() == key);
    assert_eq!(kind(client.generate_key(KeyLength::Aes128, "orders").await).0, Some(ErrorKind::AccessDenied));
    assert!(!format!("{client:?}").contains(fs::read_to_string(&secret).unwrap().trim()));

    vault.secret("secret-id", "00000000-0000-0000-0000-000000000000");
    let (found, shown) = kind(vault.client(&properties).wrap_key(&key, "orders").await);
    assert!(found == Some(ErrorKind::Credentials) && shown.contains("no login by AppRole"), "{found:?} {shown}");
}

#[tokio::test]
async fn names_what_keeps_it_from_the_engine() {
    let vault = Vault::start().await;
    let key = key();
    let wrong_mount = vault.client(&[("vault.mount", "elsewhere")]);
    let (found, shown) = kind(wrong_mount.wrap_key(&key, "orders").await);
    assert!(found == Some(ErrorKind::NotFound) && shown.contains("vault.mount"), "{found:?} {shown}");

    vault.post("sys/namespaces/team", json!({})).await;
    let (status, _) = vault.admin(Method::POST, "sys/mounts/a/b", json!({"type": "transit"}), "team").await;
    assert!(status < 300);
    let in_namespace = vault.client(&[("vault.namespace", "team"), ("vault.mount", "a/b")]);
    assert_eq!(kind(in_namespace.wrap_key(&key, "orders").await).0, Some(ErrorKind::NotFound));
    vault.admin(Method::POST, "a/b/keys/orders", json!({}), "team").await;
    in_namespace.wrap_key(&key, "orders").await.unwrap();

    let system_only = vault.client(&[("vault.ca-file", "")]);
    let (found, shown) = kind(system_only.wrap_key(&key, "orders").await);
    assert!(found == Some(ErrorKind::Unreachable) && shown.contains("certificate"), "{found:?} {shown}");
    let no_certificates = vault.secret("empty.pem", "");
    let no_ca = vault.client(&[("vault.ca-file", &no_certificates)]);
    assert_eq!(kind(no_ca.wrap_key(&key, "orders").await).0, Some(ErrorKind::InvalidInput));

    let client = vault.client(&[]);
    client.wrap_key(&key, "orders").await.unwrap();
    let (status, _) = vault.admin(Method::PUT, "sys/seal", json!({}), "").await;
    assert!(status < 300);
    let (found, shown) = kind(client.wrap_key(&key, "orders").await);
    assert!(found == Some(ErrorKind::Unreachable) && shown.contains("sealed"), "{found:?} {shown}");
}
