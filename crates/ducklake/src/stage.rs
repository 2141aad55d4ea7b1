//! What a transaction has changed and not committed yet.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fmt,
    sync::Arc,
};

use bytes::Bytes;
use slatedb::WriteBatch;

use crate::{
    history::Footprint,
    keys::{self, RowPlace},
    moment::CountChange,
    table::{RowFacts, RowId, TableDef, TableId},
};

/// Where the store has a row, as the transaction sees it.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) place: RowPlace,
    pub(crate) primary_key: Option<Bytes>,
}

impl From<RowFacts> for Located {
    fn from(facts: RowFacts) -> Self {
        Self { place: RowPlace::from(&facts), primary_key: facts.primary_key }
    }
}

/// A row that the transaction has inserted or updated.
#[derive(Clone)]
pub(crate) struct StagedRow {
    pub(crate) row: Bytes,
    /// Where it is to be.
    pub(crate) target: Located,
    /// Where the row is that it replaces.
    stored: Option<Located>,
}

impl fmt::Debug for StagedRow {
    /// Without the row: rows of files hold their keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StagedRow").field("target", &self.target).field("stored", &self.stored).finish_non_exhaustive()
    }
}

/// The changed rows of one table.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableStage {
    rows: BTreeMap<RowId, StagedRow>,
    /// How many of them replace none of the store.
    inserted: usize,
    /// Rows of the store that are deleted.
    removed: HashMap<RowId, Located>,
    /// The primary keys of `rows`.
    taken: HashSet<Bytes>,
    /// The primary keys of rows of the store that are deleted or have another one now.
    freed: HashSet<Bytes>,
}

impl TableStage {
    pub(crate) fn rows(&self) -> &BTreeMap<RowId, StagedRow> {
        &self.rows
    }

    pub(crate) fn is_removed(&self, row: RowId) -> bool {
        self.removed.contains_key(&row)
    }

    /// Whether what the store has of a row does not count any more.
    pub(crate) fn hides(&self, row: RowId) -> bool {
        self.rows.contains_key(&row) || self.is_removed(row)
    }

    /// Whether what the store has of any row does not count any more.
    pub(crate) fn hides_any(&self) -> bool {
        !self.removed.is_empty() || self.inserted < self.rows.len()
    }

    /// Whether a row of its own is in place of one that the store has.
    pub(crate) fn replaces(&self, row: RowId) -> bool {
        self.rows.get(&row).is_some_and(|row| row.stored.is_some())
    }

    /// Whether a primary key is one of the rows here; nothing, if only the store can tell.
    pub(crate) fn has_primary_key(&self, values: &Bytes) -> Option<bool> {
        if self.taken.contains(values) { Some(true) } else { self.freed.contains(values).then_some(false) }
    }

    /// Takes a row away: one of its own, or one that the store has where `stored` says.
    pub(crate) fn remove(&mut self, id: RowId, stored: Option<Located>) {
        if let Some(stored) = self.take(id).or(stored) {
            self.freed.extend(stored.primary_key.clone());
            self.removed.insert(id, stored);
        }
    }

    /// Takes a row of its own away, for another version of it: where the store has the row that it replaces.
    pub(crate) fn take(&mut self, id: RowId) -> Option<Located> {
        let StagedRow { target, stored, .. } = self.rows.remove(&id)?;
        if let Some(values) = &target.primary_key {
            self.taken.remove(values);
        }
        self.inserted -= usize::from(stored.is_none());
        stored
    }

    /// Frees the primary key of a row of the store that is about to be replaced.
    pub(crate) fn free(&mut self, stored: &Located) {
        self.freed.extend(stored.primary_key.clone());
    }

    /// Puts a row, in place of the one that the store has where `stored` says.
    pub(crate) fn put(&mut self, id: RowId, row: Bytes, target: Located, stored: Option<Located>) {
        self.taken.extend(target.primary_key.clone());
        self.inserted += usize::from(stored.is_none());
        self.rows.insert(id, StagedRow { row, target, stored });
    }

    /// How many rows more the table has with these changes.
    pub(crate) fn added(&self) -> i64 {
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        count(self.inserted).saturating_sub(count(self.removed.len()))
    }

    fn note(&self, table: TableId, footprint: &mut Footprint) {
        footprint.written.insert(table);
        footprint.deleted.extend(self.removed.keys());
        for (id, StagedRow { target, stored, .. }) in &self.rows {
            if stored.is_some() {
                footprint.updated.insert(*id);
            }
            let before = stored.as_ref().and_then(|stored| stored.primary_key.as_ref());
            if let Some(values) = target.primary_key.as_ref().filter(|values| Some(*values) != before) {
                footprint.primary_keys.insert((table, values.clone()));
            }
        }
    }

