//! AWS KMS.
//!
//! A key is wrapped with `Encrypt` and unwrapped with `Decrypt`, as Java's `AwsKeyManagementClient` does: what is stored is
//! the `CiphertextBlob` as it comes, and there is no encryption context. A key id is a key's id, its ARN, an alias
//! (`alias/NAME`) or an alias's ARN.

mod failure;
mod plain_http;

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_kms::Client;
use aws_sdk_kms::config::Builder;
use aws_sdk_kms::config::retry::RetryConfig;
use aws_sdk_kms::primitives::Blob;
use aws_sdk_kms::types::{DataKeySpec, EncryptionAlgorithmSpec};
use lakelock_cloud::aws::{SdkConfig, Settings};
use lakelock_crypto::{KeyLength, SecretKey};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::call::kind_of_credentials;
use crate::{Error, ErrorKind, GeneratedKey, KMS_ENDPOINT, KeyManagementClient, Operation, Result, endpoint};
use failure::Place;
use plain_http::{RefusePlainHttp, direct_client};

/// Property: the algorithm that master keys wrap with; `SYMMETRIC_DEFAULT` unless said otherwise.
pub const KMS_ENCRYPTION_ALGORITHM_SPEC: &str = "kms.encryption-algorithm-spec";
/// Property: the kind of key that Java's client has generated. Here a table's `encryption.data-key-length` says it: the
/// property is checked and has no effect.
pub const KMS_DATA_KEY_SPEC: &str = "kms.data-key-spec";

/// What AWS KMS takes for a ciphertext.
const LONGEST_CIPHERTEXT: usize = 6144;

/// A KMS client for AWS KMS; `encryption.kms-type` = `aws`.
///
/// Its calls are single attempts: put a [`Remote`](crate::Remote) around it, as the registry does. It connects at the
/// first call; credentials come from [`lakelock_cloud::aws`].
#[derive(Debug)]
pub struct AwsKms {
    identity: Identity,
    endpoint: Option<String>,
    allow_http: bool,
    algorithm: EncryptionAlgorithmSpec,
    client: OnceCell<Client>,
}

#[derive(Debug)]
enum Identity {
    Given(Box<SdkConfig>),
    ToLoad(Settings),
}

impl AwsKms {
    /// A client by the catalog properties [`KMS_ENDPOINT`], [`KMS_ENCRYPTION_ALGORITHM_SPEC`] and those of
    /// [`lakelock_cloud::aws`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] and [`ErrorKind::Unsupported`] for values that are wrong or cannot be served.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let settings = Settings::from_properties(properties).map_err(|source| {
            let kind = kind_of_credentials(&source);
            Error::new(kind, "the AWS client cannot be set up").with_source(source)
        })?;
        Self::with_identity(Identity::ToLoad(settings), properties)
    }

    /// A client with a region and credentials of the caller's own; the properties say the rest.
    ///
    /// # Errors
    /// As [`from_properties`](Self::from_properties).
    pub fn new(config: SdkConfig, properties: &HashMap<String, String>) -> Result<Self> {
        Self::with_identity(Identity::Given(Box::new(config)), properties)
    }

    fn with_identity(identity: Identity, properties: &HashMap<String, String>) -> Result<Self> {
        let endpoint = endpoint::from_property(KMS_ENDPOINT, properties)?.map(String::from);
        let algorithm =
            one_of(KMS_ENCRYPTION_ALGORITHM_SPEC, properties, "SYMMETRIC_DEFAULT", EncryptionAlgorithmSpec::values())?;
        one_of(KMS_DATA_KEY_SPEC, properties, "AES_256", DataKeySpec::values())?;
        let allow_http = endpoint::allows_http(properties);
        Ok(Self { identity, endpoint, allow_http, algorithm: algorithm.into(), client: OnceCell::new() })
    }

    async fn client(&self, operation: Operation, key_id: &str) -> Result<&Client> {
        let connect = || async {
            let loaded;
            let config = match &self.identity {
                Identity::Given(config) => config.as_ref(),
                Identity::ToLoad(settings) => {
                    loaded = settings.load().await?;
                    &loaded
                }
            };
            // Who repeats calls is the wrapper around this client, and nobody else.
            let mut builder = Builder::from(config).retry_config(RetryConfig::disabled());
            let direct = self.endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
            if let Some(endpoint) = &self.endpoint {
                builder = builder.endpoint_url(endpoint);
            }
            if direct {
                builder = builder.http_client(direct_client());
            }
            if !self.allow_http {
                builder = builder.interceptor(RefusePlainHttp { direct });
            }
            Ok(Client::from_conf(builder.build()))
        };
        self.client.get_or_try_init(connect).await.map_err(|source: lakelock_cloud::Error| {
            Error::on_key(kind_of_credentials(&source), operation, key_id, source)
        })
    }

    fn place<'a>(&'a self, client: &'a Client, operation: Operation, key_id: &'a str) -> Place<'a> {
        let region = client.config().region().map_or("", |region| region.as_ref());
        Place { operation, key_id, region, endpoint: self.endpoint.as_deref(), algorithm: &self.algorithm }
    }
}

