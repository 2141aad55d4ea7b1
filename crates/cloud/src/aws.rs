//! AWS: which region and which identity a client has, by Iceberg's properties and the SDK's own chain.
//!
//! | property | what it sets |
//! |---|---|
//! | `client.region` | the region; else the environment, the profile and the instance are asked |
//! | `client.assume-role.arn` | the role to assume with the credentials of the chain |
//! | `client.assume-role.region` | the region then, for STS as well |
//! | `client.assume-role.external-id`, `.session-name`, `.timeout-sec`, `.tags.NAME` | how it is assumed |
//!
//! The chain is the SDK's: environment variables, profiles (with SSO, `credential_process` and roles of their own), web
//! identity, the ECS and EKS container endpoint, the EC2 instance. Java assumes a role only if `client.factory` says
//! so as well; here the role's ARN is enough. `client.factory` and `client.credentials-provider` name Java classes: those
//! that stand for the above are accepted, others refused, since leaving them out would change who the client is.

mod cached;
mod failure;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::time::Duration;

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::sts::AssumeRoleProvider;
use aws_config::{AppName, BehaviorVersion, Region};
use aws_credential_types::provider::{ProvideCredentials as _, SharedCredentialsProvider};

pub use aws_config::SdkConfig;
pub use aws_credential_types::Credentials;
pub use failure::credentials_failure;

use crate::{Error, ErrorKind, Result};
use cached::Cached;

/// Property: the region.
pub const CLIENT_REGION: &str = "client.region";
/// Property: the Java class that makes clients.
pub const CLIENT_FACTORY: &str = "client.factory";
/// Property: the Java class that provides credentials.
pub const CLIENT_CREDENTIALS_PROVIDER: &str = "client.credentials-provider";
/// Property: where a REST catalog gives out credentials.
pub const REFRESH_CREDENTIALS_ENDPOINT: &str = "client.refresh-credentials-endpoint";
/// Property: the role to assume.
pub const ASSUME_ROLE_ARN: &str = "client.assume-role.arn";
/// Property: the region of a client with an assumed role.
pub const ASSUME_ROLE_REGION: &str = "client.assume-role.region";
/// Property: what the role's trust policy may ask for.
pub const ASSUME_ROLE_EXTERNAL_ID: &str = "client.assume-role.external-id";
/// Property: what the session is called in the logs of AWS.
pub const ASSUME_ROLE_SESSION_NAME: &str = "client.assume-role.session-name";
/// Property: how long a session lasts, in seconds, before it is renewed.
pub const ASSUME_ROLE_TIMEOUT_SEC: &str = "client.assume-role.timeout-sec";
/// Property prefix: `client.assume-role.tags.NAME` = the value of the session's tag `NAME`.
pub const ASSUME_ROLE_TAGS_PREFIX: &str = "client.assume-role.tags.";

const ASSUME_ROLE_FACTORY: &str = "org.apache.iceberg.aws.AssumeRoleAwsClientFactory";
const DEFAULT_FACTORY: &str = "org.apache.iceberg.aws.AwsClientFactories$DefaultAwsClientFactory";
const DEFAULT_CREDENTIALS_PROVIDER: &str = "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider";

/// The region and identity that properties ask for, checked but not looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    region: Option<String>,
    /// For when nobody says one.
    usual_region: Option<String>,
    role: Option<Role>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Role {
    arn: String,
    external_id: Option<String>,
    session_name: Option<String>,
    duration: Duration,
    tags: Vec<(String, String)>,
}

impl Settings {
    /// The settings by the properties of a catalog; those of others are left alone.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a value that is wrong, [`ErrorKind::Unsupported`] for a Java class that nothing
    /// here stands for.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let get = |name: &str| properties.get(name).filter(|value| !value.is_empty()).cloned();
        check_classes(properties)?;
        let role = get(ASSUME_ROLE_ARN).map(|arn| Role::from_properties(arn, properties)).transpose()?;
        if role.is_none() && properties.get(CLIENT_FACTORY).is_some_and(|class| class == ASSUME_ROLE_FACTORY) {
            let message = format!("{CLIENT_FACTORY} asks to assume a role: set {ASSUME_ROLE_ARN}");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let region = role.as_ref().and_then(|_| get(ASSUME_ROLE_REGION)).or_else(|| get(CLIENT_REGION));
        Ok(Self { region, usual_region: None, role })
    }

    /// A region for when the properties, the environment and the profile say none; the instance is then not asked. For stores
    /// that are not Amazon's.
    #[must_use]
    pub fn or_region(self, region: &str) -> Self {
        Self { usual_region: Some(region.to_owned()), ..self }
    }

