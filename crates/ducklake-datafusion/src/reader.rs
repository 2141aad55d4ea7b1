//! Opens the Parquet files of a lake, each with its own key.
//!
//! Keys travel from the plan to the reader inside [`FileToRead`], attached to the engine's files, whose `Debug` and displays do
//! not print it.

use std::{fmt, ops::Range, sync::Arc};

use bytes::Bytes;
use datafusion::{
    datasource::{
        listing::PartitionedFile,
        physical_plan::parquet::{ParquetFileMetrics, ParquetFileReaderFactory},
    },
    physical_plan::metrics::ExecutionPlanMetricsSet,
};
use futures::{FutureExt, future::BoxFuture};
use lakelock_datafusion::field_ids;
use lakelock_iceberg::name_mapping::NameMapping;
use lakelock_parquet::{Dialect, EncryptedFile, ReadOptions, StoredBytes};
use lakelock_storage::Storage;
use object_store::{GetOptions, ObjectStore, path::Path};
use parquet::{
    arrow::{arrow_reader::ArrowReaderOptions, async_reader::AsyncFileReader},
    errors::{ParquetError, Result as ParquetResult},
    file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader},
};
use tokio::sync::OnceCell;

use crate::{
    error::{Error, ErrorKind, Result, invalid, unsupported},
    files::StoredFile,
};

/// Bytes read from the end of a file at first: the footer of most files, in one request.
pub(crate) const FOOTER_READ: usize = 64 << 10;

/// What the reader needs to know of a file, attached to the engine's own description of it. A clone is the same one.
#[derive(Clone)]
pub(crate) struct FileToRead(Arc<Inner>);

struct Inner {
    file: StoredFile,
    rows: Option<u64>,
    store: Arc<dyn ObjectStore>,
    path: Path,
    /// What gives ids to a file without them.
    mapping: Option<NameMapping>,
    /// Read by the first of its readers.
    footer: OnceCell<Footer>,
}

#[derive(Clone)]
struct Footer {
    metadata: Arc<ParquetMetaData>,
    /// What decrypts the file.
    encrypted: Option<Arc<EncryptedFile>>,
}

impl FileToRead {
    /// A file that has this many rows, if that is known. Nothing is read yet.
    pub(crate) fn new(
        storage: &Storage,
        file: StoredFile,
        rows: Option<u64>,
        mapping: Option<NameMapping>,
    ) -> Result<Self> {
        let (store, path) = storage.resolve(&file.location)?;
        Ok(Self(Arc::new(Inner { file, rows, store, path, mapping, footer: OnceCell::new() })))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    pub(crate) fn size(&self) -> u64 {
        self.0.file.size
    }

    /// A reader outside of any plan, so without metrics of one.
    pub(crate) fn reader(&self) -> KeyedReader {
        KeyedReader { stored: Stored { file: self.clone(), metrics: None }, metadata_size_hint: Some(FOOTER_READ) }
    }
}

impl fmt::Debug for FileToRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileToRead").field(&self.0.file).finish()
    }
}

impl fmt::Display for FileToRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.file.fmt(f)
    }
}

/// Makes the readers of a scan.
#[derive(Debug)]
pub(crate) struct KeyedReaderFactory;

impl ParquetFileReaderFactory for KeyedReaderFactory {
    fn create_reader(
        &self,
        partition_index: usize,
        file: PartitionedFile,
        metadata_size_hint: Option<usize>,
        metrics: &ExecutionPlanMetricsSet,
    ) -> datafusion::error::Result<Box<dyn AsyncFileReader + Send>> {
        let Some(to_read) = file.extension::<FileToRead>().cloned() else {
            return Err(invalid(format!("file {} is not part of a scan of a lake", file.path())).into());
        };
        let metrics = ParquetFileMetrics::new(partition_index, file.path().as_ref(), metrics);
        let stored = Stored { file: to_read, metrics: Some(metrics) };
        Ok(Box::new(KeyedReader { stored, metadata_size_hint }))
    }
}

/// Reads one file, as if it were not encrypted.
pub(crate) struct KeyedReader {
    stored: Stored,
    metadata_size_hint: Option<usize>,
}

impl KeyedReader {
    async fn footer(&mut self, page_index: PageIndexPolicy) -> ParquetResult<Footer> {
        let file = self.stored.file.clone();
        let footer = file.0.footer.get_or_try_init(|| self.load(page_index)).await?;
        Ok(footer.clone())
    }

    async fn load(&mut self, page_index: PageIndexPolicy) -> ParquetResult<Footer> {
        let file = self.stored.file.clone();
        let (metadata, encrypted) = match &file.0.file.key {
            None => {
                let reader = ParquetMetaDataReader::new().with_prefetch_hint(self.metadata_size_hint);
                let reader = reader.with_page_index_policy(page_index);
                let metadata = reader.load_and_finish(&mut Plain(&mut self.stored), file.size()).await;
                (metadata.map_err(|error| file.failed(error))?, None)
            }
            Some(key) => {
                let options = ReadOptions::default().with_dialect(Dialect::DuckDb);
                let options = options.with_footer_prefetch(self.metadata_size_hint.unwrap_or(FOOTER_READ) as u64);
                let name = file.to_string();
                let opened = EncryptedFile::open(&mut self.stored, &name, file.size(), key, &options);
                let (encrypted, metadata) = opened.await.map_err(of_lake)?;
                (metadata, Some(Arc::new(encrypted)))
            }
        };
        let metadata = file.with_ids(metadata)?;
        Ok(Footer { metadata: Arc::new(metadata), encrypted })
    }

