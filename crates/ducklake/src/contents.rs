//! What a lake holds, as `DuckLake` has written it into its tables.
//!
//! Keys of files never leave this module: of a file it only shows whether it has one.

use std::collections::{BTreeMap, HashMap};

use crate::{
    error::{Result, corrupt},
    filter::Filter,
    records::{Record, Records},
    transaction::Transaction,
};

mod at_rest;
mod check;

pub use at_rest::AtRest;
pub use check::{Problem, Wrong};

/// A lake in one of its snapshots.
#[derive(Debug)]
pub struct Contents<'a> {
    transaction: &'a Transaction,
    schema: String,
    snapshot: i64,
    metadata: BTreeMap<String, String>,
}

/// A table of a lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeTable {
    /// Its number.
    pub id: i64,
    /// The name of its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// How many data files it has.
    pub files: u64,
    /// How many rows its data files have, deleted ones among them.
    pub rows: i64,
    /// How many bytes its data files have.
    pub bytes: i64,
    /// Where its data files are, if their paths are relative.
    pub path: String,
}

/// A data file or delete file of a lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LakeFile {
    /// Its number.
    pub id: i64,
    /// The number of its table.
    pub table_id: i64,
    /// Whether it says which rows of a data file are deleted.
    pub deletes: bool,
    /// Where it is.
    pub location: String,
    /// How many rows it has.
    pub rows: Option<i64>,
    /// Its length.
    pub bytes: Option<i64>,
    /// Whether the catalog has a key for it.
    pub has_key: bool,
    /// The snapshot that has added it.
    pub begin_snapshot: Option<i64>,
}

impl<'a> Contents<'a> {
    /// Reads the newest snapshot, or an older one, of the lake whose tables are in a schema of the catalog: `main`, unless it
    /// was attached with another `METADATA_SCHEMA`.
    ///
    /// # Errors
    ///
    /// [`NotFound`](crate::ErrorKind::NotFound), if there is no such lake or snapshot;
    /// [`Corrupt`](crate::ErrorKind::Corrupt); [`Storage`](crate::ErrorKind::Storage).
    pub async fn read(transaction: &'a Transaction, schema: &str, snapshot: Option<i64>) -> Result<Self> {
        let snapshots = Records::all(transaction, schema, "ducklake_snapshot").await?;
        let numbers = snapshots.iter().map(|record| record?.id("snapshot_id")).collect::<Result<Vec<_>>>()?;
        let found = match snapshot {
            Some(number) => numbers.iter().find(|found| **found == number),
            None => numbers.iter().max(),
        };
        let snapshot = *found.ok_or_else(|| {
            let which = snapshot.map_or_else(|| "no snapshot".to_owned(), |number| format!("no snapshot {number}"));
            crate::error::not_found(format!("the lake has {which}"))
        })?;
        let mut metadata = BTreeMap::new();
        for record in Records::all(transaction, schema, "ducklake_metadata").await?.iter() {
            let record = record?;
            // Those with a scope are settings of a schema or table.
            if let (Some(key), Some(value), true) =
                (record.text("key")?, record.text("value")?, record.is_null("scope")?)
            {
                metadata.insert(key.to_owned(), value.to_owned());
            }
        }
        Ok(Self { transaction, schema: schema.to_owned(), snapshot, metadata })
    }

    /// The snapshot.
    #[must_use]
    pub fn snapshot(&self) -> i64 {
        self.snapshot
    }

    /// Whether the lake's files are to be encrypted.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.metadata.get("encrypted").is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// Where its files are, unless they say otherwise.
    #[must_use]
    pub fn data_path(&self) -> &str {
        self.metadata.get("data_path").map_or("", String::as_str)
    }