    /// Looks up what the properties leave open, for clients of any service. Credentials come later, when the first
    /// request is signed; they are then kept, and renewed before they expire, for all clients made of this.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if there is no region.
    pub async fn load(&self) -> Result<SdkConfig> {
        let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12());
        if let Ok(name) = AppName::new("lakelock") {
            loader = loader.app_name(name);
        }
        if let Some(region) = &self.region {
            loader = loader.region(Region::new(region.clone()));
        } else if let Some(usual) = &self.usual_region {
            let named = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new());
            let named = named.or_else(ProfileFileRegionProvider::new());
            loader = loader.region(named.or_else(Region::new(usual.clone())));
        }
        let config = loader.load().await;
        if config.region().is_none() {
            let message = format!(
                "no AWS region: set {CLIENT_REGION}, the environment variable AWS_REGION, or region in the profile"
            );
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let provider = match &self.role {
            Some(role) => Some(SharedCredentialsProvider::new(role.provider(&config).await)),
            None => config.credentials_provider(),
        };
        let mut builder = config.into_builder();
        builder.set_credentials_provider(provider.map(|inner| SharedCredentialsProvider::new(Cached::new(inner))));
        Ok(builder.build())
    }
}

impl Role {
    fn from_properties(arn: String, properties: &HashMap<String, String>) -> Result<Self> {
        let get = |name: &str| properties.get(name).filter(|value| !value.is_empty()).cloned();
        let seconds = match get(ASSUME_ROLE_TIMEOUT_SEC) {
            None => 3600,
            Some(value) => value.parse().ok().filter(|seconds| (900..=43_200).contains(seconds)).ok_or_else(|| {
                let message = format!("{ASSUME_ROLE_TIMEOUT_SEC} is {value:?}: expected 900 to 43200 seconds");
                Error::new(ErrorKind::InvalidInput, message)
            })?,
        };
        let mut tags: Vec<_> = properties
            .iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(ASSUME_ROLE_TAGS_PREFIX)?.to_owned(), value.clone())))
            .collect();
        tags.sort();
        Ok(Self {
            arn,
            external_id: get(ASSUME_ROLE_EXTERNAL_ID),
            session_name: get(ASSUME_ROLE_SESSION_NAME),
            duration: Duration::from_secs(seconds),
            tags,
        })
    }

    async fn provider(&self, config: &SdkConfig) -> AssumeRoleProvider {
        let session = self.session_name.clone().unwrap_or_else(|| format!("lakelock-{}", std::process::id()));
        let mut builder = AssumeRoleProvider::builder(&self.arn)
            .configure(config)
            .session_name(session)
            .session_length(self.duration)
            .tags(self.tags.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        if let Some(id) = &self.external_id {
            builder = builder.external_id(id);
        }
        builder.build().await
    }
}

/// [`Settings::from_properties`] and [`Settings::load`] at once.
///
/// # Errors
/// As those.
#[expect(clippy::implicit_hasher, reason = "properties are of one type everywhere")]
pub async fn sdk_config(properties: &HashMap<String, String>) -> Result<SdkConfig> {
    Settings::from_properties(properties)?.load().await
}

/// The region and credentials of the caller's own, without the chain.
#[must_use]
pub fn with_credentials(region: &str, credentials: Credentials) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new(region.to_owned()))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .build()
}

/// Credentials for a client that signs by itself: those that are kept, as long as they are good.
///
/// # Errors
/// [`ErrorKind::Credentials`] if there are none or the platform refuses them; [`ErrorKind::Unreachable`] if who gives
/// them out does not answer.
pub async fn credentials(config: &SdkConfig) -> Result<Credentials> {
    let none = || Error::new(ErrorKind::Credentials, "this AWS configuration signs nothing: it has no credentials");
    let provider = config.credentials_provider().ok_or_else(none)?;
    provider.provide_credentials().await.map_err(|error| credentials_failure(&error).unwrap_or_else(none))
}

/// Java's classes: what they stand for must be what we do.
fn check_classes(properties: &HashMap<String, String>) -> Result<()> {
    let known: [(&str, &[&str]); 3] = [
        (CLIENT_FACTORY, &[ASSUME_ROLE_FACTORY, DEFAULT_FACTORY]),
        (CLIENT_CREDENTIALS_PROVIDER, &[DEFAULT_CREDENTIALS_PROVIDER]),
        (REFRESH_CREDENTIALS_ENDPOINT, &[]),
    ];
    for (name, classes) in known {
        if let Some(value) = properties.get(name)
            && !classes.contains(&value.as_str())
        {
            let message = format!(
                "{name}={value} is not supported: leave it out, and credentials come from the environment, the \
                 profile or the instance, or from the role in {ASSUME_ROLE_ARN}"
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    }
    Ok(())
}
