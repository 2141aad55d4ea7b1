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
use lakelock_crypto::StandardKeyMetadata;
use lakelock_iceberg::manifest::FileContent;
use lakelock_iceberg::name_mapping::{DEFAULT_NAME_MAPPING, NameMapping};
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::{Error, ErrorKind};
use lakelock_parquet::{EncryptedFile, ReadOptions, StoredBytes};
use object_store::ObjectStore;
use object_store::path::Path;
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::arrow::{PARQUET_FIELD_ID_META_KEY, parquet_to_arrow_schema};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::Type;

use crate::footer_cache::{Footer, FooterCache};
use crate::nameless;
use crate::stored_file::{Shared, StoredFile};

/// Bytes read from the end of a file at first: the footer of most files, in one request.
pub(crate) const FOOTER_READ: usize = 64 << 10;

/// What the reader needs to know of a file, attached to DataFusion's own description of it.
#[derive(Clone)]
pub(crate) struct FileToRead {
    pub(crate) task: Arc<FileScanTask>,
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) path: Path,
    /// What gives ids to a file without them.
    pub(crate) mapping: Option<Arc<NameMapping>>,
    /// What its readers share.
    pub(crate) shared: Shared,
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
        Ok(Box::new(KeyedReader::new(to_read, metadata_size_hint, metrics, Arc::clone(&self.footers))))
    }
}

/// Reads one file, as if it were not encrypted.
pub(crate) struct KeyedReader {
    stored: StoredFile,
    metadata_size_hint: Option<usize>,
    footers: Arc<FooterCache>,
    /// What decrypts the file, once its footer was read.
    encrypted: Option<Arc<EncryptedFile>>,
}

impl KeyedReader {
    fn new(
        file: FileToRead,
        metadata_size_hint: Option<usize>,
        metrics: ParquetFileMetrics,
        footers: Arc<FooterCache>,
    ) -> Self {
        Self { stored: StoredFile::new(file, metrics), metadata_size_hint, footers, encrypted: None }
    }

    /// A reader outside of any plan, so without metrics of one.
    pub(crate) fn open(file: FileToRead, footers: Arc<FooterCache>) -> Self {
        let metrics = ParquetFileMetrics::new(0, file.path.as_ref(), &ExecutionPlanMetricsSet::new());
        Self::new(file, Some(FOOTER_READ), metrics, footers)
    }

    async fn metadata(&mut self, page_index: PageIndexPolicy) -> ParquetResult<Arc<ParquetMetaData>> {
        let stored = self.stored_metadata(page_index).await?;
        let FileToRead { task, mapping, .. } = self.stored.file();
        with_ids(task, stored, mapping.as_deref())
    }

    async fn stored_metadata(&mut self, page_index: PageIndexPolicy) -> ParquetResult<Arc<ParquetMetaData>> {
        let task = Arc::clone(&self.stored.file().task);
        if let Some(metadata) = self.cached(&task) {
            return Ok(metadata);
        }
        let shared = self.stored.file().shared.clone();
        let _turn = shared.footer_turn().await;
        if let Some(metadata) = self.cached(&task) {
            return Ok(metadata);
        }
        let metadata = match task.key() {
            None => self.load_plaintext(page_index).await?,
            Some(key) => self.load_encrypted(key, page_index).await.map_err(of_table)?,
        };
        check(&task, &metadata)?;
        let footer = Footer { metadata: Arc::new(metadata), encrypted: self.encrypted.clone() };
        self.footers.insert(&task, &footer);
        Ok(footer.metadata)
    }

    fn cached(&mut self, task: &FileScanTask) -> Option<Arc<ParquetMetaData>> {
        let Footer { metadata, encrypted } = self.footers.get(task)?;
        self.encrypted = encrypted;
        Some(metadata)
    }

    async fn load_plaintext(&mut self, page_index: PageIndexPolicy) -> ParquetResult<ParquetMetaData> {
        let size = self.stored.file().task.data_file().file_size_in_bytes;
        ParquetMetaDataReader::new()
            .with_page_index_policy(page_index)
            .with_prefetch_hint(self.metadata_size_hint)
            .load_and_finish(&mut *self, size)
            .await
    }

