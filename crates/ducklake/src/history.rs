//! What the newest commits changed, to tell whether a transaction may still commit.

use std::collections::{BTreeMap, HashSet, VecDeque};

use bytes::Bytes;

use crate::{
    error::{Result, conflict},
    table::{RowId, TableId},
};

/// What a transaction changes, as far as another one may not change the same.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    /// Rows that it updates or deletes.
    pub(crate) rows: HashSet<RowId>,
    /// Primary keys that it gives to rows.
    pub(crate) primary_keys: HashSet<(TableId, Bytes)>,
    /// Names of schemas, and of tables in them, that it makes, alters or drops: in lower case.
    pub(crate) names: HashSet<(String, Option<String>)>,
    /// Tables that it alters or drops.
    pub(crate) altered: HashSet<TableId>,
    /// Tables in which it changes rows.
    pub(crate) written: HashSet<TableId>,
}

impl Footprint {
    /// Whether a transaction with this footprint may follow a commit with the `other` one that it did not see.
    fn check(&self, other: &Self) -> Result<()> {
        if let Some((table, _)) = shared(&self.primary_keys, &other.primary_keys) {
            return Err(conflict(format!("another commit has used a primary key of table number {}", table.0)));
        }
        if shared(&self.rows, &other.rows).is_some() {
            return Err(conflict("another commit has changed a row that this one changes"));
        }
        if let Some((schema, table)) = shared(&self.names, &other.names) {
            let name = table.as_ref().map_or_else(|| schema.clone(), |table| format!("{schema}.{table}"));
            return Err(conflict(format!("another commit has made, altered or dropped \"{name}\"")));
        }
        let altered = shared(&self.written, &other.altered).or_else(|| shared(&self.altered, &other.written));
        match altered {
            Some(table) => Err(conflict(format!("another commit has changed table number {}", table.0))),
            None => Ok(()),
        }
    }
}

fn shared<'a, T: Eq + std::hash::Hash>(one: &'a HashSet<T>, other: &'a HashSet<T>) -> Option<&'a T> {
    let (small, large) = if one.len() < other.len() { (one, other) } else { (other, one) };
    small.iter().find(|element| large.contains(element))
}

/// The commits that a transaction under way did not see, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct History {
    newest: u64,
    /// How many transactions began after each commit.
    active: BTreeMap<u64, usize>,
    commits: VecDeque<(u64, Footprint)>,
}

impl History {
    /// Begins a transaction: the number of the newest commit that it sees.
    pub(crate) fn begin(&mut self) -> u64 {
        *self.active.entry(self.newest).or_default() += 1;
        self.newest
    }

    /// Ends a transaction that began after the commit of this number.
    pub(crate) fn end(&mut self, began: u64) {
        if let Some(count) = self.active.get_mut(&began) {
            *count -= 1;
            if *count == 0 {
                self.active.remove(&began);
            }
        }
        let oldest = self.active.keys().next().copied().unwrap_or(self.newest);
        while self.commits.front().is_some_and(|(number, _)| *number <= oldest) {
            self.commits.pop_front();
        }
    }

    /// Whether a transaction that began after the commit of this number may commit.
    pub(crate) fn check(&self, began: u64, footprint: &Footprint) -> Result<()> {
        let mut unseen = self.commits.iter().rev().take_while(|(number, _)| *number > began);
        unseen.try_for_each(|(_, other)| footprint.check(other))
    }

    /// Notes a commit.
    pub(crate) fn record(&mut self, footprint: Footprint) {
        self.newest += 1;
        self.commits.push_back((self.newest, footprint));
    }
}
