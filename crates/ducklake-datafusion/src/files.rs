//! The files of a table in one snapshot, and the rows that the catalog itself has.

use std::{collections::HashMap, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use lakelock_crypto::{SecretKey, StandardKeyMetadata};
use zeroize::Zeroizing;

use crate::{
    DuckLake,
    error::{Result, invalid, not_found, unsupported},
    lake::{InlinedTable, LakeTable, Overview, live, within},
    metadata::{Row, Rows, Wanted},
};

/// What a table has in one snapshot.
pub(crate) struct Contents {
    pub(crate) files: Vec<DataFile>,
    pub(crate) inlined: Vec<(InlinedTable, Rows)>,
}

/// A file of a lake, as its catalog describes it. `Debug` shows nothing of its key.
#[derive(Clone)]
pub(crate) struct StoredFile {
    pub(crate) location: String,
    /// What errors call it.
    pub(crate) kind: &'static str,
    pub(crate) size: u64,
    /// Nothing, if it is not encrypted.
    pub(crate) key: Option<StandardKeyMetadata>,
}

/// A data file, and what of it is deleted.
#[derive(Clone, Debug)]
pub(crate) struct DataFile {
    pub(crate) file: StoredFile,
    pub(crate) rows: u64,
    /// The mapping of its columns, if it has no field ids.
    pub(crate) mapping: Option<i64>,
    /// The newest snapshot that one of its rows is of, if they are of several.
    pub(crate) newest_row: Option<i64>,
    pub(crate) delete_files: Vec<DeleteFile>,
    /// Positions that are deleted by the catalog itself.
    pub(crate) deleted: Vec<u64>,
    pub(crate) bounds: Vec<Bounds>,
}

/// A delete file of one data file.
#[derive(Clone, Debug)]
pub(crate) struct DeleteFile {
    pub(crate) file: StoredFile,
    pub(crate) is_vector: bool,
}

/// What is known of the values of a column in a file.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) column: i32,
    pub(crate) min: Option<String>,
    pub(crate) max: Option<String>,
}

impl Contents {
    /// Reads what a table has in a snapshot.
    pub(crate) async fn read(lake: &DuckLake, overview: &Overview, table: &LakeTable, snapshot: i64) -> Result<Self> {
        let of_table = |name: &str| Wanted::all(name).of_table(table.id);
        let inlined = overview.inlined_tables(table.id)?;
        let mut wanted = vec![
            Wanted::all("ducklake_snapshot"),
            of_table("ducklake_data_file").live_at(snapshot),
            of_table("ducklake_delete_file").live_at(snapshot),
            of_table("ducklake_file_column_stats").if_exists(),
            Wanted::all(format!("ducklake_inlined_delete_{}", table.id)).if_exists(),
        ];
        // One that is gone has been written to files, which are seen then.
        wanted.extend(inlined.iter().map(|table| Wanted::all(&table.name).live_at(snapshot).if_exists()));
        let mut answers = lake.metadata().read(&wanted).await?;
        let rows_inlined = answers.split_off(5);
        let [snapshots, data_files, delete_files, bounds, inlined_deletes] = answers.as_slice() else {
            return Err(invalid("the catalog has not answered every question"));
        };
        is_kept(snapshots, snapshot)?;
        let mut files_of_deletes = read_deletes(delete_files, table, snapshot, overview.is_encrypted())?;
        let mut deleted = read_inlined_deletes(inlined_deletes, snapshot)?;
        let mut bounds = read_bounds(bounds, table.id)?;
        let mut files = Vec::new();
        for row in live(data_files, snapshot) {
            let row = row?;
            let id = row.id("data_file_id")?;
            if row.id("table_id")? != table.id {
                continue;
            }
            let file = stored_file(row, table, "data file")?;
            file.check_key(overview.is_encrypted())?;
            match row.text("file_format")? {
                None | Some("parquet") => {}
                Some(other) => {
                    return Err(unsupported(format!("{file} has the format {other}, which cannot be read here")));
                }
            }
            files.push(DataFile {
                file,
                rows: row.count("record_count")?,
                mapping: row.integer("mapping_id")?,
                newest_row: row.integer("partial_max")?,
                delete_files: files_of_deletes.remove(&id).unwrap_or_default(),
                deleted: deleted.remove(&id).unwrap_or_default(),
                bounds: bounds.remove(&id).unwrap_or_default(),
            });
        }
        Ok(Self { files, inlined: inlined.into_iter().zip(rows_inlined).collect() })
    }
}

