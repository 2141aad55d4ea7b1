//! Containers of Azure Blob Storage and Data Lake Storage, by Java's properties.
//!
//! The account is in the location, which anybody may have written: tokens and keys go to Azure's own hosts and to those that a
//! property names, and nowhere else.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use lakelock_cloud::azure::TokenSource;
use object_store::{
    CredentialProvider, ObjectStore,
    azure::{AzureConfigKey, AzureCredential, MicrosoftAzureBuilder},
};

use crate::{
    error::{self, Error, ErrorKind, Result},
    http::{Connector, HttpSettings},
    location::Place,
    properties::{Properties, invalid},
    remote::{Connect, NewObjects, RemoteStore},
};

/// How containers are reached.
pub(crate) struct AzureSettings {
    http: HttpSettings,
    /// By host or account.
    sas_tokens: HashMap<String, String>,
    /// By host or account.
    endpoints: HashMap<String, String>,
    /// The name of an account and its key.
    shared_key: Option<(String, String)>,
    tokens: Arc<Tokens>,
}

impl AzureSettings {
    pub(crate) fn from_properties(all: &HashMap<String, String>) -> Result<Self> {
        let properties = Properties(all);
        let by_account = |prefix: &str| {
            let properties = properties.below(prefix).into_iter();
            properties
                .map(|(account, value)| (account.to_ascii_lowercase(), value.to_owned()))
                .collect::<HashMap<_, _>>()
        };
        let endpoints = by_account(ENDPOINT);
        if let Some((account, _)) = endpoints.iter().find(|(_, url)| !is_url(url)) {
            let message =
                "expected the URL of the account's endpoint for blobs, such as https://account.blob.core.windows.net";
            return Err(invalid(&format!("{ENDPOINT}{account}"), message));
        }
        let shared_key = match (properties.text(ACCOUNT_NAME), properties.text(ACCOUNT_KEY)) {
            (Some(name), Some(key)) => Some((name.to_owned(), key.to_owned())),
            (None, None) => None,
            (Some(_), None) => return Err(invalid(ACCOUNT_NAME, format!("{ACCOUNT_KEY} is needed with it"))),
            (None, Some(_)) => return Err(invalid(ACCOUNT_KEY, format!("{ACCOUNT_NAME} is needed with it"))),
        };
        let tokens =
            TokenSource::from_properties(all, TOKEN, SCOPE).map_err(|error| Error::from_cloud(error, "abfss"))?;
        Ok(Self {
            http: HttpSettings::from_properties(properties, "adls")?,
            sas_tokens: by_account("adls.sas-token."),
            endpoints,
            shared_key,
            tokens: Arc::new(Tokens(tokens)),
        })
    }

    /// A container, which is set up by the first request.
    pub(crate) fn container(self: &Arc<Self>, place: &Place, host: &str, container: &str) -> RemoteStore {
        let this = Container { settings: Arc::clone(self), host: host.to_owned(), name: container.to_owned() };
        RemoteStore::new(place.clone(), this, NewObjects::default(), self.http.retry.clone())
    }

    /// Where the blobs of an account are, by the host that its locations have.
    fn endpoint(&self, host: &str, location: &str) -> Result<String> {
        if let Some(endpoint) = of_account(&self.endpoints, host) {
            return Ok(endpoint.trim_end_matches('/').to_owned());
        }
        let (account, domain) = host.split_once('.').unwrap_or((host, ""));
        // Some accounts have a zone in their names.
        let domain = domain.split_once('.').filter(|(zone, _)| zone.starts_with('z')).map_or(domain, |(_, rest)| rest);
        if !DOMAINS.contains(&domain) {
            let message = format!("{host} is no host of Azure: name its endpoint by {ENDPOINT}{host}");
            return Err(Error::new(ErrorKind::InvalidInput, location, message));
        }
        Ok(format!("https://{account}.{}", host[account.len() + 1..].replacen("dfs.", "blob.", 1)))
    }
}

/// The value for a host, or for the account that it is of.
fn of_account<'a>(values: &'a HashMap<String, String>, host: &str) -> Option<&'a String> {
    let blob = host.replacen(".dfs.", ".blob.", 1);
    let account = host.split('.').next().unwrap_or(host);
    [host, &blob, account].into_iter().find_map(|name| values.get(name))
}

fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(['?', '#', '@']))
}

const ENDPOINT: &str = "adls.connection-string.";
const ACCOUNT_NAME: &str = "adls.auth.shared-key.account.name";
const ACCOUNT_KEY: &str = "adls.auth.shared-key.account.key";
const TOKEN: &str = "adls.token";