    /// The tables, by schema and name.
    ///
    /// # Errors
    ///
    /// [`Corrupt`](crate::ErrorKind::Corrupt) and [`Storage`](crate::ErrorKind::Storage).
    pub async fn tables(&self) -> Result<Vec<LakeTable>> {
        let mut schemas = HashMap::new();
        for record in self.live("ducklake_schema").await?.iter() {
            let record = record?;
            if record.is_live_at(self.snapshot)? {
                let name = record.text("schema_name")?.unwrap_or_default().to_owned();
                schemas.insert(record.id("schema_id")?, (name, within(self.data_path(), &record)?));
            }
        }
        let mut tables = BTreeMap::new();
        for record in self.live("ducklake_table").await?.iter() {
            let record = record?;
            if !record.is_live_at(self.snapshot)? {
                continue;
            }
            let id = record.id("table_id")?;
            let of = record.id("schema_id")?;
            let missing = || corrupt(format!("table {id} of the lake is of schema {of}, which is not there"));
            let (schema, path) = schemas.get(&of).ok_or_else(missing)?;
            let name = record.text("table_name")?.unwrap_or_default().to_owned();
            let path = within(path, &record)?;
            tables.insert(id, LakeTable { id, schema: schema.clone(), name, files: 0, rows: 0, bytes: 0, path });
        }
        for record in self.live("ducklake_data_file").await?.iter() {
            let record = record?;
            if let (true, Some(table)) = (record.is_live_at(self.snapshot)?, tables.get_mut(&record.id("table_id")?)) {
                table.files += 1;
                table.rows = table.rows.saturating_add(record.bigint("record_count")?.unwrap_or_default());
                table.bytes = table.bytes.saturating_add(record.bigint("file_size_bytes")?.unwrap_or_default());
            }
        }
        let mut tables: Vec<_> = tables.into_values().collect();
        tables.sort_by(|one, other| (&one.schema, &one.name).cmp(&(&other.schema, &other.name)));
        Ok(tables)
    }

    /// The files of a table, or of all.
    ///
    /// # Errors
    ///
    /// Those of [`tables`](Self::tables).
    pub async fn files(&self, table: Option<i64>) -> Result<Vec<LakeFile>> {
        let paths: HashMap<_, _> = self.tables().await?.into_iter().map(|table| (table.id, table.path)).collect();
        let mut files = Vec::new();
        for (name, id, count) in [
            ("ducklake_data_file", "data_file_id", "record_count"),
            ("ducklake_delete_file", "delete_file_id", "delete_count"),
        ] {
            for record in self.live_of(name, table).await?.iter() {
                let record = record?;
                let table_id = record.id("table_id")?;
                if !record.is_live_at(self.snapshot)? || table.is_some_and(|table| table != table_id) {
                    continue;
                }
                let root = paths.get(&table_id).map(String::as_str);
                files.push(LakeFile {
                    id: record.id(id)?,
                    table_id,
                    deletes: name == "ducklake_delete_file",
                    location: within(root.unwrap_or_default(), &record)?,
                    rows: record.bigint(count)?,
                    bytes: record.bigint("file_size_bytes")?,
                    has_key: !record.is_null("encryption_key")?,
                    begin_snapshot: record.bigint("begin_snapshot")?,
                });
            }
        }
        Ok(files)
    }

    async fn live(&self, table: &str) -> Result<Records> {
        self.live_of(table, None).await
    }

    async fn live_of(&self, name: &str, of: Option<i64>) -> Result<Records> {
        let snapshot = Filter::LiveAt { snapshot: self.snapshot };
        let found = Records::read(self.transaction, &self.schema, name, |table| {
            let of = of.zip(table.column("table_id")).map(|(value, column)| Filter::Equal { column, value });
            [snapshot].into_iter().chain(of).collect()
        });
        let missing = || corrupt(format!("the lake has no table {}.{name}", self.schema));
        found.await?.ok_or_else(missing)
    }
}

/// The path of a row, within `root` if it is relative.
fn within(root: &str, record: &Record<'_>) -> Result<String> {
    let path = record.text("path")?.unwrap_or_default();
    Ok(if record.flag("path_is_relative")?.unwrap_or(true) { format!("{root}{path}") } else { path.to_owned() })
}
