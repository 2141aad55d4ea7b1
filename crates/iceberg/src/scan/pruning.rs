//! Leaves out what cannot hold a matching row: manifests by their partition summaries, files by partition and
//! statistics.

use std::collections::{BTreeSet, HashMap};

use super::predicate::{Bound, Tree};
use super::projection::{PartitionTest, project};
use super::summary::ValueSummary;
use crate::manifest::{EntryFilter, FileStatistics, ManifestFile};
use crate::spec::{PartitionSpecRef, Struct, TableMetadata};

/// A predicate, projected through every partition spec of a table: files written before the partitioning changed are
/// pruned by what they were partitioned by.
#[derive(Debug)]
pub(crate) struct Pruner {
    rows: Bound,
    partitions: HashMap<i32, Tree<PartitionTest>>,
    /// The columns whose statistics files keep: those of the predicate, and those that were asked for.
    columns: Vec<i32>,
}

impl Pruner {
    /// Files that are left have the statistics of `columns` as well.
    pub(crate) fn new(predicate: Bound, columns: &[i32], metadata: &TableMetadata) -> Self {
        Self::with_specs(predicate, columns, metadata.partition_specs_iter())
    }

    pub(crate) fn with_specs<'a>(
        predicate: Bound,
        columns: &[i32],
        specs: impl Iterator<Item = &'a PartitionSpecRef>,
    ) -> Self {
        let partitions = specs.map(|spec| (spec.spec_id(), project(&predicate, spec))).collect();
        let mut ids: BTreeSet<i32> = columns.iter().copied().collect();
        predicate.for_each(&mut |test| {
            ids.insert(test.field_id);
        });
        Self { rows: predicate, partitions, columns: ids.into_iter().collect() }
    }

    /// Whether a file of the manifest may have a partition with matching rows.
    pub(crate) fn may_match_manifest(&self, manifest: &ManifestFile) -> bool {
        let Some(condition) = self.partitions.get(&manifest.partition_spec_id) else { return true };
        condition.may_match(&|test| {
            let summary = manifest.partitions.as_ref().and_then(|summaries| summaries.get(test.index));
            summary.is_none_or(|summary| ValueSummary::of_partition(&test.r#type, summary).may_match(&test.test))
        })
    }
}

impl EntryFilter for Pruner {
    fn columns(&self) -> &[i32] {
        &self.columns
    }

    fn may_match_partition(&self, spec_id: i32, partition: &Struct) -> bool {
        let Some(condition) = self.partitions.get(&spec_id) else { return true };
        let partition = partition.fields();
        condition.may_match(&|test| {
            let value = partition.get(test.index);
            value.is_none_or(|value| ValueSummary::of_value(&test.r#type, value.as_ref()).may_match(&test.test))
        })
    }

    fn may_match_file(&self, record_count: u64, statistics: FileStatistics<'_>) -> bool {
        record_count > 0
            && self.rows.may_match(&|test| {
                let column = statistics.of(test.field_id);
                ValueSummary::of_column(&test.r#type, &column).may_match(&test.test)
            })
    }
}
