//! What there is at a moment, as a transaction sees it when it begins.

use std::{collections::HashMap, sync::Arc};

use slatedb::WriteBatch;

use crate::{
    catalog::Catalog,
    error::{Result, corrupt},
    keys,
    table::TableId,
    view::View,
};

/// The store at a moment, and what is read of it whenever a transaction begins.
#[derive(Clone)]
pub(crate) struct Moment {
    pub(crate) view: View,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) counts: Arc<Counts>,
}

/// How many rows tables have, live and ended ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(HashMap<TableId, i64>);

impl Moment {
    pub(crate) async fn load(view: View) -> Result<Self> {
        let catalog = Arc::new(Catalog::load(&view).await?);
        let counts = Arc::new(Counts::load(&view).await?);
        Ok(Self { view, catalog, counts })
    }
}

impl Counts {
    async fn load(view: &View) -> Result<Self> {
        let mut counts = HashMap::new();
        let mut stored = view.scan_prefix(keys::ROWS).await?;
        while let Some((key, count)) = stored.next().await? {
            let count = count.as_ref().try_into().map_err(|_| corrupt("a number of rows is no number"))?;
            counts.insert(keys::parse_table(keys::ROWS, &key)?, i64::from_be_bytes(count));
        }
        Ok(Self(counts))
    }

    pub(crate) fn get(&self, table: TableId) -> Option<i64> {
        self.0.get(&table).copied()
    }

    /// Notes changes of the numbers, and writes the new ones. That of a table of which it was never known stays unknown.
    pub(crate) fn apply(&mut self, changes: &[CountChange], batch: &mut WriteBatch) {
        for change in changes {
            match *change {
                CountChange::Made(table) => drop(self.0.insert(table, 0)),
                CountChange::Dropped(table) => {
                    if self.0.remove(&table).is_some() {
                        batch.delete(keys::table(keys::ROWS, table));
                    }
                }
                CountChange::Added(table, rows) => {
                    if let Some(count) = self.0.get_mut(&table) {
                        *count = count.saturating_add(rows);
                    }
                }
            }
        }
        for change in changes {
            if let CountChange::Made(table) | CountChange::Added(table, _) = change
                && let Some(count) = self.0.get(table)
            {
                batch.put(keys::table(keys::ROWS, *table), count.to_be_bytes());
            }
        }
    }
}

/// What a commit does to the numbers of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum CountChange {
    Made(TableId),
    Dropped(TableId),
    /// So many more, or fewer.
    Added(TableId, i64),
}
