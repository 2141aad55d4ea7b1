use std::collections::BTreeMap;

use lakelock_crypto::{KeyLength, SecretKey, StandardKeyMetadata};
use lakelock_kms::MemoryKms;
use lakelock_storage::Storage;
use serde_json::json;

use super::*;
use crate::encryption::{CatalogEncryption, EncodedKeyMetadata, EncryptingFileIO, EncryptionProperties};
use crate::manifest::ManifestStatus;
use crate::metadata::TableDocument;
use crate::spec::TableIdent;

const DATA: &str = "memory://t/data.parquet";

/// An encrypted table: spec 0 is partitioned by a number, 1 by another, 2 and 3 (all void) by nothing.
fn table() -> Table {
    let field =
        |id, transform| json!({"source-id": 1, "field-id": id, "name": format!("p{id}"), "transform": transform});
    let metadata = json!({
        "format-version": 3, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "memory://t",
        "last-sequence-number": 9, "last-updated-ms": 1, "last-column-id": 1, "next-row-id": 0,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "k", "required": false, "type": "int"}]}],
        "default-spec-id": 0, "last-partition-id": 1001,
        "partition-specs": [
            {"spec-id": 0, "fields": [field(1000, "identity")]},
            {"spec-id": 1, "fields": [field(1001, "bucket[2]")]},
            {"spec-id": 2, "fields": []},
            {"spec-id": 3, "fields": [field(1000, "void")]},
        ],
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"encryption.key-id": "key"},
    });
    let document = TableDocument::read(metadata.to_string().as_bytes(), "memory://t/v.json").unwrap();
    let kms = MemoryKms::new().with_key("key", SecretKey::generate(KeyLength::Aes128).unwrap());
    let properties = EncryptionProperties::from_table(document.metadata()).unwrap();
    let manager = CatalogEncryption::new(Some(Arc::new(kms))).manager("db.t", properties);
    let io = EncryptingFileIO::new(Storage::in_memory(), manager);
    Table::new(TableIdent::from_strs(["db", "t"]).unwrap(), Arc::new(document), String::new(), io)
}

fn entry(
    content: FileContent,
    file_format: FileFormat,
    path: &str,
    (spec_id, value): (i32, Option<i32>),
    sequence_number: i64,
) -> ManifestEntry {
    let key = StandardKeyMetadata::generate(KeyLength::Aes128).unwrap().with_file_length(100);
    let partition = if spec_id == 2 { Struct::empty() } else { [value.map(Literal::int)].into_iter().collect() };
    let data_file = DataFile {
        key_metadata: Some(EncodedKeyMetadata::from(&key)),
        equality_ids: (content == FileContent::EqualityDeletes).then(|| vec![1]),
        ..DataFile::new(content, path, file_format, spec_id, partition, 1, 100)
    };
    ManifestEntry {
        status: ManifestStatus::Added,
        snapshot_id: Some(1),
        sequence_number: Some(sequence_number),
        file_sequence_number: Some(sequence_number),
        data_file,
    }
}

fn position(partition: (i32, Option<i32>), sequence_number: i64) -> ManifestEntry {
    entry(FileContent::PositionDeletes, FileFormat::Parquet, "memory://t/position.parquet", partition, sequence_number)
}

fn equality(partition: (i32, Option<i32>), sequence_number: i64) -> ManifestEntry {
    entry(FileContent::EqualityDeletes, FileFormat::Parquet, "memory://t/equality.parquet", partition, sequence_number)
}

fn vector(of: &str, sequence_number: i64) -> ManifestEntry {
    let format = FileFormat::Puffin;
    let path = format!("memory://t/{sequence_number}.puffin");
    let mut vector = entry(FileContent::PositionDeletes, format, &path, (0, Some(1)), sequence_number);
    vector.data_file.referenced_data_file = Some(of.to_owned());
    vector
}

fn bounded(mut delete: ManifestEntry, lower: &str, upper: &str) -> ManifestEntry {
    let bound = |path: &str| Some(BTreeMap::from([(FILE_PATH_ID, path.as_bytes().to_vec())]));
    (delete.data_file.lower_bounds, delete.data_file.upper_bounds) = (bound(lower), bound(upper));
    delete
}

/// The locations of what applies to a data file of partition 1 of spec 0 and sequence number 5.
fn applying(deletes: Vec<ManifestEntry>) -> Result<Vec<String>> {
    applying_to((0, Some(1)), deletes)
}

fn applying_to(partition: (i32, Option<i32>), deletes: Vec<ManifestEntry>) -> Result<Vec<String>> {
    let table = table();
    let entry = entry(FileContent::Data, FileFormat::Parquet, DATA, partition, 5);
    let task = FileScanTask {
        spec: table.metadata().partition_spec_by_id(entry.data_file.spec_id).unwrap().clone(),
        key: None,
        data_sequence_number: entry.sequence_number,
        data_file: Arc::new(entry.data_file),
        deletes: Vec::new(),
    };
    let found = DeleteIndex::new(&table, deletes)?.deletes_of(&task)?;
    Ok(found.iter().map(|delete| delete.location().to_owned()).collect())
}

