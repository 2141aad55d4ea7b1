//! What the newest commits changed, and what transactions under way are going to: to tell whether a transaction may go on.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use bytes::Bytes;

use crate::{
    error::{Result, conflict},
    table::{RowId, TableId},
};

/// What a transaction changes, as far as another one may not change the same.
#[derive(Debug, Default)]
pub(crate) struct Footprint {
    /// Rows that it updates.
    pub(crate) updated: HashSet<RowId>,
    /// Rows that it deletes.
    pub(crate) deleted: HashSet<RowId>,
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
    fn rows(&self, change: Change) -> &HashSet<RowId> {
        match change {
            Change::Delete => &self.deleted,
            Change::Update => &self.updated,
        }
    }

    /// Whether a transaction with this footprint may follow a commit with the `other` one that it did not see.
    fn check(&self, other: &Self) -> Result<()> {
        if let Some((table, _)) = shared(&self.primary_keys, &other.primary_keys) {
            return Err(conflict(format!("another commit has used a primary key of table number {}", table.0)));
        }
        let ours = [&self.updated, &self.deleted];
        if ours.iter().any(|rows| [&other.updated, &other.deleted].iter().any(|other| shared(rows, other).is_some())) {
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

/// What a transaction does to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Change {
    Delete,
    Update,
}

/// A transaction under way.
#[derive(Debug)]
pub(crate) struct Begun {
    number: u64,
    /// The number of the newest commit that it sees.
    pub(crate) after: u64,
    claims: Vec<(Change, RowId)>,
}

/// The commits that a transaction under way did not see, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct History {
    newest: u64,
    /// How many transactions have begun.
    begun: u64,
    /// How many transactions began after each commit.
    active: BTreeMap<u64, usize>,
    commits: VecDeque<(u64, Footprint)>,
    /// Which transaction under way does what to which rows.
    claims: HashMap<(Change, RowId), u64>,
}

impl History {
    /// Begins a transaction.
    pub(crate) fn begin(&mut self) -> Begun {
        *self.active.entry(self.newest).or_default() += 1;
        self.begun += 1;
        Begun { number: self.begun, after: self.newest, claims: Vec::new() }
    }

    /// Claims rows for a transaction until it ends, or none of them, if others have done the same to one of them already.
    ///
    /// `DuckDB`'s own tables say so at this moment, too, and `DuckLake` relies on it to flush inlined rows once only. They do not
    /// mind that one transaction updates what another one deletes; here the later commit of the two fails.
    pub(crate) fn claim(&mut self, begun: &mut Begun, change: Change, rows: &[RowId]) -> Result<()> {
        let claimed = |row: &RowId| self.claims.get(&(change, *row)).is_some_and(|other| *other != begun.number);
        let done = |row: &RowId| self.unseen(begun.after).any(|other| other.rows(change).contains(row));
        if rows.iter().any(|row| claimed(row) || done(row)) {
            let done = match change {
                Change::Delete => "deleted",
                Change::Update => "updated",
            };
            return Err(conflict(format!("another transaction has {done} a row that is to be {done}")));
        }
        for row in rows {
            if self.claims.insert((change, *row), begun.number).is_none() {
                begun.claims.push((change, *row));
            }
        }
        Ok(())
    }

    /// Ends a transaction.
    pub(crate) fn end(&mut self, begun: &Begun) {
        for claim in &begun.claims {
            self.claims.remove(claim);
        }
        if let Some(count) = self.active.get_mut(&begun.after) {
            *count -= 1;
            if *count == 0 {
                self.active.remove(&begun.after);
            }
        }
        let oldest = self.active.keys().next().copied().unwrap_or(self.newest);
        while self.commits.front().is_some_and(|(number, _)| *number <= oldest) {
            self.commits.pop_front();
        }
    }

    /// Whether a transaction that began after the commit of this number may commit.
    pub(crate) fn check(&self, began: u64, footprint: &Footprint) -> Result<()> {
        self.unseen(began).try_for_each(|other| footprint.check(other))
    }

    /// The commits after the one of this number.
    fn unseen(&self, after: u64) -> impl Iterator<Item = &Footprint> {
        self.commits.iter().rev().take_while(move |(number, _)| *number > after).map(|(_, footprint)| footprint)
    }

    /// Notes a commit.
    pub(crate) fn record(&mut self, footprint: Footprint) {
        self.newest += 1;
        self.commits.push_back((self.newest, footprint));
    }
}
