//! How long, how often and how many at once.

use std::collections::HashMap;
use std::time::Duration;

use crate::{Error, ErrorKind, Result};

/// Property: how long one attempt may take, in milliseconds.
pub const KMS_ATTEMPT_TIMEOUT_MS: &str = "kms.attempt-timeout-ms";
/// Property: how long a call may take, with all its attempts and waits, in milliseconds.
pub const KMS_TIMEOUT_MS: &str = "kms.timeout-ms";
/// Property: how often a call is tried at most; 1 is not to repeat it.
pub const KMS_MAX_ATTEMPTS: &str = "kms.max-attempts";
/// Property: how many calls of one client run at once.
pub const KMS_MAX_CONCURRENT_CALLS: &str = "kms.max-concurrent-calls";

/// The upper bound of the wait before the second attempt; it doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The settings of a [`Remote`](crate::Remote).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSettings {
    /// How long one attempt may take: 10 seconds unless said otherwise.
    pub attempt_timeout: Duration,
    /// How long a call may take, with all its attempts and waits: a minute unless said otherwise.
    pub timeout: Duration,
    /// How often a call is tried at most: 6 times unless said otherwise.
    pub max_attempts: u32,
    /// How many calls run at once: 16 unless said otherwise.
    pub max_concurrent_calls: usize,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self {
            attempt_timeout: Duration::from_secs(10),
            timeout: Duration::from_mins(1),
            max_attempts: 6,
            max_concurrent_calls: 16,
        }
    }
}

impl RemoteSettings {
    /// The settings by the properties [`KMS_ATTEMPT_TIMEOUT_MS`], [`KMS_TIMEOUT_MS`], [`KMS_MAX_ATTEMPTS`] and
    /// [`KMS_MAX_CONCURRENT_CALLS`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a value that is not a whole number within its bounds.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        const DAY_MS: u32 = 24 * 60 * 60 * 1000;
        let number = |name, most| positive(properties, name, most);
        let time = |name| number(name, DAY_MS).map(|ms| ms.map(|ms| Duration::from_millis(ms.into())));
        let default = Self::default();
        Ok(Self {
            attempt_timeout: time(KMS_ATTEMPT_TIMEOUT_MS)?.unwrap_or(default.attempt_timeout),
            timeout: time(KMS_TIMEOUT_MS)?.unwrap_or(default.timeout),
            max_attempts: number(KMS_MAX_ATTEMPTS, 100)?.unwrap_or(default.max_attempts),
            max_concurrent_calls: number(KMS_MAX_CONCURRENT_CALLS, 10_000)?
                .map_or(default.max_concurrent_calls, |calls| calls as usize),
        })
    }
}

/// The upper bound of the wait after so many attempts.
pub(super) fn longest_wait(attempts: u32) -> Duration {
    FIRST_WAIT.saturating_mul(1 << attempts.saturating_sub(1).min(16)).min(LONGEST_WAIT)
}

fn positive(properties: &HashMap<String, String>, name: &str, most: u32) -> Result<Option<u32>> {
    let Some(value) = properties.get(name) else { return Ok(None) };
    match value.trim().parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(Some(number)),
        _ => {
            let message = format!("{name} is {value:?}: expected a whole number from 1 to {most}");
            Err(Error::new(ErrorKind::InvalidInput, message))
        }
    }
}
