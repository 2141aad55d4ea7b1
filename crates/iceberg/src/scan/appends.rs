//! Incremental scans: the rows that appends added between two snapshots.

use std::collections::HashSet;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::plan::prune_data;
use super::pruning::Pruner;
use super::select::CONCURRENCY;
use super::{ScanPlan, TableScan};
use crate::manifest::{EntryFilter, FileStatistics, ManifestContent, ManifestStatus, read_manifest_list};
use crate::spec::{Operation, SnapshotRef, Struct};
use crate::version::ancestors;
use crate::{Error, ErrorKind, Result, TableVersion};

impl TableScan {
    /// Scans what was appended after the snapshot `from`, up to and with the snapshot `to`, with the table's current
    /// schema. Without `from` it is everything since the first snapshot that the table still has; without `to` it goes up
    /// to the current one.
    ///
    /// Only the files that append snapshots added are read, whatever became of their rows since: rewrites add no rows,
    /// and deletes are not applied. So rows that an overwrite added are not seen either.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no snapshot `to`; [`ErrorKind::InvalidInput`] when `to` does not follow from
    /// `from`, which may itself have expired.
    pub fn with_appends_between(mut self, from: Option<i64>, to: Option<i64>) -> Result<Self> {
        let metadata = self.table.metadata();
        self.schema = Arc::clone(metadata.current_schema());
        self.snapshot = match to {
            Some(id) => Some(self.table.snapshot_at(&TableVersion::Snapshot(id))?),
            None => metadata.current_snapshot().cloned(),
        };
        let mut appends = Vec::new();
        let mut found = from.is_none() || from == self.snapshot.as_ref().map(|to| to.snapshot_id());
        if let Some(to) = &self.snapshot {
            for snapshot in ancestors(metadata, to).take_while(|snapshot| Some(snapshot.snapshot_id()) != from) {
                found |= snapshot.parent_snapshot_id() == from;
                if snapshot.summary().operation == Operation::Append {
                    appends.push(Arc::clone(snapshot));
                }
            }
        }
        if !found {
            let to = self.snapshot.map_or_else(|| "none".to_owned(), |to| to.snapshot_id().to_string());
            let message = format!(
                "snapshot {} is not an ancestor of snapshot {to} of {}",
                from.unwrap_or_default(),
                self.table.identifier()
            );
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        appends.reverse();
        self.appends = Some(appends.into());
        Ok(self)
    }

    /// The files that these snapshots added.
    pub(super) async fn plan_appends(&self, appends: &[SnapshotRef], pruner: Pruner) -> Result<ScanPlan> {
        let (io, metadata) = (self.table.io(), self.table.metadata());
        let ids: HashSet<i64> = appends.iter().map(|snapshot| snapshot.snapshot_id()).collect();
        let lists: Vec<_> = stream::iter(appends.to_vec())
            .map(|snapshot| async move { read_manifest_list(io, metadata, &snapshot).await })
            .buffered(CONCURRENCY)
            .try_collect()
            .await?;
        // Later snapshots list the manifests of earlier ones again.
        let mut listed = HashSet::new();
        let manifests: Vec<_> = lists
            .into_iter()
            .flatten()
            .filter(|manifest| manifest.content == ManifestContent::Data && ids.contains(&manifest.added_snapshot_id))
            .filter(|manifest| listed.insert(manifest.manifest_path.clone()))
            .collect();
        let (manifests, metrics) = prune_data(&pruner, manifests);
        self.find(manifests, metrics, Appended { pruner, snapshots: ids }).await
    }
}

/// The files that some snapshots added, of those that may match.
struct Appended {
    pruner: Pruner,
    snapshots: HashSet<i64>,
}

impl EntryFilter for Appended {
    fn columns(&self) -> &[i32] {
        self.pruner.columns()
    }

    fn considers(&self, status: ManifestStatus, snapshot_id: Option<i64>) -> bool {
        status == ManifestStatus::Added && snapshot_id.is_some_and(|id| self.snapshots.contains(&id))
    }

    fn may_match_partition(&self, spec_id: i32, partition: &Struct) -> bool {
        self.pruner.may_match_partition(spec_id, partition)
    }

    fn may_match_file(&self, record_count: u64, statistics: FileStatistics<'_>) -> bool {
        self.pruner.may_match_file(record_count, statistics)
    }
}
