//! Tables: their columns, and what the store must know of a row to put it in its place.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::{
    error::{Error, ErrorKind, Result, corrupt},
    layout::Layout,
    row::{self, RowLayout},
};

/// The number of a table, which no other table of the catalog ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub u32);

/// The number of a row, which no other row of the catalog ever has. A row keeps it when it is updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub i64);

/// A column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnDef {
    /// Its name.
    pub name: String,
    /// Its type, as DuckDB writes it: the text of the `LogicalType`.
    #[serde(rename = "type")]
    pub type_text: String,
    /// Whether every row must have a value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_null: bool,
    /// The SQL expression of its default, which is kept for whoever inserts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

impl ColumnDef {
    /// A column that may be NULL and has no default.
    pub fn new(name: impl Into<String>, type_text: impl Into<String>) -> Self {
        Self { name: name.into(), type_text: type_text.into(), not_null: false, default: None }
    }
}

/// A table that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTable {
    /// The schema that it is to be in.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<ColumnDef>,
    /// Which of the columns are its primary key; none, if it has none.
    pub primary_key: Vec<usize>,
}

/// A change of a table's definition.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alteration {
    /// A column at the end. Rows that are there already have NULL in it.
    AddColumn(ColumnDef),
    /// Another name for a column.
    RenameColumn {
        /// Which one.
        column: usize,
        /// Its new name.
        name: String,
    },
    /// Another name for the table.
    RenameTable(String),
    /// Another default of a column, or none.
    SetDefault {
        /// Which one.
        column: usize,
        /// Its new default.
        default: Option<String>,
    },
    /// Whether every row must have a value in a column. Rows that are there already are not looked at.
    SetNotNull {
        /// Which one.
        column: usize,
        /// Whether it must.
        not_null: bool,
    },
}

/// A table.
#[derive(Clone)]
pub struct TableDef {
    id: TableId,
    stored: StoredTable,
    /// Of the columns that place a row, and of those before them.
    layout: RowLayout,
}

/// A table, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTable {
    schema: String,
    name: String,
    columns: Vec<ColumnDef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    primary_key: Vec<usize>,
    /// The column by whose number rows are kept together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<usize>,
    /// The column that says from which snapshot on a row is no longer part of the lake.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end_snapshot: Option<usize>,
}

/// What the place of a row is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowFacts {
    pub(crate) cluster: i64,
    pub(crate) end_snapshot: Option<i64>,
    /// The values of the primary key, one after the other; nothing, if the table has none.
    pub(crate) primary_key: Option<Bytes>,
}

impl TableDef {
    pub(crate) fn new(id: TableId, new: NewTable) -> Result<Self> {
        let NewTable { schema, name, columns, primary_key } = new;
        let cluster = CLUSTER_COLUMNS.iter().find_map(|name| bigint_column(&columns, name));
        let end_snapshot = bigint_column(&columns, END_SNAPSHOT);
        Self::from_stored(id, StoredTable { schema, name, columns, primary_key, cluster, end_snapshot })
    }

    pub(crate) fn from_json(id: TableId, json: &[u8]) -> Result<Self> {
        let unreadable = || format!("the definition of table {} is not readable", id.0);
        let stored = serde_json::from_slice(json).map_err(|error| corrupt(unreadable()).with_source(error))?;
        Self::from_stored(id, stored).map_err(|error| corrupt(unreadable()).with_source(error))
    }

