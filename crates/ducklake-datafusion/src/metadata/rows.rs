//! Rows of metadata tables, by the names of their columns.

use bytes::Bytes;

use crate::{
    error::{Result, invalid},
    text,
};

/// A value of a metadata table, in whichever form its catalog has it.
#[derive(Clone, PartialEq)]
pub(crate) enum Cell {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    /// The payload of a value in a catalog of Lakelock, of the column's type.
    Stored(Bytes),
}

/// Rows of one table.
pub(crate) struct Rows {
    table: String,
    columns: Vec<String>,
    cells: Vec<Vec<Cell>>,
}

/// One of them.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    of: &'a Rows,
    cells: &'a [Cell],
}

impl Rows {
    pub(crate) fn new(table: impl Into<String>, columns: Vec<String>) -> Self {
        Self { table: table.into(), columns, cells: Vec::new() }
    }

    /// Adds a row, which has a cell for each column.
    pub(crate) fn push(&mut self, cells: Vec<Cell>) -> Result<()> {
        if cells.len() != self.columns.len() {
            return Err(invalid(format!("a row of {} has not its columns", self.table)));
        }
        self.cells.push(cells);
        Ok(())
    }

    pub(crate) fn table(&self) -> &str {
        &self.table
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.cells.iter().map(|cells| Row { of: self, cells })
    }
}

impl<'a> Row<'a> {
    /// The value in a column, whose name is compared as `DuckDB` does.
    pub(crate) fn cell(self, column: &str) -> Result<&'a Cell> {
        let at = self.of.columns.iter().position(|name| name.eq_ignore_ascii_case(column));
        let cell = at.and_then(|at| self.cells.get(at));
        cell.ok_or_else(|| invalid(format!("the catalog's table {} has no column {column}", self.of.table)))
    }

    /// A whole number, if there is one.
    pub(crate) fn integer(self, column: &str) -> Result<Option<i64>> {
        Ok(match self.cell(column)? {
            Cell::Null => None,
            Cell::Integer(number) => Some(*number),
            Cell::Text(text) => Some(text.trim().parse().map_err(|_| self.wrong(column, "whole number"))?),
            _ => return Err(self.wrong(column, "whole number")),
        })
    }

    /// A whole number that must be there.
    pub(crate) fn id(self, column: &str) -> Result<i64> {
        self.integer(column)?.ok_or_else(|| self.wrong(column, "whole number"))
    }

    /// A number of things, which is not negative.
    pub(crate) fn count(self, column: &str) -> Result<u64> {
        u64::try_from(self.id(column)?).map_err(|_| self.wrong(column, "count"))
    }

    /// A text, if there is one.
    pub(crate) fn text(self, column: &str) -> Result<Option<&'a str>> {
        Ok(match self.cell(column)? {
            Cell::Null => None,
            Cell::Text(text) => Some(text),
            Cell::Bytes(bytes) => Some(std::str::from_utf8(bytes).map_err(|_| self.wrong(column, "text"))?),
            _ => return Err(self.wrong(column, "text")),
        })
    }

    /// A text that must be there.
    pub(crate) fn name(self, column: &str) -> Result<&'a str> {
        self.text(column)?.ok_or_else(|| self.wrong(column, "text"))
    }

    /// A truth value, if there is one.
    pub(crate) fn flag(self, column: &str) -> Result<Option<bool>> {
        Ok(match self.cell(column)? {
            Cell::Null => None,
            Cell::Integer(number) => Some(*number != 0),
            Cell::Text(text) => Some(text::boolean(text).ok_or_else(|| self.wrong(column, "truth value"))?),
            _ => return Err(self.wrong(column, "truth value")),
        })
    }

    /// A moment, in microseconds since 1970.
    pub(crate) fn microseconds(self, column: &str) -> Result<i64> {
        let wrong = || self.wrong(column, "time");
        match self.cell(column)? {
            Cell::Stored(payload) => lakelock_ducklake::bigint(payload).map_err(|_| wrong()),
            Cell::Text(text) => {
                let nanoseconds = text::timestamp(text).ok_or_else(wrong)?;
                i64::try_from(nanoseconds.div_euclid(1000)).map_err(|_| wrong())
            }
            _ => Err(wrong()),
        }
    }

    /// Whether the row is part of a snapshot.
    pub(crate) fn is_live_at(self, snapshot: i64) -> Result<bool> {
        let began = self.integer("begin_snapshot")?.is_none_or(|began| began <= snapshot);
        Ok(began && self.integer("end_snapshot")?.is_none_or(|ended| ended > snapshot))
    }

    /// Not the value itself, which may be a key or somebody's data.
    fn wrong(self, column: &str, expected: &str) -> crate::Error {
        invalid(format!("a value in column {column} of the catalog's table {} is no {expected}", self.of.table))
    }
}
