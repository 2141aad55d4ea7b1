//! Incremental scans: the rows that appends added between two snapshots.

use std::collections::HashSet;
use std::sync::Arc;

use futures::{StreamExt, TryStreamExt, stream};

use super::plan::{CONCURRENCY, prune};
use super::pruning::Pruner;
use super::{ScanPlan, TableScan};
use crate::manifest::{ManifestContent, ManifestStatus, read_manifest_list};
use crate::spec::{Operation, SnapshotRef};
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
    pub(super) async fn plan_appends(&self, appends: &[SnapshotRef], pruner: &Pruner) -> Result<ScanPlan> {
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
        let mut plan = ScanPlan::default();
        let all = manifests.len();
        let manifests = prune(pruner, manifests);
        plan.metrics.manifests_read = manifests.len();
        plan.metrics.manifests_pruned = all - manifests.len();
        for entry in self.live_entries(manifests).await? {
            if entry.status != ManifestStatus::Added || !entry.snapshot_id.is_some_and(|id| ids.contains(&id)) {
                continue;
            }
            if pruner.may_match_file(&entry.data_file) {
                plan.tasks.push(self.task(entry)?);
            } else {
                plan.metrics.files_pruned += 1;
            }
        }
        Ok(plan)
    }
}
