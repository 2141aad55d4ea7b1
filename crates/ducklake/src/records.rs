//! Rows by the names of their columns.

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    error::{Result, corrupt, not_found},
    filter::Filter,
    row::{self, RowLayout},
    table::TableDef,
    transaction::Transaction,
};

/// Rows of a table.
pub(crate) struct Records {
    table: Arc<TableDef>,
    layout: RowLayout,
    rows: Vec<Bytes>,
}

/// A row.
pub(crate) struct Record<'a> {
    table: &'a TableDef,
    values: Vec<Option<&'a [u8]>>,
}

impl Records {
    /// Those rows of a table that meet the filters, and maybe others; none, if there is no such table.
    pub(crate) async fn read(
        transaction: &Transaction,
        schema: &str,
        name: &str,
        filters: impl FnOnce(&TableDef) -> Vec<Filter>,
    ) -> Result<Option<Self>> {
        let Some(table) = transaction.table(schema, name) else { return Ok(None) };
        let layout = RowLayout::new(table.columns().iter().map(|column| column.type_text.as_str()))?;
        let rows = transaction.scan(table.id(), &filters(&table))?.collect().await?;
        Ok(Some(Self { table, layout, rows: rows.into_iter().map(|(_, row)| row).collect() }))
    }

    /// All rows of a table that must be there.
    pub(crate) async fn all(transaction: &Transaction, schema: &str, name: &str) -> Result<Self> {
        let found = Self::read(transaction, schema, name, |_| Vec::new()).await?;
        found.ok_or_else(|| not_found(format!("there is no table {schema}.{name}: DuckLake has not been set up here")))
    }

    pub(crate) fn iter<'a>(&'a self) -> impl Iterator<Item = Result<Record<'a>>> {
        let record = |row: &'a Bytes| Ok(Record { table: &self.table, values: self.layout.values(row)? });
        self.rows.iter().map(record)
    }
}

impl<'a> Record<'a> {
    fn value(&self, column: &str) -> Result<Option<&'a [u8]>> {
        let at = self.table.column(column);
        let at = at.ok_or_else(|| corrupt(format!("{} has no column \"{column}\"", self.table)))?;
        Ok(self.values[at])
    }

    pub(crate) fn is_null(&self, column: &str) -> Result<bool> {
        self.value(column).map(|value| value.is_none())
    }

    pub(crate) fn bigint(&self, column: &str) -> Result<Option<i64>> {
        self.value(column)?.map(row::bigint).transpose()
    }

    pub(crate) fn text(&self, column: &str) -> Result<Option<&'a str>> {
        self.value(column)?.map(row::text).transpose()
    }

    pub(crate) fn flag(&self, column: &str) -> Result<Option<bool>> {
        Ok(self.value(column)?.map(|value| value != [0]))
    }

    /// A value that must be there.
    pub(crate) fn id(&self, column: &str) -> Result<i64> {
        self.bigint(column)?.ok_or_else(|| corrupt(format!("NULL in column \"{column}\" of {}", self.table)))
    }

    /// Whether the row is part of a snapshot.
    pub(crate) fn is_live_at(&self, snapshot: i64) -> Result<bool> {
        let began = self.bigint("begin_snapshot")?.is_none_or(|began| began <= snapshot);
        Ok(began && self.bigint("end_snapshot")?.is_none_or(|ended| ended > snapshot))
    }
}
