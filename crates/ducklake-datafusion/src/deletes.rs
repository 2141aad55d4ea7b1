//! Which rows of a data file are part of a snapshot.

use arrow::{
    array::{Array, AsArray},
    datatypes::{DataType, Int64Type},
};
use futures::TryStreamExt;
use lakelock_iceberg::deletes::{DeletedRows, decode_deletion_vector};
use lakelock_storage::Storage;
use parquet::arrow::{ProjectionMask, arrow_reader::RowSelection, async_reader::ParquetRecordBatchStreamBuilder};

use crate::{
    columns::field_id_in,
    error::{Error, ErrorKind, Result, invalid},
    files::{DataFile, DeleteFile},
    reader::FileToRead,
};

/// The data file that a row is deleted of, and its position there.
const FILE_PATH: &str = "file_path";
const POSITION: &str = "pos";
/// The snapshot that a row was written in, or deleted in: in files that hold what several snapshots did.
const SNAPSHOT_FIELD_ID: i32 = 2_147_483_539;

/// The largest deletion vector that is read: beyond any real one, of a file with billions of deleted rows.
const MAX_VECTOR: u64 = 1 << 30;

/// The rows of a data file to read in a snapshot, if it is not all of them. Nothing else of the file is read than the snapshots
/// of its rows, if they are of several.
pub(crate) async fn selection(
    storage: &Storage,
    data: &DataFile,
    to_read: &FileToRead,
    snapshot: i64,
) -> Result<Option<RowSelection>> {
    let mut gone = DeletedRows::default();
    for position in &data.deleted {
        gone.insert(*position);
    }
    for delete in &data.delete_files {
        let deleted = if delete.is_vector {
            vector(storage, delete).await?
        } else {
            positions(storage, data, delete, snapshot).await?
        };
        gone.merge(&deleted);
    }
    if let Some(last) = gone.last().filter(|last| *last >= data.rows) {
        let (file, rows) = (&data.file, data.rows);
        return Err(invalid(format!("row {last} of {file} is deleted, which has only {rows} rows (counted from 0)")));
    }
    if data.newest_row.is_some_and(|newest| newest > snapshot) {
        gone.merge(&later_rows(to_read, snapshot).await?);
    }
    if gone.is_empty() {
        return Ok(None);
    }
    let count = |rows: u64| usize::try_from(rows).map_err(|_| invalid(format!("{} has too many rows", data.file)));
    let live = gone.live_ranges(data.rows).into_iter();
    let live = live.map(|range| Ok(count(range.start)?..count(range.end)?)).collect::<Result<Vec<_>>>()?;
    Ok(Some(RowSelection::from_consecutive_ranges(live.into_iter(), count(data.rows)?)))
}

/// What a file of `deletion-vector-v1` deletes. Such files are never encrypted.
async fn vector(storage: &Storage, delete: &DeleteFile) -> Result<DeletedRows> {
    let blob = storage.read_at_most(&delete.file.location, MAX_VECTOR).await?;
    decode_deletion_vector(&blob)
        .map_err(|error| Error::new(ErrorKind::InvalidData, format!("{} is damaged", delete.file)).with_source(error))
}

/// What a file of positions deletes of a data file up to a snapshot.
async fn positions(storage: &Storage, data: &DataFile, delete: &DeleteFile, snapshot: i64) -> Result<DeletedRows> {
    let file = FileToRead::new(storage, delete.file.clone(), None, None)?;
    let mut deleted = DeletedRows::default();
    let wrong = || invalid(format!("{file} does not say of every row which it is, and in which file"));
    let wanted = |name: &str, id| name == FILE_PATH || name == POSITION || id == Some(SNAPSHOT_FIELD_ID);
    let mut batches = columns(&file, wanted).await?;
    while let Some(batch) = batches.try_next().await.map_err(|error| failed(&file, error))? {
        let column = |name: &str| batch.column_by_name(name).filter(|column| column.null_count() == 0);
        let paths = column(FILE_PATH).and_then(|column| column.as_string_opt::<i32>()).ok_or_else(wrong)?;
        let positions = column(POSITION).and_then(|column| column.as_primitive_opt::<Int64Type>()).ok_or_else(wrong)?;
        // All files that one statement writes have one key and nothing that ties them to their places: swapped, they decrypt.
        if let Some(other) = paths.iter().flatten().find(|path| file_name(path) != file_name(&data.file.location)) {
            return Err(invalid(format!("{file} deletes rows of {other}, and should of {}", data.file)));
        }
        let snapshots =
            batch.schema_ref().fields().iter().position(|field| field_id_in(field) == Some(SNAPSHOT_FIELD_ID));
        let snapshots = snapshots.map(|at| numbers(&file, batch.column(at))).transpose()?;
        for (at, position) in positions.values().iter().enumerate() {
            if snapshots.is_none_or(|snapshots| snapshots[at] <= snapshot) {
                deleted.insert(u64::try_from(*position).map_err(|_| wrong())?);
            }
        }
    }
    Ok(deleted)
}

/// The last part of a path: lakes are moved, and files are not renamed.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The rows of a data file that were written after a snapshot.
async fn later_rows(file: &FileToRead, snapshot: i64) -> Result<DeletedRows> {
    let mut later = DeletedRows::default();
    let mut position = 0;
    let mut batches = columns(file, |_, id| id == Some(SNAPSHOT_FIELD_ID)).await?;
    while let Some(batch) = batches.try_next().await.map_err(|error| failed(file, error))? {
        let [snapshots] = batch.columns() else {
            return Err(invalid(format!("{file} has rows of several snapshots, and does not say of which each is")));
        };
        for written in numbers(file, snapshots)? {
            if *written > snapshot {
                later.insert(position);
            }
            position += 1;
        }
    }
    Ok(later)
}

/// Those columns of a file that are wanted by name and field id.
async fn columns(
    file: &FileToRead,
    wanted: impl Fn(&str, Option<i32>) -> bool,
) -> Result<parquet::arrow::async_reader::ParquetRecordBatchStream<crate::reader::KeyedReader>> {
    let builder = ParquetRecordBatchStreamBuilder::new(file.reader()).await.map_err(|error| failed(file, error))?;
    let roots = builder.schema().fields().iter().enumerate();
    let roots: Vec<_> = roots.filter(|(_, field)| wanted(field.name(), field_id_in(field))).map(|(at, _)| at).collect();
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    builder.with_projection(mask).build().map_err(|error| failed(file, error))
}

fn numbers<'a>(file: &FileToRead, column: &'a arrow::array::ArrayRef) -> Result<&'a [i64]> {
    if column.data_type() != &DataType::Int64 || column.null_count() > 0 {
        return Err(invalid(format!("{file} does not say of which snapshot each row is")));
    }
    Ok(column.as_primitive::<Int64Type>().values())
}

fn failed(file: &FileToRead, error: parquet::errors::ParquetError) -> Error {
    match error {
        parquet::errors::ParquetError::External(inner) => match inner.downcast::<Error>() {
            Ok(error) => *error,
            Err(inner) => invalid(format!("cannot read {file}")).with_source(inner),
        },
        error => invalid(format!("cannot read {file}: it is damaged")).with_source(error),
    }
}
