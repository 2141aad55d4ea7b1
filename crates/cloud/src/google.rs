//! Google Cloud: Application Default Credentials, or a token by property.
//!
//! | property | what it sets |
//! |---|---|
//! | `gcs.oauth2.token` | an access token, used as it is |
//! | `gcs.oauth2.token-expires-at` | when that token ends, in milliseconds since 1970 |
//!
//! Without a token, Application Default Credentials: the file named by `GOOGLE_APPLICATION_CREDENTIALS` (a service
//! account, workload identity federation, an impersonated account, a user), the file that `gcloud auth
//! application-default login` makes, or the metadata server of the machine.

use std::collections::HashMap;
use std::env;
use std::error::Error as StdError;
use std::fmt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use google_cloud_auth::credentials::{AccessTokenCredentials, Builder};
use google_cloud_auth::errors::CredentialsError;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::{AccessToken, Error, ErrorKind, Result};

/// Property: an access token, instead of Application Default Credentials.
pub const GCS_OAUTH2_TOKEN: &str = "gcs.oauth2.token";
/// Property: when the token ends, in milliseconds since 1970.
pub const GCS_OAUTH2_TOKEN_EXPIRES_AT: &str = "gcs.oauth2.token-expires-at";

/// What a token is good for; what its owner may do is decided by IAM.
const SCOPE: &str = "https://www.googleapis.com/auth/cloud-platform";
/// Without a metadata server the search for one would go on for minutes.
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// Where access tokens for Google Cloud come from. Nothing is read or asked before the first token is wanted.
pub struct TokenSource(Kind);

enum Kind {
    /// Tokens are cached, and refreshed before they end, by the library.
    Default(Mutex<Option<AccessTokenCredentials>>),
    Given(AccessToken),
}

impl TokenSource {
    /// The source by the properties of a catalog.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a time of expiry that is none.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let value = |name| properties.get(name).filter(|value: &&String| !value.is_empty());
        let expires_at = value(GCS_OAUTH2_TOKEN_EXPIRES_AT).map(|text| expiry(text)).transpose()?;
        Ok(Self(match value(GCS_OAUTH2_TOKEN) {
            Some(token) => Kind::Given(AccessToken::new(token.clone(), expires_at)),
            None => Kind::Default(Mutex::new(None)),
        }))
    }

    /// A token to use now.
    ///
    /// # Errors
    /// [`ErrorKind::Credentials`] if there are none, or they are not accepted; [`ErrorKind::Unreachable`] if who knows
    /// does not answer.
    pub async fn token(&self) -> Result<AccessToken> {
        match &self.0 {
            Kind::Given(token) if token.lasts(Duration::ZERO, SystemTime::now()) => Ok(token.clone()),
            Kind::Given(_) => {
                let message = format!("the token in {GCS_OAUTH2_TOKEN} has ended ({GCS_OAUTH2_TOKEN_EXPIRES_AT})");
                Err(Error::new(ErrorKind::Credentials, message))
            }
            Kind::Default(found) => default_token(found).await,
        }
    }
}

async fn default_token(found: &Mutex<Option<AccessTokenCredentials>>) -> Result<AccessToken> {
    let credentials = {
        let mut found = found.lock().await;
        if let Some(credentials) = &*found {
            credentials.clone()
        } else {
            // Reads a file: too short to be worth a thread, and once.
            let built = Builder::default().with_scopes([SCOPE]).build_access_token_credentials();
            let message = "no Google credentials: set GOOGLE_APPLICATION_CREDENTIALS to a file that holds some";
            let credentials = built.map_err(|e| Error::new(ErrorKind::Credentials, message).with_source(e))?;
            found.insert(credentials).clone()
        }
    };
    // In a task of its own: the library panics if the runtime that its refreshing ran in is gone.
    let task = tokio::spawn(async move { credentials.access_token().await });
    let error = match timeout(LONGEST_WAIT, task).await {
        Ok(Ok(Ok(token))) => return Ok(AccessToken::new(token.token, None)),
        Ok(Ok(Err(error))) => refused(error),
        Ok(Err(error)) => {
            Error::new(ErrorKind::Unreachable, "Google credentials could not be refreshed").with_source(error)
        }
        Err(error) => no_answer(error),
    };
    // A failure stays in what has been built.
    *found.lock().await = None;
    Err(error)
}

fn refused(error: CredentialsError) -> Error {
    if error.is_transient() {
        return no_answer(error);
    }
    Error::new(ErrorKind::Credentials, "Google does not accept the credentials").with_source(error)
}

/// Where there are credentials in a file, their service may answer later. Else the only hope is the metadata server,
/// which is silent wherever there is none.
fn no_answer(cause: impl StdError + Send + Sync + 'static) -> Error {
    let is_set = |name| env::var_os(name).is_some();
    let by_gcloud = env::var_os("HOME")
        .is_some_and(|home| Path::new(&home).join(".config/gcloud/application_default_credentials.json").exists());
    if is_set("GOOGLE_APPLICATION_CREDENTIALS") || is_set("GCE_METADATA_HOST") || by_gcloud {
        return Error::new(ErrorKind::Unreachable, "Google's token service did not answer").with_source(cause);
    }
    // The cause is left out: it says at length that a later call may succeed.
    let message = "no Google credentials: GOOGLE_APPLICATION_CREDENTIALS is not set, there are none of `gcloud auth \
                   application-default login`, and no metadata server answers";
    Error::new(ErrorKind::Credentials, message)
}

fn expiry(text: &str) -> Result<SystemTime> {
    text.parse::<u64>().ok().and_then(|ms| SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms))).ok_or_else(
        || {
            let message = format!("{GCS_OAUTH2_TOKEN_EXPIRES_AT} is {text:?}: expected milliseconds since 1970");
            Error::new(ErrorKind::InvalidInput, message)
        },
    )
}

impl fmt::Debug for TokenSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Default(_) => "TokenSource(Application Default Credentials)",
            Kind::Given(_) => "TokenSource(gcs.oauth2.token)",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(pairs: &[(&str, &str)]) -> Result<TokenSource> {
        let owned = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        TokenSource::from_properties(&owned)
    }

    #[tokio::test]
    async fn a_given_token_is_used_until_it_ends() {
        const FAR: &str = "99999999999999";
        for (pairs, expected) in [
            (&[(GCS_OAUTH2_TOKEN, "t0ken")][..], Ok("t0ken")),
            (&[(GCS_OAUTH2_TOKEN, "t0ken"), (GCS_OAUTH2_TOKEN_EXPIRES_AT, FAR)], Ok("t0ken")),
            (&[(GCS_OAUTH2_TOKEN, "t0ken"), (GCS_OAUTH2_TOKEN_EXPIRES_AT, "1")], Err(ErrorKind::Credentials)),
        ] {
            let source = source(pairs).unwrap();
            assert!(!format!("{source:?}").contains("t0ken"));
            let token = source.token().await;
            assert_eq!(token.as_ref().map(AccessToken::expose_secret).map_err(Error::kind), expected, "{pairs:?}");
        }
        let error = source(&[(GCS_OAUTH2_TOKEN_EXPIRES_AT, "tomorrow")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
