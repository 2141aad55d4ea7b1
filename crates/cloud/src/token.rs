//! A bearer token, and its cache.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zeroize::Zeroizing;

/// A token that says who we are: wiped when the last copy is dropped, never shown.
#[derive(Clone)]
pub struct AccessToken {
    text: Arc<Zeroizing<String>>,
    expires_at: Option<SystemTime>,
}

impl AccessToken {
    /// A token that ends at some time, or when nobody knows.
    #[must_use]
    pub fn new(text: String, expires_at: Option<SystemTime>) -> Self {
        Self { text: Arc::new(Zeroizing::new(text)), expires_at }
    }

    /// The text, for a header. Do not print, log or store it.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.text
    }

    /// When it ends, where that is known.
    #[must_use]
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.expires_at
    }

    /// Whether at least so much time is left.
    pub(crate) fn lasts(&self, time: Duration, now: SystemTime) -> bool {
        self.expires_at.is_none_or(|end| now.checked_add(time).is_some_and(|needed| needed <= end))
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("text", &"[redacted]").field("expires_at", &self.expires_at).finish()
    }
}

/// The token in use. It is replaced well before it ends, by one caller for all.
#[cfg(feature = "azure")]
#[derive(Debug, Default)]
pub(crate) struct TokenCache(tokio::sync::Mutex<Option<AccessToken>>);

#[cfg(feature = "azure")]
impl TokenCache {
    /// The cached token, or the one that `fetch` gets. A token that still lasts outlives a failure to replace it.
    pub(crate) async fn get_or_fetch(
        &self,
        now: SystemTime,
        fetch: impl Future<Output = crate::Result<AccessToken>>,
    ) -> crate::Result<AccessToken> {
        let mut cached = self.0.lock().await;
        if let Some(token) = cached.as_ref().filter(|token| token.lasts(REFRESH_BEFORE, now)) {
            return Ok(token.clone());
        }
        match fetch.await {
            Ok(token) => Ok(cached.insert(token).clone()),
            Err(error) => match cached.as_ref().filter(|token| token.lasts(LAST_USE_BEFORE, now)) {
                Some(token) => {
                    tracing::warn!(%error, "a token that ends soon could not be replaced yet");
                    Ok(token.clone())
                }
                None => Err(error),
            },
        }
    }
}

#[cfg(feature = "azure")]
const REFRESH_BEFORE: Duration = Duration::from_mins(5);
/// A request under way must not outlive its token.
#[cfg(feature = "azure")]
const LAST_USE_BEFORE: Duration = Duration::from_secs(30);

#[cfg(all(test, feature = "azure"))]
mod tests {
    use super::*;
    use crate::{Error, ErrorKind};

    #[tokio::test]
    async fn a_token_is_replaced_early_and_used_while_it_lasts() {
        let cache = TokenCache::default();
        let start = SystemTime::UNIX_EPOCH;
        let at = |seconds| start + Duration::from_secs(seconds);
        let token = |text: &str, end| Ok(AccessToken::new(text.to_owned(), Some(at(end))));
        let down = || Err(Error::new(ErrorKind::Unreachable, "down"));
        // now, what a fetch would give, what comes out
        for (now, fetched, expected) in [
            (0, down(), None),
            (0, token("a", 3600), Some("a")),
            (3300, token("b", 7200), Some("a")),
            (3301, down(), Some("a")),
            (3302, token("b", 7200), Some("b")),
            (7170, down(), Some("b")),
            (7171, down(), None),
        ] {
            let outcome = cache.get_or_fetch(at(now), async { fetched }).await;
            let text = outcome.as_ref().ok().map(AccessToken::expose_secret);
            assert_eq!(text, expected, "at {now}");
            assert!(!format!("{outcome:?} {cache:?}").contains("\"a\""));
        }
    }
}
