//! Whatever is changed in a manifest, and whatever the bytes: an error or entries, never a panic.
#![no_main]

use std::sync::{Arc, LazyLock};

use lakelock_iceberg::manifest::{
    Codec, DataFile, FileContent, FileFormat, Manifest, ManifestContent, ManifestOptions, ManifestWriter,
    decode_manifest_list,
};
use lakelock_iceberg::schema_text::{parse_partition_spec, parse_schema};
use lakelock_iceberg::spec::{FormatVersion, Literal, Struct};
use libfuzzer_sys::fuzz_target;

const LOCATION: &str = "memory://t/metadata/m0.avro";

/// Where the manifest's blocks lie open to changes: not compressed.
static MANIFEST: LazyLock<Vec<u8>> = LazyLock::new(|| {
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
    writer.finish().unwrap().as_bytes().to_vec()
});

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
    }
});
