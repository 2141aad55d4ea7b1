//! Changes to a table, as a catalog applies them.

mod append;
mod merge;
mod properties;
mod retry;
mod snapshot;
mod summary;
#[cfg(test)]
mod tests;

use async_trait::async_trait;

pub use append::AppendFiles;
pub(crate) use properties::ManifestProperties;
pub use retry::RetryPolicy;

use crate::spec::{TableIdent, TableRequirement, TableUpdate};
use crate::{Result, Table};

/// A change to a table, made for one version of its metadata: applied as a whole, or not at all.
#[derive(Debug, Clone)]
pub struct TableCommit {
    /// The table.
    pub identifier: TableIdent,
    /// What must hold of the metadata it is applied to; a catalog answers [`crate::ErrorKind::Conflict`] otherwise.
    pub requirements: Vec<TableRequirement>,
    /// The changes, in order. Key entries stand before the snapshot that needs them.
    pub updates: Vec<TableUpdate>,
}

/// Something to do to a table, which can be worked out anew for each version of it that a retry meets.
#[async_trait]
pub trait TableAction: Send + Sync {
    /// Works the change out for the table as it is now, writing the files it needs.
    ///
    /// # Errors
    /// What the action documents; nothing is committed then.
    async fn prepare(&self, table: &Table) -> Result<TableCommit>;

    /// Removes the files that [`prepare`](Self::prepare) wrote for a commit that lost its race.
    async fn discard(&self, table: &Table, commit: &TableCommit);
}