    /// Deletions come first: a primary key may go from one row to another.
    fn write(&self, table: TableId, batch: &mut WriteBatch) {
        let gone = |batch: &mut WriteBatch, id: RowId, located: &Located| {
            batch.delete(located.place.key(table, id));
            if let Some(values) = &located.primary_key {
                batch.delete(keys::primary(table, values));
            }
        };
        for (id, located) in &self.removed {
            gone(batch, *id, located);
        }
        for (id, StagedRow { stored, .. }) in &self.rows {
            if let Some(stored) = stored {
                gone(batch, *id, stored);
            }
        }
        for (id, StagedRow { row, target, .. }) in &self.rows {
            batch.put_bytes(target.place.key(table, *id), row.clone());
            if let Some(values) = &target.primary_key {
                batch.put(keys::primary(table, values), id.0.to_be_bytes());
            }
        }
    }
}

/// A change of what schemas and tables there are.
#[derive(Clone, Debug)]
pub(crate) enum CatalogChange {
    PutSchema(String),
    DropSchema(String),
    PutTable(Arc<TableDef>),
    DropTable(Arc<TableDef>),
}

/// Everything that a transaction has changed.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    /// Shared with the scans that began before the next change.
    tables: HashMap<TableId, Arc<TableStage>>,
    catalog: Vec<CatalogChange>,
    /// Tables that the transaction itself has made.
    made: HashSet<TableId>,
    footprint: Footprint,
}

/// What a commit writes.
pub(crate) struct Changes {
    pub(crate) batch: WriteBatch,
    pub(crate) catalog: Vec<CatalogChange>,
    pub(crate) counts: Vec<CountChange>,
    pub(crate) footprint: Footprint,
}

impl From<WriteBatch> for Changes {
    /// Changes that no transaction sees.
    fn from(batch: WriteBatch) -> Self {
        Self { batch, catalog: Vec::new(), counts: Vec::new(), footprint: Footprint::default() }
    }
}

impl Stage {
    pub(crate) fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.catalog.is_empty()
    }

    pub(crate) fn table(&self, table: TableId) -> Option<&Arc<TableStage>> {
        self.tables.get(&table)
    }

    pub(crate) fn table_mut(&mut self, table: TableId) -> &mut TableStage {
        Arc::make_mut(self.tables.entry(table).or_default())
    }

    /// Whether the store can have rows of a table.
    pub(crate) fn is_stored(&self, table: TableId) -> bool {
        !self.made.contains(&table)
    }

    pub(crate) fn put_schema(&mut self, name: String) {
        self.footprint.names.insert((name.to_ascii_lowercase(), None));
        self.catalog.push(CatalogChange::PutSchema(name));
    }

    pub(crate) fn drop_schema(&mut self, name: String) {
        self.footprint.names.insert((name.to_ascii_lowercase(), None));
        self.catalog.push(CatalogChange::DropSchema(name));
    }

    pub(crate) fn create_table(&mut self, table: Arc<TableDef>) {
        self.made.insert(table.id());
        self.name(&table);
        self.catalog.push(CatalogChange::PutTable(table));
    }

    /// `before` and `after` have the same number.
    pub(crate) fn alter_table(&mut self, before: &TableDef, after: Arc<TableDef>) {
        self.name(before);
        self.name(&after);
        self.footprint.altered.insert(after.id());
        self.catalog.push(CatalogChange::PutTable(after));
    }

    pub(crate) fn drop_table(&mut self, table: Arc<TableDef>) {
        self.tables.remove(&table.id());
        self.name(&table);
        self.footprint.altered.insert(table.id());
        self.catalog.push(CatalogChange::DropTable(table));
    }

    fn name(&mut self, table: &TableDef) {
        let name = table.name().to_ascii_lowercase();
        self.footprint.names.insert((table.schema().to_ascii_lowercase(), Some(name)));
    }

    /// What to write.
    pub(crate) fn into_changes(self) -> crate::Result<Changes> {
        let Self { tables, catalog, made, mut footprint } = self;
        let mut batch = WriteBatch::new();
        let mut counts: Vec<_> = made.iter().copied().map(CountChange::Made).collect();
        for change in &catalog {
            match change {
                CatalogChange::PutSchema(name) => batch.put(keys::schema(name), name),
                CatalogChange::DropSchema(name) => batch.delete(keys::schema(name)),
                CatalogChange::PutTable(table) => batch.put(keys::table(keys::TABLES, table.id()), table.to_json()?),
                CatalogChange::DropTable(table) => {
                    counts.retain(|change| !matches!(change, CountChange::Made(made) if *made == table.id()));
                    counts.push(CountChange::Dropped(table.id()));
                    batch.delete(keys::table(keys::TABLES, table.id()));
                    if !made.contains(&table.id()) {
                        batch.put(keys::table(keys::DROPPED, table.id()), []);
                    }
                }
            }
        }
        for (table, stage) in tables {
            stage.note(table, &mut footprint);
            stage.write(table, &mut batch);
            counts.push(CountChange::Added(table, stage.added()));
        }
        Ok(Changes { batch, catalog, counts, footprint })
    }
}
