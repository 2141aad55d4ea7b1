//! Reading the rows of a table.

use std::{
    collections::{HashMap, VecDeque},
    ops::Bound,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;

use crate::{
    error::Result,
    filter::Plan,
    keys::RowPlace,
    stage::{Located, TableStage},
    table::{RowId, TableDef},
    view::{Entries, View},
};

/// Where the store has the rows of a table that scans have passed.
pub(crate) type Passed = Arc<Mutex<HashMap<RowId, Located>>>;

/// The rows of a table, as they were when the scan began: the rows that the store has, then those that the transaction has put.
pub struct Scan {
    table: Arc<TableDef>,
    view: View,
    plan: Plan,
    ranges: VecDeque<(Bytes, Bytes)>,
    entries: Option<Entries>,
    stage: Option<Arc<TableStage>>,
    /// The last of the transaction's own rows that was yielded.
    own: Bound<RowId>,
    passed: Option<Passed>,
}

impl Scan {
    pub(crate) fn new(
        table: Arc<TableDef>,
        view: View,
        plan: Plan,
        stage: Option<Arc<TableStage>>,
        passed: Option<Passed>,
    ) -> Self {
        let ranges = plan.key_ranges(&table).into();
        Self { table, view, plan, ranges, entries: None, stage, own: Bound::Unbounded, passed }
    }

    /// Leaves out the rows of the store.
    pub(crate) fn only_own(mut self) -> Self {
        self.ranges.clear();
        self
    }

    /// Some more rows, or none at the end.
    ///
    /// # Errors
    ///
    /// [`Corrupt`](crate::ErrorKind::Corrupt) for what is no row of the table, and
    /// [`Storage`](crate::ErrorKind::Storage).
    pub async fn next(&mut self) -> Result<Vec<(RowId, Bytes)>> {
        let mut rows = Vec::new();
        while rows.len() < BATCH {
            match self.next_stored().await? {
                Some(row) => rows.push(row),
                None => break,
            }
        }
        if rows.is_empty() {
            self.own_rows(&mut rows);
        }
        Ok(rows)
    }

    /// All rows that are left.
    ///
    /// # Errors
    ///
    /// Those of [`next`](Self::next).
    pub async fn collect(mut self) -> Result<Vec<(RowId, Bytes)>> {
        let mut all = Vec::new();
        loop {
            let rows = self.next().await?;
            if rows.is_empty() {
                return Ok(all);
            }
            all.extend(rows);
        }
    }

    async fn next_stored(&mut self) -> Result<Option<(RowId, Bytes)>> {
        loop {
            let Some(entries) = &mut self.entries else {
                let Some((from, to)) = self.ranges.pop_front() else { return Ok(None) };
                self.entries = Some(self.view.scan(from, to).await?);
                continue;
            };
            let Some((key, row)) = entries.next().await? else {
                self.entries = None;
                continue;
            };
            let (place, id) = RowPlace::parse(&key)?;
            if self.stage.as_ref().is_some_and(|stage| stage.hides(id)) || !self.plan.admits(place) {
                continue;
            }
            if let Some(passed) = &self.passed {
                let located = match self.table.primary_key() {
                    [] => Located { place, primary_key: None },
                    _ => Located { place, ..Located::from(self.table.facts(&row)?) },
                };
                passed.lock().unwrap_or_else(PoisonError::into_inner).insert(id, located);
            }
            return Ok(Some((id, row)));
        }
    }

    fn own_rows(&mut self, rows: &mut Vec<(RowId, Bytes)>) {
        let Some(stage) = &self.stage else { return };
        for (id, staged) in stage.rows().range((self.own, Bound::Unbounded)) {
            self.own = Bound::Excluded(*id);
            if self.plan.admits(staged.target.place) {
                rows.push((*id, staged.row.clone()));
                if rows.len() == BATCH {
                    return;
                }
            }
        }
    }
}

/// How many rows come at a time.
const BATCH: usize = 2048;
