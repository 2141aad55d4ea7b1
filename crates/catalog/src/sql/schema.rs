//! The tables of the database.
//!
//! The first two are those of Java's `JdbcCatalog` in schema V1. The third is ours: the pins. It is a table of its own so
//! that other programs find theirs as they expect them.

use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, query, query_scalar};

const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS iceberg_tables (
        catalog_name VARCHAR(255) NOT NULL,
        table_namespace VARCHAR(255) NOT NULL,
        table_name VARCHAR(255) NOT NULL,
        metadata_location VARCHAR(1000),
        previous_metadata_location VARCHAR(1000),
        iceberg_type VARCHAR(5),
        PRIMARY KEY (catalog_name, table_namespace, table_name)
    )",
    "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (
        catalog_name VARCHAR(255) NOT NULL,
        namespace VARCHAR(255) NOT NULL,
        property_key VARCHAR(255) NOT NULL,
        property_value VARCHAR(1000),
        PRIMARY KEY (catalog_name, namespace, property_key)
    )",
    "CREATE TABLE IF NOT EXISTS lakelock_pins (
        catalog_name VARCHAR(255) NOT NULL,
        table_namespace VARCHAR(255) NOT NULL,
        table_name VARCHAR(255) NOT NULL,
        key_id VARCHAR(1000),
        data_key_length VARCHAR(5),
        metadata_location VARCHAR(1000) NOT NULL,
        metadata_sha256 CHAR(64) NOT NULL,
        PRIMARY KEY (catalog_name, table_namespace, table_name)
    )",
];

/// What schema V0, of older versions of Java and `PyIceberg`, lacks; they work with it as well.
const ADD_TYPE: &str = "ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)";

/// Makes the tables that are missing. A database that has them is not written to.
pub(super) async fn prepare(connection: &mut SqliteConnection) -> sqlx::Result<()> {
    if is_complete(connection).await? {
        return Ok(());
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for &table in TABLES {
        query(table).execute(&mut *transaction).await?;
    }
    if !has_type(&mut transaction).await? {
        query(ADD_TYPE).execute(&mut *transaction).await?;
    }
    transaction.commit().await
}

async fn is_complete(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    let tables: i64 = query_scalar(
        "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'
            AND name IN ('iceberg_tables', 'iceberg_namespace_properties', 'lakelock_pins')",
    )
    .fetch_one(&mut *connection)
    .await?;
    Ok(usize::try_from(tables) == Ok(TABLES.len()) && has_type(connection).await?)
}

async fn has_type(connection: &mut SqliteConnection) -> sqlx::Result<bool> {
    let columns: i64 =
        query_scalar("SELECT COUNT(*) FROM pragma_table_info('iceberg_tables') WHERE name = 'iceberg_type'")
            .fetch_one(connection)
            .await?;
    Ok(columns == 1)
}