/// Makes sure that a snapshot has not been expired in the meantime, and its files with it.
fn is_kept(snapshots: &Rows, snapshot: i64) -> Result<()> {
    for row in snapshots.iter() {
        if row.id("snapshot_id")? == snapshot {
            return Ok(());
        }
    }
    Err(not_found(format!("snapshot {snapshot} of the lake has been expired: ask again")))
}

fn read_deletes(
    rows: &Rows,
    table: &LakeTable,
    snapshot: i64,
    encrypted: bool,
) -> Result<HashMap<i64, Vec<DeleteFile>>> {
    let mut deletes: HashMap<i64, Vec<DeleteFile>> = HashMap::new();
    for row in live(rows, snapshot) {
        let row = row?;
        if row.id("table_id")? != table.id {
            continue;
        }
        let file = stored_file(row, table, "delete file")?;
        let is_vector = match row.text("format")? {
            None | Some("parquet") => false,
            Some("puffin") => true,
            Some(other) => {
                return Err(unsupported(format!("{file} has the format {other}, which cannot be read here")));
            }
        };
        file.check_key(encrypted && !is_vector)?;
        deletes.entry(row.id("data_file_id")?).or_default().push(DeleteFile { file, is_vector });
    }
    Ok(deletes)
}

fn read_inlined_deletes(rows: &Rows, snapshot: i64) -> Result<HashMap<i64, Vec<u64>>> {
    let mut deleted: HashMap<i64, Vec<u64>> = HashMap::new();
    for row in rows.iter() {
        if row.integer("begin_snapshot")?.is_none_or(|began| began <= snapshot) {
            deleted.entry(row.id("file_id")?).or_default().push(row.count("row_id")?);
        }
    }
    Ok(deleted)
}

fn read_bounds(rows: &Rows, table: i64) -> Result<HashMap<i64, Vec<Bounds>>> {
    let mut bounds: HashMap<i64, Vec<Bounds>> = HashMap::new();
    for row in rows.iter() {
        // Statistics only save reading: those that make no sense are none.
        if row.id("table_id")? == table
            && let Ok(column) = crate::columns::field_id_of(row.id("column_id")?)
        {
            let text = |column| Ok::<_, crate::Error>(row.text(column)?.map(str::to_owned));
            let (min, max) = (text("min_value")?, text("max_value")?);
            bounds.entry(row.id("data_file_id")?).or_default().push(Bounds { column, min, max });
        }
    }
    Ok(bounds)
}

fn stored_file(row: Row<'_>, table: &LakeTable, kind: &'static str) -> Result<StoredFile> {
    let file = StoredFile { location: within(&table.path, row)?, kind, size: row.count("file_size_bytes")?, key: None };
    let Some(text) = row.text("encryption_key")?.filter(|text| !text.is_empty()) else { return Ok(file) };
    // Nothing of the text itself may be in the error.
    let wrong = || invalid(format!("the catalog's key of {file} is none"));
    let bytes = Zeroizing::new(STANDARD.decode(text).map_err(|_| wrong())?);
    let key = SecretKey::new(&bytes).map_err(|_| wrong())?;
    Ok(StoredFile { key: Some(StandardKeyMetadata::new(key, None)), ..file })
}

impl StoredFile {
    /// Refuses a file without a key where each has one, as `DuckDB` does: anybody could have written it.
    fn check_key(&self, encrypted: bool) -> Result<()> {
        if encrypted && self.key.is_none() {
            return Err(invalid(format!("the lake is encrypted, and the catalog has no key of {self}")));
        }
        Ok(())
    }
}

impl fmt::Display for StoredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.location)
    }
}

impl fmt::Debug for StoredFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredFile").field("location", &self.location).finish_non_exhaustive()
    }
}
