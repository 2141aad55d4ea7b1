//! What a manifest says of single columns of a file.

use std::collections::BTreeMap;

use super::DataFile;

/// The statistics of one column, as far as they are known. Bounds are in the spec's single-value binary form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ColumnStatistics<'a> {
    /// Bytes in storage.
    pub(crate) size: Option<i64>,
    /// Values, nulls and NaN included.
    pub(crate) values: Option<i64>,
    pub(crate) nulls: Option<i64>,
    pub(crate) nans: Option<i64>,
    pub(crate) lower: Option<&'a [u8]>,
    pub(crate) upper: Option<&'a [u8]>,
}

impl<'a> ColumnStatistics<'a> {
    /// What a file's entry has of a column.
    pub(crate) fn of(file: &'a DataFile, field_id: i32) -> Self {
        let count = |counts: &Option<BTreeMap<i32, i64>>| counts.as_ref()?.get(&field_id).copied();
        let bound = |bounds: &'a Option<BTreeMap<i32, Vec<u8>>>| bounds.as_ref()?.get(&field_id).map(Vec::as_slice);
        Self {
            size: count(&file.column_sizes),
            values: count(&file.value_counts),
            nulls: count(&file.null_value_counts),
            nans: count(&file.nan_value_counts),
            lower: bound(&file.lower_bounds),
            upper: bound(&file.upper_bounds),
        }
    }
}

/// The statistics of some columns of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileStatistics<'a> {
    /// Field ids in their order.
    pub(crate) columns: &'a [i32],
    /// What there is of each of them.
    pub(crate) statistics: &'a [ColumnStatistics<'a>],
}

impl<'a> FileStatistics<'a> {
    /// Those of a column: nothing is known of one that is not among them.
    pub(crate) fn of(&self, field_id: i32) -> ColumnStatistics<'a> {
        let at = self.columns.binary_search(&field_id).ok();
        at.and_then(|at| self.statistics.get(at)).copied().unwrap_or_default()
    }
}
