use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BinaryArray, BooleanArray, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StructArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Int64Type, SchemaRef as ArrowSchemaRef};
use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt as _, TryStreamExt as _};
use lakelock_crypto::{KeyLength, StandardKeyMetadata};
use lakelock_parquet::{EncryptedFile, ReadOptions, StoredBytes};
use lakelock_storage::Storage;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::bloom_filter::Sbbf;
use parquet::encryption::decrypt::FileDecryptionProperties;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};

use super::*;
use crate::arrow_schema::{field_id, schema_to_arrow};
use crate::encryption::{EncryptingFileIO, EncryptionManager, WrappedManifestListKey};
use crate::manifest::DataFile;
use crate::schema_text::{parse_partition_spec, parse_schema};
use crate::spec::{
    FormatVersion, Literal, Snapshot, SortOrder, TableMetadata, TableMetadataBuilder, UnboundPartitionSpec,
};
use crate::{Error, ErrorKind, Result};

const CANARY: &str = "canary-in-a-coal-mine";

/// Draws keys of one length, or none, or fails.
#[derive(Debug)]
enum Keys {
    Of(KeyLength),
    Plaintext,
    NoKms,
}

#[async_trait]
impl EncryptionManager for Keys {
    fn is_encrypting(&self) -> bool {
        !matches!(self, Self::Plaintext)
    }

    fn new_file_key(&self) -> Result<Option<StandardKeyMetadata>> {
        match self {
            Self::Of(length) => Ok(Some(StandardKeyMetadata::generate(*length).unwrap())),
            Self::Plaintext => Ok(None),
            Self::NoKms => Err(Error::new(ErrorKind::Encryption, "no KMS client")),
        }
    }

    async fn manifest_list_key(&self, _: &TableMetadata, _: &Snapshot) -> Result<Option<StandardKeyMetadata>> {
        unimplemented!()
    }

    async fn wrap_manifest_list_key(
        &self,
        _: &TableMetadata,
        _: &StandardKeyMetadata,
    ) -> Result<WrappedManifestListKey> {
        unimplemented!()
    }
}

struct Fixture {
    metadata: TableMetadata,
    io: EncryptingFileIO,
    arrow: ArrowSchemaRef,
}

impl Fixture {
    fn new(columns: &str, partitions: &str, properties: &[(&str, &str)], keys: Keys) -> Self {
        let schema = parse_schema(columns).unwrap();
        let arrow = schema_to_arrow(&schema).unwrap();
        let spec = match partitions {
            "" => UnboundPartitionSpec::builder().build(),
            text => parse_partition_spec(text, &schema).unwrap(),
        };
        let properties = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<HashMap<_, _>>();
        let order = SortOrder::unsorted_order();
        let location = "memory://warehouse/db/t".to_owned();
        let builder = TableMetadataBuilder::new(schema, spec, order, location, FormatVersion::V3, properties).unwrap();
        let io = EncryptingFileIO::new(Storage::in_memory(), Arc::new(keys));
        Self { metadata: builder.build().unwrap().metadata, io, arrow }
    }

    fn encrypted(columns: &str, partitions: &str, properties: &[(&str, &str)]) -> Self {
        Self::new(columns, partitions, properties, Keys::Of(KeyLength::Aes128))
    }

    fn writer(&self) -> Result<DataFileWriter> {
        DataFileWriter::with(&self.metadata, self.io.clone(), WriteOptions::default())
    }

    fn batch(&self, columns: Vec<ArrayRef>) -> RecordBatch {
        RecordBatch::try_new(Arc::clone(&self.arrow), columns).unwrap()
    }

    async fn write(&self, batch: RecordBatch) -> Vec<DataFile> {
        let mut writer = self.writer().unwrap();
        writer.write(batch).await.unwrap();
        writer.close().await.unwrap()
    }

    async fn stored(&self, file: &DataFile) -> Bytes {
        self.io.storage().read(&file.file_path).await.unwrap()
    }

