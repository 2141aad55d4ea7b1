//! Azure Key Vault (and Managed HSM): keys wrapped with an RSA key of a vault.
//!
//! ```text
//! wrap    POST VAULT/keys/NAME/VERSION/wrapkey    {"alg": "RSA-OAEP-256", "value": BASE64URL} -> {"kid", "value"}
//! unwrap  POST VAULT/keys/NAME/VERSION/unwrapkey  likewise
//! ```
//!
//! A wrapped key is the RSA ciphertext alone, as Java stores it: it does not say which version of the key made it. A key
//! id `NAME/VERSION` pins the version. With a key id `NAME` the newest wraps; unwrapping tries the newest, and then, after
//! a rotation, the others.

mod wire;

use std::collections::HashMap;
use std::fmt;

use async_trait::async_trait;
use lakelock_cloud::azure::TokenSource;
use lakelock_crypto::SecretKey;
use reqwest::header::AUTHORIZATION;
use reqwest::{Method, StatusCode, Url};
use zeroize::Zeroizing;

use self::wire::{KeyOperation, KeyResult, Versions};
use crate::call::{Call, kind_of_credentials, property};
use crate::endpoint;
use crate::http::{Answer, Http, Request, at, header, shown};
use crate::key_bytes::{KeyBytes, from_json, to_json};
use crate::{Error, ErrorKind, KMS_CA_FILE, KeyManagementClient, Operation, Result};

/// Property: where the vault is, such as `https://NAME.vault.azure.net`.
pub const AZURE_KEYVAULT_URL: &str = "azure.keyvault.url";
/// Property: how keys are wrapped, `RSA-OAEP-256` unless set.
pub const AZURE_KEYVAULT_KEY_WRAP_ALGORITHM: &str = "azure.keyvault.key-wrap-algorithm";
/// Property: an access token for the vault, instead of the credential chain.
pub const AZURE_KEYVAULT_TOKEN: &str = "azure.keyvault.token";

const API_VERSION: &str = "7.4";
/// `RSA1_5` is left out: whoever may ask for an unwrapping can decrypt without the key what it wrapped.
const ALGORITHMS: [&str; 5] = ["RSA-OAEP-256", "RSA-OAEP", "A256KW", "A192KW", "A128KW"];
/// How many other versions an unwrapping tries. Who rotates more often has pinned the version.
const MAX_VERSIONS: usize = 100;

/// A KMS client on Azure Key Vault; `encryption.kms-type` = `azure`. A key id is `NAME/VERSION` or `NAME`.
///
/// Makes single attempts: put a [`Remote`](crate::Remote) around it.
pub struct AzureKms {
    http: Http,
    vault: Url,
    algorithm: &'static str,
    tokens: TokenSource,
}

/// What a key id names.
#[derive(Clone, Copy, Debug)]
struct KeyName<'a> {
    name: &'a str,
    version: Option<&'a str>,
}

