//! The codec as a whole: round trips, Java's files, and hostile bytes.

use std::sync::Arc;

use lakelock_crypto::{SecretKey, StandardKeyMetadata, aes_gcm, ags1};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::ErrorKind;
use crate::encryption::EncodedKeyMetadata;
use crate::spec::{
    FormatVersion, Literal, PartitionSpec, PrimitiveLiteral, PrimitiveType, Schema, Struct, TableMetadata,
};

mod refused;

pub(super) const SNAPSHOT: i64 = 7_000_000_000_000_000_001;
const SEQUENCE: i64 = 5;

/// Every type that a partition value can have.
fn types() -> Vec<PrimitiveType> {
    use PrimitiveType::{
        Binary, Boolean, Date, Decimal, Double, Fixed, Float, Int, Long, String, Time, Timestamp, TimestampNs,
        Timestamptz, TimestamptzNs, Uuid,
    };
    let decimal = |precision, scale| Decimal { precision, scale };
    vec![
        Boolean,
        Int,
        Long,
        Float,
        Double,
        decimal(9, 2),
        decimal(9, 2),
        decimal(38, 10),
        Date,
        Time,
        Timestamp,
        Timestamptz,
        TimestampNs,
        TimestamptzNs,
        String,
        Uuid,
        Uuid,
        Fixed(5),
        Fixed(5),
        Fixed(16),
        Binary,
    ]
}

/// An identity field on a column of each type, under names that Avro does not allow.
pub(super) fn options(version: FormatVersion, codec: Codec) -> ManifestOptions {
    let fields: Vec<Value> = types()
        .iter()
        .enumerate()
        .map(|(i, t)| json!({"id": i + 1, "name": format!("{i} größe-{t}"), "required": false, "type": t}))
        .collect();
    let schema: Schema = serde_json::from_value(json!({"type": "struct", "schema-id": 3, "fields": fields})).unwrap();
    let fields: Vec<Value> = (0..types().len())
        .map(|i| json!({"source-id": i + 1, "field-id": 1000 + i, "name": format!("p-{i}"), "transform": "identity"}))
        .collect();
    let spec: PartitionSpec = serde_json::from_value(json!({"spec-id": 4, "fields": fields})).unwrap();
    ManifestOptions {
        format_version: version,
        content: ManifestContent::Data,
        schema: Arc::new(schema),
        partition_spec: Arc::new(spec),
        snapshot_id: SNAPSHOT,
        sequence_number: SEQUENCE,
        codec,
    }
}

fn partition_value(type_: &PrimitiveType) -> BoxedStrategy<Option<Literal>> {
    use PrimitiveLiteral as L;
    let literal: BoxedStrategy<Literal> = match type_ {
        PrimitiveType::Boolean => any::<bool>().prop_map(|v| Literal::Primitive(L::Boolean(v))).boxed(),
        PrimitiveType::Int | PrimitiveType::Date => any::<i32>().prop_map(|v| Literal::Primitive(L::Int(v))).boxed(),
        PrimitiveType::Float => any::<f32>().prop_map(Literal::float).boxed(),
        PrimitiveType::Double => any::<f64>().prop_map(Literal::double).boxed(),
        PrimitiveType::Decimal { precision, .. } => {
            let limit = 10i128.pow(*precision);
            (1 - limit..limit).prop_map(|v| Literal::Primitive(L::Int128(v))).boxed()
        }
        PrimitiveType::String => any::<String>().prop_map(|v| Literal::Primitive(L::String(v))).boxed(),
        PrimitiveType::Uuid => any::<u128>().prop_map(|v| Literal::Primitive(L::UInt128(v))).boxed(),
        PrimitiveType::Fixed(n) => {
            vec(any::<u8>(), usize::try_from(*n).unwrap()).prop_map(|v| Literal::Primitive(L::Binary(v))).boxed()
        }
        PrimitiveType::Binary => vec(any::<u8>(), 0..40).prop_map(|v| Literal::Primitive(L::Binary(v))).boxed(),
        _ => any::<i64>().prop_map(|v| Literal::Primitive(L::Long(v))).boxed(),
    };
    option::of(literal).boxed()
}