    /// All rows of a file, and its footer.
    async fn read(&self, file: &DataFile) -> (RecordBatch, Arc<ParquetMetaData>) {
        let mut bytes = self.stored(file).await;
        let mut options = ArrowReaderOptions::new();
        if let Some(key) = &file.key_metadata {
            let key = key.decode(&file.file_path).unwrap();
            assert_eq!(key.file_length(), Some(bytes.len() as u64));
            if key.encryption_key().length() == KeyLength::Aes192 {
                // The Parquet library knows no such keys.
                let (plain, footer) = self.plain(file).await;
                bytes = plain;
                let metadata = ArrowReaderMetadata::try_new(footer, options).unwrap();
                return read_all(bytes, metadata);
            }
            let decryption = FileDecryptionProperties::builder(key.encryption_key().expose_secret().to_vec())
                .with_aad_prefix(key.aad_prefix().to_vec());
            options = options.with_file_decryption_properties(decryption.build().unwrap());
        }
        let metadata = ArrowReaderMetadata::load(&bytes, options).unwrap();
        read_all(bytes, metadata)
    }

    /// A file without its encryption, all parts in their places, and its footer.
    async fn plain(&self, file: &DataFile) -> (Bytes, Arc<ParquetMetaData>) {
        let bytes = self.stored(file).await;
        let Some(key) = &file.key_metadata else {
            return (bytes.clone(), Arc::new(ParquetMetaDataReader::new().parse_and_finish(&bytes).unwrap()));
        };
        let (key, length, mut stored) = (key.decode("").unwrap(), bytes.len() as u64, Stored(bytes));
        let opened = EncryptedFile::open(&mut stored, "a file", length, &key, &ReadOptions::default()).await;
        let (encrypted, footer) = opened.unwrap();
        let whole = std::iter::once(0..length).collect();
        let plain = encrypted.read(&mut stored, whole).await.unwrap().remove(0);
        (plain, Arc::new(footer))
    }

    /// Locations of everything in the store.
    async fn listed(&self) -> Vec<String> {
        let (store, _) = self.io.storage().resolve("memory://warehouse/x").unwrap();
        store.list(None).map_ok(|object| object.location.to_string()).try_collect().await.unwrap()
    }
}

fn read_all(bytes: Bytes, metadata: ArrowReaderMetadata) -> (RecordBatch, Arc<ParquetMetaData>) {
    let footer = Arc::clone(metadata.metadata());
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(bytes, metadata);
    let schema = Arc::clone(reader.schema());
    let batches = reader.build().unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    (concat_batches(&schema, &batches).unwrap(), footer)
}

struct Stored(Bytes);

impl StoredBytes for Stored {
    fn read(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>, ParquetError>> {
        let index = |at: u64| usize::try_from(at).unwrap();
        let slices = ranges.into_iter().map(|range| self.0.slice(index(range.start)..index(range.end)));
        std::future::ready(Ok(slices.collect())).boxed()
    }
}

fn longs(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn numbered_names(count: i64) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..count).map(|id| format!("{CANARY}-{id:08}"))))
}

#[tokio::test]
async fn encrypted_files_give_back_their_rows_and_show_nothing() {
    for length in [KeyLength::Aes128, KeyLength::Aes192, KeyLength::Aes256] {
        let fixture = Fixture::new("id long not null, name string", "", &[], Keys::Of(length));
        let batch = fixture.batch(vec![longs(0..1000), numbered_names(1000)]);
        let files = fixture.write(batch.clone()).await;
        let [file] = files.as_slice() else { panic!("{} files", files.len()) };
        let stored = fixture.stored(file).await;
        assert_eq!((&stored[..4], &stored[stored.len() - 4..]), (b"PARE".as_slice(), b"PARE".as_slice()));
        assert_eq!((file.file_size_in_bytes, file.record_count), (stored.len() as u64, 1000));
        let key = file.key_metadata.as_ref().unwrap().decode("").unwrap();
        for secret in
            [CANARY.as_bytes(), b"iceberg.schema", b"name", key.encryption_key().expose_secret(), key.aad_prefix()]
        {
            assert!(!stored.windows(secret.len()).any(|window| window == secret));
        }
        assert_eq!(key.encryption_key().length(), length);
        let (read, _) = fixture.read(file).await;
        assert_eq!(read.columns(), batch.columns());
    }
}

