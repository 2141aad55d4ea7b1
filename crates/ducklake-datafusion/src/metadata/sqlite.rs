//! Metadata tables in an `SQLite` file.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Row as _, TypeInfo, ValueRef,
    sqlite::{SqliteConnectOptions, SqliteConnection, SqliteRow},
};

use super::{Cell, Rows, Wanted, quoted};
use crate::error::{Error, ErrorKind, Result, not_found};

/// How long a statement waits for other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Sqlite {
    file: PathBuf,
}

impl Sqlite {
    pub(super) fn new(file: &Path) -> Result<Self> {
        if !file.is_file() {
            return Err(not_found(format!("there is no file {}", file.display())));
        }
        Ok(Self { file: file.to_owned() })
    }

    pub(super) async fn read(&self, wanted: &[Wanted]) -> Result<Vec<Rows>> {
        let options = SqliteConnectOptions::new().filename(&self.file).read_only(true).busy_timeout(BUSY_TIMEOUT);
        let mut connection = options.connect().await.map_err(|error| self.error(error))?;
        let mut transaction = connection.begin().await.map_err(|error| self.error(error))?;
        let mut answers = Vec::with_capacity(wanted.len());
        for wanted in wanted {
            answers.push(self.table(&mut transaction, wanted).await?);
        }
        drop(transaction);
        connection.close().await.map_err(|error| self.error(error))?;
        Ok(answers)
    }

    async fn table(&self, connection: &mut SqliteConnection, wanted: &Wanted) -> Result<Rows> {
        let columns = sqlx::query_scalar("SELECT name FROM pragma_table_info(?)").bind(&wanted.table);
        let columns: Vec<String> = columns.fetch_all(&mut *connection).await.map_err(|error| self.error(error))?;
        if columns.is_empty() {
            return wanted.missing();
        }
        let names: Vec<_> = columns.iter().map(|column| quoted(column)).collect();
        let sql = format!("SELECT {} FROM {}{}", names.join(", "), quoted(&wanted.table), wanted.condition());
        let found = sqlx::query(AssertSqlSafe(sql)).fetch_all(connection).await.map_err(|error| self.error(error))?;
        let width = columns.len();
        let mut rows = Rows::new(wanted.table.clone(), columns);
        for row in found {
            let cells = (0..width).map(|at| cell(&row, at)).collect::<sqlx::Result<_>>();
            rows.push(cells.map_err(|error| self.error(error))?)?;
        }
        Ok(rows)
    }

    fn error(&self, error: sqlx::Error) -> Error {
        let message = format!("cannot read the SQLite file {}", self.file.display());
        Error::new(ErrorKind::Storage, message).with_source(error)
    }
}

/// A value as it is stored, whatever its column's declared type is.
fn cell(row: &SqliteRow, at: usize) -> sqlx::Result<Cell> {
    let value = row.try_get_raw(at)?;
    if value.is_null() {
        return Ok(Cell::Null);
    }
    Ok(match value.type_info().name() {
        "INTEGER" => Cell::Integer(row.try_get_unchecked(at)?),
        "REAL" => Cell::Real(row.try_get_unchecked(at)?),
        "BLOB" => Cell::Bytes(row.try_get_unchecked(at)?),
        _ => Cell::Text(row.try_get_unchecked(at)?),
    })
}
