//! What metadata.json alone tells: snapshots, history, branches and tags, earlier metadata files.

use std::collections::{BTreeMap, HashSet};

use arrow::datatypes::{DataType, Field};

use super::cell::{Cell, Row};
use super::{instant, instant_cell, map_of, optional, required};
use crate::metadata::TableDocument;
use crate::spec::{Snapshot, SnapshotRef, SnapshotRetention, TableMetadata};
use crate::version::{ancestors, snapshot_id_as_of};

/// The snapshots, oldest first.
pub(super) fn sorted(metadata: &TableMetadata) -> Vec<SnapshotRef> {
    let mut snapshots: Vec<_> = metadata.snapshots().cloned().collect();
    snapshots.sort_by_key(|snapshot| (snapshot.timestamp_ms(), snapshot.sequence_number(), snapshot.snapshot_id()));
    snapshots
}

pub(super) fn snapshot_fields() -> Vec<Field> {
    vec![
        required("committed_at", instant()),
        required("snapshot_id", DataType::Int64),
        optional("parent_id", DataType::Int64),
        optional("operation", DataType::Utf8),
        optional("manifest_list", DataType::Utf8),
        optional("summary", map_of(DataType::Utf8, DataType::Utf8)),
    ]
}

pub(super) fn snapshots(metadata: &TableMetadata) -> Vec<Row> {
    let row = |snapshot: SnapshotRef| {
        let summary: BTreeMap<_, _> = snapshot.summary().additional_properties.iter().collect();
        let summary = summary.into_iter().map(|(name, value)| (name.as_str().into(), value.as_str().into()));
        vec![
            instant_cell(snapshot.timestamp_ms()),
            snapshot.snapshot_id().into(),
            snapshot.parent_snapshot_id().into(),
            snapshot.summary().operation.as_str().into(),
            snapshot.manifest_list().into(),
            Cell::Map(summary.collect()),
        ]
    };
    sorted(metadata).into_iter().map(row).collect()
}

pub(super) fn history_fields() -> Vec<Field> {
    vec![
        required("made_current_at", instant()),
        required("snapshot_id", DataType::Int64),
        optional("parent_id", DataType::Int64),
        required("is_current_ancestor", DataType::Boolean),
    ]
}

pub(super) fn history(metadata: &TableMetadata) -> Vec<Row> {
    let current = metadata.current_snapshot();
    let lineage: HashSet<i64> =
        current.into_iter().flat_map(|current| ancestors(metadata, current)).map(|s| s.snapshot_id()).collect();
    let entries = metadata.history().iter().map(|entry| {
        let parent = metadata.snapshot_by_id(entry.snapshot_id).and_then(|s| Snapshot::parent_snapshot_id(s));
        vec![
            instant_cell(entry.timestamp_ms),
            entry.snapshot_id.into(),
            parent.into(),
            lineage.contains(&entry.snapshot_id).into(),
        ]
    });
    entries.collect()
}

pub(super) fn reference_fields() -> Vec<Field> {
    vec![
        required("name", DataType::Utf8),
        required("type", DataType::Utf8),
        required("snapshot_id", DataType::Int64),
        optional("max_reference_age_in_ms", DataType::Int64),
        optional("min_snapshots_to_keep", DataType::Int32),
        optional("max_snapshot_age_in_ms", DataType::Int64),
    ]
}

pub(super) fn references(document: &TableDocument) -> Vec<Row> {
    let row = |(name, reference): (&String, &crate::spec::SnapshotReference)| {
        let (kind, max_reference_age, min_snapshots, max_snapshot_age) = match reference.retention {
            SnapshotRetention::Branch { min_snapshots_to_keep, max_snapshot_age_ms, max_ref_age_ms } => {
                ("BRANCH", max_ref_age_ms, min_snapshots_to_keep, max_snapshot_age_ms)
            }
            SnapshotRetention::Tag { max_ref_age_ms } => ("TAG", max_ref_age_ms, None, None),
        };
        vec![
            name.as_str().into(),
            kind.into(),
            reference.snapshot_id.into(),
            max_reference_age.into(),
            min_snapshots.into(),
            max_snapshot_age.into(),
        ]
    };
    document.references().iter().map(row).collect()
}

pub(super) fn metadata_log_fields() -> Vec<Field> {
    vec![
        required("timestamp", instant()),
        required("file", DataType::Utf8),
        optional("latest_snapshot_id", DataType::Int64),
        optional("latest_schema_id", DataType::Int32),
        optional("latest_sequence_number", DataType::Int64),
    ]
}

/// The earlier metadata files and the current one.
pub(super) fn metadata_log(metadata: &TableMetadata, location: &str) -> Vec<Row> {
    let earlier = metadata.metadata_log().iter().map(|entry| (entry.timestamp_ms, entry.metadata_file.as_str()));
    let rows = earlier.chain([(metadata.last_updated_ms(), location)]).map(|(ms, file)| {
        let latest = snapshot_id_as_of(metadata, ms);
        let snapshot = latest.and_then(|id| metadata.snapshot_by_id(id));
        vec![
            instant_cell(ms),
            file.into(),
            latest.into(),
            snapshot.and_then(|snapshot| snapshot.schema_id()).into(),
            snapshot.map(|snapshot| snapshot.sequence_number()).into(),
        ]
    });
    rows.collect()
}
