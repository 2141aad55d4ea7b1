//! Branches and tags, which the parsed metadata holds but does not list.

use std::collections::BTreeMap;

use super::raw::RawDocument;
use crate::spec::{MAIN_BRANCH, SnapshotReference, SnapshotRetention, TableMetadata, TableUpdate};

/// Branches and tags by name.
pub(super) type References = BTreeMap<String, SnapshotReference>;

/// The references in a document; one without any has the main branch if it has a current snapshot.
pub(super) fn read(raw: &RawDocument, metadata: &TableMetadata) -> serde_json::Result<References> {
    let mut refs: References =
        raw.get("refs").map(serde_json::from_str::<Option<_>>).transpose()?.flatten().unwrap_or_default();
    if let Some(snapshot_id) = metadata.current_snapshot_id() {
        refs.entry(MAIN_BRANCH.to_owned())
            .or_insert_with(|| SnapshotReference::new(snapshot_id, SnapshotRetention::branch(None, None, None)));
    }
    Ok(refs)
}

/// The references after changes that were made to the metadata.
pub(super) fn apply(before: &References, changes: &[TableUpdate]) -> References {
    let mut refs = before.clone();
    for change in changes {
        match change {
            TableUpdate::SetSnapshotRef { ref_name, reference } => {
                refs.insert(ref_name.clone(), reference.clone());
            }
            TableUpdate::RemoveSnapshotRef { ref_name } => {
                refs.remove(ref_name);
            }
            TableUpdate::RemoveSnapshots { snapshot_ids } => {
                refs.retain(|_, reference| !snapshot_ids.contains(&reference.snapshot_id));
            }
            _ => {}
        }
    }
    refs
}

/// Whether references are those of the metadata, as far as that can be asked.
pub(super) fn agree(refs: &References, metadata: &TableMetadata) -> bool {
    refs.iter().all(|(name, reference)| {
        metadata.snapshot_for_ref(name).is_some_and(|s| s.snapshot_id() == reference.snapshot_id)
    }) && refs.get(MAIN_BRANCH).map(|r| r.snapshot_id) == metadata.current_snapshot_id()
}