#[tokio::test]
async fn a_file_is_laid_out_as_java_does() {
    let fixture = Fixture::new("id long not null, a_b decimal(1, 0), \"c d\" list<string>", "", &[], Keys::Plaintext);
    let decimals: ArrayRef = Arc::new(Decimal128Array::from(vec![7]).with_precision_and_scale(1, 0).unwrap());
    let lists = arrow::array::new_null_array(fixture.arrow.field(2).data_type(), 1);
    let files = fixture.write(fixture.batch(vec![longs([1]), decimals.clone(), lists])).await;
    assert!(files[0].key_metadata.is_none());
    let (read, footer) = fixture.read(&files[0]).await;
    assert_eq!(read.column(1), &decimals);
    assert_eq!(
        read.schema().fields().iter().map(|field| field_id(field)).collect::<Vec<_>>(),
        [Some(1), Some(2), Some(3)]
    );
    assert_eq!(read.schema().field(2).name(), "c_x20d");
    let metadata = footer.file_metadata().key_value_metadata().unwrap();
    assert_eq!(metadata.len(), 1, "no Arrow schema");
    assert_eq!(metadata[0].key, "iceberg.schema");
    let schema = serde_json::from_str(metadata[0].value.as_ref().unwrap()).unwrap();
    assert_eq!(fixture.metadata.current_schema().as_ref(), &schema);
    assert!(footer.file_metadata().created_by().unwrap().starts_with("lakelock version "));
}

#[tokio::test]
async fn files_roll_at_their_target_size_and_never_share_a_key() {
    let properties = [("write.target-file-size-bytes", "20000"), ("write.parquet.row-group-size-bytes", "10000")];
    let fixture = Fixture::encrypted("id long, name string", "", &properties);
    let mut writer = fixture.writer().unwrap();
    for start in 0..4 {
        let names = StringArray::from_iter_values((0..2000).map(|_| uuid::Uuid::new_v4().to_string()));
        writer.write(fixture.batch(vec![longs(start * 2000..(start + 1) * 2000), Arc::new(names)])).await.unwrap();
    }
    assert_eq!(writer.rows(), 8000);
    let files = writer.close().await.unwrap();
    assert!(files.len() > 3, "{} files", files.len());
    let mut ids = Vec::new();
    let mut secrets = BTreeSet::new();
    for file in &files {
        assert!(file.file_size_in_bytes < 60_000, "{}", file.file_size_in_bytes);
        let key = file.key_metadata.as_ref().unwrap().decode("").unwrap();
        assert!(secrets.insert(key.encryption_key().expose_secret().to_vec()));
        assert!(secrets.insert(key.aad_prefix().to_vec()));
        let (read, footer) = fixture.read(file).await;
        let offsets = file.split_offsets.as_ref().unwrap();
        assert_eq!((offsets[0], offsets.len()), (4, footer.num_row_groups()));
        assert!(offsets.is_sorted());
        ids.extend(read.column(0).as_primitive::<Int64Type>().values().to_vec());
    }
    assert_eq!(ids, (0..8000).collect::<Vec<_>>());
    assert!(files.iter().any(|file| file.split_offsets.as_ref().unwrap().len() > 1));
    let name = files[1].file_path.rsplit('/').next().unwrap();
    assert!(name.starts_with("00000-0-") && name.ends_with("-00002.parquet"), "{name}");
}

