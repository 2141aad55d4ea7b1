//! The server, and what is said to and by it.

use std::collections::HashMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, Url};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{VAULT_ADDRESS, VAULT_CA_FILE, VAULT_NAMESPACE};
use crate::call::{Call, property};
use crate::endpoint;
use crate::http::{Answer, Http, Request, at, header, shown};
use crate::key_bytes::{KeyBytes, from_json};
use crate::{Error, ErrorKind, Result, SecretString};

/// A server of Vault or OpenBao, with the namespace that is used there.
pub(super) struct Server {
    http: Http,
    address: Url,
    namespace: Option<HeaderValue>,
}

impl Server {
    pub(super) fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let invalid = |message: String| Error::new(ErrorKind::InvalidInput, message);
        let mut given = properties.clone();
        if property(properties, VAULT_ADDRESS).is_none()
            && let Some(address) = environment("ADDR")
        {
            given.insert(VAULT_ADDRESS.to_owned(), address);
        }
        let address = endpoint::from_property(VAULT_ADDRESS, &given)?
            .ok_or_else(|| invalid(format!("the KMS vault needs {VAULT_ADDRESS}, or VAULT_ADDR in the environment")))?;
        let namespace = property(properties, VAULT_NAMESPACE).map(str::to_owned).or_else(|| environment("NAMESPACE"));
        let namespace = namespace
            .map(|namespace| HeaderValue::from_str(&namespace))
            .transpose()
            .map_err(|source| invalid(format!("{VAULT_NAMESPACE} is not the path of one")).with_source(source))?;
        Ok(Self { http: Http::new(VAULT_CA_FILE, properties).or_ca_file(environment("CACERT")), address, namespace })
    }

    pub(super) async fn send(
        &self,
        call: Call<'_>,
        method: Method,
        path: &[&str],
        token: Option<&SecretString>,
        body: Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Answer> {
        // A proxy of theirs sends on only what has this header: no page in a browser can set it.
        let mut headers = vec![(HeaderName::from_static("x-vault-request"), HeaderValue::from_static("true"))];
        if let Some(token) = token {
            let token = header(call, "the token", token.expose_secret())?;
            headers.push((HeaderName::from_static("x-vault-token"), token));
        }
        if let Some(namespace) = &self.namespace {
            headers.push((HeaderName::from_static("x-vault-namespace"), namespace.clone()));
        }
        let url = at(&self.address, ["v1"].into_iter().chain(path.iter().copied()));
        self.http.send(call, Request { method, url, headers, body }).await
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(shown(&self.address))
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server")
            .field("address", &shown(&self.address))
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// A variable of OpenBao's tools, or Vault's.
pub(super) fn environment(name: &str) -> Option<String> {
    ["BAO", "VAULT"]
        .iter()
        .find_map(|product| std::env::var(format!("{product}_{name}")).ok().filter(|value| !value.is_empty()))
}

/// What a server said beside the status: its own words, which hold no key.
pub(super) fn said(answer: &Answer) -> String {
    #[derive(Deserialize)]
    struct Errors {
        errors: Vec<String>,
    }
    let errors = from_json::<Errors>(&answer.body).map(|Errors { errors }| errors).unwrap_or_default();
    answer.said("", &errors.join("; "))
}

#[derive(Deserialize)]
pub(super) struct Data<T> {
    pub(super) data: T,
}

#[derive(Serialize)]
pub(super) struct EncryptRequest {
    pub(super) plaintext: KeyBytes,
}

#[derive(Serialize)]
pub(super) struct DecryptRequest<'a> {
    pub(super) ciphertext: &'a str,
}

#[derive(Serialize)]
pub(super) struct DataKeyRequest {
    pub(super) bits: usize,
}

#[derive(Deserialize)]
pub(super) struct Encrypted {
    pub(super) ciphertext: String,
}

#[derive(Deserialize)]
pub(super) struct Plain {
    pub(super) plaintext: KeyBytes,
}

/// What is known of a key.
pub(super) enum KeyState {
    /// We may not look.
    Hidden,
    Known(KeyInfo),
    Missing,
}

#[derive(Deserialize)]
pub(super) struct KeyInfo {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) supports_encryption: bool,
    #[serde(default)]
    pub(super) derived: bool,
    #[serde(default)]
    pub(super) min_decryption_version: u64,
    #[serde(default)]
    pub(super) soft_deleted: bool,
}

/// `vault:vN:BASE64`, in the one way to write it.
#[derive(Debug)]
pub(super) struct Ciphertext<'a> {
    pub(super) text: &'a str,
    pub(super) version: u64,
}

impl<'a> Ciphertext<'a> {
    pub(super) fn parse(call: Call<'_>, bytes: &'a [u8], kind: ErrorKind) -> Result<Self> {
        let parse = || {
            let text = std::str::from_utf8(bytes).ok()?;
            let (version, base64) = text.strip_prefix("vault:v")?.split_once(':')?;
            let number: u64 = version.parse().ok()?;
            // The server takes version 0 for 1.
            let is_strict =
                number > 0 && number.to_string() == version && !base64.is_empty() && STANDARD.decode(base64).is_ok();
            is_strict.then_some(Self { text, version: number })
        };
        parse().ok_or_else(|| call.error(kind, "it is not what Transit makes: vault:v1: and padded base64"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    #[test]
    fn only_one_text_is_one_wrapped_key() {
        let call = Call::new(Operation::Unwrap, "k");
        assert_eq!(Ciphertext::parse(call, b"vault:v12:AAAA", ErrorKind::WrongKey).unwrap().version, 12);
        for text in [
            "",
            "vault:v1:",
            "vault:v1",
            "vault:v01:AAAA",
            "vault:v0:AAAA",
            "vault:v+1:AAAA",
            "vault:v1:AAA",
            "vault:v1:AA\nAA",
            "vault:v1:AB==",
            "vault:v1:AAAA:",
            "Vault:v1:AAAA",
            " vault:v1:AAAA",
            "vault:v1:AA-_",
            "\u{fe}",
            "vault:v99999999999999999999:AAAA",
        ] {
            let error = Ciphertext::parse(call, text.as_bytes(), ErrorKind::WrongKey).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongKey, "{text:?}");
        }
    }
}
