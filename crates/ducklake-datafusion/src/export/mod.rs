//! A catalog of Lakelock as an `SQLite` file, which `DuckLake` attaches as `ducklake:sqlite:FILE`.
//!
//! The file has the tables that `DuckLake` itself makes in `SQLite`, and its columns have the types that it gives them there: whole
//! numbers of up to 64 bits with a sign and truth values are `BIGINT`, bytes `BLOB`, everything else is text as `DuckDB` writes it.

mod types;
mod write;

use std::{fs::OpenOptions, io, path::Path};

use lakelock_ducklake::{Lake, RowLayout, TableDef, Transaction, bigint, text};
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};

use crate::{
    columns::Column,
    error::{Error, ErrorKind, Result, not_found, unsupported},
    metadata::{Cell, quoted},
    stored,
};

/// What an export has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many tables.
    pub tables: usize,
    /// How many rows, in all of them.
    pub rows: usize,
}

/// Writes the tables of a lake, which are in a schema of the catalog, to a new file: only its owner can read it.
///
/// The keys of data files are written as they are, which `with_keys` must say in so many words.
///
/// # Errors
/// [`ErrorKind::InvalidInput`], if there is such a file, and without `with_keys` for a catalog that has keys;
/// [`ErrorKind::NotFound`], if `DuckLake` has not been set up there; [`ErrorKind::Unsupported`] for inlined rows of a type that
/// `DuckLake` does not keep in `SQLite`; [`ErrorKind::Storage`]. No file is left then.
pub async fn export_sqlite(lake: &Lake, schema: &str, file: &Path, with_keys: bool) -> Result<Exported> {
    let transaction = lake.begin().await?;
    let of_lake = |table: &std::sync::Arc<TableDef>| table.name().to_ascii_lowercase().starts_with("ducklake_");
    let tables: Vec<_> = transaction.tables(schema)?.into_iter().filter(of_lake).collect();
    if transaction.table(schema, "ducklake_metadata").is_none() {
        return Err(not_found(format!(
            "there is no table {schema}.ducklake_metadata: DuckLake has not been set up here"
        )));
    }
    if !with_keys {
        refuse_keys(&transaction, schema).await?;
    }
    create(file)?;
    let written = write(&transaction, &tables, file).await;
    if written.is_err() {
        // The error that is told is the first one.
        let _ = std::fs::remove_file(file);
    }
    written
}

/// Makes the file, which must not be there.
fn create(file: &Path) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(file).map(drop).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            let message = format!("{} exists already: name a file that does not", file.display());
            Error::new(ErrorKind::InvalidInput, message)
        }
        _ => Error::new(ErrorKind::Storage, format!("cannot make {}", file.display())).with_source(error),
    })
}

async fn refuse_keys(transaction: &Transaction, schema: &str) -> Result<()> {
    for name in ["ducklake_data_file", "ducklake_delete_file"] {
        let Some(table) = transaction.table(schema, name) else { continue };
        let Some(column) = table.column("encryption_key") else { continue };
        let layout = layout(&table)?;
        let mut scan = transaction.scan(table.id(), &[])?;
        loop {
            let rows = scan.next().await?;
            if rows.is_empty() {
                break;
            }
            for (_, row) in &rows {
                if layout.values(row)?.get(column).is_some_and(Option::is_some) {
                    let message = "the catalog has keys of data files, which would be in the file as they are: whoever can read \
                                   it could decrypt the lake";
                    return Err(Error::new(ErrorKind::InvalidInput, message));
                }
            }
        }
    }
    Ok(())
}

