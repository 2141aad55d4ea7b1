//! How often and how long a commit is tried again: the `commit.retry.*` properties.

use std::collections::HashMap;
use std::time::Duration;

use crate::Result;
use crate::properties::{INT_MAX, number};

/// A table's `commit.retry.*` properties, with Java's defaults but for the number of retries: Java's 4 lose commits as
/// soon as a handful of writers append at once, and the time-out bounds them as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// Attempts after the first.
    pub retries: u32,
    /// The wait after the first attempt, which doubles with each.
    pub min_wait: Duration,
    /// The longest wait.
    pub max_wait: Duration,
    /// No attempt begins later than this.
    pub total_timeout: Duration,
}

impl RetryPolicy {
    /// The policy of a table with these properties.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) naming the property whose value is no number, or not
    /// one that Java takes.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let millis = |name, default| number(properties, name, default, 0..=INT_MAX).map(Duration::from_millis);
        Ok(Self {
            retries: number(properties, "commit.retry.num-retries", 20, 0..=i32::MAX.unsigned_abs())?,
            min_wait: millis("commit.retry.min-wait-ms", 100)?,
            max_wait: millis("commit.retry.max-wait-ms", 60_000)?,
            total_timeout: millis("commit.retry.total-timeout-ms", 1_800_000)?,
        })
    }

    /// How long to wait after so many lost attempts before this one: doubled each time up to the maximum, and of that a
    /// random part of at least half, so that writers that collided do not collide again.
    #[must_use]
    pub fn wait(&self, lost_before: u32, random: u128) -> Duration {
        let longest = self.min_wait.saturating_mul(2_u32.saturating_pow(lost_before)).min(self.max_wait);
        let half = longest / 2;
        let spread = half.as_nanos() + 1;
        half + Duration::from_nanos(u64::try_from(random % spread).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_maximum_and_vary_by_half() {
        let properties = [("commit.retry.min-wait-ms", "100"), ("commit.retry.max-wait-ms", "1000")];
        let retry =
            RetryPolicy::from_properties(&properties.map(|(k, v)| (k.to_owned(), v.to_owned())).into()).unwrap();
        assert_eq!((retry.retries, retry.min_wait), (20, Duration::from_millis(100)));
        for (lost, longest) in [(0, 100), (1, 200), (3, 800), (4, 1000), (400, 1000)] {
            for random in [0, 1, u128::MAX, 12_345_678_901] {
                let wait = retry.wait(lost, random);
                assert!(wait <= Duration::from_millis(longest) && wait >= Duration::from_millis(longest / 2), "{lost}");
            }
        }
        assert_ne!(retry.wait(3, 1), retry.wait(3, 100_000));
    }
}
