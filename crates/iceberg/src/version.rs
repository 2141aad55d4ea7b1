//! Earlier versions of a table: which snapshot one is, and the schema it is read with.

use std::fmt;

use chrono::{DateTime, SecondsFormat};

use crate::spec::{SchemaRef, SnapshotRef, SnapshotRetention, TableMetadata};
use crate::{Error, ErrorKind, Result, Table};

/// A version of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableVersion {
    /// The head of the branch, or the snapshot of the tag, of this name.
    Reference(String),
    /// The snapshot of this id.
    Snapshot(i64),
    /// What was current at this time, in milliseconds since 1970: see [`Table::snapshot_at`].
    Timestamp(i64),
}

impl fmt::Display for TableVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reference(name) => write!(f, "branch or tag {name:?}"),
            Self::Snapshot(id) => write!(f, "snapshot {id}"),
            Self::Timestamp(ms) => match DateTime::from_timestamp_millis(*ms) {
                Some(time) => f.write_str(&time.to_rfc3339_opts(SecondsFormat::Millis, true)),
                None => write!(f, "{ms} ms"),
            },
        }
    }
}

impl Table {
    /// The snapshot that a version is.
    ///
    /// At a time, it is the one that the snapshot log has for the last change of the main branch up to then: a snapshot
    /// that was rolled back later is found at the times at which it was current, and other branches do not matter.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when there is no such snapshot, branch or tag (any more), or the time is before the
    /// table's first snapshot.
    pub fn snapshot_at(&self, version: &TableVersion) -> Result<SnapshotRef> {
        let metadata = self.metadata();
        let not_found = |message: String| Error::new(ErrorKind::NotFound, message);
        let id = match version {
            TableVersion::Snapshot(id) => *id,
            TableVersion::Reference(name) => match self.document().references().get(name) {
                Some(reference) => reference.snapshot_id,
                None => return Err(not_found(format!("{} has no branch or tag {name:?}", self.identifier()))),
            },
            TableVersion::Timestamp(ms) => snapshot_id_as_of(metadata, *ms)
                .ok_or_else(|| not_found(format!("{} has no snapshot as old as {version}", self.identifier())))?,
        };
        metadata
            .snapshot_by_id(id)
            .cloned()
            .ok_or_else(|| not_found(format!("{} has no snapshot {id}", self.identifier())))
    }

    /// The schema that a version is read with: for a branch the table's, for everything else the one that the snapshot
    /// was written with.
    ///
    /// # Errors
    /// As [`snapshot_at`](Self::snapshot_at); [`ErrorKind::NotFound`] when the snapshot's schema is gone.
    pub fn schema_at(&self, version: &TableVersion) -> Result<SchemaRef> {
        let snapshot = self.snapshot_at(version)?;
        if let TableVersion::Reference(name) = version
            && let Some(reference) = self.document().references().get(name)
            && matches!(reference.retention, SnapshotRetention::Branch { .. })
        {
            return Ok(self.metadata().current_schema().clone());
        }
        snapshot.schema(self.metadata()).map_err(|e| {
            let message = format!("{} has no schema of snapshot {}", self.identifier(), snapshot.snapshot_id());
            Error::new(ErrorKind::NotFound, message).with_source(e)
        })
    }
}

/// The snapshot that was current at a time, by the snapshot log; of several entries of one time the first, as in Java.
pub(crate) fn snapshot_id_as_of(metadata: &TableMetadata, timestamp_ms: i64) -> Option<i64> {
    let entries = metadata.history().iter().filter(|entry| entry.timestamp_ms <= timestamp_ms);
    let last = entries.reduce(|best, entry| if entry.timestamp_ms > best.timestamp_ms { entry } else { best });
    last.map(|entry| entry.snapshot_id)
}

/// A snapshot, its parent, and so on as far as the table knows them.
pub(crate) fn ancestors<'a>(
    metadata: &'a TableMetadata,
    snapshot: &'a SnapshotRef,
) -> impl Iterator<Item = &'a SnapshotRef> {
    let parent = |snapshot: &&'a SnapshotRef| metadata.snapshot_by_id(snapshot.parent_snapshot_id()?);
    // Forged metadata may have circles.
    std::iter::successors(Some(snapshot), parent).take(metadata.snapshots().len())
}