#[tokio::test]
async fn partitions_have_their_own_files_whatever_the_order_of_rows() {
    for memory_limit in [usize::MAX, 0] {
        let fixture = Fixture::encrypted("id long, name string", "name, bucket(2, id)", &[]);
        let options = WriteOptions { memory_limit };
        let mut writer = DataFileWriter::with(&fixture.metadata, fixture.io.clone(), options).unwrap();
        for start in [0, 300] {
            let names = [Some("a/b"), None, Some("c d")].into_iter().cycle().take(300).collect::<StringArray>();
            writer.write(fixture.batch(vec![longs(start..start + 300), Arc::new(names)])).await.unwrap();
        }
        let files = writer.close().await.unwrap();
        let mut folders = BTreeMap::<String, u64>::new();
        for file in &files {
            let path = file.file_path.strip_prefix("memory://warehouse/db/t/data/").unwrap();
            *folders.entry(path.rsplit_once('/').unwrap().0.to_owned()).or_default() += file.record_count;
            let (read, _) = fixture.read(file).await;
            let names = read.column(1).as_string::<i32>();
            let expected = match &file.partition[0] {
                Some(Literal::Primitive(crate::spec::PrimitiveLiteral::String(name))) => Some(name.as_str()),
                _ => None,
            };
            assert!(names.iter().all(|name| name == expected), "{expected:?}");
        }
        let expected = ["name=a%2Fb", "name=c+d", "name=null"];
        let expected = expected.iter().flat_map(|name| (0..2).map(move |bucket| format!("{name}/id_bucket={bucket}")));
        assert_eq!(folders.keys().cloned().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert_eq!(folders.values().sum::<u64>(), 600);
        assert_eq!(files.len() > 6, memory_limit == 0, "little memory makes more files, and no other rows");
    }
}

#[tokio::test]
async fn nothing_is_left_after_an_error_an_abort_or_a_drop() {
    let properties = [("write.target-file-size-bytes", "1")];
    let fixture = Fixture::encrypted("id long not null, name string", "", &properties);
    let good = fixture.batch(vec![longs(0..100), numbered_names(100)]);
    let nullable = parse_schema("id long, name string").unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![None]));
    let bad = RecordBatch::try_new(schema_to_arrow(&nullable).unwrap(), vec![ids, numbered_names(1)]).unwrap();
    let begun = async || {
        let mut writer = fixture.writer().unwrap();
        writer.write(good.clone()).await.unwrap();
        assert_eq!(fixture.listed().await.len(), 1);
        writer
    };

    let mut writer = begun().await;
    let error = writer.write(bad).await.unwrap_err();
    assert_eq!(error.to_string(), "column id, row 101: null in a required column");
    assert!(fixture.listed().await.is_empty(), "after an error");
    assert_eq!(writer.write(good.clone()).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(writer.close().await.unwrap_err().kind(), ErrorKind::InvalidInput);

    begun().await.abort().await;
    assert!(fixture.listed().await.is_empty(), "after an abort");

    let writer = begun().await;
    std::thread::spawn(move || drop(writer)).join().unwrap();
    assert!(fixture.listed().await.is_empty(), "after a drop");

    let files = begun().await.close().await.unwrap();
    assert_eq!((files.len(), fixture.listed().await.len()), (1, 1), "what was returned stays");
    assert!(fixture.writer().unwrap().close().await.unwrap().is_empty(), "no rows, no file");
}

#[tokio::test]
async fn what_must_stop_a_write_does_so_before_it_begins() {
    let cases = [
        (Keys::NoKms, None, ErrorKind::Encryption),
        (Keys::Plaintext, Some(("write.parquet.bloom-filter-max-bytes", "0")), ErrorKind::InvalidInput),
        (Keys::Plaintext, Some(("write.object-storage.enabled", "true")), ErrorKind::Unsupported),
        (Keys::Plaintext, Some(("write.format.default", "orc")), ErrorKind::Unsupported),
        (Keys::Plaintext, Some(("write.parquet.compression-codec", "lzo")), ErrorKind::InvalidInput),
        (Keys::Plaintext, Some(("write.parquet.compression-codec", "brotli")), ErrorKind::Unsupported),
        (Keys::Plaintext, Some(("write.parquet.compression-level", "99")), ErrorKind::InvalidInput),
        (Keys::Plaintext, Some(("write.target-file-size-bytes", "0")), ErrorKind::InvalidInput),
    ];
    for (keys, property, kind) in cases {
        let properties = property.as_slice();
        let fixture = Fixture::new("id long", "", properties, keys);
        assert_eq!(fixture.writer().unwrap_err().kind(), kind, "{property:?}");
    }
}

#[tokio::test]
async fn every_codec_can_be_read_back() {
    for codec in ["zstd", "snappy", "gzip", "lz4_raw", "uncompressed"] {
        let properties = [("write.parquet.compression-codec", codec)];
        let fixture = Fixture::encrypted("id long", "", &properties);
        let files = fixture.write(fixture.batch(vec![longs(0..100)])).await;
        let (read, footer) = fixture.read(&files[0]).await;
        assert_eq!(read.num_rows(), 100);
        let found = footer.row_group(0).column(0).compression().to_string().to_ascii_lowercase();
        assert!(found.starts_with(codec), "{found}");
    }
}

