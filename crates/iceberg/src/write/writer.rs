//! The writer of data files: splits rows by partition, and files by size.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::sync::Arc;

use arrow::array::RecordBatch;
use lakelock_crypto::StandardKeyMetadata;
use lakelock_storage::Storage;

use super::coerce::Coercion;
use super::file::{FileTemplate, OpenFile};
use super::location::DataLocations;
use super::metrics::MetricsConfig;
use super::parquet_schema::parquet_schema;
use super::partition::{Part, Partitioner, partition_path};
use super::settings::Settings;
use super::upload::PART_LENGTH;
use crate::encryption::EncryptingFileIO;
use crate::manifest::DataFile;
use crate::spec::{PartitionSpecRef, Struct, StructType, TableMetadata};
use crate::{Error, ErrorKind, Result, Table, opaque};

/// Partitions of one batch that are written between two looks at the memory in use.
const PARTS_BETWEEN_CHECKS: usize = 32;

/// Settings of a [`DataFileWriter`] that are not the table's.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Roughly how many bytes may be kept in memory. When rows of many partitions come mixed, reaching it makes row
    /// groups, and then files, smaller than the table asks for.
    pub memory_limit: usize,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { memory_limit: 512 * 1024 * 1024 }
    }
}

/// Writes rows into new data files of a table, to be committed together.
///
/// Files are encrypted if the table is, each under a key of its own; the table's current schema, default partition
/// spec and `write.*` properties say what they look like. Rows that come ordered by partition need the least memory.
///
/// The files become part of the table when they are committed, never before. Until [`close`](Self::close) returns
/// them they belong to the writer: an error, [`abort`](Self::abort) or a drop removes what is already in the store.
pub struct DataFileWriter {
    io: EncryptingFileIO,
    template: Arc<FileTemplate>,
    spec: PartitionSpecRef,
    partition_type: StructType,
    options: WriteOptions,
    locations: DataLocations,
    coercion: Coercion,
    partitioner: Partitioner,
    /// Drawn when the writer was made, for its first file.
    first_key: Option<StandardKeyMetadata>,
    /// By partition key.
    open: BTreeMap<Box<[u8]>, OpenFile>,
    closed: Vec<DataFile>,
    /// Locations of all files ever begun.
    begun: Vec<String>,
    /// While it works, and after an error: what is open may be incomplete.
    unusable: bool,
}

impl DataFileWriter {
    /// Makes a writer; nothing is written yet.
    ///
    /// # Errors
    /// What must stop a write before it begins: an encrypted table whose keys cannot be wrapped
    /// ([`ErrorKind::Encryption`]); table properties that ask for what cannot be written ([`ErrorKind::Unsupported`]);
    /// malformed properties ([`ErrorKind::InvalidInput`]).
    pub fn new(table: &Table, options: WriteOptions) -> Result<Self> {
        Self::with(table.metadata(), table.io().clone(), options)
    }

    pub(super) fn with(metadata: &TableMetadata, io: EncryptingFileIO, options: WriteOptions) -> Result<Self> {
        let schema = Arc::clone(metadata.current_schema());
        opaque::refuse(&schema)?;
        let spec = Arc::clone(metadata.default_partition_spec());
        let coercion = Coercion::new(Arc::clone(&schema))?;
        let parquet_schema = parquet_schema(&schema)?;
        let template = FileTemplate {
            arrow_schema: Arc::clone(coercion.arrow_schema()),
            settings: Settings::new(metadata.properties(), &schema, &parquet_schema)?,
            parquet_schema: parquet_schema.root_schema_ptr(),
            metrics: MetricsConfig::new(metadata.properties(), &schema, metadata.default_sort_order()),
            spec_id: spec.spec_id(),
            schema: Arc::clone(&schema),
        };
        let partition_type = spec.partition_type(&schema).map_err(|e| {
            Error::new(ErrorKind::InvalidData, "the table's partition spec does not go with its schema").with_source(e)
        })?;
        let first_key = io.manager().new_file_key()?;
        Ok(Self {
            io,
            template: Arc::new(template),
            partitioner: Partitioner::new(&spec, &schema)?,
            spec,
            partition_type,
            options,
            locations: DataLocations::new(metadata)?,
            coercion,
            first_key,
            open: BTreeMap::new(),
            closed: Vec::new(),
            begun: Vec::new(),
            unusable: false,
        })
    }

