//! Buckets of S3, by Java's properties.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use lakelock_cloud::aws;
use object_store::{
    Attribute, AttributeValue, Attributes, CredentialProvider, ObjectStore, StaticCredentialProvider, TagSet,
    aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential, AwsCredentialProvider, S3ConditionalPut},
};
use url::{Host, Url};

use crate::{
    error::{self, Error, Result},
    http::{Connector, HttpSettings},
    location::Place,
    properties::{Properties, invalid, unsupported},
    remote::{Connect, NewObjects, RemoteStore},
};

mod bucket_encryption;

/// How buckets are reached.
pub(crate) struct S3Settings {
    http: HttpSettings,
    endpoint: Option<Url>,
    path_style: bool,
    region: Option<String>,
    /// Those of the properties; the environment's otherwise.
    credentials: Option<AwsCredentialProvider>,
    encryption: Encryption,
    new_objects: NewObjects,
    /// Who the platform says we are.
    platform: aws::Settings,
}

/// What the store is asked to encrypt with: `s3.sse.type`, `s3.sse.key` and `s3.sse.bucket-key-enabled`.
struct Encryption {
    /// The value of the header, if there is to be one.
    algorithm: Option<&'static str>,
    key: Option<String>,
    /// Whether the store asks its KMS once for the bucket's objects instead of once for each; the bucket's own setting, if none.
    bucket_key: Option<bool>,
}

impl S3Settings {
    pub(crate) fn from_properties(all: &HashMap<String, String>) -> Result<Self> {
        let properties = Properties(all);
        refuse_unsupported(properties)?;
        Ok(Self {
            http: HttpSettings::from_properties(properties, "s3")?,
            endpoint: properties.text(ENDPOINT).map(endpoint).transpose()?,
            path_style: properties.flag("s3.path-style-access", false)?,
            region: properties.text(aws::CLIENT_REGION).map(str::to_owned),
            credentials: credentials(properties)?,
            encryption: Encryption::from_properties(properties)?,
            new_objects: new_objects(properties)?,
            platform: aws::Settings::from_properties(all).map_err(|error| Error::from_cloud(error, "S3"))?,
        })
    }

    /// A bucket, which is set up by the first request.
    pub(crate) fn bucket(self: &Arc<Self>, place: &Place, bucket: &str) -> RemoteStore {
        let this = S3Bucket { settings: Arc::clone(self), bucket: bucket.to_owned() };
        RemoteStore::new(place.clone(), this, self.new_objects.clone(), self.http.retry.clone())
    }

    /// Where the buckets are, unless that is at Amazon.
    pub(crate) fn endpoint(&self) -> Option<String> {
        self.endpoint.as_ref().map(Url::to_string)
    }

    /// The root of a bucket at the endpoint, and whether the bucket is part of the host.
    fn bucket_endpoint(&self, bucket: &str) -> (Option<String>, bool) {
        // Not every bucket has a name that can be one of a host; with a dot in it no certificate would do.
        let is_label = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let in_host = !self.path_style && bucket.bytes().all(is_label);
        let Some(endpoint) = &self.endpoint else { return (None, in_host) };
        let root = endpoint.as_str().trim_end_matches('/');
        match endpoint.host() {
            Some(Host::Domain(domain)) if in_host && domain != "localhost" => {
                (Some(root.replacen("://", &format!("://{bucket}."), 1)), true)
            }
            _ => (Some(root.to_owned()), false),
        }
    }