    async fn load_encrypted(
        &mut self,
        key: &StandardKeyMetadata,
        page_index: PageIndexPolicy,
    ) -> ParquetResult<ParquetMetaData> {
        let task = Arc::clone(&self.stored.file().task);
        let size = task.data_file().file_size_in_bytes;
        let options = match self.metadata_size_hint {
            Some(hint) => ReadOptions::default().with_footer_prefetch(hint as u64),
            None => ReadOptions::default(),
        };
        let (file, metadata) = EncryptedFile::open(&mut self.stored, &name(&task), size, key, &options).await?;
        self.encrypted = Some(Arc::new(file));
        if page_index == PageIndexPolicy::Skip {
            return Ok(metadata);
        }
        let mut reader = ParquetMetaDataReader::new_with_metadata(metadata).with_page_index_policy(page_index);
        reader.load_page_index(&mut *self).await?;
        reader.finish()
    }

    async fn read(&mut self, ranges: Vec<Range<u64>>) -> ParquetResult<Vec<Bytes>> {
        if self.stored.file().task.key().is_none() {
            return self.stored.read(ranges).await;
        }
        if self.encrypted.is_none() {
            // Another reader took the footer, which is in the cache most likely.
            self.metadata(PageIndexPolicy::Skip).await?;
        }
        let Some(encrypted) = self.encrypted.clone() else {
            return Err(error(ErrorKind::Internal, &self.stored.file().task, "was opened without its key"));
        };
        encrypted.read(&mut self.stored, ranges).await.map_err(of_table)
    }
}

impl AsyncFileReader for KeyedReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        async move {
            let mut read = self.read(vec![range]).await?;
            Ok(read.pop().unwrap_or_default())
        }
        .boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.read(ranges).boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        let page_index = options.map_or(PageIndexPolicy::Skip, ArrowReaderOptions::column_index_policy);
        self.metadata(page_index).boxed()
    }
}

fn unsupported(task: &FileScanTask, what: &str) -> ParquetError {
    error(ErrorKind::Unsupported, task, what)
}

pub(crate) fn error(kind: ErrorKind, task: &FileScanTask, what: &str) -> ParquetError {
    ParquetError::External(Box::new(Error::new(kind, format!("{} {what}", name(task)))))
}

/// What errors call a file.
fn name(task: &FileScanTask) -> String {
    let file = if task.data_file().content == FileContent::Data { "data file" } else { "delete file" };
    format!("{file} {}", task.location())
}

/// An error of decryption as one of the table layer.
fn of_table(error: ParquetError) -> ParquetError {
    use lakelock_parquet::ErrorKind as Parquet;
    let error = match lakelock_parquet::Error::behind(error) {
        Ok(error) => error,
        Err(other) => return other,
    };
    let kind = match error.kind() {
        Parquet::Authentication | Parquet::InvalidData => ErrorKind::InvalidData,
        Parquet::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Internal,
    };
    let of_table = Error::new(kind, error.to_string());
    ParquetError::External(Box::new(match error.into_source() {
        Some(source) => of_table.with_source(source),
        None => of_table,
    }))
}

/// The metadata of a file with field ids: its own, or those that the table has for the names of its columns. That is no part of
/// what is cached, as names may get other ids.
fn with_ids(
    task: &FileScanTask,
    metadata: Arc<ParquetMetaData>,
    mapping: Option<&NameMapping>,
) -> ParquetResult<Arc<ParquetMetaData>> {
    if nameless::has_ids(metadata.file_metadata().schema()) {
        return Ok(metadata);
    }
    let Some(mapping) = mapping else {
        let what = format!("has no field ids, and the table has no name mapping ({DEFAULT_NAME_MAPPING})");
        return Err(unsupported(task, &what));
    };
    nameless::with_ids(&metadata, mapping).map(Arc::new)
}

/// Refuses a file with other rows than its manifest says, as row ids and counts rest on that; and one with field ids for some
/// columns, in which the others could not be told apart.
///
/// The Arrow schema that some writers embed takes precedence over Parquet's own, so it must have them as well.
fn check(task: &FileScanTask, metadata: &ParquetMetaData) -> ParquetResult<()> {
    let file = metadata.file_metadata();
    if u64::try_from(file.num_rows()).ok() != Some(task.record_count()) {
        let what = format!("has {} rows, but its manifest says {}", file.num_rows(), task.record_count());
        return Err(error(ErrorKind::InvalidData, task, &what));
    }
    if !nameless::has_ids(file.schema()) {
        return Ok(());
    }
    let parquet = file.schema_descr().root_schema().get_fields();
    let arrow = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata())?;
    let id = |field: &Type| field.get_basic_info().has_id().then(|| field.get_basic_info().id().to_string());
    if let Some(nameless) = parquet.iter().find(|field| id(field).is_none()) {
        let what = format!("has field ids, but none for column {}", nameless.name());
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
