//! What a snapshot says of itself: the keys and values of Java's summaries.

use std::collections::{HashMap, HashSet};

use crate::manifest::DataFile;
use crate::spec::{Snapshot, TableMetadata};
use crate::write::partition_path;

/// Totals that every snapshot carries forward.
const TOTALS: [&str; 6] = [
    "total-records",
    "total-files-size",
    "total-data-files",
    "total-delete-files",
    "total-position-deletes",
    "total-equality-deletes",
];

/// How many manifests of a list the snapshot wrote, took over, and merged into others.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ManifestCounts {
    pub(super) created: usize,
    pub(super) kept: usize,
    pub(super) replaced: usize,
}

/// The summary of a snapshot that adds data files, without its operation. `custom` entries give way to ours.
pub(super) fn of_append(
    files: &[DataFile],
    metadata: &TableMetadata,
    manifests: ManifestCounts,
    parent: Option<&Snapshot>,
    custom: &HashMap<String, String>,
) -> HashMap<String, String> {
    let mut summary = custom.clone();
    let mut put = |key: &str, value: u64| {
        summary.insert(key.to_owned(), value.to_string());
    };
    let records: u64 = files.iter().map(|f| f.record_count).fold(0, u64::saturating_add);
    let size: u64 = files.iter().map(|f| f.file_size_in_bytes).fold(0, u64::saturating_add);
    let count = files.len() as u64;
    for (key, value) in [("added-data-files", count), ("added-records", records), ("added-files-size", size)] {
        if value > 0 {
            put(key, value);
        }
    }
    put("changed-partition-count", partitions(files, metadata).len() as u64);
    put("manifests-created", manifests.created as u64);
    put("manifests-kept", manifests.kept as u64);
    put("manifests-replaced", manifests.replaced as u64);
    for total in TOTALS {
        let added = match total {
            "total-records" => records,
            "total-files-size" => size,
            "total-data-files" => count,
            _ => 0,
        };
        // A total that the parent lacks cannot be known; nor one that it states wrongly.
        let before = match parent {
            None => Some(0),
            Some(parent) => parent.summary().additional_properties.get(total).and_then(|text| text.parse().ok()),
        };
        if let Some(value) = before.and_then(|before: u64| before.checked_add(added)) {
            put(total, value);
        }
    }
    summary.insert("lakelock-version".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    summary
}

/// The partitions of files by their folders, which is what Java counts: minus zero is another than zero, and the text
/// `null` the same as null.
fn partitions(files: &[DataFile], metadata: &TableMetadata) -> HashSet<String> {
    let mut types = HashMap::new();
    let path = |file: &DataFile| {
        let spec = metadata.partition_spec_by_id(file.spec_id)?;
        let partition_type = types
            .entry(file.spec_id)
            .or_insert_with(|| spec.partition_type(metadata.current_schema()).ok())
            .as_ref()?;
        Some(partition_path(spec, partition_type, &file.partition))
    };
    files.iter().filter_map(path).collect()
}