    async fn connect(&self, bucket: &str) -> Result<Arc<dyn ObjectStore>> {
        let (endpoint, in_host) = self.bucket_endpoint(bucket);
        let location = format!("s3://{bucket}/");
        let (region, credentials) = self.identity(endpoint.is_some(), &location).await?;
        let conditional = self.new_objects.conditional;
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(bucket)
            .with_region(region)
            .with_credentials(credentials)
            .with_virtual_hosted_style_request(in_host)
            .with_client_options(self.http.client(endpoint.as_deref()))
            .with_retry(self.http.retry.clone())
            .with_conditional_put(if conditional { S3ConditionalPut::ETagMatch } else { S3ConditionalPut::Disabled })
            .with_http_connector(Connector { complete_new: conditional });
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        let encryption = [
            (SSE_HEADER, self.encryption.algorithm),
            (SSE_KEY_HEADER, self.encryption.key.as_deref()),
            (SSE_BUCKET_KEY_HEADER, self.encryption.bucket_key.map(|on| if on { "true" } else { "false" })),
        ];
        for (name, value) in encryption {
            if let Some(value) = value {
                let key: AmazonS3ConfigKey = name.parse().map_err(|e| Error::from_store(e, &location, "set up"))?;
                builder = builder.with_config(key, value);
            }
        }
        let store = builder.build();
        Ok(Arc::new(store.map_err(|error| Error::from_store(error, &location, "set up"))?))
    }

    /// The region of the bucket, and the credentials for it.
    async fn identity(&self, has_endpoint: bool, location: &str) -> Result<(String, AwsCredentialProvider)> {
        match (&self.credentials, &self.region, has_endpoint) {
            (Some(credentials), Some(region), _) => Ok((region.clone(), Arc::clone(credentials))),
            // Stores that are not Amazon's take any region.
            (Some(credentials), None, true) => Ok((DEFAULT_REGION.to_owned(), Arc::clone(credentials))),
            _ => {
                let config = self.chain(has_endpoint).await.map_err(|e| Error::from_cloud(e, location))?;
                let region = config.region().map_or(DEFAULT_REGION, AsRef::as_ref).to_owned();
                let chain = || Arc::new(ChainCredentials(config)) as AwsCredentialProvider;
                Ok((region, self.credentials.clone().unwrap_or_else(chain)))
            }
        }
    }

    /// Asks the platform who and where we are.
    async fn chain(&self, any_region: bool) -> lakelock_cloud::Result<aws::SdkConfig> {
        let platform = self.platform.clone();
        if any_region { platform.or_region(DEFAULT_REGION).load().await } else { platform.load().await }
    }
}

/// One bucket.
struct S3Bucket {
    settings: Arc<S3Settings>,
    bucket: String,
}

#[async_trait]
impl Connect for S3Bucket {
    async fn connect(&self) -> Result<Arc<dyn ObjectStore>> {
        self.settings.connect(&self.bucket).await
    }
}

const ENDPOINT: &str = "s3.endpoint";
/// What Java takes for a store that is not Amazon's, too.
const DEFAULT_REGION: &str = "us-east-1";
const SSE_TYPE: &str = "s3.sse.type";
const SSE_KEY: &str = "s3.sse.key";
const SSE_BUCKET_KEY: &str = "s3.sse.bucket-key-enabled";
/// What the client calls the headers of server-side encryption.
const SSE_HEADER: &str = "aws_server_side_encryption";
const SSE_KEY_HEADER: &str = "aws_sse_kms_key_id";
const SSE_BUCKET_KEY_HEADER: &str = "aws_sse_bucket_key_enabled";

/// Java's properties that cannot be passed over in silence.
fn refuse_unsupported(properties: Properties<'_>) -> Result<()> {
    let identity = "requests would be made as somebody else than it says";
    properties
        .refuse(&["s3.access-grants.enabled", "s3.remote-signing-enabled", "s3.client-factory-impl"], identity)?;
    properties.refuse_below("s3.access-points.", "requests would go to the bucket itself")?;
    properties.refuse(&["s3.acl"], "files would be open to others than it says: use the bucket's policy")?;
    properties.refuse_below("s3.delete.tags.", "files would be deleted without being tagged before")?;
    if !properties.flag("s3.delete-enabled", true)? {
        return Err(unsupported("s3.delete-enabled", "files would be deleted that are to be kept"));
    }
    let known = |(rest, _): &(&str, &str)| matches!(*rest, "type" | "key" | "bucket-key-enabled");
    match properties.below("s3.sse.").into_iter().find(|property| !known(property)) {
        Some((rest, _)) => Err(unsupported(&format!("s3.sse.{rest}"), "files would not be encrypted as it says")),
        None => Ok(()),
    }
}