#[test]
fn deletes_apply_by_age_and_partition() {
    let own = (0, Some(1));
    let cases = [
        ("position deletes of the same commit", position(own, 5), true),
        ("position deletes of a later commit", position(own, 6), true),
        ("older position deletes", position(own, 4), false),
        ("position deletes of another partition", position((0, Some(2)), 6), false),
        ("position deletes of the null partition", position((0, None), 6), false),
        ("position deletes of another spec", position((1, Some(1)), 6), false),
        ("position deletes without partitions", position((2, None), 6), false),
        ("position deletes of this file", bounded(position(own, 5), DATA, DATA), true),
        ("position deletes of another file", bounded(position(own, 5), "memory://t/x", "memory://t/x"), false),
        ("older position deletes of this file", bounded(position(own, 4), DATA, DATA), false),
        ("position deletes of files around it", bounded(position(own, 5), "memory://t/a", "memory://t/e"), true),
        ("position deletes of files before it", bounded(position(own, 5), "memory://t/a", "memory://t/b"), false),
        ("position deletes of files after it", bounded(position(own, 5), "memory://t/e", "memory://t/f"), false),
        ("equality deletes of the same commit", equality(own, 5), false),
        ("equality deletes of a later commit", equality(own, 6), true),
        ("equality deletes of another partition", equality((0, Some(2)), 6), false),
        ("equality deletes of another spec", equality((1, Some(1)), 6), false),
        ("equality deletes without partitions", equality((2, None), 6), true),
        ("equality deletes of a spec of nothing but void", equality((3, None), 6), true),
        ("older equality deletes without partitions", equality((2, None), 5), false),
        ("a vector of the same commit", vector(DATA, 5), true),
        ("a vector of another file", vector("memory://t/other.parquet", 6), false),
    ];
    for (what, delete, applies) in cases {
        assert_eq!(applying(vec![delete]).unwrap().len(), usize::from(applies), "{what}");
    }
    let mut promoted = position(own, 6);
    promoted.data_file.partition = [Some(Literal::long(1))].into_iter().collect();
    assert_eq!(applying(vec![promoted]).unwrap().len(), 1, "a partition written before the column was widened");
    assert_eq!(applying_to((2, None), vec![position((2, None), 5), equality((0, Some(1)), 6)]).unwrap().len(), 1);
}

#[test]
fn a_vector_supersedes_position_deletes_but_not_equality_deletes() {
    let own = (0, Some(1));
    let deletes = vec![
        position(own, 8),
        bounded(position(own, 7), DATA, DATA),
        vector(DATA, 6),
        equality((2, None), 6),
        equality(own, 6),
    ];
    let expected = ["memory://t/6.puffin", "memory://t/equality.parquet", "memory://t/equality.parquet"];
    assert_eq!(applying(deletes).unwrap(), expected);
}

#[test]
fn deletes_that_cannot_be_honoured_are_errors_that_name_them() {
    let own = (0, Some(1));
    let with = |mut entry: ManifestEntry, change: fn(&mut ManifestEntry)| {
        change(&mut entry);
        vec![entry]
    };
    let orc = |entry| with(entry, |entry| entry.data_file.file_format = FileFormat::Orc);
    let keyless = |entry| with(entry, |entry| entry.data_file.key_metadata = None);
    let cases = [
        ("two vectors", vec![vector(DATA, 6), vector(DATA, 7)], "6.puffin", ErrorKind::InvalidData),
        ("an old vector", vec![vector(DATA, 4)], "4.puffin", ErrorKind::InvalidData),
        (
            "a vector of nothing",
            with(vector(DATA, 6), |v| v.data_file.referenced_data_file = None),
            "6.puffin",
            ErrorKind::InvalidData,
        ),
        (
            "no columns",
            with(equality(own, 6), |e| e.data_file.equality_ids = None),
            "equality.parquet",
            ErrorKind::InvalidData,
        ),
        (
            "no sequence number",
            with(equality(own, 6), |e| e.sequence_number = None),
            "equality.parquet",
            ErrorKind::InvalidData,
        ),
        (
            "unknown spec",
            with(equality(own, 6), |e| e.data_file.spec_id = 9),
            "equality.parquet",
            ErrorKind::InvalidData,
        ),
        ("vector without key", keyless(vector(DATA, 6)), "6.puffin", ErrorKind::InvalidData),
        ("positions without key", keyless(position(own, 6)), "position.parquet", ErrorKind::InvalidData),
        ("equality without key", keyless(equality(own, 6)), "equality.parquet", ErrorKind::InvalidData),
        ("ORC positions", orc(position(own, 6)), "position.parquet", ErrorKind::Unsupported),
        ("ORC equality", orc(equality(own, 6)), "equality.parquet", ErrorKind::Unsupported),
    ];
    for (what, deletes, file, kind) in cases {
        let error = applying(deletes).unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.to_string().contains(file), "{what}: {error}");
    }
    // What applies to no file that is read stays out of the way.
    assert_eq!(applying(keyless(vector("memory://t/other.parquet", 6))).unwrap(), Vec::<String>::new());
    assert_eq!(applying(orc(equality((0, Some(2)), 6))).unwrap(), Vec::<String>::new());
}