impl AzureKms {
    /// A client by the catalog properties [`AZURE_KEYVAULT_URL`], [`AZURE_KEYVAULT_KEY_WRAP_ALGORITHM`],
    /// [`AZURE_KEYVAULT_TOKEN`] and [`KMS_CA_FILE`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a property that is missing or makes no sense; [`ErrorKind::Unsupported`] for an
    /// algorithm that is not used here.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let vault = endpoint::from_property(AZURE_KEYVAULT_URL, properties)?.ok_or_else(|| {
            let message = format!("the KMS azure needs the property {AZURE_KEYVAULT_URL}");
            Error::new(ErrorKind::InvalidInput, message)
        })?;
        let wanted = property(properties, AZURE_KEYVAULT_KEY_WRAP_ALGORITHM).unwrap_or(ALGORITHMS[0]);
        let algorithm = ALGORITHMS.into_iter().find(|known| *known == wanted).ok_or_else(|| {
            let expected = ALGORITHMS.join(", ");
            let message = format!("{AZURE_KEYVAULT_KEY_WRAP_ALGORITHM} is {wanted:?}: expected one of {expected}");
            Error::new(ErrorKind::Unsupported, message)
        })?;
        let scope = scope_of(vault.host_str().unwrap_or_default());
        let tokens = TokenSource::from_properties(properties, AZURE_KEYVAULT_TOKEN, scope).map_err(|source| {
            Error::new(kind_of_credentials(&source), "the client for Azure cannot be set up").with_source(source)
        })?;
        Ok(Self { http: Http::new(KMS_CA_FILE, properties), vault, algorithm, tokens })
    }

    async fn send(
        &self,
        call: Call<'_>,
        method: Method,
        path: &[&str],
        body: Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Answer> {
        let token = self.tokens.token().await.map_err(|error| call.credentials_error(error))?;
        let bearer = Zeroizing::new(format!("Bearer {}", token.expose_secret()));
        let headers = vec![(AUTHORIZATION, header(call, "the access token", &bearer)?)];
        let mut url = at(&self.vault, ["keys"].into_iter().chain(path.iter().copied()));
        url.set_query(Some(&format!("api-version={API_VERSION}")));
        self.http.send(call, Request { method, url, headers, body }).await
    }

    /// Wraps or unwraps with one version of a key, the newest if none is named.
    async fn operate(&self, call: Call<'_>, key: KeyName<'_>, what: &str, bytes: &[u8]) -> Result<KeyResult> {
        let body = to_json(&KeyOperation { alg: self.algorithm, value: KeyBytes::new(bytes) })?;
        let path = [key.name, key.version.unwrap_or_default(), what];
        let path: Vec<&str> = path.into_iter().filter(|segment| !segment.is_empty()).collect();
        let answer = self.send(call, Method::POST, &path, Some(body)).await?;
        if answer.status != StatusCode::OK {
            return Err(wire::refused(call, shown(&self.vault), &answer));
        }
        let result: KeyResult = self.read(call, &answer)?;
        if !result.is_of(key) {
            let detail = format!("{} answered for another key, {:?}", shown(&self.vault), result.kid);
            return Err(call.error(ErrorKind::Damaged, detail));
        }
        Ok(result)
    }

    /// Unwraps with a version that is not the newest any more.
    async fn unwrap_rotated(
        &self,
        call: Call<'_>,
        key: KeyName<'_>,
        wrapped: &[u8],
        error: Error,
    ) -> Result<KeyResult> {
        let versions = match self.versions(call, key).await {
            Ok(versions) => versions,
            Err(list_error) => {
                let remedy = "if the key was rotated, allow keys/list, or pin the version: NAME/VERSION";
                let detail = format!("{error}; {remedy}");
                let is_passing = list_error.kind().is_retryable();
                return Err(if is_passing {
                    list_error
                } else {
                    Error::new(error.kind(), detail).with_source(list_error)
                });
            }
        };
        for version in &versions {
            match self.operate(call, KeyName { version: Some(version), ..key }, "unwrapkey", wrapped).await {
                Err(other) if other.kind() == ErrorKind::WrongKey => {}
                outcome => return outcome,
            }
        }
        Err(error)
    }

    /// The enabled versions of a key, the newest first.
    async fn versions(&self, call: Call<'_>, key: KeyName<'_>) -> Result<Vec<String>> {
        // One page is enough: a link to the next would be an address to follow that an answer chose.
        let answer = self.send(call, Method::GET, &[key.name, "versions"], None).await?;
        if answer.status != StatusCode::OK {
            return Err(wire::refused(call, shown(&self.vault), &answer));
        }
        Ok(self.read::<Versions>(call, &answer)?.enabled(MAX_VERSIONS))
    }

    fn read<'a, T: serde::Deserialize<'a>>(&self, call: Call<'_>, answer: &'a Answer) -> Result<T> {
        from_json(&answer.body)
            .map_err(|problem| call.error(ErrorKind::Damaged, format!("{}: {problem}", shown(&self.vault))))
    }
}

#[async_trait]
impl KeyManagementClient for AzureKms {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        let call = Call::new(Operation::Wrap, wrapping_key_id);
        let name = KeyName::parse(call)?;
        if name.version.is_none() {
            tracing::warn!(
                key_id = wrapping_key_id,
                "the key id names no version: once the key is rotated, Java cannot unwrap what is wrapped now"
            );
        }
        let result = self.operate(call, name, "wrapkey", key.expose_secret()).await?;
        Ok(result.value.to_wrapped())
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        let call = Call::new(Operation::Unwrap, wrapping_key_id);
        call.check_wrapped(wrapped)?;
        let name = KeyName::parse(call)?;
        let result = match self.operate(call, name, "unwrapkey", wrapped).await {
            Err(error) if error.kind() == ErrorKind::WrongKey && name.version.is_none() => {
                self.unwrap_rotated(call, name, wrapped, error).await?
            }
            outcome => outcome?,
        };
        call.secret_key(result.value.as_slice())
    }
}

impl<'a> KeyName<'a> {
    fn parse(call: Call<'a>) -> Result<Self> {
        let is_part = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        let (name, version) = match call.key_id.split_once('/') {
            Some((name, version)) => (name, Some(version)),
            None => (call.key_id, None),
        };
        if is_part(name) && version.is_none_or(is_part) {
            return Ok(Self { name, version });
        }
        let detail = "a key id is the name of a key in the vault, letters, digits and '-', or NAME/VERSION";
        Err(call.error(ErrorKind::InvalidInput, detail))
    }
}

impl fmt::Debug for AzureKms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AzureKms")
            .field("vault", &shown(&self.vault))
            .field("algorithm", &self.algorithm)
            .field("tokens", &self.tokens)
            .finish_non_exhaustive()
    }
}

/// What a token for a vault is good for: all vaults of its cloud.
fn scope_of(host: &str) -> &'static str {
    const CLOUDS: [(&str, &str); 6] = [
        (".vault.azure.cn", "https://vault.azure.cn/.default"),
        (".vault.usgovcloudapi.net", "https://vault.usgovcloudapi.net/.default"),
        (".managedhsm.azure.net", "https://managedhsm.azure.net/.default"),
        (".managedhsm.azure.cn", "https://managedhsm.azure.cn/.default"),
        (".managedhsm.usgovcloudapi.net", "https://managedhsm.usgovcloudapi.net/.default"),
        ("", "https://vault.azure.net/.default"),
    ];
    CLOUDS.iter().find(|(suffix, _)| host.ends_with(suffix)).map_or(CLOUDS[5].1, |(_, scope)| scope)
}
