//! Changing rows.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, PoisonError},
};

use bytes::Bytes;

use super::Transaction;
use crate::{
    error::{Error, ErrorKind, Result},
    history::Change,
    keys,
    stage::Located,
    table::{RowFacts, RowId, TableDef, TableId},
};

impl Transaction {
    /// Inserts rows: the numbers that they have from now on.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Constraint`], if a primary key is taken or NULL; [`ErrorKind::Corrupt`] for what is no row of the table;
    /// [`ErrorKind::NotFound`] for the table; [`ErrorKind::ReadOnly`]. Nothing was inserted then.
    pub async fn insert(&mut self, table: TableId, rows: Vec<Bytes>) -> Result<Vec<RowId>> {
        let writer = Arc::clone(self.writer()?);
        let definition = Arc::clone(self.catalog.table_by_id(table)?);
        self.check_inserted(&definition, &rows)?;
        let facts = rows.iter().map(|row| definition.facts(row)).collect::<Result<Vec<_>>>()?;
        self.check_primary_keys(&definition, facts.iter(), &HashSet::new()).await?;
        let stage = self.stage.table_mut(table);
        let insert = |(row, facts): (Bytes, RowFacts)| {
            let id = writer.new_row();
            stage.put(id, row, Located::from(facts), None);
            id
        };
        Ok(rows.into_iter().zip(facts).map(insert).collect())
    }

    /// Puts new rows in place of others, and says in place of how many. Rows that are not there any more are passed over.
    ///
    /// # Errors
    ///
    /// Those of [`insert`](Self::insert), and [`ErrorKind::Conflict`], if another transaction updates one of the rows. Nothing was
    /// updated then.
    pub async fn update(&mut self, table: TableId, rows: Vec<(RowId, Bytes)>) -> Result<u64> {
        self.writer()?;
        let definition = Arc::clone(self.catalog.table_by_id(table)?);
        // The last version of a row that is given twice.
        let rows: HashMap<RowId, Bytes> = rows.into_iter().collect();
        self.check_replaced(&definition, rows.iter().map(|(id, row)| (*id, Some(row)))).await?;
        let ids: Vec<_> = rows.keys().copied().collect();
        let mut stored = self.locate(&definition, &ids).await?;

        let own = |id: &RowId| self.stage.table(table).and_then(|stage| stage.rows().get(id));
        let mut updates = Vec::with_capacity(rows.len());
        let mut freed = HashSet::new();
        for (id, row) in rows {
            let replaced = stored.get(&id).or_else(|| own(&id).map(|row| &row.target));
            if let Some(replaced) = replaced {
                freed.extend(replaced.primary_key.clone());
                updates.push((id, definition.facts(&row)?, row));
            }
        }
        self.check_primary_keys(&definition, updates.iter().map(|(_, facts, _)| facts), &freed).await?;
        let claimed: Vec<_> = stored.keys().copied().collect();
        self.claim(Change::Update, &claimed)?;

        let stage = self.stage.table_mut(table);
        // A primary key may go from one row to another: all are free before the first is taken.
        let replace = |(id, facts, row)| {
            let stored = stored.remove(&id).inspect(|stored| stage.free(stored)).or_else(|| stage.take(id));
            (id, facts, row, stored)
        };
        let updates: Vec<_> = updates.into_iter().map(replace).collect();
        let count = updates.len() as u64;
        for (id, facts, row, stored) in updates {
            stage.put(id, row, Located::from(facts), stored);
        }
        Ok(count)
    }