prop_compose! {
    pub(super) fn data_file()(
        file_path in "[a-z/=ü]{1,40}",
        partition in types().iter().map(partition_value).collect::<Vec<_>>(),
        (record_count, file_size_in_bytes) in (0..=i64::MAX as u64 / 8, 0..=i64::MAX as u64),
        (column_sizes, value_counts) in (option::of(btree_map(any::<i32>(), 0..=i64::MAX, 0..9)), option::of(btree_map(any::<i32>(), 0..=i64::MAX, 0..9))),
        (null_value_counts, nan_value_counts) in (option::of(btree_map(any::<i32>(), 0..=i64::MAX, 0..9)), option::of(btree_map(any::<i32>(), 0..=i64::MAX, 0..9))),
        lower_bounds in option::of(btree_map(any::<i32>(), vec(any::<u8>(), 0..20), 0..9)),
        upper_bounds in option::of(btree_map(any::<i32>(), vec(any::<u8>(), 0..20), 0..9)),
        key_metadata in option::of(vec(any::<u8>(), 0..50)),
        (split_offsets, sort_order_id) in (option::of(vec(any::<i64>(), 0..4)), option::of(any::<i32>())),
        first_row_id in option::of(0i64..1 << 60),
    ) -> DataFile {
        DataFile {
            column_sizes,
            value_counts,
            null_value_counts,
            nan_value_counts,
            lower_bounds,
            upper_bounds,
            key_metadata: key_metadata.map(EncodedKeyMetadata::new),
            split_offsets,
            sort_order_id,
            first_row_id,
            ..DataFile::new(
                FileContent::Data,
                file_path,
                FileFormat::Parquet,
                4,
                partition.into_iter().collect(),
                record_count,
                file_size_in_bytes,
            )
        }
    }
}

/// All that the derived `Debug` shows, and the key bytes, which it hides. Floats show their sign and NaN.
fn show(file: &DataFile) -> (String, Option<Vec<u8>>) {
    (format!("{file:?}"), file.key_metadata.as_ref().map(|k| k.expose_secret().to_vec()))
}

pub(super) fn manifest(options: ManifestOptions, files: &[DataFile]) -> (Vec<u8>, ManifestFile) {
    let mut writer = ManifestWriter::new(options).unwrap();
    for (i, file) in files.iter().enumerate() {
        if i % 2 == 0 {
            writer.add(file).unwrap();
        } else {
            let entry = ManifestEntry {
                status: ManifestStatus::Added,
                snapshot_id: Some(1),
                sequence_number: Some(2),
                file_sequence_number: Some(3),
                data_file: file.clone(),
            };
            writer.existing(&entry).unwrap();
        }
    }
    let encoded = writer.finish().unwrap();
    (encoded.bytes, encoded.listed)
}

