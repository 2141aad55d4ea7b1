//! Commits that are tried again when another writer was first.

use std::collections::HashMap;
use std::time::Duration;

use lakelock_iceberg::Table;
use lakelock_iceberg::commit::TableAction;
use lakelock_iceberg::spec::TableIdent;
use tokio::time::{Instant, sleep};
use tracing::debug;
use uuid::Uuid;

use crate::{Catalog, Error, ErrorKind, Result};

/// Carries out an action on a table. When another writer is first, the table is loaded again, the files of the lost
/// attempt are removed, and the action is worked out anew, as often and as long as the table's `commit.retry.*`
/// properties say.
///
/// # Errors
/// [`ErrorKind::Conflict`] when every attempt lost; [`ErrorKind::UnknownOutcome`] when an attempt may have taken place:
/// its files are kept then; and whatever else the action or the catalog answers.
pub async fn commit(catalog: &dyn Catalog, table: &TableIdent, action: &dyn TableAction) -> Result<Table> {
    let started = Instant::now();
    let mut lost_attempts = 0;
    loop {
        let current = catalog.load_table(table).await?;
        let retry = Retry::from_properties(current.metadata().properties())?;
        let prepared = action.prepare(&current).await?;
        let error = match catalog.update_table(prepared.clone()).await {
            Ok(updated) => return Ok(updated),
            Err(error) => error,
        };
        if error.kind() != ErrorKind::UnknownOutcome {
            action.discard(&current, &prepared).await;
        }
        if error.kind() != ErrorKind::Conflict {
            return Err(error);
        }
        let wait = retry.wait(lost_attempts, Uuid::new_v4().as_u128());
        lost_attempts += 1;
        if lost_attempts > retry.retries || started.elapsed() + wait > retry.total_timeout {
            let message = format!("the commit to table {table} lost to other writers {lost_attempts} times");
            return Err(Error::new(ErrorKind::Conflict, message).with_source(error));
        }
        debug!(%table, lost_attempts, ?wait, "another writer was first: trying again");
        sleep(wait).await;
    }
}

/// A table's `commit.retry.*` properties, with Java's defaults but for the number of retries: Java's 4 lose commits as
/// soon as a handful of writers append at once, and the time-out bounds them as well.
#[derive(Debug, PartialEq, Eq)]
struct Retry {
    retries: u32,
    min_wait: Duration,
    max_wait: Duration,
    total_timeout: Duration,
}

impl Retry {
    fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let number = |name: &str, default: u64| match properties.get(name) {
            None => Ok(default),
            Some(value) => value.parse().map_err(|e| {
                Error::new(ErrorKind::InvalidInput, format!("{name} is {value}: expected a number")).with_source(e)
            }),
        };
        let millis = |name, default| number(name, default).map(Duration::from_millis);
        Ok(Self {
            retries: u32::try_from(number("commit.retry.num-retries", 20)?).unwrap_or(u32::MAX),
            min_wait: millis("commit.retry.min-wait-ms", 100)?,
            max_wait: millis("commit.retry.max-wait-ms", 60_000)?,
            total_timeout: millis("commit.retry.total-timeout-ms", 1_800_000)?,
        })
    }

    /// How long to wait after so many lost attempts before this one: doubled each time up to the maximum, and of that a
    /// random part of at least half, so that writers that collided do not collide again.
    fn wait(&self, lost_before: u32, random: u128) -> Duration {
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
        let retry = Retry::from_properties(&properties.map(|(k, v)| (k.to_owned(), v.to_owned())).into()).unwrap();
        for (lost, longest) in [(0, 100), (1, 200), (3, 800), (4, 1000), (400, 1000)] {
            for random in [0, 1, u128::MAX, 12_345_678_901] {
                let wait = retry.wait(lost, random);
                assert!(wait <= Duration::from_millis(longest) && wait >= Duration::from_millis(longest / 2), "{lost}");
            }
        }
        assert_ne!(retry.wait(3, 1), retry.wait(3, 100_000));
    }

    #[test]
    fn retries_follow_the_table_properties() {
        let retry = Retry::from_properties(&HashMap::new()).unwrap();
        assert_eq!((retry.retries, retry.min_wait), (20, Duration::from_millis(100)));
        let bad = HashMap::from([("commit.retry.num-retries".to_owned(), "many".to_owned())]);
        assert_eq!(Retry::from_properties(&bad).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}