async fn write(transaction: &Transaction, tables: &[std::sync::Arc<TableDef>], file: &Path) -> Result<Exported> {
    let failed = |error: sqlx::Error| {
        Error::new(ErrorKind::Storage, format!("cannot write {}", file.display())).with_source(error)
    };
    let options = SqliteConnectOptions::new().filename(file);
    let mut connection = options.connect().await.map_err(failed)?;
    let mut sqlite = connection.begin().await.map_err(failed)?;
    let mut exported = Exported { tables: tables.len(), rows: 0 };
    for table in tables {
        sqlx::query(AssertSqlSafe(create_table(table))).execute(&mut *sqlite).await.map_err(failed)?;
        let (columns, layout) = (table.columns(), layout(table)?);
        let targets = columns.iter().map(|column| types::column(&column.name, &column.type_text));
        let targets: Vec<Option<Column>> = targets.collect();
        let mut scan = transaction.scan(table.id(), &[])?;
        loop {
            let rows = scan.next().await?;
            if rows.is_empty() {
                break;
            }
            for (_, row) in &rows {
                let values = layout.values(row)?.into_iter().zip(columns).zip(&targets);
                let cells = values.map(|((payload, column), target)| match payload {
                    None => Ok(Cell::Null),
                    Some(payload) => cell(&column.type_text, target.as_ref(), payload).ok_or_else(|| {
                        let (table, name, type_text) = (table.name(), &column.name, &column.type_text);
                        unsupported(format!(
                            "column {name} of {table} has rows of the type {type_text}, which no SQLite catalog keeps: \
                             ducklake_flush_inlined_data writes them to files"
                        ))
                    }),
                });
                insert(&mut sqlite, table, cells.collect::<Result<_>>()?).await?.map_err(failed)?;
            }
            exported.rows += rows.len();
        }
    }
    sqlite.commit().await.map_err(failed)?;
    connection.close().await.map_err(failed)?;
    Ok(exported)
}

async fn insert(connection: &mut SqliteConnection, table: &TableDef, cells: Vec<Cell>) -> Result<sqlx::Result<()>> {
    let places = vec!["?"; cells.len()].join(", ");
    let sql = format!("INSERT INTO {} VALUES ({places})", quoted(table.name()));
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for cell in cells {
        query = match cell {
            Cell::Null => query.bind(None::<i64>),
            Cell::Integer(number) => query.bind(number),
            Cell::Real(number) => query.bind(number),
            Cell::Text(text) => query.bind(text),
            Cell::Bytes(bytes) => query.bind(bytes),
            Cell::Stored(_) => return Err(unsupported(format!("a value of {} has no form in SQLite", table.name()))),
        };
    }
    Ok(query.execute(connection).await.map(drop))
}

fn layout(table: &TableDef) -> Result<RowLayout> {
    Ok(RowLayout::new(table.columns().iter().map(|column| column.type_text.as_str()))?)
}

/// A value as `DuckLake` keeps it in `SQLite`.
fn cell(type_text: &str, column: Option<&Column>, payload: &[u8]) -> Option<Cell> {
    Some(match (type_text.to_ascii_uppercase().as_str(), sqlite_type(type_text)) {
        ("BIGINT", _) => Cell::Integer(bigint(payload).ok()?),
        ("VARCHAR" | "JSON", _) => Cell::Text(text(payload).ok()?.to_owned()),
        ("BOOLEAN", _) => Cell::Integer((payload != [0]).into()),
        (_, "BLOB") => match stored::scalar(column?, payload)? {
            datafusion::common::ScalarValue::Binary(Some(bytes)) => Cell::Bytes(bytes),
            _ => return None,
        },
        (_, "BIGINT") => Cell::Integer(write::text(column?, &stored::scalar(column?, payload)?)?.parse().ok()?),
        _ => Cell::Text(write::text(column?, &stored::scalar(column?, payload)?)?),
    })
}

/// The type that `DuckLake` gives a column in `SQLite`.
fn sqlite_type(type_text: &str) -> &'static str {
    match type_text.to_ascii_uppercase().as_str() {
        "BOOLEAN" | "TINYINT" | "SMALLINT" | "INTEGER" | "BIGINT" | "UTINYINT" | "USMALLINT" | "UINTEGER" => "BIGINT",
        "BLOB" => "BLOB",
        _ => "VARCHAR",
    }
}

fn create_table(table: &TableDef) -> String {
    let column = |(at, column): (usize, &lakelock_ducklake::ColumnDef)| {
        // That of a primary key goes without saying.
        let not_null = if column.not_null && !table.primary_key().contains(&at) { " NOT NULL" } else { "" };
        format!("{} {}{not_null}", quoted(&column.name), sqlite_type(&column.type_text))
    };
    let mut parts: Vec<_> = table.columns().iter().enumerate().map(column).collect();
    if !table.primary_key().is_empty() {
        let names = table.primary_key().iter().filter_map(|at| table.columns().get(*at));
        let names: Vec<_> = names.map(|column| quoted(&column.name)).collect();
        parts.push(format!("PRIMARY KEY ({})", names.join(", ")));
    }
    format!("CREATE TABLE {}({})", quoted(table.name()), parts.join(", "))
}
