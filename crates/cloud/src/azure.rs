//! Azure: the identity of a service or a developer, as `DefaultAzureCredential` finds it, or a token by property.
//!
//! 1. `AZURE_TENANT_ID`, `AZURE_CLIENT_ID` and `AZURE_CLIENT_SECRET`: a service principal with a secret.
//! 2. The first two with `AZURE_FEDERATED_TOKEN_FILE`: workload identity.
//! 3. Otherwise, in this order: the managed identity of the machine (`AZURE_CLIENT_ID` names one of several), the
//!    account of the Azure CLI, that of the Azure Developer CLI.
//!
//! `AZURE_TOKEN_CREDENTIALS` narrows it: `prod` to the first three, `dev` to the tools, or the name of one, such as
//! `ManagedIdentityCredential`. `AZURE_AUTHORITY_HOST` sets where tokens come from in sovereign clouds.

use std::collections::HashMap;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use azure_core::credentials::{Secret, TokenCredential};
use azure_identity::{
    AzureCliCredential, AzureDeveloperCliCredential, ClientSecretCredential, ManagedIdentityCredential,
    ManagedIdentityCredentialOptions, UserAssignedId, WorkloadIdentityCredential,
};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::token::TokenCache;
use crate::{AccessToken, Error, ErrorKind, Result};

/// Property: the Java class that provides tokens.
pub const ADLS_TOKEN_CREDENTIAL_PROVIDER: &str = "adls.token-credential-provider";

/// Where there is no managed identity, nobody answers.
const MANAGED_IDENTITY_WAIT: Duration = Duration::from_secs(3);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// Where access tokens for one service of Azure come from. Nothing is read or asked before the first token is wanted.
pub struct TokenSource {
    scope: String,
    kind: Kind,
}

enum Kind {
    Chain { cache: TokenCache, found: Mutex<Option<Arc<dyn TokenCredential>>> },
    Given(AccessToken),
}

/// One way to be someone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    AzureCli,
    AzureDeveloperCli,
    ClientSecret,
    Managed,
    Workload,
}

type Environment<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

