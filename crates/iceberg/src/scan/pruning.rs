//! Leaves out what cannot hold a matching row: manifests by their partition summaries, files by partition and
//! statistics.

use std::collections::HashMap;

use super::predicate::{Bound, Tree};
use super::projection::{PartitionTest, project};
use super::summary::ValueSummary;
use crate::manifest::{DataFile, ManifestFile};
use crate::spec::{PartitionSpecRef, TableMetadata};

/// A predicate, projected through every partition spec of a table: files written before the partitioning changed are
/// pruned by what they were partitioned by.
#[derive(Debug)]
pub(crate) struct Pruner {
    rows: Bound,
    partitions: HashMap<i32, Tree<PartitionTest>>,
}

impl Pruner {
    pub(crate) fn new(predicate: Bound, metadata: &TableMetadata) -> Self {
        Self::with_specs(predicate, metadata.partition_specs_iter())
    }

    pub(crate) fn with_specs<'a>(predicate: Bound, specs: impl Iterator<Item = &'a PartitionSpecRef>) -> Self {
        let partitions = specs.map(|spec| (spec.spec_id(), project(&predicate, spec))).collect();
        Self { rows: predicate, partitions }
    }

    /// Whether a file of the manifest may have a partition with matching rows.
    pub(crate) fn may_match_manifest(&self, manifest: &ManifestFile) -> bool {
        let Some(condition) = self.partitions.get(&manifest.partition_spec_id) else { return true };
        condition.may_match(&|test| {
            let summary = manifest.partitions.as_ref().and_then(|summaries| summaries.get(test.index));
            summary.is_none_or(|summary| ValueSummary::of_partition(&test.r#type, summary).may_match(&test.test))
        })
    }

    /// Whether the partition of a (data or delete) file may have matching rows.
    pub(crate) fn may_match_partition(&self, file: &DataFile) -> bool {
        let Some(condition) = self.partitions.get(&file.spec_id) else { return true };
        let partition = file.partition.fields();
        condition.may_match(&|test| {
            let value = partition.get(test.index);
            value.is_none_or(|value| ValueSummary::of_value(&test.r#type, value.as_ref()).may_match(&test.test))
        })
    }

    /// Whether a data file may have matching rows.
    pub(crate) fn may_match_file(&self, file: &DataFile) -> bool {
        file.record_count > 0
            && self.may_match_partition(file)
            && self
                .rows
                .may_match(&|test| ValueSummary::of_column(&test.r#type, test.field_id, file).may_match(&test.test))
    }
}