    pub(crate) fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(&self.stored).map_err(|error| {
            Error::new(ErrorKind::InvalidInput, format!("{self} cannot be written down")).with_source(error)
        })
    }

    fn from_stored(id: TableId, stored: StoredTable) -> Result<Self> {
        let invalid = |message: String| {
            Error::new(ErrorKind::InvalidInput, format!("table {}.{}: {message}", stored.schema, stored.name))
        };
        if stored.columns.is_empty() {
            return Err(invalid("it has no columns".to_owned()));
        }
        for (at, column) in stored.columns.iter().enumerate() {
            if stored.columns[..at].iter().any(|other| same_name(&other.name, &column.name)) {
                return Err(invalid(format!("it has two columns named \"{}\"", column.name)));
            }
        }
        let needed = stored.primary_key.iter().chain(&stored.cluster).chain(&stored.end_snapshot);
        let needed = needed.max().map_or(0, |last| last.saturating_add(1));
        if stored.columns.len() < needed {
            return Err(invalid("a key column that it does not have".to_owned()));
        }
        let layout = RowLayout::new(stored.columns.iter().take(needed).map(|column| column.type_text.as_str()));
        let layout = layout.map_err(|error| invalid("its key cannot be read".to_owned()).with_source(error))?;
        Ok(Self { id, stored, layout })
    }

    /// Its number.
    #[must_use]
    pub fn id(&self) -> TableId {
        self.id
    }

    /// The schema that it is in.
    #[must_use]
    pub fn schema(&self) -> &str {
        &self.stored.schema
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.stored.name
    }

    /// Its columns, in the order that rows have their values in.
    #[must_use]
    pub fn columns(&self) -> &[ColumnDef] {
        &self.stored.columns
    }

    /// The column of this name, whatever its case.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<usize> {
        self.stored.columns.iter().position(|column| same_name(&column.name, name))
    }

    /// Which columns are its primary key.
    #[must_use]
    pub fn primary_key(&self) -> &[usize] {
        &self.stored.primary_key
    }

    /// The column by which rows are kept together: filters on it save reading the others.
    #[must_use]
    pub fn cluster_column(&self) -> Option<usize> {
        self.stored.cluster
    }

    /// The column `end_snapshot`, if it has one: rows with NULL in it are kept apart from those with a value.
    #[must_use]
    pub fn end_snapshot_column(&self) -> Option<usize> {
        self.stored.end_snapshot
    }

    pub(crate) fn altered(&self, alteration: Alteration) -> Result<Self> {
        let mut stored = self.stored.clone();
        let column = |stored: &mut StoredTable, column: usize, change: &dyn Fn(&mut ColumnDef)| {
            stored
                .columns
                .get_mut(column)
                .map(change)
                .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("{self} has no column number {column}")))
        };
        match alteration {
            Alteration::AddColumn(added) => stored.columns.push(added),
            Alteration::RenameColumn { column: at, name } => column(&mut stored, at, &|c| c.name.clone_from(&name))?,
            Alteration::RenameTable(name) => stored.name = name,
            Alteration::SetDefault { column: at, default } => {
                column(&mut stored, at, &|c| c.default.clone_from(&default))?;
            }
            Alteration::SetNotNull { column: at, not_null } => column(&mut stored, at, &|c| c.not_null = not_null)?,
        }
        Self::from_stored(self.id, stored)
    }

    /// What the place of `row` is made of.
    pub(crate) fn facts(&self, row: &[u8]) -> Result<RowFacts> {
        let values = self.layout.first_values(row)?;
        let value = |column: usize| values.get(column).copied().flatten();
        let bigint = |column: Option<usize>| column.and_then(value).map(row::bigint).transpose();
        let primary_key = match self.primary_key() {
            [] => None,
            columns => {
                let mut key = Vec::new();
                for &column in columns {
                    let value = value(column).ok_or_else(|| self.null_in(column))?;
                    self.layout.columns()[column].extend_key(&mut key, value);
                }
                Some(key.into())
            }
        };
        Ok(RowFacts {
            cluster: bigint(self.cluster_column())?.unwrap_or_default(),
            end_snapshot: bigint(self.end_snapshot_column())?,
            primary_key,
        })
    }

    fn null_in(&self, column: usize) -> Error {
        let name = &self.stored.columns[column].name;
        Error::new(ErrorKind::Constraint, format!("NULL in column \"{name}\" of the primary key of {self}"))
    }
}

impl fmt::Display for TableDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "table {}.{}", self.schema(), self.name())
    }
}

impl fmt::Debug for TableDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableDef").field("id", &self.id).field("stored", &self.stored).finish_non_exhaustive()
    }
}

/// Whether two names are the same to DuckDB.
pub(crate) fn same_name(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// A column of this name that rows can be placed by.
fn bigint_column(columns: &[ColumnDef], name: &str) -> Option<usize> {
    let at = columns.iter().position(|column| same_name(&column.name, name))?;
    let placed = |column: &ColumnDef| Layout::of_type(&column.type_text).is_some();
    (columns[at].type_text.eq_ignore_ascii_case("BIGINT") && columns[..at].iter().all(placed)).then_some(at)
}

/// The columns by which `DuckLake` asks for rows, the more telling first.
const CLUSTER_COLUMNS: [&str; 5] = ["table_id", "object_id", "snapshot_id", "mapping_id", "macro_id"];

/// The column that is NULL in rows which are part of the newest snapshot.
const END_SNAPSHOT: &str = "end_snapshot";