    /// Deletes rows, and says how many. Rows that are not there any more are passed over.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`], if another transaction deletes one of the rows; [`ErrorKind::NotFound`] for the table;
    /// [`ErrorKind::ReadOnly`]. Nothing was deleted then.
    pub async fn delete(&mut self, table: TableId, rows: Vec<RowId>) -> Result<u64> {
        self.writer()?;
        let definition = Arc::clone(self.catalog.table_by_id(table)?);
        self.check_replaced(&definition, rows.iter().map(|id| (*id, None))).await?;
        let mut stored = self.locate(&definition, &rows).await?;
        let own = self.stage.table(table);
        let replaced = rows.iter().filter(|id| own.is_some_and(|stage| stage.replaces(**id)));
        let claimed: Vec<_> = stored.keys().chain(replaced).copied().collect();
        self.claim(Change::Delete, &claimed)?;
        let stage = self.stage.table_mut(table);
        let mut count = 0;
        for id in rows {
            let located = stored.remove(&id);
            if located.is_some() || stage.rows().contains_key(&id) {
                stage.remove(id, located);
                count += 1;
            }
        }
        Ok(count)
    }

    /// Keeps other transactions from doing the same to rows of the store.
    fn claim(&mut self, change: Change, rows: &[RowId]) -> Result<()> {
        self.active.as_mut().map_or(Ok(()), |active| active.claim(change, rows))
    }

    /// Where the store has those of the rows that the transaction has not changed yet.
    async fn locate(&self, table: &TableDef, rows: &[RowId]) -> Result<HashMap<RowId, Located>> {
        let stage = self.stage.table(table.id());
        let unchanged = |id: &&RowId| stage.is_none_or(|stage| !stage.hides(**id));
        let passed = self.passed(table.id());
        let find = |missing: &mut bool| {
            let passed = passed.lock().unwrap_or_else(PoisonError::into_inner);
            let mut found = HashMap::with_capacity(rows.len());
            for id in rows.iter().filter(unchanged) {
                match passed.get(id) {
                    Some(located) => drop(found.insert(*id, located.clone())),
                    None => *missing = true,
                }
            }
            found
        };
        let mut missing = false;
        let found = find(&mut missing);
        if !missing {
            return Ok(found);
        }
        // They were not scanned to be changed: look for them.
        let mut scan = self.scan_for_update(table.id(), &[])?;
        while !scan.next().await?.is_empty() {}
        Ok(find(&mut missing))
    }

    /// Refuses primary keys that are taken, be it by rows before, but for those that are `freed`, or by two of these.
    async fn check_primary_keys<'a>(
        &self,
        table: &TableDef,
        rows: impl Iterator<Item = &'a RowFacts>,
        freed: &HashSet<Bytes>,
    ) -> Result<()> {
        let mut values: Vec<&Bytes> = rows.filter_map(|facts| facts.primary_key.as_ref()).collect();
        values.sort_unstable();
        if values.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(duplicate(table));
        }
        let stage = self.stage.table(table.id());
        let mut unknown = Vec::with_capacity(values.len());
        for values in values.into_iter().filter(|values| !freed.contains(*values)) {
            match stage.and_then(|stage| stage.has_primary_key(values)) {
                Some(true) => return Err(duplicate(table)),
                Some(false) => {}
                None => unknown.push(keys::primary(table.id(), values)),
            }
        }
        if self.stage.is_stored(table.id()) && self.any_stored(&unknown).await? {
            return Err(duplicate(table));
        }
        Ok(())
    }

    /// Whether the store has any of these keys, which are sorted.
    async fn any_stored(&self, keys: &[Bytes]) -> Result<bool> {
        let (Some(first), Some(last)) = (keys.first(), keys.last()) else { return Ok(false) };
        if keys.len() <= FEW {
            for key in keys {
                if self.view.get(key).await?.is_some() {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        // New numbers mostly lie next to each other, with none between them that is taken.
        let behind = [last.as_ref(), &[0]].concat();
        let mut taken = self.view.scan(first.clone(), behind.into()).await?;
        while let Some((key, _)) = taken.next().await? {
            if keys.binary_search(&key).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn duplicate(table: &TableDef) -> Error {
    let columns: Vec<_> = table.primary_key().iter().map(|&at| table.columns()[at].name.as_str()).collect();
    let message = format!("duplicate key: the primary key ({}) of {table} is taken", columns.join(", "));
    Error::new(ErrorKind::Constraint, message)
}

/// So many keys are looked up one by one.
const FEW: usize = 16;