impl TokenSource {
    /// The source of tokens with a `scope`, such as `https://storage.azure.com/.default`, by the properties of a catalog:
    /// the token in `token_property` if there is one, else the chain.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if a property asks for a Java class that provides tokens.
    pub fn from_properties(properties: &HashMap<String, String>, token_property: &str, scope: &str) -> Result<Self> {
        let value = |name: &str| properties.get(name).filter(|value| !value.is_empty());
        if let Some(class) = value(ADLS_TOKEN_CREDENTIAL_PROVIDER) {
            let message = format!("{ADLS_TOKEN_CREDENTIAL_PROVIDER} is {class:?}, a Java class: use {token_property}");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let kind = match value(token_property) {
            Some(token) => Kind::Given(AccessToken::new(token.clone(), None)),
            None => Kind::Chain { cache: TokenCache::default(), found: Mutex::new(None) },
        };
        Ok(Self { scope: scope.to_owned(), kind })
    }

    /// A token to use now.
    ///
    /// # Errors
    /// [`ErrorKind::Credentials`] if there are none, or they are not accepted; [`ErrorKind::Unreachable`] if who knows
    /// does not answer; [`ErrorKind::Unsupported`] for a client certificate.
    pub async fn token(&self) -> Result<AccessToken> {
        match &self.kind {
            Kind::Given(token) => Ok(token.clone()),
            Kind::Chain { cache, found } => cache.get_or_fetch(SystemTime::now(), self.fetch(found)).await,
        }
    }

    async fn fetch(&self, found: &Mutex<Option<Arc<dyn TokenCredential>>>) -> Result<AccessToken> {
        let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let mut found = found.lock().await;
        if let Some(credential) = &*found {
            return self.ask(credential.as_ref(), LONGEST_WAIT).await;
        }
        let identities = Identity::all(&environment)?;
        let mut errors = Vec::new();
        for identity in &identities {
            let is_last = identities.last() == Some(identity);
            let wait = match identity {
                Identity::Managed if !is_last => MANAGED_IDENTITY_WAIT,
                _ => LONGEST_WAIT,
            };
            match identity.credential(&environment) {
                Ok(credential) => match self.ask(credential.as_ref(), wait).await {
                    Ok(token) => {
                        tracing::debug!(?identity, "the identity for Azure is found");
                        *found = Some(credential);
                        return Ok(token);
                    }
                    Err(error) => errors.push((*identity, error)),
                },
                Err(error) => errors.push((*identity, refused(error))),
            }
        }
        Err(none_found(errors))
    }

    async fn ask(&self, credential: &dyn TokenCredential, wait: Duration) -> Result<AccessToken> {
        match timeout(wait, credential.get_token(&[&self.scope], None)).await {
            Ok(Ok(token)) => {
                Ok(AccessToken::new(token.token.secret().to_owned(), Some(SystemTime::from(token.expires_on))))
            }
            Ok(Err(error)) => Err(refused(error)),
            Err(_) => Err(Error::new(ErrorKind::Unreachable, format!("no answer within {} s", wait.as_secs()))),
        }
    }
}

impl Identity {
    /// Who to try to be, in this order.
    fn all(environment: Environment<'_>) -> Result<Vec<Self>> {
        use Identity::{AzureCli, AzureDeveloperCli, ClientSecret, Managed, Workload};
        let is_set = |names: &[&str]| names.iter().all(|name| environment(name).is_some());
        let is_principal = is_set(&["AZURE_TENANT_ID", "AZURE_CLIENT_ID"]);
        let deployed = if is_principal && is_set(&["AZURE_CLIENT_SECRET"]) {
            ClientSecret
        } else if is_principal && is_set(&["AZURE_CLIENT_CERTIFICATE_PATH"]) {
            let message = "client certificates (AZURE_CLIENT_CERTIFICATE_PATH) are not supported for Azure: \
                           use workload identity, a managed identity or AZURE_CLIENT_SECRET";
            return Err(Error::new(ErrorKind::Unsupported, message));
        } else if is_principal && is_set(&["AZURE_FEDERATED_TOKEN_FILE"]) {
            Workload
        } else {
            Managed
        };
        let choice = environment("AZURE_TOKEN_CREDENTIALS").map(|choice| choice.trim().to_lowercase());
        Ok(match choice.as_deref() {
            None if deployed == Managed => vec![Managed, AzureCli, AzureDeveloperCli],
            None | Some("prod") => vec![deployed],
            Some("dev") => vec![AzureCli, AzureDeveloperCli],
            Some("environmentcredential") => vec![ClientSecret],
            Some("workloadidentitycredential") => vec![Workload],
            Some("managedidentitycredential") => vec![Managed],
            Some("azureclicredential") => vec![AzureCli],
            Some("azuredeveloperclicredential") => vec![AzureDeveloperCli],
            Some(other) => {
                let message =
                    format!("AZURE_TOKEN_CREDENTIALS is {other:?}: expected prod, dev or a credential's name");
                return Err(Error::new(ErrorKind::InvalidInput, message));
            }
        })
    }

    fn credential(self, environment: Environment<'_>) -> azure_core::Result<Arc<dyn TokenCredential>> {
        let value = |name| environment(name).unwrap_or_default();
        Ok(match self {
            Self::AzureCli => AzureCliCredential::new(None)?,
            Self::AzureDeveloperCli => AzureDeveloperCliCredential::new(None)?,
            Self::ClientSecret => ClientSecretCredential::new(
                &value("AZURE_TENANT_ID"),
                value("AZURE_CLIENT_ID"),
                Secret::new(value("AZURE_CLIENT_SECRET")),
                None,
            )?,
            Self::Managed => ManagedIdentityCredential::new(Some(ManagedIdentityCredentialOptions {
                user_assigned_id: environment("AZURE_CLIENT_ID").map(UserAssignedId::ClientId),
                ..ManagedIdentityCredentialOptions::default()
            }))?,
            Self::Workload => WorkloadIdentityCredential::new(None)?,
        })
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AzureCli => "the Azure CLI",
            Self::AzureDeveloperCli => "the Azure Developer CLI",
            Self::ClientSecret => "the service principal of the environment",
            Self::Managed => "a managed identity",
            Self::Workload => "workload identity",
        })
    }
}

