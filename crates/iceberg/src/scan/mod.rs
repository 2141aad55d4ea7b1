//! Scan planning: which files of a snapshot may hold rows that match.
//!
//! A [`TableScan`] reads a snapshot's manifest list, leaves out manifests by their partition summaries, then files by
//! their partition and their column statistics, and hands out a [`FileScanTask`] for each file that is left, with the
//! key that opens it and the delete files that apply to it. Pruning is inclusive: a file with a matching row is never left
//! out. Whatever the reader of the tasks cannot honour (formats other than Parquet and Avro) is an
//! error here, so that no plan leads to wrong rows.

mod appends;
mod delete_index;
mod plan;
mod predicate;
mod projection;
mod pruning;
mod select;
mod summary;
mod task;
#[cfg(test)]
mod tests;

pub use plan::{ScanMetrics, ScanPlan, TableScan};
pub use predicate::{Comparison, Predicate, Test};
pub use task::FileScanTask;