pub(super) const CODECS: [Codec; 4] = [Codec::DEFAULT, Codec::Null, Codec::Snappy, Codec::Zstandard { level: 1 }];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_written_is_read(files in vec(data_file(), 0..6), codec in proptest::sample::select(&CODECS[..]), v3: bool) {
        let version = if v3 { FormatVersion::V3 } else { FormatVersion::V2 };
        let (bytes, listed) = manifest(options(version, codec), &files);
        let read = Manifest::decode(&bytes, "m.avro").unwrap();
        prop_assert_eq!(read.format_version, version);
        prop_assert_eq!(read.content, ManifestContent::Data);
        prop_assert_eq!(read.schema.schema_id(), 3);
        prop_assert_eq!(read.partition_spec.spec_id(), 4);
        prop_assert_eq!(read.entries.len(), files.len());
        for (i, (entry, file)) in read.entries.iter().zip(&files).enumerate() {
            let mut expected = file.clone();
            if !v3 {
                expected.first_row_id = None;
            }
            prop_assert_eq!(show(&entry.data_file), show(&expected));
            let numbers = (entry.status, entry.snapshot_id, entry.sequence_number, entry.file_sequence_number);
            let added = (ManifestStatus::Added, Some(SNAPSHOT), None, None);
            let existing = (ManifestStatus::Existing, Some(1), Some(2), Some(3));
            prop_assert_eq!(numbers, if i % 2 == 0 { added } else { existing });
        }
        prop_assert_eq!(listed.added_files_count, u32::try_from(files.len().div_ceil(2)).ok());
        prop_assert_eq!(listed.existing_files_count, u32::try_from(files.len() / 2).ok());
        prop_assert_eq!(listed.min_sequence_number, if files.len() > 1 { 2 } else { SEQUENCE });
        let summaries = listed.partitions.as_ref().unwrap();
        for (i, summary) in summaries.iter().enumerate() {
            let values: Vec<_> = files.iter().map(|f| f.partition[i].as_ref()).collect();
            prop_assert_eq!(summary.contains_null, values.contains(&None));
        }

        let list = encode_manifest_list(header(version), std::slice::from_ref(&listed)).unwrap();
        let list = decode_manifest_list(&list, "l.avro").unwrap();
        prop_assert_eq!(format!("{:?}", list), format!("{:?}", [listed]));
    }

    #[test]
    fn damaged_manifests_are_errors(files in vec(data_file(), 1..3), codec in proptest::sample::select(&CODECS[..]),
        cut: prop::sample::Index, flip: prop::sample::Index, bit in 0u8..8)
    {
        let (bytes, _) = manifest(options(FormatVersion::V3, codec), &files);
        let cut_off = &bytes[..cut.index(bytes.len())];
        // A file may end after its header: it has no entries then.
        if let Ok(read) = Manifest::decode(cut_off, "m.avro") {
            prop_assert!(read.entries.is_empty());
        }
        let mut flipped = bytes.clone();
        flipped[flip.index(bytes.len())] ^= 1 << bit;
        // Bits are not authenticated here, only by AGS1: whatever comes out, it comes without a panic.
        if let Err(e) = Manifest::decode(&flipped, "m.avro") {
            prop_assert!(e.to_string().contains("m.avro"), "{}", e);
        }
    }

    #[test]
    fn arbitrary_bytes_are_errors(bytes in vec(any::<u8>(), 0..200)) {
        let with_magic = [b"Obj\x01", &bytes[..]].concat();
        for bytes in [&bytes, &with_magic] {
            prop_assert!(Manifest::decode(bytes, "m.avro").is_err());
            prop_assert!(decode_manifest_list(bytes, "l.avro").is_err());
        }
    }
}

fn header(format_version: FormatVersion) -> ManifestListHeader {
    ManifestListHeader {
        format_version,
        snapshot_id: SNAPSHOT,
        parent_snapshot_id: None,
        sequence_number: SEQUENCE,
        first_row_id: Some(0),
    }
}

#[test]
fn schemas_are_javas() {
    let cases: [(&str, Value); 4] = [
        (include_str!("testdata/list-v2.json"), avro_schema::list_schema(FormatVersion::V2)),
        (include_str!("testdata/list-v3.json"), avro_schema::list_schema(FormatVersion::V3)),
        (include_str!("testdata/entry-v2.json"), entry_schema(FormatVersion::V2)),
        (include_str!("testdata/entry-v3.json"), entry_schema(FormatVersion::V3)),
    ];
    for (java, ours) in cases {
        assert_eq!(ours, serde_json::from_str::<Value>(java).unwrap());
    }
}

/// The schema of the partition that the Java files in `testdata` were written with.
fn entry_schema(version: FormatVersion) -> Value {
    let column = |id: i32, name: &str, type_: &str| json!({"id": id, "name": name, "required": false, "type": type_});
    let schema: Schema = serde_json::from_value(json!({"type": "struct", "schema-id": 0, "fields": [
        column(6, "dec", "decimal(9, 2)"), column(18, "dec3", "decimal(9, 2)"), column(13, "u", "uuid"),
        column(12, "s", "string"), column(16, "größe 1-x", "string"),
    ]}))
    .unwrap();
    let field = |id: i32, source: i32, name: &str, transform: &str| json!({"field-id": id, "source-id": source, "name": name, "transform": transform});
    let spec: PartitionSpec = serde_json::from_value(json!({"spec-id": 0, "fields": [
        field(1000, 6, "dec", "identity"), field(1001, 18, "dec3", "identity"), field(1002, 13, "u", "identity"),
        field(1003, 12, "s_bucket", "bucket[16]"), field(1004, 16, "größe 1-x", "identity"),
    ]}))
    .unwrap();
    avro_schema::entry_schema(version, &spec.partition_type(&schema).unwrap()).unwrap()
}