fn endpoint(text: &str) -> Result<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.filter(|url| url.query().is_none() && url.fragment().is_none() && url.username().is_empty());
    url.ok_or_else(|| invalid(ENDPOINT, "expected an URL like https://host:port"))
}

fn credentials(properties: Properties<'_>) -> Result<Option<AwsCredentialProvider>> {
    const ID: &str = "s3.access-key-id";
    const SECRET: &str = "s3.secret-access-key";
    const TOKEN: &str = "s3.session-token";
    let token = properties.text(TOKEN).map(str::to_owned);
    match (properties.text(ID), properties.text(SECRET)) {
        (Some(id), Some(secret)) => {
            let credential = AwsCredential { key_id: id.to_owned(), secret_key: secret.to_owned(), token };
            Ok(Some(Arc::new(StaticCredentialProvider::new(credential))))
        }
        (Some(_), None) => Err(invalid(ID, format!("{SECRET} is needed with it"))),
        (None, Some(_)) => Err(invalid(SECRET, format!("{ID} is needed with it"))),
        (None, None) if token.is_some() => Err(invalid(TOKEN, format!("{ID} and {SECRET} are needed with it"))),
        (None, None) => Ok(None),
    }
}

impl Encryption {
    fn from_properties(properties: Properties<'_>) -> Result<Self> {
        let key = properties.text(SSE_KEY).map(str::to_owned);
        let kind = properties.text(SSE_TYPE).unwrap_or("none").to_ascii_lowercase();
        let algorithm = match kind.as_str() {
            "none" => None,
            "s3" => Some("AES256"),
            "kms" => Some("aws:kms"),
            "dsse-kms" => Some("aws:kms:dsse"),
            "custom" => {
                return Err(unsupported(
                    SSE_TYPE,
                    "keys of customers are not sent to stores; kms and dsse-kms are there",
                ));
            }
            _ => return Err(invalid(SSE_TYPE, "expected none, s3, kms or dsse-kms")),
        };
        if key.is_some() && !kind.ends_with("kms") {
            return Err(invalid(SSE_KEY, format!("it is not used unless {SSE_TYPE} is kms or dsse-kms")));
        }
        let bucket_key = properties.text(SSE_BUCKET_KEY).map(|_| properties.flag(SSE_BUCKET_KEY, false)).transpose()?;
        if bucket_key.is_some() && kind != "kms" {
            return Err(invalid(SSE_BUCKET_KEY, format!("it is not used unless {SSE_TYPE} is kms")));
        }
        Ok(Self { algorithm, key, bucket_key })
    }
}

fn new_objects(properties: Properties<'_>) -> Result<NewObjects> {
    let mut attributes = Attributes::new();
    if let Some(class) = properties.text("s3.write.storage-class") {
        attributes.insert(Attribute::StorageClass, AttributeValue::from(class.to_owned()));
    }
    let mut tags = TagSet::default();
    for (name, value) in properties.below("s3.write.tags.") {
        tags.push(name, value);
    }
    let conditional = properties.flag("s3.conditional-writes", true)?;
    Ok(NewObjects { attributes, tags, conditional, conditional_uploads: conditional })
}

/// The platform's own credentials, for clients that sign by themselves.
#[derive(Debug)]
struct ChainCredentials(aws::SdkConfig);

