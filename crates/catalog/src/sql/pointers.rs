//! Pointers and pins as rows.
//!
//! Each write is one immediate transaction: it waits for its turn before it reads, so that what it read still holds when it
//! writes. The journal mode is left as it is: without a write-ahead log the catalog is always the one file.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, Transaction, query, query_as, query_scalar};

use super::schema;
use crate::loaded::Loaded;
use crate::pointers::{MetadataHash, Pin, Pointer, PointerStore, Swap, has_children, implies};
use crate::tables::{already_exists, not_found};
use crate::{Error, ErrorKind, Result};

/// How long a statement waits for other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// SQLite's primary result code for a lock that another connection holds.
const SQLITE_BUSY: i32 = 5;

/// The property by which Java and `PyIceberg` mark a namespace that was made.
const EXISTS: &str = "exists";

/// The pointers of one catalog name in a database.
#[derive(Debug)]
pub(super) struct SqlPointers {
    catalog: String,
    file: String,
    pool: SqlitePool,
}

impl SqlPointers {
    pub(super) async fn open(catalog: &str, file: &Path) -> Result<Self> {
        let name = file.display().to_string();
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .busy_timeout(BUSY_TIMEOUT)
            .synchronous(SqliteSynchronous::Full);
        let pool =
            SqlitePoolOptions::new().max_connections(4).acquire_timeout(2 * BUSY_TIMEOUT).connect_with(options).await;
        let pointers =
            Self { catalog: catalog.to_owned(), pool: pool.map_err(|e| database_error(&name, e))?, file: name };
        let mut connection = pointers.pool.acquire().await.map_err(|e| pointers.error(e))?;
        schema::prepare(&mut connection).await.map_err(|e| pointers.error(e))?;
        drop(connection);
        Ok(pointers)
    }

    fn error(&self, error: sqlx::Error) -> Error {
        database_error(&self.file, error)
    }

    async fn begin(&self) -> Result<Transaction<'static, Sqlite>> {
        self.pool.begin_with("BEGIN IMMEDIATE").await.map_err(|e| self.error(e))
    }

    async fn commit(&self, transaction: Transaction<'static, Sqlite>) -> Result<()> {
        transaction.commit().await.map_err(|e| {
            let message = format!("catalog database {} did not say whether a change took place", self.file);
            Error::new(ErrorKind::UnknownOutcome, message).with_source(e)
        })
    }

    async fn known(&self, connection: &mut SqliteConnection) -> Result<Vec<NamespaceIdent>> {
        let names: Vec<String> = query_scalar(
            "SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?1
                UNION SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?1",
        )
        .bind(&self.catalog)
        .fetch_all(connection)
        .await
        .map_err(|e| self.error(e))?;
        Ok(names
            .into_iter()
            .filter_map(|name| NamespaceIdent::from_vec(name.split('.').map(str::to_owned).collect()).ok())
            .collect())
    }

    async fn write_pin(&self, connection: &mut SqliteConnection, table: &TableIdent, loaded: &Loaded) -> Result<()> {
        query(
            "INSERT OR REPLACE INTO lakelock_pins (catalog_name, table_namespace, table_name, key_id, data_key_length,
                metadata_location, metadata_sha256) VALUES (?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(&self.catalog)
        .bind(namespace_text(table.namespace()))
        .bind(table.name())
        .bind(loaded.key_id())
        .bind(loaded.data_key_length())
        .bind(&loaded.location)
        .bind(&loaded.sha256)
        .execute(connection)
        .await
        .map_err(|e| self.error(e))?;
        Ok(())
    }

    async fn fetch(&self, connection: &mut SqliteConnection, table: &TableIdent) -> Result<Option<Pointer>> {
        type Row = (Option<String>, Option<String>, Option<String>, Option<String>, Option<String>);
        let row: Option<Row> = query_as(
            "SELECT t.metadata_location, p.metadata_location, p.metadata_sha256, p.key_id, p.data_key_length
                FROM iceberg_tables t LEFT JOIN lakelock_pins p ON p.catalog_name = t.catalog_name
                    AND p.table_namespace = t.table_namespace AND p.table_name = t.table_name
                WHERE t.catalog_name = ? AND t.table_namespace = ? AND t.table_name = ?
                    AND (t.iceberg_type = 'TABLE' OR t.iceberg_type IS NULL)",
        )
        .bind(&self.catalog)
        .bind(namespace_text(table.namespace()))
        .bind(table.name())
        .fetch_optional(connection)
        .await
        .map_err(|e| self.error(e))?;
        let Some((location, pinned_location, sha256, key_id, data_key_length)) = row else { return Ok(None) };
        let metadata_location = location.ok_or_else(|| {
            let message = format!("catalog database {} has no metadata location for table {table}", self.file);
            Error::new(ErrorKind::InvalidData, message)
        })?;
        let pin = pinned_location.zip(sha256).map(|(metadata_location, sha256)| Pin {
            key_id,
            data_key_length,
            metadata_location,
            hash: MetadataHash::File(sha256),
        });
        Ok(Some(Pointer { metadata_location, pin }))
    }
}

