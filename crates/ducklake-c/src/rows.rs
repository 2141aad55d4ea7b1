//! Reading and changing rows.

use std::ops::RangeInclusive;

use bytes::Bytes;
use lakelock_ducklake::{Filter, RowId, TableId};

use crate::{
    bytes::{LakelockBytes, slice_of},
    error::{Failure, LakelockError, answer},
    runtime::block_on,
    transaction::LakelockTransaction,
};

/// Encoded rows, one after the other.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LakelockRows {
    data: *const u8,
    /// Where each row ends.
    ends: *const usize,
    count: usize,
}

/// What is asked of a scan's rows.
#[repr(C)]
pub struct LakelockFilter {
    /// One of the kinds in the header.
    kind: u32,
    column: u32,
    values: *const i64,
    value_count: usize,
}

/// The least and the greatest value of a column.
#[repr(C)]
pub struct LakelockBounds {
    known: bool,
    least: i64,
    greatest: i64,
}

/// A row of a scan.
#[repr(C)]
pub struct LakelockRow {
    row_id: i64,
    row: LakelockBytes,
}

/// All rows of a scan.
#[repr(C)]
pub struct LakelockRowsView {
    rows: *const LakelockRow,
    count: usize,
}

/// The rows that a scan found, with views of them.
pub struct LakelockScan {
    views: Vec<LakelockRow>,
    _rows: Vec<(RowId, Bytes)>,
}

impl LakelockRows {
    /// # Safety
    ///
    /// The view is valid.
    unsafe fn rows(self) -> Result<Vec<Bytes>, Failure> {
        // SAFETY: the caller says so.
        let ends = unsafe { slice_of(self.ends, self.count) };
        // SAFETY: the last row ends where the data does.
        let data = Bytes::copy_from_slice(unsafe { slice_of(self.data, ends.last().copied().unwrap_or(0)) });
        let mut from = 0;
        let mut row = |&end: &usize| {
            let row = (from <= end && end <= data.len()).then(|| data.slice(from..end));
            from = end;
            row.ok_or_else(|| Failure::internal("rows do not follow each other"))
        };
        ends.iter().map(&mut row).collect()
    }
}

impl LakelockFilter {
    /// # Safety
    ///
    /// The view is valid.
    unsafe fn filter(&self) -> Result<Filter, Failure> {
        // SAFETY: the caller says so.
        let values = unsafe { slice_of(self.values, self.value_count) };
        let column = self.column as usize;
        match (self.kind, values) {
            (1, &[value]) => Ok(Filter::Equal { column, value }),
            (1, _) => Ok(Filter::In { column, values: values.to_vec() }),
            (2, &[snapshot]) => Ok(Filter::LiveAt { snapshot }),
            (3, _) => Ok(Filter::Live),
            _ => Err(Failure::internal("a filter of no known kind")),
        }
    }
}

impl LakelockScan {
    /// Puts the rows into the order in which they were inserted.
    fn new(mut rows: Vec<(RowId, Bytes)>) -> Self {
        if !rows.is_sorted_by_key(|(id, _)| *id) {
            rows.sort_unstable_by_key(|(id, _)| *id);
        }
        // The views stay valid: rows are on the heap.
        let view = |(id, row): &(RowId, Bytes)| LakelockRow { row_id: id.0, row: LakelockBytes::of(row) };
        Self { views: rows.iter().map(view).collect(), _rows: rows }
    }
}

/// How many rows a table has, or -1 if that is not known.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_row_count(
    transaction: *mut LakelockTransaction,
    table_id: u64,
    count: *mut i64,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, and the place of the result.
        let (transaction, count) = unsafe { (&*transaction, &mut *count) };
        let table = table(table_id)?;
        let found = block_on(async { Ok(transaction.0.read().await.row_count(table)) })?;
        *count = found.and_then(|found| i64::try_from(found).ok()).unwrap_or(-1);
        Ok(())
    })
}

/// The least and the greatest value of a column; says whether they are known.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_bounds(
    transaction: *mut LakelockTransaction,
    table_id: u64,
    column: u32,
    bounds: *mut LakelockBounds,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, and the place of the result.
        let (transaction, bounds) = unsafe { (&*transaction, &mut *bounds) };
        let table = table(table_id)?;
        let found = block_on(async { transaction.0.read().await.bounds(table, column as usize).await })?;
        let (least, greatest) = found.clone().map_or((0, 0), RangeInclusive::into_inner);
        *bounds = LakelockBounds { known: found.is_some(), least, greatest };
        Ok(())
    })
}

/// Inserts rows.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_insert(
    transaction: *mut LakelockTransaction,
    table_id: u64,
    rows: LakelockRows,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, and views that are valid during the call.
        let (transaction, rows) = unsafe { (&*transaction, rows.rows()?) };
        let table = table(table_id)?;
        block_on(async { transaction.0.write().await.insert(table, rows).await })?;
        Ok(())
    })
}

/// Puts new rows in place of others.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_update(
    transaction: *mut LakelockTransaction,
    table_id: u64,
    row_ids: *const i64,
    rows: LakelockRows,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, and views that are valid during the call.
        let (transaction, row_ids, rows) = unsafe { (&*transaction, slice_of(row_ids, rows.count), rows.rows()?) };
        let table = table(table_id)?;
        let rows = row_ids.iter().copied().map(RowId).zip(rows).collect();
        block_on(async { transaction.0.write().await.update(table, rows).await })?;
        Ok(())
    })
}

/// Deletes rows.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_delete(
    transaction: *mut LakelockTransaction,
    table_id: u64,
    row_ids: *const i64,
    count: usize,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, and ids that are there during the call.
        let (transaction, row_ids) = unsafe { (&*transaction, slice_of(row_ids, count)) };
        let table = table(table_id)?;
        let rows = row_ids.iter().copied().map(RowId).collect();
        block_on(async { transaction.0.write().await.delete(table, rows).await })?;
        Ok(())
    })
}

/// Reads rows.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_scan(
    transaction: *mut LakelockTransaction,
    table_id: u64,
    filters: *const LakelockFilter,
    filter_count: usize,
    for_update: bool,
    scan: *mut *mut LakelockScan,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, filters that are there during the call, and the place of the result.
        let (transaction, filters, scan) = unsafe { (&*transaction, slice_of(filters, filter_count), &mut *scan) };
        // SAFETY: as above.
        let filters = filters.iter().map(|filter| unsafe { filter.filter() }).collect::<Result<Vec<_>, _>>()?;
        let table = table(table_id)?;
        let rows = block_on(async {
            let transaction = transaction.0.read().await;
            let scan = if for_update {
                transaction.scan_for_update(table, &filters)?
            } else {
                transaction.scan(table, &filters)?
            };
            drop(transaction);
            scan.collect().await
        })?;
        *scan = Box::into_raw(Box::new(LakelockScan::new(rows)));
        Ok(())
    })
}

/// The rows of a scan.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_scan_rows(scan: *const LakelockScan) -> LakelockRowsView {
    // SAFETY: it is a handle.
    let views = &unsafe { &*scan }.views;
    LakelockRowsView { rows: views.as_ptr(), count: views.len() }
}

/// Gives the handle back.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_scan_free(scan: *mut LakelockScan) {
    // SAFETY: it is a handle, given back once.
    drop(unsafe { Box::from_raw(scan) });
}

fn table(id: u64) -> Result<TableId, Failure> {
    u32::try_from(id).map(TableId).map_err(|_| Failure::internal(format!("{id} is no number of a table")))
}
