//! Buckets of Google Cloud Storage, by Java's properties.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use lakelock_cloud::google::TokenSource;
use object_store::{
    CredentialProvider, HeaderMap, HeaderValue, ObjectStore,
    gcp::{GcpCredential, GoogleCloudStorageBuilder},
};

use crate::{
    error::{self, Error, Result},
    http::{Connector, HttpSettings},
    location::Place,
    properties::{Properties, invalid},
    remote::{Connect, NewObjects, RemoteStore},
};

/// How buckets are reached.
pub(crate) struct GcsSettings {
    http: HttpSettings,
    host: Option<String>,
    /// Nothing, if requests are not to say who we are.
    tokens: Option<Arc<Tokens>>,
    /// Whom the requests are charged to.
    user_project: Option<HeaderValue>,
}

impl GcsSettings {
    pub(crate) fn from_properties(all: &HashMap<String, String>) -> Result<Self> {
        let properties = Properties(all);
        properties.refuse(
            &["gcs.encryption-key", "gcs.decryption-key"],
            "keys of customers are not sent to stores; a key of Cloud KMS is set for the bucket",
        )?;
        properties.refuse_below("gcs.impersonate.", "requests would be made as somebody else than it says")?;
        let host = properties.text(HOST).map(|host| match host.split_once("://") {
            Some(("http" | "https", rest)) if !rest.is_empty() => Ok(host.trim_end_matches('/').to_owned()),
            _ => Err(invalid(HOST, "expected an URL like https://host:port")),
        });
        let user_project = properties.text(USER_PROJECT).map(|project| {
            HeaderValue::from_str(project).map_err(|_| invalid(USER_PROJECT, "expected the id of a project"))
        });
        let tokens = if properties.flag("gcs.no-auth", false)? {
            None
        } else {
            Some(TokenSource::from_properties(all).map_err(|error| Error::from_cloud(error, "gs"))?)
        };
        Ok(Self {
            http: HttpSettings::from_properties(properties, "gcs")?,
            host: host.transpose()?,
            tokens: tokens.map(|tokens| Arc::new(Tokens(tokens))),
            user_project: user_project.transpose()?,
        })
    }

    /// Where the buckets are, unless that is at Google.
    pub(crate) fn endpoint(&self) -> Option<String> {
        self.host.clone()
    }

    /// A bucket, which is set up by the first request.
    pub(crate) fn bucket(self: &Arc<Self>, place: &Place, bucket: &str) -> RemoteStore {
        let this = GcsBucket { settings: Arc::clone(self), bucket: bucket.to_owned() };
        RemoteStore::new(place.clone(), this, NewObjects::default(), self.http.retry.clone())
    }
}

const HOST: &str = "gcs.service.host";
const USER_PROJECT: &str = "gcs.user-project";

/// One bucket.
struct GcsBucket {
    settings: Arc<GcsSettings>,
    bucket: String,
}

#[async_trait]
impl Connect for GcsBucket {
    async fn connect(&self) -> Result<Arc<dyn ObjectStore>> {
        let GcsSettings { http, host, tokens, user_project } = &*self.settings;
        let mut client = http.client(host.as_deref());
        if let Some(project) = user_project {
            let mut headers = HeaderMap::new();
            headers.insert("x-goog-user-project", project.clone());
            client = client.with_default_headers(headers);
        }
        let mut builder = GoogleCloudStorageBuilder::new()
            .with_bucket_name(&self.bucket)
            .with_client_options(client)
            .with_retry(http.retry.clone())
            // The condition of such a request has another name there, which the client does not know.
            .with_http_connector(Connector { complete_new: false });
        if let Some(host) = host {
            builder = builder.with_base_url(host);
        }
        builder = match tokens {
            Some(tokens) => builder.with_credentials(Arc::clone(tokens) as _),
            None => builder.with_credentials(Arc::new(Nobody)).with_skip_signature(true),
        };
        let store = builder.build();
        let location = format!("gs://{}/", self.bucket);
        Ok(Arc::new(store.map_err(|error| Error::from_store(error, &location, "set up"))?))
    }
}

/// Tokens of the platform.
#[derive(Debug)]
struct Tokens(TokenSource);

#[async_trait]
impl CredentialProvider for Tokens {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        let token = self.0.token().await.map_err(error::without_credentials)?;
        Ok(Arc::new(GcpCredential { bearer: token.expose_secret().to_owned() }))
    }
}

/// Stands where the client would look for credentials in its own way.
#[derive(Debug)]
struct Nobody;

#[async_trait]
impl CredentialProvider for Nobody {
    type Credential = GcpCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<GcpCredential>> {
        Ok(Arc::new(GcpCredential { bearer: String::new() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn what_would_be_less_protected_or_elsewhere_is_refused_by_name() {
        let settings = |name: &str, value: &str| {
            GcsSettings::from_properties(&HashMap::from([(name.to_owned(), value.to_owned())])).err()
        };
        for (name, value, kind) in [
            ("gcs.encryption-key", "c2VjcmV0", ErrorKind::Unsupported),
            ("gcs.decryption-key", "c2VjcmV0", ErrorKind::Unsupported),
            ("gcs.impersonate.service-account", "reader@project", ErrorKind::Unsupported),
            ("gcs.service.host", "storage.example.com", ErrorKind::InvalidInput),
            ("gcs.user-project", "a\nb", ErrorKind::InvalidInput),
            ("gcs.no-auth", "yes", ErrorKind::InvalidInput),
        ] {
            let error = settings(name, value).unwrap();
            assert_eq!((error.kind(), error.location()), (kind, name));
        }
        for (name, value) in [("gcs.project-id", "lake"), ("gcs.delete.batch-size", "5"), ("gcs.no-auth", "true")] {
            assert!(settings(name, value).is_none(), "{name}");
        }
    }
}
