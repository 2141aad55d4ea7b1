//! What a snapshot says of itself: the keys and values of Java's summaries.

use std::collections::HashMap;

use super::ManifestProperties;
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

/// Files that a snapshot adds, to the table or to one of its partitions.
#[derive(Debug, Clone, Copy, Default)]
struct Added {
    files: u64,
    records: u64,
    size: u64,
}

impl Added {
    fn add(&mut self, file: &DataFile) {
        self.files += 1;
        self.records = self.records.saturating_add(file.record_count);
        self.size = self.size.saturating_add(file.file_size_in_bytes);
    }

    /// Keys and values in Java's order, without those that are zero.
    fn entries(self) -> impl Iterator<Item = (&'static str, u64)> {
        [("added-data-files", self.files), ("added-records", self.records), ("added-files-size", self.size)]
            .into_iter()
            .filter(|(_, value)| *value > 0)
    }
}

/// The summary of a snapshot that adds data files, without its operation. `custom` entries give way to ours.
pub(super) fn of_append(
    files: &[DataFile],
    metadata: &TableMetadata,
    properties: &ManifestProperties,
    manifests: ManifestCounts,
    parent: Option<&Snapshot>,
    custom: &HashMap<String, String>,
) -> HashMap<String, String> {
    let mut summary = custom.clone();
    let mut put = |key: &str, value: String| {
        summary.insert(key.to_owned(), value);
    };
    let mut added = Added::default();
    for file in files {
        added.add(file);
    }
    for (key, value) in added.entries() {
        put(key, value.to_string());
    }
    let partitions = partitions(files, metadata);
    put("changed-partition-count", partitions.len().to_string());
    if !partitions.is_empty() && partitions.len() as u64 <= properties.partition_summary_limit {
        put("partition-summaries-included", "true".to_owned());
        // Files of an unpartitioned table have no folder of their own.
        for (path, added) in partitions.iter().filter(|(path, _)| !path.is_empty()) {
            let entries: Vec<_> = added.entries().map(|(key, value)| format!("{key}={value}")).collect();
            put(&format!("partitions.{path}"), entries.join(","));
        }
    }
    put("manifests-created", manifests.created.to_string());
    put("manifests-kept", manifests.kept.to_string());
    put("manifests-replaced", manifests.replaced.to_string());
    for total in TOTALS {
        let added = match total {
            "total-records" => added.records,
            "total-files-size" => added.size,
            "total-data-files" => added.files,
            _ => 0,
        };
        // A total that the parent lacks cannot be known; nor one that it states wrongly.
        let before = match parent {
            None => Some(0),
            Some(parent) => parent.summary().additional_properties.get(total).and_then(|text| text.parse().ok()),
        };
        if let Some(value) = before.and_then(|before: u64| before.checked_add(added)) {
            put(total, value.to_string());
        }
    }
    put("lakelock-version", env!("CARGO_PKG_VERSION").to_owned());
    summary
}

/// The partitions of files by their folders, which is what Java counts: minus zero is another than zero, and the text
/// `null` the same as null.
fn partitions(files: &[DataFile], metadata: &TableMetadata) -> HashMap<String, Added> {
    let mut types = HashMap::new();
    let mut path = |file: &DataFile| {
        let spec = metadata.partition_spec_by_id(file.spec_id)?;
        let partition_type = types
            .entry(file.spec_id)
            .or_insert_with(|| spec.partition_type(metadata.current_schema()).ok())
            .as_ref()?;
        Some(partition_path(spec, partition_type, &file.partition))
    };
    let mut partitions: HashMap<String, Added> = HashMap::new();
    for file in files {
        if let Some(path) = path(file) {
            partitions.entry(path).or_default().add(file);
        }
    }
    partitions
}
