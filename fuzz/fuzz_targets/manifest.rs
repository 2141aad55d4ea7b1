//! Whatever is changed in a manifest, and whatever the bytes: an error or entries, never a panic, and for a scan the same
//! entries as for everybody else.
#![no_main]

use std::sync::{Arc, LazyLock};

use lakelock_iceberg::Table;
use lakelock_iceberg::encryption::{EncryptingFileIO, PlaintextEncryptionManager};
use lakelock_iceberg::manifest::{
    Codec, DataFile, EncodedManifest, FileContent, FileFormat, Manifest, ManifestContent, ManifestFile,
    ManifestListHeader, ManifestOptions, ManifestStatus, ManifestWriter, decode_manifest_list, encode_manifest_list,
};
use lakelock_iceberg::metadata::TableDocument;
use lakelock_iceberg::scan::TableScan;
use lakelock_iceberg::schema_text::{parse_partition_spec, parse_schema};
use lakelock_iceberg::spec::{FormatVersion, Literal, Struct, TableIdent};
use lakelock_storage::Storage;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::Runtime;

const LOCATION: &str = "memory://t/metadata/m0.avro";

const METADATA: &str = r#"{"format-version": 3, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
    "location": "memory://t", "last-sequence-number": 1, "last-updated-ms": 1, "last-column-id": 4, "next-row-id": 1000,
    "current-schema-id": 0, "schemas": [{"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": "id", "required": true, "type": "long"}, {"id": 2, "name": "name", "required": false, "type": "string"}]}],
    "default-spec-id": 0, "last-partition-id": 1001, "partition-specs": [{"spec-id": 0, "fields": [
        {"source-id": 1, "field-id": 1000, "name": "id_bucket", "transform": "bucket[4]"},
        {"source-id": 2, "field-id": 1001, "name": "name", "transform": "identity"}]}],
    "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
    "current-snapshot-id": 1, "snapshots": [{"snapshot-id": 1, "sequence-number": 1, "timestamp-ms": 1, "schema-id": 0,
        "manifest-list": "memory://t/metadata/l.avro", "summary": {"operation": "append"}, "first-row-id": 0, "added-rows": 2}]}"#;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());

/// Where the manifest's blocks lie open to changes: not compressed.
static MANIFEST: LazyLock<Vec<u8>> = LazyLock::new(|| encoded().as_bytes().to_vec());

fn encoded() -> EncodedManifest {
    let schema = parse_schema("id long not null, name string, tags list<string>").unwrap();
    let spec = parse_partition_spec("bucket(4, id), name", &schema).unwrap().bind(schema.clone()).unwrap();
    let mut writer = ManifestWriter::new(ManifestOptions {
        format_version: FormatVersion::V3,
        content: ManifestContent::Data,
        schema: Arc::new(schema),
        partition_spec: Arc::new(spec),
        snapshot_id: 1,
        sequence_number: 1,
        codec: Codec::Null,
    })
    .unwrap();
    for name in [None, Some(Literal::string("n"))] {
        writer.add(&file(Struct::from_iter([Some(Literal::int(1)), name]))).unwrap();
    }
    writer.finish().unwrap()
}

fn file(partition: Struct) -> DataFile {
    DataFile {
        column_sizes: Some([(1, 10)].into()),
        value_counts: Some([(1, 1)].into()),
        null_value_counts: Some([(1, 0)].into()),
        nan_value_counts: Some([].into()),
        split_offsets: Some(vec![4]),
        sort_order_id: Some(0),
        ..DataFile::new(FileContent::Data, "memory://t/data/1.parquet", FileFormat::Parquet, 0, partition, 1, 100)
    }
}

/// What does not change from run to run of the table with one manifest: its metadata, its manifest list, and what that lists.
static TABLE: LazyLock<(Arc<TableDocument>, Vec<u8>, ManifestFile)> = LazyLock::new(|| {
    let (listed, _) = encoded().prepare(&io(Storage::in_memory()), LOCATION).unwrap();
    let listed = ManifestFile { first_row_id: Some(0), ..listed };
    let header = ManifestListHeader {
        format_version: FormatVersion::V3,
        snapshot_id: 1,
        parent_snapshot_id: None,
        sequence_number: 1,
        first_row_id: Some(0),
    };
    let list = encode_manifest_list(header, std::slice::from_ref(&listed)).unwrap();
    let document = TableDocument::read(METADATA.as_bytes(), "memory://t/metadata/v1.json").unwrap();
    (Arc::new(document), list, listed)
});

fn io(storage: Storage) -> EncryptingFileIO {
    EncryptingFileIO::new(storage, Arc::new(PlaintextEncryptionManager::new("t")))
}

/// A table whose one manifest has these bytes.
async fn table(bytes: &[u8]) -> Table {
    let (document, list, _) = &*TABLE;
    let storage = Storage::in_memory();
    storage.write("memory://t/metadata/l.avro", list.clone()).await.unwrap();
    storage.write(LOCATION, bytes.to_vec()).await.unwrap();
    let identifier = TableIdent::from_strs(["db", "t"]).unwrap();
    Table::new(identifier, Arc::clone(document), String::new(), io(storage))
}

/// Whether a scan finds what is in the manifest.
async fn plan(bytes: &[u8]) {
    let (table, listed) = (table(bytes).await, &TABLE.2);
    // Files that a scan cannot read, and those with keys in a plaintext table, are errors of its own.
    let Ok(plan) = TableScan::new(&table).with_statistics([1]).plan().await else { return };
    let read = Manifest::read(table.io(), table.metadata(), listed).await.unwrap();
    let live = read.entries.into_iter().filter(|entry| entry.status != ManifestStatus::Deleted);
    let live = live.filter(|entry| entry.data_file.record_count > 0).map(|entry| {
        let mut file = entry.data_file;
        let counts =
            [&mut file.column_sizes, &mut file.value_counts, &mut file.null_value_counts, &mut file.nan_value_counts];
        counts.into_iter().flatten().for_each(|counts| counts.retain(|id, _| *id == 1));
        for bounds in [&mut file.lower_bounds, &mut file.upper_bounds].into_iter().flatten() {
            bounds.retain(|id, _| *id == 1);
        }
        format!("{:?} {file:?}", entry.sequence_number)
    });
    let tasks = plan.tasks.iter().map(|task| format!("{:?} {:?}", task.data_sequence_number(), task.data_file()));
    assert!(tasks.eq(live));
}

fuzz_target!(|input: (Vec<(u16, u8)>, Vec<u8>)| {
    let (changes, bytes) = input;
    let mut manifest = MANIFEST.clone();
    for (at, byte) in changes {
        let at = usize::from(at) % manifest.len();
        manifest[at] = byte;
    }
    for bytes in [manifest, bytes] {
        let _ = Manifest::decode(&bytes, LOCATION);
        let _ = decode_manifest_list(&bytes, LOCATION);
        RUNTIME.block_on(plan(&bytes));
    }
});
