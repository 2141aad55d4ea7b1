//! What every client of a service elsewhere needs: time-outs, retries, and a limit of calls at once.
//!
//! A client makes one attempt and says by the error's kind how it went; [`Remote`] around it does the rest, so that all
//! services behave alike:
//!
//! - An attempt that takes longer than `kms.attempt-timeout-ms` is given up; so is the call after `kms.timeout-ms`,
//!   waiting for others and between attempts included. Nothing waits without an end.
//! - Only what may pass by itself is tried again ([`ErrorKind::is_retryable`]): never a denial, for it would only be
//!   denied, and logged, again.
//! - Before an attempt is repeated, a random time passes between nothing and an upper bound that doubles ("full jitter"),
//!   so that many callers that were throttled together do not come back together.
//! - `kms.max-concurrent-calls` attempts run at once; the others wait.

mod settings;
#[cfg(test)]
mod tests;
mod time_and_chance;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use lakelock_crypto::{KeyLength, SecretKey};
use tokio::sync::Semaphore;

use settings::longest_wait;
pub use settings::{
    KMS_ATTEMPT_TIMEOUT_MS, KMS_MAX_ATTEMPTS, KMS_MAX_CONCURRENT_CALLS, KMS_TIMEOUT_MS, RemoteSettings,
};
use time_and_chance::{Real, TimeAndChance};

use crate::{Error, ErrorKind, GeneratedKey, KeyManagementClient, Operation, Result};

/// A client with time-outs, retries and a limit of calls at once around each of its calls.
///
/// The clients of this crate that call a service come with it. Around a client of your own:
///
/// ```
/// use std::collections::HashMap;
/// use std::sync::Arc;
///
/// use lakelock_kms::{KmsRegistry, MemoryKms, Remote, RemoteSettings};
///
/// let mut registry = KmsRegistry::with_builtins();
/// registry.register("mine", |properties| {
///     let client = MemoryKms::from_properties(properties)?; // yours
///     Ok(Arc::new(Remote::new(client, RemoteSettings::from_properties(properties)?)))
/// })?;
/// let properties = HashMap::from([
///     ("encryption.kms-impl".to_owned(), "mine".to_owned()),
///     ("kms.timeout-ms".to_owned(), "5000".to_owned()),
/// ]);
/// assert!(registry.from_catalog_properties(&properties)?.is_some());
/// # Ok::<(), lakelock_kms::Error>(())
/// ```
pub struct Remote<C> {
    client: C,
    settings: RemoteSettings,
    permits: Semaphore,
    world: Arc<dyn TimeAndChance>,
}

impl<C: KeyManagementClient> Remote<C> {
    /// A client around one whose calls are single attempts, and which can be called again after any error.
    #[must_use]
    pub fn new(client: C, settings: RemoteSettings) -> Self {
        Self::with_world(client, settings, Arc::new(Real::new()))
    }

    fn with_world(client: C, settings: RemoteSettings, world: Arc<dyn TimeAndChance>) -> Self {
        let permits = Semaphore::new(settings.max_concurrent_calls);
        Self { client, settings, permits, world }
    }

    async fn call<T, F>(
        &self,
        operation: Operation,
        key_id: &str,
        start_attempt: impl Fn() -> F + Send + Sync,
    ) -> Result<T>
    where
        F: Future<Output = Result<T>> + Send,
    {
        let started = self.world.now();
        let deadline = started + self.settings.timeout;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let error = match self.attempt(operation, key_id, deadline, start_attempt()).await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let wait = longest_wait(attempts).mul_f64(self.world.chance());
            let now = self.world.now();
            let is_last = attempts >= self.settings.max_attempts || now + wait >= deadline;
            if is_last || !error.kind().is_retryable() {
                return Err(match attempts {
                    1 => error,
                    _ => {
                        error.with_note(format_args!("{attempts} attempts in {}", seconds(now.saturating_sub(started))))
                    }
                });
            }
            tracing::debug!(%operation, key_id, attempts, kind = ?error.kind(), ?wait, "the KMS is asked again");
            self.world.sleep(wait).await;
        }
    }

    async fn attempt<T>(
        &self,
        operation: Operation,
        key_id: &str,
        deadline: Duration,
        attempt: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        let unreachable = |detail: String| Error::on_key(ErrorKind::Unreachable, operation, key_id, detail);
        let Some(_permit) = self.until(deadline, self.permits.acquire()).await else {
            return Err(unreachable(format!(
                "no turn within {}, as {} other calls were under way ({KMS_MAX_CONCURRENT_CALLS})",
                seconds(self.settings.timeout),
                self.settings.max_concurrent_calls
            )));
        };
        let started = self.world.now();
        let time = self.settings.attempt_timeout.min(deadline.saturating_sub(started));
        match self.until(started + time, attempt).await {
            Some(outcome) => outcome,
            None => Err(unreachable(format!("the KMS did not answer within {}", seconds(time)))),
        }
    }

    /// What the work comes to, if it does until then.
    async fn until<T>(&self, end: Duration, work: impl Future<Output = T> + Send) -> Option<T> {
        let left = end.saturating_sub(self.world.now());
        tokio::select! {
            biased;
            outcome = work => Some(outcome),
            () = self.world.sleep(left) => None,
        }
    }
}

#[async_trait]
impl<C: KeyManagementClient> KeyManagementClient for Remote<C> {
    async fn wrap_key(&self, key: &SecretKey, wrapping_key_id: &str) -> Result<Vec<u8>> {
        self.call(Operation::Wrap, wrapping_key_id, || self.client.wrap_key(key, wrapping_key_id)).await
    }

    async fn unwrap_key(&self, wrapped: &[u8], wrapping_key_id: &str) -> Result<SecretKey> {
        self.call(Operation::Unwrap, wrapping_key_id, || self.client.unwrap_key(wrapped, wrapping_key_id)).await
    }

    async fn generate_key(&self, length: KeyLength, wrapping_key_id: &str) -> Result<Option<GeneratedKey>> {
        self.call(Operation::Generate, wrapping_key_id, || self.client.generate_key(length, wrapping_key_id)).await
    }
}

impl<C: fmt::Debug> fmt::Debug for Remote<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("client", &self.client).field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// `0.25 s`, `10 s`.
fn seconds(time: Duration) -> String {
    format!("{} s", (time.as_secs_f64() * 100.0).round() / 100.0)
}
