//! The metadata tables of a lake, in whichever database they are.

mod duckdb;
mod postgres;
mod rows;
mod sqlite;
mod store;

use lakelock_storage::Storage;

pub(crate) use self::rows::{Cell, Row, Rows};
use self::{duckdb::DuckDb, postgres::Postgres, sqlite::Sqlite, store::Store};
use crate::{
    CatalogLocation, LakeOptions,
    error::{Result, not_found},
};

/// The database that a lake's metadata tables are in.
pub(crate) enum Metadata {
    DuckDb(DuckDb),
    Postgres(Postgres),
    Sqlite(Sqlite),
    Store(Store),
}

/// What is to be read of a table.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    table: String,
    of_table: Option<i64>,
    live_at: Option<i64>,
    required: bool,
}

impl Wanted {
    /// All rows of a table that must be there.
    pub(crate) fn all(table: impl Into<String>) -> Self {
        Self { table: table.into(), of_table: None, live_at: None, required: true }
    }

    /// Those with this `table_id` only.
    pub(crate) fn of_table(self, id: i64) -> Self {
        Self { of_table: Some(id), ..self }
    }

    /// Those that are part of a snapshot, and maybe others: of a table with `begin_snapshot` and `end_snapshot`.
    pub(crate) fn live_at(self, snapshot: i64) -> Self {
        Self { live_at: Some(snapshot), ..self }
    }

    /// None, if there is no such table.
    pub(crate) fn if_exists(self) -> Self {
        Self { required: false, ..self }
    }

    /// What is answered where there is no such table.
    fn missing(&self) -> Result<Rows> {
        if self.required {
            let message =
                format!("there is no table {} in the catalog: DuckLake has not been set up there", self.table);
            return Err(not_found(message));
        }
        Ok(Rows::new(self.table.clone(), Vec::new()))
    }

    /// The condition of a SELECT, the same for each SQL database. Nothing in it but numbers comes from elsewhere.
    fn condition(&self) -> String {
        let of_table = self.of_table.map(|id| format!("table_id = {id}"));
        let live_at = self.live_at.map(|snapshot| {
            format!("begin_snapshot <= {snapshot} AND (end_snapshot IS NULL OR end_snapshot > {snapshot})")
        });
        let conditions: Vec<_> = of_table.into_iter().chain(live_at).collect();
        if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) }
    }
}

impl Metadata {
    pub(crate) async fn open(location: &CatalogLocation, options: &LakeOptions, storage: &Storage) -> Result<Self> {
        let schema = options.metadata_schema.as_deref();
        Ok(match location {
            CatalogLocation::DuckDb(file) => Self::DuckDb(DuckDb::new(file, schema, options.duckdb.clone())?),
            CatalogLocation::Lakelock(folder) => Self::Store(Store::open(storage, folder, schema).await?),
            CatalogLocation::Postgres(text) => Self::Postgres(Postgres::new(text, schema)?),
            CatalogLocation::Sqlite(file) => Self::Sqlite(Sqlite::new(file)?),
        })
    }

    /// The rows of several tables, all of one moment.
    pub(crate) async fn read(&self, wanted: &[Wanted]) -> Result<Vec<Rows>> {
        match self {
            Self::DuckDb(duckdb) => duckdb.read(wanted).await,
            Self::Postgres(postgres) => postgres.read(wanted).await,
            Self::Sqlite(sqlite) => sqlite.read(wanted).await,
            Self::Store(store) => store.read(wanted).await,
        }
    }
}

/// A name as SQL takes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A text as SQL takes it.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