#[async_trait]
impl KeyManagementClient for AwsKms {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        let client = self.client(Operation::Wrap, wrapping_key_id).await?;
        let place = self.place(client, Operation::Wrap, wrapping_key_id);
        let answer = client
            .encrypt()
            .key_id(wrapping_key_id)
            .encryption_algorithm(self.algorithm.clone())
            .plaintext(Blob::new(key.expose_secret()))
            .send()
            .await
            .map_err(|error| place.error(&error))?;
        answer.ciphertext_blob.map(Blob::into_inner).ok_or_else(|| place.incomplete("CiphertextBlob"))
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        if !(1..=LONGEST_CIPHERTEXT).contains(&wrapped.len()) {
            let detail = format!("the wrapped key has {} bytes: AWS KMS did not make it", wrapped.len());
            return Err(Error::on_key(ErrorKind::Damaged, Operation::Unwrap, wrapping_key_id, detail));
        }
        let client = self.client(Operation::Unwrap, wrapping_key_id).await?;
        let place = self.place(client, Operation::Unwrap, wrapping_key_id);
        let answer = client
            .decrypt()
            .key_id(wrapping_key_id)
            .encryption_algorithm(self.algorithm.clone())
            .ciphertext_blob(Blob::new(wrapped))
            .send()
            .await
            .map_err(|error| place.error(&error))?;
        place.key(answer.plaintext)
    }

    async fn generate_key(&self, length: KeyLength, wrapping_key_id: &str) -> Result<Option<GeneratedKey>> {
        if self.algorithm != EncryptionAlgorithmSpec::SymmetricDefault {
            return Ok(None);
        }
        let client = self.client(Operation::Generate, wrapping_key_id).await?;
        let place = self.place(client, Operation::Generate, wrapping_key_id);
        let bytes = i32::try_from(length.bytes()).unwrap_or(i32::MAX);
        let answer = client
            .generate_data_key()
            .key_id(wrapping_key_id)
            .number_of_bytes(bytes)
            .send()
            .await
            .map_err(|error| place.error(&error))?;
        let key = place.key(answer.plaintext)?;
        if key.length() != length {
            return Err(place.incomplete("Plaintext of the length asked for"));
        }
        let wrapped = answer.ciphertext_blob.ok_or_else(|| place.incomplete("CiphertextBlob"))?;
        Ok(Some(GeneratedKey { key, wrapped: wrapped.into_inner() }))
    }
}

impl Place<'_> {
    fn key(&self, plaintext: Option<Blob>) -> Result<SecretKey> {
        let bytes = Zeroizing::new(plaintext.ok_or_else(|| self.incomplete("Plaintext"))?.into_inner());
        SecretKey::new(&bytes).map_err(|source| {
            let detail = format!("it holds {} bytes, and a key has 16, 24 or 32", bytes.len());
            Error::on_key(ErrorKind::Damaged, self.operation, self.key_id, detail).with_source(source)
        })
    }
}

fn one_of<'a>(
    name: &str,
    properties: &'a HashMap<String, String>,
    default: &'a str,
    values: &[&str],
) -> Result<&'a str> {
    let value = properties.get(name).map_or(default, String::as_str);
    if values.contains(&value) {
        return Ok(value);
    }
    let message = format!("{name} is {value:?}: expected one of {}", values.join(", "));
    Err(Error::new(ErrorKind::InvalidInput, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_checked_before_anything_is_called() {
        let parse =
            |name: &str, value: &str| AwsKms::from_properties(&HashMap::from([(name.to_owned(), value.to_owned())]));
        for (name, value) in [
            (KMS_ENCRYPTION_ALGORITHM_SPEC, "RSAES_OAEP_SHA_256"),
            (KMS_DATA_KEY_SPEC, "AES_128"),
            (KMS_ENDPOINT, "http://127.0.0.1:5000"),
            (KMS_ENDPOINT, "https://kms.eu-west-1.amazonaws.com"),
        ] {
            assert!(parse(name, value).is_ok(), "{name}={value}");
        }
        for (name, value, kind) in [
            (KMS_ENCRYPTION_ALGORITHM_SPEC, "AES", ErrorKind::InvalidInput),
            (KMS_DATA_KEY_SPEC, "AES_512", ErrorKind::InvalidInput),
            (KMS_ENDPOINT, "http://kms.example.com", ErrorKind::InvalidInput),
            ("client.factory", "com.example.Own", ErrorKind::Unsupported),
        ] {
            let error = parse(name, value).unwrap_err();
            assert_eq!(error.kind(), kind, "{name}={value}");
            assert!(format!("{error:?}").contains(name), "{error:?}");
        }
    }
}
