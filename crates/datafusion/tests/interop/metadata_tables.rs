//! Metadata tables, as Java has them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayData, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::catalog::CatalogProvider;
use lakelock_catalog::TableCreation;
use lakelock_datafusion::{LakelockCatalogProvider, sql};
use lakelock_iceberg::encryption::{CatalogEncryption, EncryptingFileIO, EncryptionProperties};
use lakelock_iceberg::manifest::{Manifest, read_manifest_list};
use lakelock_iceberg::metadata_table::MetadataTable;
use lakelock_iceberg::schema_text::parse_schema;
use lakelock_iceberg::spec::TableIdent;
use lakelock_iceberg::{ErrorKind, Table, TableVersion};
use lakelock_storage::Storage;
use serde_json::Value;

use crate::tables::{open, query};
use crate::versions::lake;
use crate::{judge, rows};

const SCENARIOS: [&str; 17] = [
    "versions",
    "branches",
    "types",
    "empty",
    "empty-snapshot",
    "plaintext",
    "partitioned-identity-types",
    "partitioned-identity-fixed",
    "partitioned-truncate",
    "partitioned-month",
    "partitioned-hour",
    "partition-evolved",
    "evolved",
    "metrics-modes",
    "many-manifests",
    "deletes-dv",
    "deletes-equality",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_tables_are_as_java_has_them() {
    for scenario in SCENARIOS {
        let folder = tempfile::tempdir().unwrap();
        let written = judge::write(scenario, folder.path());
        let metadata = written["metadata"].as_str().unwrap();
        let table = open(metadata).await;
        for kind in MetadataTable::ALL {
            let what = format!("{scenario}.{}", kind.name());
            let columns = judge::run(&["metadata-columns", metadata, kind.name()]);
            let schema = kind.schema(&table).unwrap();
            let found: Vec<_> = schema.fields().iter().map(|f| format!("{} {}", f.name(), java_type(f))).collect();
            // Of the columns that Arrow holds as another type.
            let bounds = "lower_bound fixed[16], upper_bound fixed[16]";
            let expected = columns.replace(bounds, "lower_bound binary, upper_bound binary");
            assert_eq!(found, expected.lines().collect::<Vec<_>>(), "{what}");

            compare(&table, kind, None, &what).await;
            if kind.is_of_one_snapshot() && ["versions", "deletes-dv"].contains(&scenario) {
                for snapshot in table.metadata().snapshots() {
                    compare(&table, kind, Some(snapshot.snapshot_id()), &what).await;
                }
            }
        }
    }
}

async fn compare(table: &Table, kind: MetadataTable, snapshot: Option<i64>, what: &str) {
    let mut command = vec!["metadata-table", table.metadata_location(), kind.name()];
    let id = snapshot.map(|id| id.to_string());
    command.extend(id.iter().flat_map(|id| ["--snapshot", id]));
    let out = judge::run(&command);
    let expected = out.lines().map(|line| plain_uuids(serde_json::from_str(line).unwrap())).collect();
    let found = kind.read(table, snapshot.map(TableVersion::Snapshot).as_ref()).await.unwrap();
    let found = rows::of_batches(&found).into_iter().map(plain_uuids).collect();
    rows::assert_same(&rows::sorted(found), &rows::sorted(expected), what);
}

/// A type by the name that Java gives it.
fn java_type(field: &Field) -> String {
    match field.data_type() {
        DataType::Boolean => "boolean".to_owned(),
        DataType::Int32 => "int".to_owned(),
        DataType::Int64 => "long".to_owned(),
        DataType::Float32 => "float".to_owned(),
        DataType::Float64 => "double".to_owned(),
        DataType::Decimal128(precision, scale) => format!("decimal({precision}, {scale})"),
        DataType::Date32 => "date".to_owned(),
        DataType::Time64(_) => "time".to_owned(),
        DataType::Timestamp(unit, zone) => {
            let (zone, unit) =
                (zone.as_ref().map_or("", |_| "tz"), if *unit == TimeUnit::Nanosecond { "_ns" } else { "" });
            format!("timestamp{zone}{unit}")
        }
        DataType::Utf8 => "string".to_owned(),
        DataType::Binary => "binary".to_owned(),
        DataType::FixedSizeBinary(_) if field.extension_type_name() == Some("arrow.uuid") => "uuid".to_owned(),
        DataType::FixedSizeBinary(length) => format!("fixed[{length}]"),
        DataType::Struct(fields) => {
            let fields: Vec<_> = fields.iter().map(|field| format!("{} {}", field.name(), java_type(field))).collect();
            format!("struct<{}>", fields.join(", "))
        }
        DataType::List(element) => format!("list<{}>", java_type(element)),
        DataType::Map(entry, _) => match entry.data_type() {
            DataType::Struct(entry) => format!("map<{}, {}>", java_type(&entry[0]), java_type(&entry[1])),
            other => panic!("a map of {other}"),
        },
        other => panic!("a column of type {other}"),
    }
}

/// UUIDs as the plain bytes that Arrow holds them as.
fn plain_uuids(value: Value) -> Value {
    let dashes = |text: &str| text.match_indices('-').map(|(at, _)| at).eq([8, 13, 18, 23]);
    match value {
        Value::String(text) if text.len() == 36 && dashes(&text) => Value::String(text.replace('-', "")),
        Value::Array(values) => values.into_iter().map(plain_uuids).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, plain_uuids(value))).collect(),
        other => other,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metadata_tables_have_names_of_three_parts() {
    let folder = tempfile::tempdir().unwrap();
    let (context, table, _) = lake("versions", folder.path()).await;
    let count = |text: &'static str| {
        let context = context.clone();
        async move { rows::of(query(&context, text).await).await[0]["n"].as_u64().unwrap() }
    };
    let snapshots = table.metadata().snapshots().len() as u64;
    for text in [
        "select count(*) as n from db.t.snapshots",
        "select count(*) as n from lake.db.t.snapshots",
        "select count(*) as n from DB.T.Snapshots as s where s.snapshot_id is not null",
        "select count(snapshots.snapshot_id) as n from db.t.snapshots",
        "select count(*) as n from db.\"t$snapshots\"",
        "select count(*) as n from db.t.snapshots s join db.t.snapshots on s.snapshot_id = snapshots.snapshot_id",
        "select count(*) as n from (select * from db.t.snapshots where snapshot_id in (select snapshot_id from db.t.snapshots))",
    ] {
        assert_eq!(count(text).await, snapshots, "{text}");
    }
    let files = count("select count(*) as n from db.t.files version as of 'v1'").await;
    assert_eq!(files, count("select count(files.file_path) as n from lake.db.t.files for version as of 'v1'").await);
    assert!(files < count("select count(*) as n from db.t.files").await);
    // Files and metadata together, and a struct of a struct.
    let bounds = "select sum(f.readable_metrics.id.value_count) as n from db.t.files f";
    assert_eq!(count(bounds).await, count("select count(id) as n from db.t").await);
    let joined = "select count(*) as n from db.t join db.t.files f on t._file = f.file_path";
    assert_eq!(count(joined).await, count("select count(*) as n from db.t").await);
    let columns = rows::of(query(&context, "describe db.t.refs").await).await;
    assert_eq!(columns.len(), 6);
    assert!(sql(&context, "select * from db.t.nothing").await.is_err());
    assert!(sql(&context, "select * from db.missing.snapshots").await.unwrap_err().to_string().contains("db.missing"));

    // Tables that are called like that are themselves.
    let catalog = context.catalog("lake").unwrap();
    let catalog = <dyn CatalogProvider>::downcast_ref::<LakelockCatalogProvider>(catalog.as_ref()).unwrap().catalog();
    for name in ["files", "t$refs"] {
        let identifier = TableIdent::from_strs(["db", name]).unwrap();
        let schema = parse_schema("x long").unwrap();
        catalog.create_table(TableCreation::new(identifier, schema)).await.unwrap();
    }
    for text in ["select count(x) as n from lake.db.files", "select count(x) as n from db.\"t$refs\""] {
        assert_eq!(count(text).await, 0, "{text}");
    }
}

