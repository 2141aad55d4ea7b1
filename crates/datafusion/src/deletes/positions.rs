//! Deletion vectors and position delete files.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::error::Result;
use futures::{StreamExt, TryStreamExt, stream};
use lakelock_iceberg::deletes::{DeletedRows, read_deletion_vector};
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::{Error, ErrorKind};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use parquet::arrow::arrow_reader::RowSelection;

use super::CONCURRENCY;
use super::load::DeleteFileReader;
use crate::columns::InitialDefaults;
use crate::error::external;
use crate::loaded::Loaded;

/// The two columns of a position delete file that matter.
static COLUMNS: LazyLock<[FieldRef; 2]> = LazyLock::new(|| {
    let field = |name, r#type, id: i32| {
        let metadata = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_string())]);
        Arc::new(Field::new(name, r#type, true).with_metadata(metadata))
    };
    [field("file_path", DataType::Utf8, 2_147_483_546), field("pos", DataType::Int64, 2_147_483_545)]
});

/// What has been loaded of deleted positions.
#[derive(Debug, Default)]
pub(super) struct PositionDeletes {
    /// The rows to read, by data file: a data file is opened once for each of its parts that are read side by side.
    selections: Loaded<String, RowSelection>,
    /// Deleted rows of each data file, by position delete file.
    files: Loaded<String, HashMap<String, DeletedRows>>,
}

impl PositionDeletes {
    /// What is left of a data file.
    pub(super) async fn selection(
        &self,
        reader: &DeleteFileReader,
        task: &FileScanTask,
        deletes: &[Arc<FileScanTask>],
    ) -> Result<Arc<RowSelection>> {
        let key = task.location().to_owned();
        self.selections.get(key, self.load(reader, task, deletes)).await
    }

    async fn load(
        &self,
        reader: &DeleteFileReader,
        task: &FileScanTask,
        deletes: &[Arc<FileScanTask>],
    ) -> Result<RowSelection> {
        let rows = task.record_count();
        let sets = stream::iter(deletes.to_vec()).map(|delete| async move {
            if delete.is_deletion_vector() {
                let vector = read_deletion_vector(reader.io(), delete.data_file(), delete.key(), rows).await;
                return Ok(Some(vector.map_err(external)?));
            }
            let files = self.files.get(delete.location().to_owned(), read_file(reader, &delete)).await?;
            let gone = files.get(task.location());
            match gone.and_then(DeletedRows::last) {
                Some(last) if last >= rows => {
                    let message = format!(
                        "position delete file {} deletes row {last} of data file {}, which has only {rows} rows (counted from 0)",
                        delete.location(),
                        task.location()
                    );
                    Err(external(Error::new(ErrorKind::InvalidData, message)))
                }
                _ => Ok(gone.cloned()),
            }
        });
        let merge = |mut all: DeletedRows, some: Option<DeletedRows>| {
            if let Some(some) = some {
                all.merge(&some);
            }
            std::future::ready(Ok(all))
        };
        let gone = sets.buffer_unordered(CONCURRENCY).try_fold(DeletedRows::default(), merge).await?;
        select(task, &gone)
    }
}

async fn read_file(reader: &DeleteFileReader, file: &Arc<FileScanTask>) -> Result<HashMap<String, DeletedRows>> {
    let invalid = |what: &str| {
        let message = format!("position delete file {} has {what}", file.location());
        external(Error::new(ErrorKind::InvalidData, message))
    };
    let mut batches = reader.columns(file, COLUMNS.as_slice(), &InitialDefaults::default()).await?;
    let mut deleted: HashMap<String, DeletedRows> = HashMap::new();
    while let Some(columns) = batches.try_next().await? {
        let [paths, positions] = columns.as_slice() else { return Err(invalid("not its two columns")) };
        if paths.null_count() + positions.null_count() > 0 {
            return Err(invalid("a null path or position"));
        }
        let paths = paths.as_string::<i32>();
        let positions = positions.as_primitive::<Int64Type>().values();
        let mut at = 0;
        // They are sorted by path: one look-up for each run of the same.
        while at < positions.len() {
            let path = paths.value(at);
            let run = (at..positions.len()).take_while(|row| paths.value(*row) == path).count();
            let of_path = deleted.entry(path.to_owned()).or_default();
            for position in &positions[at..at + run] {
                of_path.insert(u64::try_from(*position).map_err(|_| invalid("a negative position"))?);
            }
            at += run;
        }
    }
    Ok(deleted)
}

fn select(task: &FileScanTask, deleted: &DeletedRows) -> Result<RowSelection> {
    let too_long = |e| {
        let message = format!("data file {} has more rows than this machine can count", task.location());
        external(Error::new(ErrorKind::Unsupported, message).with_source(e))
    };
    let rows = usize::try_from(task.record_count()).map_err(too_long)?;
    let ranges = deleted.live_ranges(task.record_count()).into_iter();
    let ranges: Vec<_> = ranges
        .map(|range| Ok(usize::try_from(range.start)?..usize::try_from(range.end)?))
        .collect::<Result<_, _>>()
        .map_err(too_long)?;
    Ok(RowSelection::from_consecutive_ranges(ranges.into_iter(), rows))
}