#[async_trait]
impl CredentialProvider for ChainCredentials {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let found = aws::credentials(&self.0).await.map_err(error::without_credentials)?;
        Ok(Arc::new(AwsCredential {
            key_id: found.access_key_id().to_owned(),
            secret_key: found.secret_access_key().to_owned(),
            token: found.session_token().map(str::to_owned),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn settings(pairs: &[(&str, &str)]) -> Result<S3Settings> {
        let properties = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        S3Settings::from_properties(&properties)
    }

    #[test]
    fn a_bucket_is_where_java_would_look_for_it() {
        let cases = [
            ("lake", &[][..], (None, true)),
            ("my.lake", &[], (None, false)),
            ("lake", &[("s3.path-style-access", "TRUE")], (None, false)),
            ("lake", &[("s3.endpoint", "https://s3.example.com/")], (Some("https://lake.s3.example.com"), true)),
            ("Lake", &[("s3.endpoint", "https://s3.example.com")], (Some("https://s3.example.com"), false)),
            ("lake", &[("s3.endpoint", "http://127.0.0.1:9000")], (Some("http://127.0.0.1:9000"), false)),
            ("lake", &[("s3.endpoint", "http://[::1]:9000")], (Some("http://[::1]:9000"), false)),
            (
                "lake",
                &[("s3.endpoint", "http://minio:9000"), ("s3.path-style-access", "true")],
                (Some("http://minio:9000"), false),
            ),
        ];
        for (bucket, pairs, (endpoint, in_host)) in cases {
            let found = settings(pairs).unwrap().bucket_endpoint(bucket);
            assert_eq!((found.0.as_deref(), found.1), (endpoint, in_host), "{bucket} {pairs:?}");
        }
    }

    #[test]
    fn what_would_be_less_protected_or_elsewhere_is_refused_by_name() {
        let cases = [
            (&[("s3.sse.type", "custom"), ("s3.sse.key", "c2VjcmV0")][..], ErrorKind::Unsupported, "s3.sse.type"),
            (&[("s3.sse.type", "aes")], ErrorKind::InvalidInput, "s3.sse.type"),
            (&[("s3.sse.key", "alias/lake")], ErrorKind::InvalidInput, "s3.sse.key"),
            (&[("s3.sse.type", "s3"), ("s3.sse.key", "alias/lake")], ErrorKind::InvalidInput, "s3.sse.key"),
            (&[("s3.sse.bucket-key-enabled", "true")], ErrorKind::InvalidInput, "s3.sse.bucket-key-enabled"),
            (&[("s3.sse.md5", "x")], ErrorKind::Unsupported, "s3.sse.md5"),
            (&[("s3.sse.context", "x")], ErrorKind::Unsupported, "s3.sse.context"),
            (&[("s3.acl", "private")], ErrorKind::Unsupported, "s3.acl"),
            (&[("s3.access-points.lake", "arn")], ErrorKind::Unsupported, "s3.access-points.lake"),
            (&[("s3.delete-enabled", "false")], ErrorKind::Unsupported, "s3.delete-enabled"),
            (&[("s3.remote-signing-enabled", "true")], ErrorKind::Unsupported, "s3.remote-signing-enabled"),
            (&[("s3.endpoint", "minio:9000")], ErrorKind::InvalidInput, "s3.endpoint"),
            (&[("s3.endpoint", "ftp://minio")], ErrorKind::InvalidInput, "s3.endpoint"),
            (&[("s3.endpoint", "https://user@minio")], ErrorKind::InvalidInput, "s3.endpoint"),
            (&[("s3.path-style-access", "1")], ErrorKind::InvalidInput, "s3.path-style-access"),
            (&[("s3.access-key-id", "h1dden")], ErrorKind::InvalidInput, "s3.access-key-id"),
            (&[("s3.secret-access-key", "h1dden")], ErrorKind::InvalidInput, "s3.secret-access-key"),
            (&[("s3.session-token", "h1dden")], ErrorKind::InvalidInput, "s3.session-token"),
            (&[("s3.retry.num-retries", "-1")], ErrorKind::InvalidInput, "s3.retry.num-retries"),
            (&[("storage.timeout-ms", "0")], ErrorKind::InvalidInput, "storage.timeout-ms"),
        ];
        for (pairs, kind, name) in cases {
            let error = settings(pairs).err().unwrap();
            assert_eq!((error.kind(), error.location()), (kind, name), "{pairs:?}");
            assert!(!format!("{error} {error:?}").contains("h1dden"), "{error:?}");
        }
        let fine = [
            ("s3.sse.type", "DSSE-KMS"),
            ("s3.sse.key", "alias/lake"),
            ("s3.remote-signing-enabled", "false"),
            ("s3.staging-dir", "/tmp"),
            ("s3.acl", ""),
        ];
        settings(&fine).unwrap();
    }
}