#[test]
fn inheritance_is_javas() {
    let entry = |status, sequence_number, first_row_id| {
        let mut entry = plain_entry(status);
        entry.sequence_number = sequence_number;
        entry.file_sequence_number = sequence_number;
        entry.data_file.first_row_id = first_row_id;
        entry
    };
    let (_, mut listed) = manifest(unpartitioned(), &[]);
    listed.first_row_id = Some(100);
    let read = |first_row_id, sequence_number| {
        let mut read = decoded(&unpartitioned());
        read.entries = vec![
            entry(ManifestStatus::Added, None, None),
            entry(ManifestStatus::Existing, Some(2), Some(7)),
            entry(ManifestStatus::Deleted, None, None),
            entry(ManifestStatus::Existing, None, None),
            entry(ManifestStatus::Added, Some(3), None),
        ];
        read.inherit(&ManifestFile { sequence_number, first_row_id, ..listed.clone() }).unwrap();
        read.entries.iter().map(|e| (e.snapshot_id, e.sequence_number, e.data_file.first_row_id)).collect::<Vec<_>>()
    };
    let snapshot = Some(SNAPSHOT);
    // Each file has 10 rows.
    assert_eq!(
        read(Some(100), SEQUENCE),
        [
            (snapshot, Some(SEQUENCE), Some(100)),
            (snapshot, Some(2), Some(7)),
            (snapshot, None, None),
            (snapshot, None, Some(110)),
            (snapshot, Some(3), Some(120)),
        ]
    );
    let version_1 = read(None, 0);
    assert!(version_1.iter().all(|(_, sequence, row)| sequence.is_some() && row.is_none()), "{version_1:?}");

    let mut overflow = decoded(&unpartitioned());
    overflow.entries = vec![plain_entry(ManifestStatus::Added)];
    let error = overflow.inherit(&ManifestFile { first_row_id: Some(i64::MAX - 1), ..listed }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

#[test]
fn first_row_ids_go_to_data_manifests_without_one() {
    let listed = |content, first_row_id, existing, added| ManifestFile {
        content,
        first_row_id,
        existing_rows_count: Some(existing),
        added_rows_count: Some(added),
        ..manifest(unpartitioned(), &[]).1
    };
    let mut manifests = vec![
        listed(ManifestContent::Data, None, 8, 2),
        listed(ManifestContent::Data, Some(3), 0, 2),
        listed(ManifestContent::Data, None, 0, 0),
        listed(ManifestContent::Deletes, None, 0, 9),
        listed(ManifestContent::Data, None, 0, 1),
    ];
    assert_eq!(assign_first_row_ids(&mut manifests, 12).unwrap(), 23);
    let ids: Vec<_> = manifests.iter().map(|m| m.first_row_id).collect();
    assert_eq!(ids, [Some(12), Some(3), Some(22), None, Some(22)]);
    manifests[0].first_row_id = None;
    assert!(assign_first_row_ids(&mut manifests, u64::MAX - 1).is_err());
}

#[test]
fn javas_small_table_is_read_and_written_alike() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/fixtures/");
    let fixtures: Value = serde_json::from_slice(&std::fs::read(format!("{folder}manifest.json")).unwrap()).unwrap();
    let table = &fixtures["table"];
    let local = |location: &str| {
        std::fs::read(location.replace("file:/lakelock-fixture/", folder)).unwrap_or_else(|e| panic!("{location}: {e}"))
    };
    let metadata: TableMetadata = serde_json::from_slice(&local(table["metadata"].as_str().unwrap())).unwrap();
    let (_, master) = table["master_keys"].as_object().unwrap().iter().next().unwrap();
    let master = SecretKey::new(&unhex(master.as_str().unwrap())).unwrap();
    let mut files = 0;
    for snapshot in metadata.snapshots() {
        let entry = metadata.encryption_key(snapshot.encryption_key_id().unwrap()).unwrap();
        let kek = metadata.encryption_key(entry.encrypted_by_id().unwrap()).unwrap();
        let timestamp = &kek.properties()["KEY_TIMESTAMP"];
        let kek = SecretKey::new(&aes_gcm::open(&master, kek.encrypted_key_metadata(), b"").unwrap()).unwrap();
        let key = aes_gcm::open(&kek, entry.encrypted_key_metadata(), timestamp.as_bytes()).unwrap();
        let list = decrypt(local(snapshot.manifest_list()), &StandardKeyMetadata::decode(&key).unwrap());
        let manifests = decode_manifest_list(&list, snapshot.manifest_list()).unwrap();
        let ours = encode_manifest_list(header(FormatVersion::V3), &manifests).unwrap();
        assert_eq!(records(&list), records(&ours));
        for listed in manifests {
            let path = &listed.manifest_path;
            let bytes = decrypt(local(path), &listed.key_metadata.as_ref().unwrap().decode(path).unwrap());
            let read = Manifest::decode(&bytes, path).unwrap();
            let mut writer = ManifestWriter::new(ManifestOptions {
                format_version: read.format_version,
                content: read.content,
                schema: read.schema.clone(),
                partition_spec: Arc::new(read.partition_spec.clone()),
                snapshot_id: listed.added_snapshot_id,
                sequence_number: listed.sequence_number,
                codec: Codec::DEFAULT,
            })
            .unwrap();
            for entry in &read.entries {
                writer.add(&entry.data_file).unwrap();
                files += 1;
            }
            let EncodedManifest { bytes: ours, listed: ours_listed } = writer.finish().unwrap();
            assert_eq!(records(&bytes), records(&ours));
            let ours_listed = ManifestFile {
                manifest_path: path.clone(),
                manifest_length: listed.manifest_length,
                key_metadata: listed.key_metadata.clone(),
                first_row_id: listed.first_row_id,
                ..ours_listed
            };
            assert_eq!(format!("{ours_listed:?}"), format!("{listed:?}"));
        }
    }
    assert!(files > 3);
}

/// The header's schema and the records' bytes, decompressed.
fn records(file: &[u8]) -> (Value, Vec<u8>) {
    let container = container::Container::open(file, "f.avro").unwrap();
    let schema = serde_json::from_str(container.required_text("avro.schema").unwrap()).unwrap();
    (schema, container.plain_blocks().unwrap())
}

fn decrypt(stored: Vec<u8>, key: &StandardKeyMetadata) -> Vec<u8> {
    let layout = ags1::Layout::from_stored_length(key.file_length().unwrap()).unwrap();
    ags1::Decryptor::new(key.encryption_key(), key.aad_prefix(), layout).unwrap().decrypt(stored, 1).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn unpartitioned() -> ManifestOptions {
    let schema = json!({"type": "struct", "schema-id": 0, "fields": []});
    ManifestOptions {
        schema: Arc::new(serde_json::from_value(schema).unwrap()),
        partition_spec: Arc::new(PartitionSpec::unpartition_spec()),
        ..options(FormatVersion::V3, Codec::DEFAULT)
    }
}

fn decoded(options: &ManifestOptions) -> Manifest {
    Manifest::decode(&manifest(options.clone(), &[]).0, "m.avro").unwrap()
}

fn plain_entry(status: ManifestStatus) -> ManifestEntry {
    let data_file = DataFile::new(FileContent::Data, "/f.parquet", FileFormat::Parquet, 0, Struct::empty(), 10, 100);
    ManifestEntry { status, snapshot_id: None, sequence_number: None, file_sequence_number: None, data_file }
}
