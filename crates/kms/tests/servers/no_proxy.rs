//! What goes without TLS to a service on this machine goes through no proxy, which would see the keys.

use std::collections::HashMap;
use std::env;

use lakelock_crypto::SecretKey;
use lakelock_interop::faults::{Answer, FaultServer};
use lakelock_kms::KmsRegistry;
use serde_json::json;
use tokio::process::Command;

use crate::faults::KEY;

const PROPERTIES: &str = "LAKELOCK_TEST_PROPERTIES";

#[tokio::test]
async fn keys_go_through_no_proxy_without_tls() {
    for (name, address) in [("aws", "kms.endpoint"), ("vault", "vault.address")] {
        let denies = || FaultServer::start(|_| Answer::json(403, &json!({"errors": ["denied"]})));
        let (service, proxy) = (denies().await, denies().await);
        let url = service.url();
        let properties = json!({"encryption.kms-impl": name, address: url, "client.region": "eu-west-1"});
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "no_proxy::behind_a_proxy", "--ignored"])
            .envs([(PROPERTIES, properties.to_string()), ("VAULT_TOKEN", "testing".to_owned())])
            .envs([("AWS_ACCESS_KEY_ID", "testing"), ("AWS_SECRET_ACCESS_KEY", "testing")])
            .envs(["http_proxy", "HTTP_PROXY", "ALL_PROXY"].map(|variable| (variable, proxy.url())))
            .env_remove("no_proxy")
            .env_remove("NO_PROXY")
            .output()
            .await
            .unwrap();
        assert!(child.status.success(), "{name}: {}", String::from_utf8_lossy(&child.stdout));
        assert!(proxy.requests().is_empty(), "{name}: the proxy sees {} requests", proxy.requests().len());
        assert!(!service.requests().is_empty(), "{name}: the service was not asked");
    }
}

#[tokio::test]
#[ignore = "run by keys_go_through_no_proxy_without_tls"]
async fn behind_a_proxy() {
    let properties: HashMap<String, String> = serde_json::from_str(&env::var(PROPERTIES).unwrap()).unwrap();
    let client = KmsRegistry::with_builtins().from_catalog_properties(&properties).unwrap().unwrap();
    let error = client.wrap_key(&SecretKey::new(&KEY).unwrap(), "orders").await.unwrap_err();
    println!("{error:?}");
}
