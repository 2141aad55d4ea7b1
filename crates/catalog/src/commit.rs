//! Commits that are tried again when another writer was first.

use lakelock_iceberg::Table;
use lakelock_iceberg::commit::{RetryPolicy, TableAction};
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
        let retry = RetryPolicy::from_properties(current.metadata().properties())?;
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
