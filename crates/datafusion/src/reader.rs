//! Opens the data files of a scan, each with its own key.
//!
//! Keys travel from the plan to the reader inside [`FileScanTask`]s attached to DataFusion's files, whose `Debug` and
//! displays do not print them.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::{ParquetFileMetrics, ParquetFileReaderFactory};
use datafusion::error::Result;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use futures::FutureExt;
use futures::future::BoxFuture;
use lakelock_crypto::{KeyLength, StandardKeyMetadata};
use lakelock_iceberg::manifest::FileContent;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::{Error, ErrorKind};
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::arrow::{PARQUET_FIELD_ID_META_KEY, parquet_to_arrow_schema};
use parquet::encryption::decrypt::FileDecryptionProperties;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::Type;

use crate::footer_cache::FooterCache;

/// Bytes read from the end of a file at first: the footer of most files, in one request.
pub(crate) const FOOTER_READ: usize = 64 << 10;

/// The last bytes of a Parquet file with an encrypted footer.
const ENCRYPTED_FOOTER_MAGIC: &[u8] = b"PARE";

/// What the reader needs to know of a file, attached to DataFusion's own description of it.
#[derive(Clone)]
pub(crate) struct FileToRead {
    pub(crate) task: Arc<FileScanTask>,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
}

impl fmt::Debug for FileToRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileToRead").field("location", &self.task.location()).finish_non_exhaustive()
    }
}

/// Makes the readers of a scan.
#[derive(Debug)]
pub(crate) struct KeyedReaderFactory {
    footers: Arc<FooterCache>,
}

impl KeyedReaderFactory {
    pub(crate) fn new(footers: Arc<FooterCache>) -> Self {
        Self { footers }
    }
}

impl ParquetFileReaderFactory for KeyedReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Result<Box<dyn AsyncFileReader + Send>> {
        let Some(to_read) = file.extension::<FileToRead>().cloned() else {
            let message = format!("file {} is not part of a table scan", file.path());
            return Err(crate::error::external(Error::new(ErrorKind::Internal, message)));
        };
        let metrics = ParquetFileMetrics::new(partition_index, file.path().as_ref(), metrics);
        Ok(Box::new(KeyedReader { file: to_read, metadata_size_hint, metrics, footers: Arc::clone(&self.footers) }))
    }
}

/// Reads one file.
pub(crate) struct KeyedReader {
    file: FileToRead,
    metadata_size_hint: Option<usize>,
    metrics: ParquetFileMetrics,
    footers: Arc<FooterCache>,
}

impl KeyedReader {
    /// A reader outside of any plan, so without metrics of one.
    pub(crate) fn open(file: FileToRead, footers: Arc<FooterCache>) -> Self {
        let metrics = ParquetFileMetrics::new(0, file.path.as_ref(), &ExecutionPlanMetricsSet::new());
        Self { file, metadata_size_hint: Some(FOOTER_READ), metrics, footers }
    }

    async fn metadata(&mut self, page_index: PageIndexPolicy) -> ParquetResult<Arc<ParquetMetaData>> {
        let task = Arc::clone(&self.file.task);
        if let Some(footer) = self.footers.get(&task) {
            return Ok(footer);
        }
        let size = task.data_file().file_size_in_bytes;
        let hint = self.metadata_size_hint;
        let metadata = ParquetMetaDataReader::new()
            .with_decryption_properties(decryption(&task)?)
            .with_page_index_policy(page_index)
            .with_prefetch_hint(hint)
            .load_and_finish(&mut *self, size)
            .await?;
        check(&task, &metadata)?;
        let metadata = Arc::new(metadata);
        self.footers.insert(&task, &metadata);
        Ok(metadata)
    }
}

impl AsyncFileReader for KeyedReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        self.metrics.bytes_scanned.add(length(&range));
        let FileToRead { store, path, .. } = &self.file;
        let task = Arc::clone(&self.file.task);
        async move {
            let failed = |e| ParquetError::External(Box::new(e));
            let options = GetOptions { range: Some(range.clone().into()), ..GetOptions::default() };
            let answer = store.get_opts(path, options).await.map_err(failed)?;
            check_length(&task, answer.meta.size)?;
            let bytes = answer.bytes().await.map_err(failed)?;
            check_magic(&task, &range, &bytes)?;
            Ok(bytes)
        }
        .boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.metrics.bytes_scanned.add(ranges.iter().map(length).sum());
        let FileToRead { store, path, .. } = &self.file;
        async move { store.get_ranges(path, &ranges).await.map_err(|e| ParquetError::External(Box::new(e))) }.boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        let page_index = options.map_or(PageIndexPolicy::Skip, ArrowReaderOptions::column_index_policy);
        self.metadata(page_index).boxed()
    }
}

fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX)
}

fn unsupported(task: &FileScanTask, what: &str) -> ParquetError {
    error(ErrorKind::Unsupported, task, what)
}

fn error(kind: ErrorKind, task: &FileScanTask, what: &str) -> ParquetError {
    let file = if task.data_file().content == FileContent::Data { "data file" } else { "delete file" };
    ParquetError::External(Box::new(Error::new(kind, format!("{file} {} {what}", task.location()))))
}

/// Refuses a file that was cut or extended. The store says how long it is with every range; the footer is always read
/// this way, and before anything else.
fn check_length(task: &FileScanTask, length: u64) -> ParquetResult<()> {
    let expected = task.data_file().file_size_in_bytes;
    if length == expected {
        return Ok(());
    }
    let what = format!("has {length} bytes, but its manifest says {expected}: it was cut or extended");
    Err(error(ErrorKind::InvalidData, task, &what))
}

/// Refuses a file that has a key but does not end as an encrypted one does.
///
/// The Parquet library ignores the key of a file with a plaintext footer, so whoever can write to the storage could put
/// rows of their own in the place of an encrypted file. The footer is read with the end of the file.
fn check_magic(task: &FileScanTask, range: &Range<u64>, bytes: &[u8]) -> ParquetResult<()> {
    let ends_the_file = range.end == task.data_file().file_size_in_bytes;
    if task.key().is_some() && ends_the_file && !bytes.ends_with(ENCRYPTED_FOOTER_MAGIC) {
        return Err(error(ErrorKind::InvalidData, task, "has a key but is not encrypted, or was damaged"));
    }
    Ok(())
}

fn decryption(task: &FileScanTask) -> ParquetResult<Option<Arc<FileDecryptionProperties>>> {
    let Some(key) = task.key() else { return Ok(None) };
    if key.encryption_key().length() == KeyLength::Aes192 {
        return Err(unsupported(
            task,
            "is encrypted with a 192-bit key; reading such Parquet files is not supported yet",
        ));
    }
    properties(key).map(Some)
}

fn properties(key: &StandardKeyMetadata) -> ParquetResult<Arc<FileDecryptionProperties>> {
    FileDecryptionProperties::builder(key.encryption_key().expose_secret().to_vec())
        .with_aad_prefix(key.aad_prefix().to_vec())
        .build()
}

/// Refuses a file with other rows than its manifest says, as row ids and counts rest on that; and one without field ids,
/// in which columns could not be told apart.
///
/// The Arrow schema that some writers embed takes precedence over Parquet's own, so it must have them as well.
fn check(task: &FileScanTask, metadata: &ParquetMetaData) -> ParquetResult<()> {
    let file = metadata.file_metadata();
    if u64::try_from(file.num_rows()).ok() != Some(task.record_count()) {
        let what = format!("has {} rows, but its manifest says {}", file.num_rows(), task.record_count());
        return Err(error(ErrorKind::InvalidData, task, &what));
    }
    let parquet = file.schema_descr().root_schema().get_fields();
    let arrow = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata())?;
    let id = |field: &Type| field.get_basic_info().has_id().then(|| field.get_basic_info().id().to_string());
    if let Some(nameless) = parquet.iter().find(|field| id(field).is_none()) {
        let what = format!("has no field id for column {}; name mapping is not supported yet", nameless.name());
        return Err(unsupported(task, &what));
    }
    for (field, embedded) in parquet.iter().zip(arrow.fields()) {
        if embedded.metadata().get(PARQUET_FIELD_ID_META_KEY) != id(field).as_ref() {
            let what = format!("embeds an Arrow schema with another field id for column {}", field.name());
            return Err(unsupported(task, &what));
        }
    }
    Ok(())
}