const SCOPE: &str = "https://storage.azure.com/.default";

/// What follows the account in hosts of Azure, in its public and sovereign clouds and in Fabric.
const DOMAINS: [&str; 5] = [
    "dfs.core.windows.net",
    "dfs.core.chinacloudapi.cn",
    "dfs.core.usgovcloudapi.net",
    "dfs.fabric.microsoft.com",
    "dfs.storage.azure.net",
];

/// One container.
struct Container {
    settings: Arc<AzureSettings>,
    host: String,
    name: String,
}

#[async_trait]
impl Connect for Container {
    async fn connect(&self) -> Result<Arc<dyn ObjectStore>> {
        let Self { settings, host, name: container } = self;
        let location = format!("abfss://{container}@{host}/");
        let endpoint = settings.endpoint(host, &location)?;
        let account = host.split('.').next().unwrap_or(host);
        let builder = MicrosoftAzureBuilder::new()
            .with_account(account)
            .with_container_name(container)
            .with_client_options(settings.http.client(Some(&endpoint)))
            .with_endpoint(endpoint)
            .with_retry(settings.http.retry.clone())
            .with_http_connector(Connector { complete_new: false });
        // Java's order.
        let builder = match (of_account(&settings.sas_tokens, host), &settings.shared_key) {
            (Some(token), _) => builder.with_config(AzureConfigKey::SasKey, token),
            (None, Some((name, key))) if name == account => builder.with_access_key(key),
            (None, Some((name, _))) => {
                let message = format!("{ACCOUNT_KEY} is of the account {name}, not of {account}");
                return Err(Error::new(ErrorKind::Credentials, &location, message));
            }
            (None, None) => builder.with_credentials(Arc::clone(&settings.tokens) as _),
        };
        Ok(Arc::new(builder.build().map_err(|error| Error::from_store(error, &location, "set up"))?))
    }
}

/// Tokens of the platform.
#[derive(Debug)]
struct Tokens(TokenSource);

#[async_trait]
impl CredentialProvider for Tokens {
    type Credential = AzureCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AzureCredential>> {
        let token = self.0.token().await.map_err(error::without_credentials)?;
        Ok(Arc::new(AzureCredential::BearerToken(token.expose_secret().to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Result<AzureSettings> {
        let properties = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        AzureSettings::from_properties(&properties)
    }

    #[test]
    fn secrets_go_to_hosts_of_azure_and_those_of_properties_only() {
        let own = [
            ("adls.connection-string.devstoreaccount1", "http://127.0.0.1:10000/devstoreaccount1/"),
            ("adls.connection-string.lake.dfs.example.com", "https://lake.example.com"),
        ];
        let settings = settings(&own).unwrap();
        for (host, expected) in [
            ("acc.dfs.core.windows.net", Some("https://acc.blob.core.windows.net")),
            ("acc.dfs.core.chinacloudapi.cn", Some("https://acc.blob.core.chinacloudapi.cn")),
            ("acc.z12.dfs.storage.azure.net", Some("https://acc.z12.blob.storage.azure.net")),
            ("onelake.dfs.fabric.microsoft.com", Some("https://onelake.blob.fabric.microsoft.com")),
            ("devstoreaccount1.dfs.core.windows.net", Some("http://127.0.0.1:10000/devstoreaccount1")),
            ("lake.dfs.example.com", Some("https://lake.example.com")),
            ("other.dfs.example.com", None),
            ("acc.dfs.core.windows.net.example.com", None),
            ("dfs.core.windows.net", None),
            ("acc.evil.dfs.core.windows.net", None),
            ("localhost", None),
        ] {
            let found = settings.endpoint(host, host);
            assert_eq!(found.as_ref().ok().map(String::as_str), expected, "{host}");
            assert!(found.is_ok() || found.unwrap_err().kind() == ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn properties_are_checked() {
        for (name, value, kind) in [
            ("adls.auth.shared-key.account.name", "acc", ErrorKind::InvalidInput),
            ("adls.auth.shared-key.account.key", "c2VjcmV0", ErrorKind::InvalidInput),
            ("adls.connection-string.acc", "AccountName=acc;AccountKey=c2VjcmV0", ErrorKind::InvalidInput),
            ("adls.token-credential-provider", "org.example.Provider", ErrorKind::Unsupported),
        ] {
            let error = settings(&[(name, value)]).err().unwrap();
            assert_eq!(error.kind(), kind, "{name}");
            assert!(!format!("{error:?}").contains("c2VjcmV0"), "{error:?}");
        }
    }
}
