//! Google Cloud KMS: keys wrapped with a symmetric key of a key ring.
//!
//! ```text
//! wrap    POST ENDPOINT/v1/KEY:encrypt  {"plaintext": BASE64, "plaintextCrc32c"}    -> {"name", "ciphertext", ...}
//! unwrap  POST ENDPOINT/v1/KEY:decrypt  {"ciphertext": BASE64, "ciphertextCrc32c"}  -> {"plaintext", ...}
//! ```
//!
//! A wrapped key is the service's ciphertext, without additional authenticated data, as Java stores it. The service finds
//! the version of the key in it. Checksums (CRC-32C) guard both ways against damage before and behind TLS.

mod crc32c;
mod wire;

use std::collections::HashMap;
use std::fmt;

use async_trait::async_trait;
use lakelock_cloud::google::TokenSource;
use lakelock_crypto::SecretKey;
use reqwest::header::AUTHORIZATION;
use reqwest::{Method, StatusCode, Url};
use serde::Deserialize;
use zeroize::Zeroizing;

use self::crc32c::crc32c;
use self::wire::{DecryptRequest, DecryptResponse, EncryptRequest, EncryptResponse};
use crate::call::{Call, kind_of_credentials};
use crate::endpoint;
use crate::http::{Answer, Http, Request, at, header, shown};
use crate::key_bytes::{KeyBytes, from_json, to_json};
use crate::{Error, ErrorKind, KMS_CA_FILE, KMS_ENDPOINT, KeyManagementClient, Operation, Result};

const DEFAULT_ENDPOINT: &str = "https://cloudkms.googleapis.com";
/// `projects/P/locations/L/keyRings/R/cryptoKeys/K`.
const COLLECTIONS: [&str; 4] = ["projects", "locations", "keyRings", "cryptoKeys"];

/// A KMS client on Google Cloud KMS; `encryption.kms-type` = `gcp`. A key id is the resource name of a symmetric key.
///
/// Makes single attempts: put a [`Remote`](crate::Remote) around it.
pub struct GcpKms {
    http: Http,
    endpoint: Url,
    tokens: TokenSource,
}

impl GcpKms {
    /// A client by the catalog properties `gcs.oauth2.token`, `gcs.oauth2.token-expires-at`, [`KMS_ENDPOINT`] and
    /// [`KMS_CA_FILE`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a property that makes no sense.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let endpoint = match endpoint::from_property(KMS_ENDPOINT, properties)? {
            Some(endpoint) => endpoint,
            None => Url::parse(DEFAULT_ENDPOINT)
                .map_err(|source| Error::new(ErrorKind::Internal, DEFAULT_ENDPOINT).with_source(source))?,
        };
        let tokens = TokenSource::from_properties(properties).map_err(|source| {
            Error::new(kind_of_credentials(&source), "the client for Google Cloud cannot be set up").with_source(source)
        })?;
        Ok(Self { http: Http::new(KMS_CA_FILE, properties), endpoint, tokens })
    }

    async fn ask<T: for<'a> Deserialize<'a>>(
        &self,
        call: Call<'_>,
        method: &str,
        body: Zeroizing<Vec<u8>>,
    ) -> Result<T> {
        let token = self.tokens.token().await.map_err(|error| call.credentials_error(error))?;
        let bearer = Zeroizing::new(format!("Bearer {}", token.expose_secret()));
        let headers = vec![(AUTHORIZATION, header(call, "the access token", &bearer)?)];
        let resource = format!("{}:{method}", call.key_id);
        let url = at(&self.endpoint, ["v1"].into_iter().chain(resource.split('/')));
        let request = Request { method: Method::POST, url, headers, body: Some(body) };
        let answer: Answer = self.http.send(call, request).await?;
        if answer.status != StatusCode::OK {
            return Err(wire::refused(call, shown(&self.endpoint), &answer));
        }
        from_json(&answer.body)
            .map_err(|problem| call.error(ErrorKind::Damaged, format!("{}: {problem}", shown(&self.endpoint))))
    }
}

#[async_trait]
impl KeyManagementClient for GcpKms {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        let call = Call::new(Operation::Wrap, wrapping_key_id);
        check_key_id(call)?;
        let request = EncryptRequest {
            plaintext: KeyBytes::new(key.expose_secret()),
            plaintext_crc32c: crc32c(key.expose_secret()).into(),
        };
        let response: EncryptResponse = self.ask(call, "encrypt", to_json(&request)?).await?;
        let wrapped = response.ciphertext.to_wrapped();
        // A key damaged on its way to the service would be wrapped all the same, and be lost.
        if !response.verified_plaintext_crc32c || !response.ciphertext_crc32c.fits(&wrapped) {
            return Err(call.error(ErrorKind::Unreachable, "the key or its wrapped form was damaged on the way"));
        }
        if !is_version_of(&response.name, wrapping_key_id) {
            let detail = format!("{} answered for another key, {:?}", shown(&self.endpoint), response.name);
            return Err(call.error(ErrorKind::Damaged, detail));
        }
        Ok(wrapped)
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        let call = Call::new(Operation::Unwrap, wrapping_key_id);
        call.check_wrapped(wrapped)?;
        check_key_id(call)?;
        let request = DecryptRequest { ciphertext: KeyBytes::new(wrapped), ciphertext_crc32c: crc32c(wrapped).into() };
        let response: DecryptResponse = self.ask(call, "decrypt", to_json(&request)?).await?;
        if !response.plaintext_crc32c.fits(response.plaintext.as_slice()) {
            return Err(call.error(ErrorKind::Unreachable, "the key was damaged on the way"));
        }
        call.secret_key(response.plaintext.as_slice())
    }
}

/// Whether a version is one of a key. The service may name a project by its id where the key id has its number.
fn is_version_of(version: &str, key_id: &str) -> bool {
    let below_project = |name: &str| name.find("/locations/").map(|at| name[at..].to_owned());
    let key = version.rsplit_once("/cryptoKeyVersions/").map(|(key, _)| key);
    key.is_some_and(|key| below_project(key) == below_project(key_id))
}

fn check_key_id(call: Call<'_>) -> Result<()> {
    let parts: Vec<&str> = call.key_id.split('/').collect();
    // The project of an organisation's domain is `DOMAIN:PROJECT`.
    let is_name = |part: &&str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        !part.is_empty() && part.chars().all(is_plain) && *part != "." && *part != ".."
    };
    let collections: Vec<&str> = parts.iter().step_by(2).copied().collect();
    if parts.len() == 8 && collections == COLLECTIONS && parts.iter().skip(1).step_by(2).all(is_name) {
        return Ok(());
    }
    let detail =
        "a key id is projects/P/locations/L/keyRings/R/cryptoKeys/K, without a version, which the service chooses";
    Err(call.error(ErrorKind::InvalidInput, detail))
}

impl fmt::Debug for GcpKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GcpKms")
            .field("endpoint", &shown(&self.endpoint))
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}
