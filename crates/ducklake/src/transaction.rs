//! Transactions: what they see, and what they change.

use std::{
    collections::HashMap,
    fmt,
    ops::RangeInclusive,
    sync::{Arc, Mutex, PoisonError},
};

use slatedb::IterationOrder;

use crate::{
    catalog::Catalog,
    error::{Error, ErrorKind, Result},
    filter::{Filter, Plan},
    keys::{self, RowPlace},
    moment::{Counts, Moment},
    scan::{Passed, Scan},
    stage::Stage,
    table::{Alteration, NewTable, TableDef, TableId},
    view::View,
    writer::{Active, Writer},
};

mod fixed;
mod rows;

/// A transaction.
///
/// It sees the catalog as it was when it began, and its own changes. [`commit`](Self::commit) makes them last, all or none;
/// when it is dropped before, they are gone.
///
/// Transactions are optimistic, but for this: what one of them is going to update, another one cannot update, and what one is going
/// to delete, another one cannot delete; that fails with [`ErrorKind::Conflict`] at once. A commit fails with [`ErrorKind::Conflict`] if another one that it did not see has
/// - used a primary key that it gives to a row,
/// - changed or deleted a row that it changes or deletes,
/// - made, altered or dropped a schema or table that it makes, alters, drops or writes to.
pub struct Transaction {
    view: View,
    catalog: Arc<Catalog>,
    counts: Arc<Counts>,
    stage: Stage,
    /// Where the rows are that it may change.
    passed: Mutex<HashMap<TableId, Passed>>,
    /// None, if it only reads.
    active: Option<Active>,
}

impl Transaction {
    pub(crate) fn new(moment: Moment, active: Option<Active>) -> Self {
        let Moment { view, catalog, counts } = moment;
        Self { view, catalog, counts, stage: Stage::default(), passed: Mutex::default(), active }
    }

    /// The names of the schemas, among them `main`.
    #[must_use]
    pub fn schemas(&self) -> Vec<String> {
        self.catalog.schemas().map(str::to_owned).collect()
    }

    /// The tables of a schema.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], if there is no such schema.
    pub fn tables(&self, schema: &str) -> Result<Vec<Arc<TableDef>>> {
        self.catalog.schema(schema)?;
        Ok(self.catalog.tables(schema).cloned().collect())
    }