fn refused(error: azure_core::Error) -> Error {
    let is_server_error = |error: &azure_core::Error| match error.kind() {
        azure_core::error::ErrorKind::Connection | azure_core::error::ErrorKind::Io => true,
        _ => error.http_status().is_some_and(|status| status.is_server_error()),
    };
    let mut kind = ErrorKind::Credentials;
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(source) = cause {
        if source.downcast_ref().is_some_and(is_server_error) {
            kind = ErrorKind::Unreachable;
        }
        cause = source.source();
    }
    Error::new(kind, "no token for Azure").with_source(error)
}

/// One error for all that was tried. The whole chain fails for want of credentials, one identity as it failed.
fn none_found(mut errors: Vec<(Identity, Error)>) -> Error {
    if let [(identity, _)] = errors.as_slice() {
        let message = format!("{identity} gives no token for Azure");
        return match errors.pop() {
            Some((_, error)) => Error::new(error.kind(), message).with_source(error),
            None => Error::new(ErrorKind::Credentials, message),
        };
    }
    let tried: Vec<String> =
        errors.iter().map(|(identity, error)| format!("{identity} ({})", first_line(error))).collect();
    let message = format!(
        "no credentials for Azure: set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, or make one of these \
         work: {}",
        tried.join(", ")
    );
    Error::new(ErrorKind::Credentials, message)
}

fn first_line(error: &Error) -> String {
    let text = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(200).collect()
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Chain { .. } => "chain",
            Kind::Given(_) => "given token",
        };
        f.debug_struct("TokenSource").field("kind", &kind).field("scope", &self.scope).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::Identity::{AzureCli, AzureDeveloperCli, ClientSecret, Managed, Workload};
    use super::*;

    #[test]
    fn the_environment_says_who_to_try_to_be() {
        const PRINCIPAL: [&str; 2] = ["AZURE_TENANT_ID=t", "AZURE_CLIENT_ID=c"];
        type Expected = std::result::Result<&'static [Identity], ErrorKind>;
        let cases: [(&[&str], Expected); 10] = [
            (&[], Ok(&[Managed, AzureCli, AzureDeveloperCli])),
            (&PRINCIPAL, Ok(&[Managed, AzureCli, AzureDeveloperCli])),
            (&["AZURE_CLIENT_SECRET=s"], Ok(&[Managed, AzureCli, AzureDeveloperCli])),
            (&[PRINCIPAL[0], PRINCIPAL[1], "AZURE_CLIENT_SECRET=s"], Ok(&[ClientSecret])),
            (&[PRINCIPAL[0], PRINCIPAL[1], "AZURE_FEDERATED_TOKEN_FILE=f"], Ok(&[Workload])),
            (&[PRINCIPAL[0], PRINCIPAL[1], "AZURE_CLIENT_CERTIFICATE_PATH=f"], Err(ErrorKind::Unsupported)),
            (&["AZURE_TOKEN_CREDENTIALS=prod"], Ok(&[Managed])),
            (&["AZURE_TOKEN_CREDENTIALS=Dev"], Ok(&[AzureCli, AzureDeveloperCli])),
            (&["AZURE_TOKEN_CREDENTIALS=AzureCliCredential"], Ok(&[AzureCli])),
            (&["AZURE_TOKEN_CREDENTIALS=me"], Err(ErrorKind::InvalidInput)),
        ];
        for (variables, expected) in cases {
            let environment = |name: &str| {
                let pairs = variables.iter().filter_map(|variable| variable.split_once('='));
                pairs.clone().find(|(given, _)| *given == name).map(|(_, value)| value.to_owned())
            };
            let outcome = Identity::all(&environment);
            assert_eq!(outcome.as_deref().map_err(Error::kind), expected, "{variables:?}");
        }
    }

    #[tokio::test]
    async fn a_given_token_is_used_and_not_shown() {
        let properties = HashMap::from([("adls.token".to_owned(), "t0ken".to_owned())]);
        let source =
            TokenSource::from_properties(&properties, "adls.token", "https://storage.azure.com/.default").unwrap();
        assert_eq!(source.token().await.unwrap().expose_secret(), "t0ken");
        assert!(!format!("{source:?}").contains("t0ken"));
        let foreign = HashMap::from([(ADLS_TOKEN_CREDENTIAL_PROVIDER.to_owned(), "com.example.Mine".to_owned())]);
        let error = TokenSource::from_properties(&foreign, "adls.token", "x").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    }
}