/// No byte of a key is in what a metadata table holds or shows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("versions", folder.path());
    let table = open(written["metadata"].as_str().unwrap()).await;
    let (io, metadata) = (table.io(), table.metadata());
    let mut encoded = Vec::new();
    for snapshot in metadata.snapshots() {
        for file in read_manifest_list(io, metadata, snapshot).await.unwrap() {
            encoded.extend(file.key_metadata.clone());
            let entries = Manifest::read(io, metadata, &file).await.unwrap().entries;
            encoded.extend(entries.into_iter().filter_map(|entry| entry.data_file.key_metadata));
        }
    }
    let keys: Vec<Vec<u8>> =
        encoded.iter().map(|key| key.decode("a file").unwrap().encryption_key().expose_secret().to_vec()).collect();
    assert!(keys.len() > 10);
    for kind in MetadataTable::ALL {
        let batches = kind.read(&table, None).await.unwrap();
        let shown = pretty_format_batches(&batches).unwrap().to_string();
        let redacted = hex::encode("[redacted]");
        let has_keys = format!("{:?}", kind.schema(&table).unwrap()).contains("key_metadata");
        let is_filled = batches.iter().any(|batch| batch.num_rows() > 0);
        assert_eq!(shown.contains(&redacted), has_keys && is_filled, "{}", kind.name());
        for key in &keys {
            assert!(!shown.contains(&hex::encode(key)), "{}", kind.name());
            let columns = batches.iter().flat_map(RecordBatch::columns);
            assert!(!columns.map(Array::to_data).any(|data| holds(&data, key)), "{}", kind.name());
        }
    }
}

fn holds(data: &ArrayData, key: &[u8]) -> bool {
    let found = |buffer: &[u8]| buffer.windows(key.len()).any(|window| window == key);
    data.buffers().iter().any(|buffer| found(buffer)) || data.child_data().iter().any(|child| holds(child, key))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_metadata_json_tells_needs_no_key() {
    use MetadataTable::{History, MetadataLogEntries, Refs, Snapshots};

    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("versions", folder.path());
    let table = open(written["metadata"].as_str().unwrap()).await;
    let properties = EncryptionProperties::from_table(table.metadata()).unwrap();
    let manager = CatalogEncryption::new(None).manager("db.t", properties);
    let io = EncryptingFileIO::new(Storage::local(), manager);
    let location = table.metadata_location().to_owned();
    let table = Table::new(table.identifier().clone(), Arc::clone(table.document()), location, io);
    for kind in MetadataTable::ALL {
        let outcome = kind.read(&table, None).await.map_err(|e| e.kind());
        match kind {
            History | MetadataLogEntries | Refs | Snapshots => assert!(outcome.is_ok(), "{}", kind.name()),
            _ => assert_eq!(outcome.unwrap_err(), ErrorKind::Encryption, "{}", kind.name()),
        }
    }
}