#[async_trait]
impl PointerStore for SqlPointers {
    async fn namespaces(&self) -> Result<Vec<NamespaceIdent>> {
        let mut connection = self.pool.acquire().await.map_err(|e| self.error(e))?;
        self.known(&mut connection).await
    }

    async fn create_namespace(&self, namespace: &NamespaceIdent, properties: &HashMap<String, String>) -> Result<()> {
        let mut transaction = self.begin().await?;
        if implies(&self.known(&mut transaction).await?, namespace) {
            return Err(already_exists("namespace", namespace));
        }
        let others = properties.iter().map(|(key, value)| (key.as_str(), value.as_str()));
        for (key, value) in others.filter(|(key, _)| *key != EXISTS).chain([(EXISTS, "true")]) {
            query(
                "INSERT INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value)
                    VALUES (?, ?, ?, ?)",
            )
            .bind(&self.catalog)
            .bind(namespace_text(namespace))
            .bind(key)
            .bind(value)
            .execute(&mut *transaction)
            .await
            .map_err(|e| self.error(e))?;
        }
        self.commit(transaction).await
    }

    async fn drop_namespace(&self, namespace: &NamespaceIdent) -> Result<()> {
        let mut transaction = self.begin().await?;
        let known = self.known(&mut transaction).await?;
        if !implies(&known, namespace) {
            return Err(not_found("namespace", namespace));
        }
        // Views of other programs count as well.
        let held: i64 =
            query_scalar("SELECT COUNT(*) FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?")
                .bind(&self.catalog)
                .bind(namespace_text(namespace))
                .fetch_one(&mut *transaction)
                .await
                .map_err(|e| self.error(e))?;
        if held > 0 || has_children(&known, namespace) {
            return Err(Error::new(ErrorKind::NotEmpty, format!("namespace {namespace} is not empty")));
        }
        query("DELETE FROM iceberg_namespace_properties WHERE catalog_name = ? AND namespace = ?")
            .bind(&self.catalog)
            .bind(namespace_text(namespace))
            .execute(&mut *transaction)
            .await
            .map_err(|e| self.error(e))?;
        self.commit(transaction).await
    }

