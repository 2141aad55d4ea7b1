//! Encrypted files in memory, and a reader of them.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use arrow::array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray, new_null_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use lakelock_crypto::{SecretKey, StandardKeyMetadata};
use lakelock_parquet::{EncryptedFile, ReadOptions, StoredBytes};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection};
use parquet::arrow::async_reader::{AsyncFileReader, ParquetRecordBatchStreamBuilder};
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::errors::Result;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterPropertiesBuilder;

pub(crate) const AAD_PREFIX: &[u8] = b"the prefix of this file";

pub(crate) fn key(length: usize) -> StandardKeyMetadata {
    let bytes: Vec<u8> = (0..32).collect();
    StandardKeyMetadata::new(SecretKey::new(&bytes[..length]).unwrap(), Some(AAD_PREFIX.to_vec()))
}

/// Rows with repeated and distinct values, nulls, and columns within columns.
pub(crate) fn rows(count: i32) -> RecordBatch {
    let ids = Int64Array::from_iter_values((0..i64::from(count)).map(|at| at * 7));
    let words: StringArray = (0..count).map(|at| (at % 5 != 0).then(|| format!("word {}", at % 11))).collect();
    let long = StringArray::from_iter_values((0..count).map(|at| format!("{at} is like no other {}", at * at % 97)));
    let numbers: ArrayRef =
        Arc::new((0..count).map(|at| (at % 3 != 0).then_some(f64::from(at))).collect::<Float64Array>());
    let small: ArrayRef = Arc::new(Int32Array::from_iter_values((0..count).map(|at| at / 100)));
    let inner =
        Fields::from(vec![Field::new("number", DataType::Float64, true), Field::new("small", DataType::Int32, false)]);
    let lengths = (0..count).map(|at| usize::try_from(at % 4).unwrap());
    let offsets = OffsetBuffer::from_lengths(lengths);
    let values = Int32Array::from_iter_values(0..*offsets.last().unwrap());
    let list = ListArray::new(Arc::new(Field::new_list_field(DataType::Int32, false)), offsets, Arc::new(values), None);
    let columns: Vec<(&str, ArrayRef, bool)> = vec![
        ("id", Arc::new(ids), false),
        ("word", Arc::new(words), true),
        ("long", Arc::new(long), false),
        ("nested", Arc::new(StructArray::new(inner, vec![numbers, small], None)), false),
        ("list", Arc::new(list), false),
        ("nothing", new_null_array(&DataType::Int64, usize::try_from(count).unwrap()), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

/// An encrypted file as the Parquet library writes it.
pub(crate) fn encrypted(batch: &RecordBatch, key: &StandardKeyMetadata, properties: WriterPropertiesBuilder) -> Bytes {
    let encryption = FileEncryptionProperties::builder(key.encryption_key().expose_secret().to_vec())
        .with_aad_prefix(key.aad_prefix().to_vec())
        .with_aad_prefix_storage(false);
    write(batch, properties.with_file_encryption_properties(encryption.build().unwrap()))
}

pub(crate) fn write(batch: &RecordBatch, properties: WriterPropertiesBuilder) -> Bytes {
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties.build())).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    file.into()
}

/// A stored file that remembers what was read of it.
#[derive(Clone)]
pub(crate) struct Stored {
    pub(crate) bytes: Bytes,
    /// Whether what is read is held by somebody else as well.
    pub(crate) shared: bool,
    pub(crate) read: Arc<Mutex<Vec<Range<u64>>>>,
}

impl Stored {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self { bytes, shared: false, read: Arc::default() }
    }
}

impl StoredBytes for Stored {
    fn read(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        let slice = |range: &Range<u64>| {
            let slice = self.bytes.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap());
            if self.shared { slice } else { Bytes::copy_from_slice(&slice) }
        };
        let slices = ranges.iter().map(slice).collect();
        self.read.lock().unwrap().extend(ranges);
        std::future::ready(Ok(slices)).boxed()
    }
}

/// What a query engine reads a file with.
pub(crate) struct Reader {
    stored: Stored,
    file: Arc<EncryptedFile>,
    metadata: Arc<ParquetMetaData>,
}

impl Reader {
    pub(crate) async fn open(stored: Stored, key: &StandardKeyMetadata) -> Result<Self> {
        Self::open_with(stored, key, &ReadOptions::default()).await
    }

    pub(crate) async fn open_with(
        mut stored: Stored,
        key: &StandardKeyMetadata,
        options: &ReadOptions,
    ) -> Result<Self> {
        let length = stored.bytes.len() as u64;
        let (file, metadata) = EncryptedFile::open(&mut stored, "file t.parquet", length, key, options).await?;
        Ok(Self { stored, file: Arc::new(file), metadata: Arc::new(metadata) })
    }

    pub(crate) fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// The reader as it is once the page index was loaded, as an engine does it: apart from the footer.
    pub(crate) async fn with_page_index(mut self) -> Result<Self> {
        let mut loader = ParquetMetaDataReader::new_with_metadata(self.metadata.as_ref().clone())
            .with_page_index_policy(PageIndexPolicy::Optional);
        loader.load_page_index(&mut self).await?;
        self.metadata = Arc::new(loader.finish()?);
        Ok(self)
    }

    /// A reader that knows the page index and has not read it itself.
    pub(crate) async fn with_page_index_of(self, other: Self) -> Result<Self> {
        Ok(Self { metadata: other.with_page_index().await?.metadata, ..self })
    }

    /// Reads rows: all of them, or a selection, of all columns or those with these numbers.
    pub(crate) async fn rows(self, selection: Option<RowSelection>, columns: Option<&[usize]>) -> Result<RecordBatch> {
        let metadata = ArrowReaderMetadata::try_new(Arc::clone(&self.metadata), ArrowReaderOptions::default())?;
        let mut builder = ParquetRecordBatchStreamBuilder::new_with_metadata(self, metadata).with_batch_size(333);
        if let Some(columns) = columns {
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            builder = builder.with_projection(mask);
        }
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        let stream = builder.build()?;
        let schema = Arc::new(Schema::new(stream.schema().fields().clone()));
        let batches: Vec<RecordBatch> = stream.try_collect().await?;
        Ok(concat_batches(&schema, &batches).unwrap())
    }
}

impl AsyncFileReader for Reader {
    fn get_bytes(&mut self, range: Range<u64>) -> BoxFuture<'_, Result<Bytes>> {
        async move { Ok(self.file.read(&mut self.stored, vec![range]).await?.remove(0)) }.boxed()
    }

    fn get_byte_ranges(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        self.file.read(&mut self.stored, ranges).boxed()
    }

    fn get_metadata<'a>(
        &'a mut self,
        _: Option<&'a ArrowReaderOptions>,
    ) -> BoxFuture<'a, Result<Arc<ParquetMetaData>>> {
        std::future::ready(Ok(Arc::clone(&self.metadata))).boxed()
    }
}