    /// Writes rows. Their columns are matched to the table's by name; see the module for what is cast and filled in.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] naming the column and row, for rows that do not fit the table; otherwise when a
    /// file cannot be encoded or stored. After an error the writer has removed its files and takes no more rows.
    pub async fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.begin_work()?;
        let written = self.try_write(&batch).await;
        self.end_work(written).await
    }

    /// Ends all files and returns them, to be committed.
    ///
    /// # Errors
    /// When a file cannot be stored; all have been removed then.
    pub async fn close(mut self) -> Result<Vec<DataFile>> {
        self.begin_work()?;
        let closed = self.close_all().await;
        self.end_work(closed).await?;
        self.begun.clear();
        Ok(mem::take(&mut self.closed))
    }

    /// Removes everything written so far.
    pub async fn abort(mut self) {
        self.discard().await;
    }

    /// Rows taken so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.coercion.rows()
    }

    fn begin_work(&mut self) -> Result<()> {
        if mem::replace(&mut self.unusable, true) {
            return Err(Error::new(ErrorKind::InvalidInput, "the writer cannot be used after it failed"));
        }
        Ok(())
    }

    async fn end_work(&mut self, outcome: Result<()>) -> Result<()> {
        match outcome {
            Ok(()) => self.unusable = false,
            Err(_) => self.discard().await,
        }
        outcome
    }

    async fn try_write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = self.coercion.coerce(batch)?;
        for (number, part) in (1..).zip(self.partitioner.split(batch)?) {
            self.write_part(part).await?;
            if number % PARTS_BETWEEN_CHECKS == 0 {
                self.release_memory().await?;
            }
        }
        self.release_memory().await
    }

    async fn write_part(&mut self, part: Part) -> Result<()> {
        let mut rows = part.rows;
        while rows.num_rows() > 0 {
            let mut file = match self.open.remove(&part.key) {
                Some(file) => file,
                None => self.create(part.values.clone())?,
            };
            let taken = file.write(&rows).await?;
            rows = rows.slice(taken, rows.num_rows() - taken);
            if file.length() >= self.template.settings.target_file_size {
                self.closed.push(file.close().await?);
            } else {
                self.open.insert(part.key.clone(), file);
            }
        }
        Ok(())
    }

    fn create(&mut self, partition: Struct) -> Result<OpenFile> {
        let key = match self.first_key.take() {
            Some(key) => Some(key),
            None => self.io.manager().new_file_key()?,
        };
        let location = self.locations.next(&partition_path(&self.spec, &self.partition_type, &partition));
        self.begun.push(location.clone());
        OpenFile::create(&self.template, &self.io, location, partition, key)
    }

    /// Ends row groups, and where those hold little, files, the largest first, until the memory limit is kept.
    async fn release_memory(&mut self) -> Result<()> {
        loop {
            let total: usize = self.open.values().map(OpenFile::memory).sum();
            let largest = self.open.iter().max_by_key(|(_, file)| file.memory()).map(|(key, _)| key.clone());
            let Some(largest) = largest.filter(|_| total > self.options.memory_limit) else { return Ok(()) };
            let Some(mut file) = self.open.remove(&largest) else { return Ok(()) };
            if file.group_memory() > PART_LENGTH {
                file.flush().await?;
                self.open.insert(largest, file);
            } else {
                self.closed.push(file.close().await?);
            }
        }
    }

    async fn close_all(&mut self) -> Result<()> {
        while let Some((_, file)) = self.open.pop_first() {
            self.closed.push(file.close().await?);
        }
        Ok(())
    }

    async fn discard(&mut self) {
        self.unusable = true;
        self.closed.clear();
        remove(self.io.storage().clone(), mem::take(&mut self.open), mem::take(&mut self.begun)).await;
    }
}

impl Drop for DataFileWriter {
    /// Removes what was not returned: in the background if there is a runtime, or else before it returns.
    fn drop(&mut self) {
        if self.begun.is_empty() {
            return;
        }
        let work = remove(self.io.storage().clone(), mem::take(&mut self.open), mem::take(&mut self.begun));
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn(work);
            }
            Err(_) => futures::executor::block_on(work),
        }
    }
}

impl fmt::Debug for DataFileWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DataFileWriter")
            .field("rows", &self.rows())
            .field("open", &self.open.len())
            .field("closed", &self.closed.len())
            .finish_non_exhaustive()
    }
}

async fn remove(storage: Storage, open: BTreeMap<Box<[u8]>, OpenFile>, begun: Vec<String>) {
    for file in open.into_values() {
        file.abort().await;
    }
    for location in begun {
        // Most often because it never got there.
        if let Err(error) = storage.delete(&location).await {
            tracing::debug!("did not remove {location}: {error}");
        }
    }
}