    async fn namespace_properties(&self, namespace: &NamespaceIdent) -> Result<HashMap<String, String>> {
        let rows: Vec<(String, Option<String>)> = query_as(
            "SELECT property_key, property_value FROM iceberg_namespace_properties
                WHERE catalog_name = ? AND namespace = ? AND property_key <> ?",
        )
        .bind(&self.catalog)
        .bind(namespace_text(namespace))
        .bind(EXISTS)
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.error(e))?;
        Ok(rows.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect())
    }

    async fn tables(&self, namespace: &NamespaceIdent) -> Result<Vec<String>> {
        query_scalar(
            "SELECT table_name FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ?
                AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)",
        )
        .bind(&self.catalog)
        .bind(namespace_text(namespace))
        .fetch_all(&self.pool)
        .await
        .map_err(|e| self.error(e))
    }

    async fn namespace_exists(&self, namespace: &NamespaceIdent) -> Result<bool> {
        Ok(implies(&self.namespaces().await?, namespace))
    }

    async fn get(&self, table: &TableIdent) -> Result<Option<Pointer>> {
        let mut connection = self.pool.acquire().await.map_err(|e| self.error(e))?;
        self.fetch(&mut connection, table).await
    }

    async fn insert(&self, table: &TableIdent, written: &Loaded) -> Result<()> {
        let mut transaction = self.begin().await?;
        if !implies(&self.known(&mut transaction).await?, table.namespace()) {
            return Err(not_found("namespace", table.namespace()));
        }
        // A view of that name is in the way as well.
        let inserted = query(
            "INSERT OR IGNORE INTO iceberg_tables
                (catalog_name, table_namespace, table_name, metadata_location, iceberg_type) VALUES (?, ?, ?, ?, 'TABLE')",
        )
            .bind(&self.catalog)
            .bind(namespace_text(table.namespace()))
            .bind(table.name())
            .bind(&written.location)
            .execute(&mut *transaction)
            .await
            .map_err(|e| self.error(e))?;
        if inserted.rows_affected() == 0 {
            return Err(already_exists("table or view", table));
        }
        self.write_pin(&mut transaction, table, written).await?;
        self.commit(transaction).await
    }

    async fn swap(&self, table: &TableIdent, base: &Loaded, written: &Loaded) -> Result<Swap> {
        let mut transaction = self.begin().await?;
        let swapped = query(
            "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?
                WHERE catalog_name = ? AND table_namespace = ? AND table_name = ? AND metadata_location = ?
                    AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)",
        )
        .bind(&written.location)
        .bind(&base.location)
        .bind(&self.catalog)
        .bind(namespace_text(table.namespace()))
        .bind(table.name())
        .bind(&base.location)
        .execute(&mut *transaction)
        .await
        .map_err(|e| self.error(e))?;
        if swapped.rows_affected() == 0 {
            return Ok(Swap::Lost);
        }
        self.write_pin(&mut transaction, table, written).await?;
        self.commit(transaction).await?;
        Ok(Swap::Done)
    }

    async fn learn(&self, table: &TableIdent, loaded: &Loaded) -> Result<()> {
        let mut transaction = self.begin().await?;
        if let Some(current) = self.fetch(&mut transaction, table).await?
            && current.metadata_location == loaded.location
            && current.pinned().is_none()
        {
            self.write_pin(&mut transaction, table, loaded).await?;
            self.commit(transaction).await?;
        }
        Ok(())
    }

    async fn remove(&self, table: &TableIdent, expected: Option<&str>) -> Result<Swap> {
        let mut transaction = self.begin().await?;
        let removed = query(
            "DELETE FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?
                AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL) AND metadata_location = COALESCE(?, metadata_location)",
        )
        .bind(&self.catalog)
        .bind(namespace_text(table.namespace()))
        .bind(table.name())
        .bind(expected)
        .execute(&mut *transaction)
        .await
        .map_err(|e| self.error(e))?;
        if removed.rows_affected() == 0 {
            return Ok(Swap::Lost);
        }
        query("DELETE FROM lakelock_pins WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?")
            .bind(&self.catalog)
            .bind(namespace_text(table.namespace()))
            .bind(table.name())
            .execute(&mut *transaction)
            .await
            .map_err(|e| self.error(e))?;
        self.commit(transaction).await?;
        Ok(Swap::Done)
    }
}

/// A namespace as Java and `PyIceberg` write it; no level has a dot in it.
fn namespace_text(namespace: &NamespaceIdent) -> String {
    namespace.as_ref().join(".")
}

fn database_error(file: &str, error: sqlx::Error) -> Error {
    let code = error.as_database_error().and_then(|e| e.code()?.parse::<i32>().ok());
    if code.is_some_and(|code| code & 0xff == SQLITE_BUSY) {
        let message = format!("another process holds catalog database {file}");
        return Error::new(ErrorKind::Conflict, message).with_source(error);
    }
    Error::new(ErrorKind::Database, format!("catalog database {file} failed")).with_source(error)
}
