//! Credentials, kept until shortly before they expire.

use std::fmt;
use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_credential_types::provider::{self, ProvideCredentials, SharedCredentialsProvider, future};
use tokio::sync::Mutex;

/// How long before they expire credentials are renewed: what has just been signed must arrive before.
const EARLY: Duration = Duration::from_mins(5);
/// How long credentials without an end are kept: somebody may have changed the profile.
const WITHOUT_END: Duration = Duration::from_mins(15);

/// Who asks while credentials are being got waits for them, so that many requests make one call.
pub(super) struct Cached {
    provider: SharedCredentialsProvider,
    kept: Mutex<Option<Kept>>,
    now: fn() -> SystemTime,
}

struct Kept {
    credentials: Credentials,
    renew: SystemTime,
}

impl Cached {
    pub(super) fn new(provider: SharedCredentialsProvider) -> Self {
        Self::with_clock(provider, SystemTime::now)
    }

    pub(super) fn with_clock(provider: SharedCredentialsProvider, now: fn() -> SystemTime) -> Self {
        Self { provider, kept: Mutex::new(None), now }
    }

    pub(super) async fn get(&self) -> provider::Result {
        let mut kept = self.kept.lock().await;
        let now = (self.now)();
        if let Some(kept) = kept.as_ref()
            && now < kept.renew
        {
            return Ok(kept.credentials.clone());
        }
        match self.provider.provide_credentials().await {
            Ok(credentials) => {
                let renew = credentials.expiry().map_or(now + WITHOUT_END, |expiry| expiry - EARLY);
                *kept = Some(Kept { credentials: credentials.clone(), renew });
                Ok(credentials)
            }
            Err(error) => match kept.as_ref().and_then(|kept| Some((&kept.credentials, kept.credentials.expiry()?))) {
                Some((credentials, expiry)) if now < expiry => {
                    tracing::warn!(%error, "AWS credentials could not be renewed; the old ones still hold for a while");
                    Ok(credentials.clone())
                }
                _ => Err(error),
            },
        }
    }
}

impl ProvideCredentials for Cached {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.get())
    }
}

impl fmt::Debug for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached").field("provider", &self.provider).finish_non_exhaustive()
    }
}