#[tokio::test]
async fn bloom_filters_hold_the_values_and_are_encrypted_as_all_else() {
    let properties = [
        ("write.parquet.bloom-filter-enabled.column.id", "true"),
        ("write.parquet.bloom-filter-enabled.column.s.name", "TRUE"),
        ("write.parquet.bloom-filter-enabled.column.other", "false"),
        ("write.parquet.bloom-filter-enabled.column.flag", "true"),
        ("write.parquet.bloom-filter-enabled.column.gone", "true"),
        ("write.parquet.bloom-filter-fpp.column.id", "0.001"),
        ("write.parquet.bloom-filter-ndv.column.s.name", "10"),
        ("write.parquet.bloom-filter-max-bytes", "5000"),
    ];
    let columns = "id long, other long, flag boolean, s struct<name: string>";
    for length in [None, Some(KeyLength::Aes128), Some(KeyLength::Aes192), Some(KeyLength::Aes256)] {
        let fixture = Fixture::new(columns, "", &properties, length.map_or(Keys::Plaintext, Keys::Of));
        let DataType::Struct(fields) = fixture.arrow.field(3).data_type() else { panic!() };
        let names = StructArray::new(fields.clone(), vec![numbered_names(100)], None);
        let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true; 100]));
        let batch = fixture.batch(vec![longs((0..100).map(|id| 2 * id)), longs(0..100), flags, Arc::new(names)]);
        let file = fixture.write(batch).await.remove(0);
        let (plain, footer) = fixture.plain(&file).await;
        let filter = |at: usize| Sbbf::read_from_column_chunk(footer.row_group(0).column(at), &plain).unwrap();
        let (ids, names) = (filter(0).unwrap(), filter(3).unwrap());
        assert!((0..100_i64).all(|id| ids.check(&(2 * id))), "{length:?}");
        assert!((0..100_i64).filter(|id| ids.check(&(2 * id + 1))).count() < 5, "{length:?}");
        assert!((0..100).all(|id| names.check(&format!("{CANARY}-{id:08}").as_str())), "{length:?}");
        assert!(filter(1).is_none() && filter(2).is_none(), "{length:?}");
        let size = |filter: &Sbbf| {
            let mut bitset = Vec::new();
            filter.write_bitset(&mut bitset).unwrap();
            bitset.len()
        };
        assert!(size(&ids) < 1024 && size(&names) == 32, "{} and {}", size(&ids), size(&names));
    }
}

/// The columns of the tests of statistics, with their ids.
const COUNTED: &str = "id long, name string, price double, ok boolean, amount decimal(20, 2), raw binary, \
    s struct<x: long>, l list<long>";

fn counted(fixture: &Fixture) -> RecordBatch {
    let long = "x".repeat(20);
    let DataType::Struct(fields) = fixture.arrow.field(6).data_type() else { panic!() };
    let structs = StructArray::new(fields.clone(), vec![longs([5, 6, 7])], Some(vec![true, false, true].into()));
    let columns: Vec<ArrayRef> = vec![
        longs([3, 1, 2]),
        Arc::new(StringArray::from(vec![Some(long.as_str()), None, Some("b")])),
        Arc::new(Float64Array::from(vec![f64::NAN, 0.0, -1.5])),
        Arc::new(BooleanArray::from(vec![true, false, true])),
        Arc::new(Decimal128Array::from(vec![Some(-129), Some(128), None]).with_precision_and_scale(20, 2).unwrap()),
        Arc::new(BinaryArray::from(vec![[255_u8; 20].as_slice(), &[1], &[2]])),
        Arc::new(structs),
        arrow::array::new_null_array(fixture.arrow.field(7).data_type(), 3),
    ];
    fixture.batch(columns)
}