    async fn read(&mut self, ranges: Vec<Range<u64>>) -> ParquetResult<Vec<Bytes>> {
        if self.stored.file.0.file.key.is_none() {
            return self.stored.read(ranges).await;
        }
        let footer = self.footer(PageIndexPolicy::Skip).await?;
        match footer.encrypted {
            Some(encrypted) => encrypted.read(&mut self.stored, ranges).await.map_err(of_lake),
            None => Err(external(invalid(format!("{} was opened without its key", self.stored.file)))),
        }
    }
}

impl FileToRead {
    /// Refuses a file with other rows than the catalog says, and one whose columns cannot be told; gives ids to one without.
    fn with_ids(&self, metadata: ParquetMetaData) -> ParquetResult<ParquetMetaData> {
        let found = metadata.file_metadata().num_rows();
        if let Some(expected) = self.0.rows.filter(|expected| u64::try_from(found).ok() != Some(*expected)) {
            return Err(external(invalid(format!("{self} has {found} rows, but the catalog says {expected}"))));
        }
        match &self.0.mapping {
            Some(mapping) => field_ids::with_ids(&metadata, mapping),
            None if field_ids::has_ids(metadata.file_metadata().schema()) => Ok(metadata),
            None => Err(external(unsupported(format!("{self} has no field ids, and the catalog no mapping for it")))),
        }
    }

    fn failed(&self, error: ParquetError) -> ParquetError {
        match error {
            // It says of which file it is.
            ParquetError::External(inner) if inner.is::<Error>() => ParquetError::External(inner),
            error => {
                let message =
                    format!("cannot read {self}: it is damaged, or encrypted and the catalog has no key of it");
                external(invalid(message).with_source(error))
            }
        }
    }
}

impl AsyncFileReader for KeyedReader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        async move { Ok(self.read(vec![range]).await?.pop().unwrap_or_default()) }.boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        self.read(ranges).boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        options: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, ParquetResult<Arc<ParquetMetaData>>> {
        let page_index = options.map_or(PageIndexPolicy::Skip, ArrowReaderOptions::column_index_policy);
        async move { Ok(self.footer(page_index).await?.metadata) }.boxed()
    }
}

/// The bytes of a file as they are stored.
struct Stored {
    file: FileToRead,
    metrics: Option<ParquetFileMetrics>,
}

impl Stored {
    async fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let Inner { store, path, .. } = &*self.file.0;
        if let Some(metrics) = &self.metrics {
            let bytes: u64 = ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum();
            metrics.bytes_scanned.add(usize::try_from(bytes).unwrap_or(usize::MAX));
        }
        let failed = |error: object_store::Error| {
            let kind = match &error {
                object_store::Error::NotFound { .. } => ErrorKind::NotFound,
                _ => ErrorKind::Storage,
            };
            Error::new(kind, format!("cannot read {}", self.file)).with_source(error)
        };
        let [range] = ranges else { return store.get_ranges(path, ranges).await.map_err(failed) };
        // The store says along with one range how long the file is; the footer is always read this way.
        let options = GetOptions { range: Some(range.clone().into()), ..GetOptions::default() };
        let answer = store.get_opts(path, options).await.map_err(failed)?;
        if answer.meta.size != self.file.size() {
            let (size, expected) = (answer.meta.size, self.file.size());
            let file = &self.file;
            return Err(invalid(format!(
                "{file} has {size} bytes, but the catalog says {expected}: it was cut or extended"
            )));
        }
        Ok(vec![answer.bytes().await.map_err(failed)?])
    }
}

impl StoredBytes for Stored {
    fn read(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>> {
        async move { self.fetch(&ranges).await.map_err(external) }.boxed()
    }
}

/// A file that is not encrypted, to read its footer.
struct Plain<'a>(&'a mut Stored);

impl parquet::arrow::async_reader::MetadataFetch for &mut Plain<'_> {
    fn fetch(&mut self, range: Range<u64>) -> BoxFuture<'_, ParquetResult<Bytes>> {
        async move { Ok(self.0.read(vec![range]).await?.pop().unwrap_or_default()) }.boxed()
    }
}

fn external(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// An error of decryption as one of the lake.
fn of_lake(error: ParquetError) -> ParquetError {
    use lakelock_parquet::ErrorKind as Parquet;
    let error = match lakelock_parquet::Error::behind(error) {
        Ok(error) => error,
        Err(other) => return other,
    };
    let kind = match error.kind() {
        Parquet::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::InvalidData,
    };
    let of_lake = Error::new(kind, error.to_string());
    external(match error.into_source() {
        Some(source) => of_lake.with_source(source),
        None => of_lake,
    })
}
