//! What cannot be changed in a catalog: whether the lake's data files are encrypted.
//!
//! `DuckLake` keeps the flag in a row of `ducklake_metadata` and takes it from there at every attach. Were it changed, new data
//! files would be written in the clear next to encrypted ones.

use bytes::Bytes;

use super::Transaction;
use crate::{
    error::{Error, ErrorKind, Result},
    row::{self, RowLayout},
    table::{RowId, TableDef, same_name},
};

/// The table of the flag.
struct Metadata {
    layout: RowLayout,
    key: usize,
    value: usize,
    scope: Option<usize>,
}

impl Metadata {
    /// `table`, if it is that table.
    fn new(table: &TableDef) -> Option<Self> {
        if !same_name(table.name(), "ducklake_metadata") {
            return None;
        }
        let (key, value) = (table.column("key")?, table.column("value")?);
        let scope = table.column("scope");
        let columns = table.columns().iter().take(key.max(value).max(scope.unwrap_or_default()) + 1);
        let layout = RowLayout::new(columns.map(|column| column.type_text.as_str())).ok()?;
        Some(Self { layout, key, value, scope })
    }

    /// The flag, if `row` is its row.
    fn flag(&self, row: &[u8]) -> Result<Option<bool>> {
        let values = self.layout.first_values(row)?;
        // With a scope it is a setting of a schema or table.
        let scope = self.scope.and_then(|scope| values[scope]);
        match (values[self.key], values[self.value].filter(|_| scope.is_none())) {
            (Some(key), Some(value)) if row::text(key)? == "encrypted" => {
                Ok(Some(row::text(value)?.eq_ignore_ascii_case("true")))
            }
            _ => Ok(None),
        }
    }
}

impl Transaction {
    /// Refuses rows by which the lake would be encrypted otherwise than was said when the catalog was made.
    pub(super) fn check_inserted(&self, table: &TableDef, rows: &[Bytes]) -> Result<()> {
        let Some(metadata) = Metadata::new(table) else { return Ok(()) };
        let made = self.writer()?.encrypted();
        for row in rows {
            if let (Some(made), Some(flag)) = (made, metadata.flag(row)?)
                && made != flag
            {
                return Err(fixed(table, made));
            }
        }
        Ok(())
    }

    /// Refuses to change or to delete the flag's row: `rows`, each with what is to be in its place.
    pub(super) async fn check_replaced<'a>(
        &self,
        table: &TableDef,
        rows: impl Iterator<Item = (RowId, Option<&'a Bytes>)>,
    ) -> Result<()> {
        let Some(metadata) = Metadata::new(table) else { return Ok(()) };
        let before = self.scan(table.id(), &[])?.collect().await?;
        let mut flags = Vec::new();
        for (id, row) in &before {
            flags.extend(metadata.flag(row)?.map(|flag| (*id, flag)));
        }
        for (id, new) in rows {
            let Some((_, flag)) = flags.iter().find(|(found, _)| *found == id) else { continue };
            if new.map(|row| metadata.flag(row)).transpose()?.flatten() != Some(*flag) {
                return Err(fixed(table, *flag));
            }
        }
        Ok(())
    }
}

fn fixed(table: &TableDef, encrypted: bool) -> Error {
    let is = if encrypted { "encrypted" } else { "not encrypted" };
    let message = format!("the lake of {table} is {is}, which is fixed when its catalog is made: make another catalog");
    Error::new(ErrorKind::InvalidInput, message)
}