    /// A table, if there is one of that name, in whatever case.
    #[must_use]
    pub fn table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        self.catalog.table(schema, name).cloned()
    }

    /// Makes a schema, and says whether there was none.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`], unless `if_not_exists`; [`ErrorKind::ReadOnly`].
    pub fn create_schema(&mut self, name: &str, if_not_exists: bool) -> Result<bool> {
        self.writer()?;
        if self.catalog.schema(name).is_ok() {
            let exists = || Error::new(ErrorKind::AlreadyExists, format!("schema \"{name}\" exists already"));
            return if if_not_exists { Ok(false) } else { Err(exists()) };
        }
        self.stage.put_schema(name.to_owned());
        Arc::make_mut(&mut self.catalog).put_schema(name.to_owned());
        Ok(true)
    }

    /// Drops an empty schema, and says whether there was one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], unless `if_exists`; [`ErrorKind::InvalidInput`] for one that has tables or is `main`;
    /// [`ErrorKind::ReadOnly`].
    pub fn drop_schema(&mut self, name: &str, if_exists: bool) -> Result<bool> {
        self.writer()?;
        let name = match self.catalog.schema(name) {
            Ok(name) => name.to_owned(),
            Err(error) => return if if_exists { Ok(false) } else { Err(error) },
        };
        let refused = |why| Err(Error::new(ErrorKind::InvalidInput, format!("schema \"{name}\" {why}")));
        if name == crate::catalog::MAIN {
            return refused("is always there");
        }
        if self.catalog.tables(&name).next().is_some() {
            return refused("still has tables: drop them first");
        }
        Arc::make_mut(&mut self.catalog).remove_schema(&name);
        self.stage.drop_schema(name);
        Ok(true)
    }

    /// Makes a table, and says whether there was none of its name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`], unless `if_not_exists`; [`ErrorKind::NotFound`] for the schema;
    /// [`ErrorKind::InvalidInput`] for columns that cannot be; [`ErrorKind::ReadOnly`].
    pub fn create_table(&mut self, new: NewTable, if_not_exists: bool) -> Result<bool> {
        let writer = Arc::clone(self.writer()?);
        let schema = self.catalog.schema(&new.schema)?.to_owned();
        if let Err(error) = self.catalog.check_free(&schema, &new.name) {
            return if if_not_exists { Ok(false) } else { Err(error) };
        }
        let table = Arc::new(TableDef::new(writer.new_table(), NewTable { schema, ..new })?);
        Arc::make_mut(&mut self.catalog).put_table(Arc::clone(&table));
        self.stage.create_table(table);
        Ok(true)
    }

    /// Drops a table with its rows, and says whether there was one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], unless `if_exists`; [`ErrorKind::ReadOnly`].
    pub fn drop_table(&mut self, schema: &str, name: &str, if_exists: bool) -> Result<bool> {
        self.writer()?;
        match self.existing(schema, name) {
            Ok(table) => {
                Arc::make_mut(&mut self.catalog).remove_table(table.id());
                self.stage.drop_table(table);
                Ok(true)
            }
            Err(_) if if_exists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Changes the definition of a table.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] for the table or the column; [`ErrorKind::AlreadyExists`] for a table of the new name;
    /// [`ErrorKind::InvalidInput`] for columns that cannot be; [`ErrorKind::ReadOnly`].
    pub fn alter_table(&mut self, schema: &str, name: &str, alteration: Alteration) -> Result<()> {
        self.writer()?;
        let before = self.existing(schema, name)?;
        if let Alteration::RenameTable(name) = &alteration {
            self.catalog.check_free(schema, name)?;
        }
        let after = Arc::new(before.altered(alteration)?);
        Arc::make_mut(&mut self.catalog).put_table(Arc::clone(&after));
        self.stage.alter_table(&before, after);
        Ok(())
    }

    /// The rows of a table that meet all of the filters; there may be others among them.
    ///
    /// What the transaction changes later does not show in the scan.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], if the table was dropped.
    pub fn scan(&self, table: TableId, filters: &[Filter]) -> Result<Scan> {
        self.new_scan(table, filters, None)
    }

    /// As [`scan`](Self::scan), for rows of which some are going to be updated or deleted: the transaction remembers where
    /// they are.
    ///
    /// # Errors
    ///
    /// Those of [`scan`](Self::scan).
    pub fn scan_for_update(&self, table: TableId, filters: &[Filter]) -> Result<Scan> {
        let passed = self.passed(table);
        self.new_scan(table, filters, Some(passed))
    }

    /// How many rows a table has, live and ended ones; nothing, if a catalog of before does not say.
    #[must_use]
    pub fn row_count(&self, table: TableId) -> Option<u64> {
        let stored = if self.stage.is_stored(table) { self.counts.get(table)? } else { 0 };
        let own = self.stage.table(table).map_or(0, |stage| stage.added());
        u64::try_from(stored.saturating_add(own)).ok()
    }

    /// Between which values the cluster column of a table lies, if it has one and no rows of the past: a row with NULL in it counts
    /// as 0. Nothing, if that is not known at once.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], if the table was dropped; [`ErrorKind::Storage`].
    pub async fn cluster_bounds(&self, table: TableId) -> Result<Option<RangeInclusive<i64>>> {
        let table = self.catalog.table_by_id(table)?;
        let moved = self.stage.table(table.id()).is_some_and(|stage| stage.hides_any());
        if table.cluster_column().is_none() || table.end_snapshot_column().is_some() || moved {
            return Ok(None);
        }
        let (from, to) = keys::all(keys::LIVE, table.id());
        let mut ends = Vec::new();
        if self.stage.is_stored(table.id()) {
            for order in [IterationOrder::Ascending, IterationOrder::Descending] {
                let entry = self.view.first(from.clone(), to.clone(), order).await?;
                ends.extend(entry.map(|(key, _)| RowPlace::parse(&key)).transpose()?.map(|(place, _)| place.cluster));
            }
        }
        let own = self.stage.table(table.id()).into_iter().flat_map(|stage| stage.rows().values());
        ends.extend(own.map(|row| row.target.place.cluster));
        Ok(ends.iter().min().zip(ends.iter().max()).map(|(least, greatest)| *least..=*greatest))
    }

    /// Between which values a column lies, if that is known at once: of one by which rows are kept together, and which is part of the
    /// primary key.
    ///
    /// # Errors
    ///
    /// Those of [`cluster_bounds`](Self::cluster_bounds).
    pub async fn bounds(&self, table: TableId, column: usize) -> Result<Option<RangeInclusive<i64>>> {
        let definition = self.catalog.table_by_id(table)?;
        // A primary key has no NULL, which would count as 0.
        if definition.cluster_column() == Some(column) && definition.primary_key().contains(&column) {
            return self.cluster_bounds(table).await;
        }
        Ok(None)
    }

    fn new_scan(&self, table: TableId, filters: &[Filter], passed: Option<Passed>) -> Result<Scan> {
        let table = self.catalog.table_by_id(table)?;
        let stage = self.stage.table(table.id()).cloned();
        let plan = Plan::new(table, filters);
        let scan = Scan::new(Arc::clone(table), self.view.clone(), plan, stage, passed);
        Ok(if self.stage.is_stored(table.id()) { scan } else { scan.only_own() })
    }

    fn passed(&self, table: TableId) -> Passed {
        let mut passed = self.passed.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(passed.entry(table).or_default())
    }

    /// Makes all changes last: when this returns, they survive the end of the process, and on a local disk a power cut, too.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`] as said above; [`ErrorKind::Fenced`], if another process has taken the catalog over. Nothing was
    /// committed then. After [`ErrorKind::Storage`] that is not known.
    pub async fn commit(self) -> Result<()> {
        let Self { stage, active, .. } = self;
        match active {
            Some(active) if !stage.is_empty() => active.writer.commit(active.began(), stage.into_changes()?).await,
            _ => Ok(()),
        }
    }

    fn writer(&self) -> Result<&Arc<Writer>> {
        let writer = self.active.as_ref().map(|active| &active.writer);
        writer.ok_or_else(|| {
            Error::new(ErrorKind::ReadOnly, "the catalog is attached read-only: nothing can be changed in it")
        })
    }

    fn existing(&self, schema: &str, name: &str) -> Result<Arc<TableDef>> {
        let found = self.catalog.table(schema, name);
        found.cloned().ok_or_else(|| crate::error::not_found(format!("there is no table {schema}.{name}")))
    }
}

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("read_only", &self.active.is_none()).finish_non_exhaustive()
    }
}