#[tokio::test]
async fn statistics_are_those_that_java_keeps() {
    let fixture = Fixture::encrypted(COUNTED, "", &[]);
    let files = fixture.write(counted(&fixture)).await;
    let file = &files[0];
    let (_, footer) = fixture.read(file).await;
    let sizes = file.column_sizes.as_ref().unwrap();
    // The leaves: 9 is s.x, 10 is the element of l.
    assert_eq!(sizes.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 9, 10]);
    let columns = footer.row_group(0).columns();
    assert_eq!(
        sizes.values().copied().collect::<Vec<_>>(),
        columns.iter().map(ColumnChunkMetaData::compressed_size).collect::<Vec<_>>()
    );
    let three = [1, 2, 3, 4, 5, 6, 9].map(|id| (id, 3));
    assert_eq!(file.value_counts, Some(BTreeMap::from(three)));
    let nulls = [(1, 0), (2, 1), (3, 0), (4, 0), (5, 1), (6, 0), (9, 1)];
    assert_eq!(file.null_value_counts, Some(BTreeMap::from(nulls)));
    assert_eq!(file.nan_value_counts, Some(BTreeMap::from([(3, 1)])));
    let long = |value: i64| value.to_le_bytes().to_vec();
    let lower = [
        (1, long(1)),
        (2, b"b".to_vec()),
        (3, (-1.5_f64).to_le_bytes().to_vec()),
        (4, vec![0]),
        (5, vec![0xff, 0x7f]),
        (6, vec![1]),
        (9, long(5)),
    ];
    assert_eq!(file.lower_bounds, Some(BTreeMap::from(lower)));
    let upper = [
        (1, long(3)),
        (2, b"xxxxxxxxxxxxxxxy".to_vec()),
        (3, 0.0_f64.to_le_bytes().to_vec()),
        (4, vec![1]),
        (5, vec![0, 0x80]),
        (9, long(7)),
    ];
    assert_eq!(file.upper_bounds, Some(BTreeMap::from(upper)), "no upper bound for 20 bytes of 255");
    assert_eq!((file.sort_order_id, file.first_row_id), (Some(0), None));
}

#[tokio::test]
async fn modes_say_how_much_is_kept() {
    /// Properties, and ids with sizes, with counts and with an upper bound.
    type Case<'a> = (&'a [(&'a str, &'a str)], &'a [i32], &'a [i32], &'a [i32]);
    let cases: [Case; 6] = [
        (&[("write.metadata.metrics.default", "none")], &[], &[], &[]),
        (&[("write.metadata.metrics.default", "counts")], &[1, 2, 3, 4, 5, 6, 9, 10], &[1, 2, 3, 4, 5, 6, 9], &[]),
        (
            &[("write.metadata.metrics.default", "full")],
            &[1, 2, 3, 4, 5, 6, 9, 10],
            &[1, 2, 3, 4, 5, 6, 9],
            &[1, 2, 3, 4, 5, 6, 9],
        ),
        (
            &[("write.metadata.metrics.default", "none"), ("write.metadata.metrics.column.s.x", "truncate(4)")],
            &[9],
            &[9],
            &[9],
        ),
        (&[("write.metadata.metrics.max-inferred-column-defaults", "2")], &[1, 2], &[1, 2], &[1, 2]),
        (
            &[("write.metadata.metrics.default", "NONE"), ("write.metadata.metrics.column.id", "nonsense")],
            &[],
            &[],
            &[],
        ),
    ];
    for (properties, sizes, counts, uppers) in cases {
        let fixture = Fixture::encrypted(COUNTED, "", properties);
        let files = fixture.write(counted(&fixture)).await;
        let file = &files[0];
        let ids = |map: &Option<BTreeMap<i32, i64>>| map.as_ref().unwrap().keys().copied().collect::<Vec<_>>();
        assert_eq!(ids(&file.column_sizes), sizes, "{properties:?}");
        assert_eq!(ids(&file.value_counts), counts, "{properties:?}");
        assert_eq!(ids(&file.null_value_counts), counts, "{properties:?}");
        let found = file.upper_bounds.as_ref().unwrap().keys().copied().collect::<Vec<_>>();
        assert_eq!(found, uppers, "{properties:?}");
    }
}

#[tokio::test]
async fn bounds_span_row_groups() {
    let properties = [("write.parquet.row-group-size-bytes", "1")];
    let fixture = Fixture::encrypted("id long, name string", "", &properties);
    let names = (0..500).map(|id| (id >= 200).then(|| format!("n{id}"))).collect::<StringArray>();
    let files = fixture.write(fixture.batch(vec![longs((0..500).rev()), Arc::new(names)])).await;
    let file = &files[0];
    assert_eq!(file.split_offsets.as_ref().unwrap().len(), 5, "100 rows each");
    let (lower, upper) = (file.lower_bounds.as_ref().unwrap(), file.upper_bounds.as_ref().unwrap());
    assert_eq!((&lower[&1], &upper[&1]), (&0_i64.to_le_bytes().to_vec(), &499_i64.to_le_bytes().to_vec()));
    assert_eq!((&lower[&2], &upper[&2]), (&b"n200".to_vec(), &b"n499".to_vec()), "row groups of nulls do not count");
    assert_eq!(file.null_value_counts.as_ref().unwrap()[&2], 200);
}
