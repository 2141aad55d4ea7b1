use std::collections::BTreeMap;
use std::sync::Arc;

use lakelock_crypto::{KeyLength, SecretKey, StandardKeyMetadata};
use lakelock_kms::{ErrorKind as KmsErrorKind, MemoryKms};
use lakelock_storage::Storage;
use serde_json::json;

use super::append::add_existing;
use super::snapshot::SnapshotWriter;
use super::{AppendFiles, TableAction, TableCommit};
use crate::encryption::{CatalogEncryption, Clock, EncodedKeyMetadata, EncryptingFileIO, EncryptionProperties, KEY_ID};
use crate::manifest::{
    Codec, DataFile, FileContent, FileFormat, Manifest, ManifestContent, ManifestFile, ManifestStatus,
    read_manifest_list,
};
use crate::metadata::TableDocument;
use crate::spec::{
    FormatVersion, Literal, MAIN_BRANCH, PartitionSpec, Schema, Snapshot, SnapshotReference, SnapshotRetention, Struct,
    TableCreation, TableIdent, TableUpdate,
};
use crate::{Error, ErrorKind, Result, Table};

const LOCATION: &str = "memory://warehouse/t";

/// A table in memory, partitioned by a double, and what its catalog would hold.
struct Fixture {
    kms: Arc<MemoryKms>,
    table: Table,
}

impl Fixture {
    fn new(properties: &[(&str, &str)]) -> Self {
        Self::with_version(FormatVersion::V3, properties)
    }

    fn encrypted(properties: &[(&str, &str)]) -> Self {
        Self::new(&[&[(KEY_ID, "key")], properties].concat())
    }

    fn with_version(version: FormatVersion, properties: &[(&str, &str)]) -> Self {
        let schema: Schema = serde_json::from_value(json!({"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "id", "required": true, "type": "long"},
            {"id": 2, "name": "k", "required": false, "type": "double"},
        ]}))
        .unwrap();
        let spec: PartitionSpec = serde_json::from_value(json!({"spec-id": 0, "fields": [
            {"source-id": 2, "field-id": 1000, "name": "k", "transform": "identity"},
        ]}))
        .unwrap();
        let creation = TableCreation::builder()
            .name("t".to_owned())
            .location(LOCATION.to_owned())
            .schema(schema)
            .partition_spec(spec.into_unbound())
            .properties(properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
            .format_version(version)
            .build();
        let kms = Arc::new(MemoryKms::new().with_key("key", SecretKey::generate(KeyLength::Aes128).unwrap()));
        let document = TableDocument::create(creation).unwrap();
        let encryption = CatalogEncryption::new(Some(kms.clone()));
        let table = table(document, Storage::in_memory(), &encryption);
        Self { kms, table }
    }

    /// The table as it is when a property was set by a writer that checks less.
    fn with_property(mut self, name: &str, value: &str) -> Self {
        let mut json: serde_json::Value = serde_json::from_slice(&self.table.document().to_json()).unwrap();
        json["properties"][name] = json!(value);
        let document = TableDocument::read(json.to_string().as_bytes(), "changed").unwrap();
        let encryption = CatalogEncryption::new(Some(self.kms.clone()));
        self.table = table(document, self.table.io().storage().clone(), &encryption);
        self
    }

    async fn append(&mut self, files: Vec<DataFile>) -> Result<Arc<Snapshot>> {
        let commit = AppendFiles::new(files).prepare(&self.table).await?;
        self.apply(&commit)?;
        Ok(self.table.metadata().current_snapshot().unwrap().clone())
    }

    /// What a catalog does with a commit.
    fn apply(&mut self, commit: &TableCommit) -> Result<()> {
        for requirement in &commit.requirements {
            let conflict = |e| Error::new(ErrorKind::Conflict, "the table has changed").with_source(e);
            requirement.check(Some(self.table.metadata())).map_err(conflict)?;
        }
        let document = self.table.document().apply(&commit.updates, "memory://warehouse/t/metadata/v.json")?;
        self.table =
            Table::new(self.table.identifier().clone(), Arc::new(document), String::new(), self.table.io().clone());
        Ok(())
    }

    /// The manifests of the current snapshot: added, existing and deleted files, first row id, and the entries as
    /// (status, sequence number, first row id, path).
    async fn manifests(&self) -> Vec<([u32; 3], Option<i64>, Vec<(ManifestStatus, i64, i64, String)>)> {
        let metadata = self.table.metadata();
        let io = self.table.io();
        let list = read_manifest_list(io, metadata, metadata.current_snapshot().unwrap()).await.unwrap();
        let mut manifests = Vec::new();
        for file in list {
            let entries = Manifest::read(io, metadata, &file).await.unwrap().entries.into_iter().map(|e| {
                let data_file = e.data_file;
                (e.status, e.sequence_number.unwrap(), data_file.first_row_id.unwrap(), data_file.file_path)
            });
            let counts = [file.added_files_count, file.existing_files_count, file.deleted_files_count];
            manifests.push((counts.map(Option::unwrap), file.first_row_id, entries.collect()));
        }
        manifests
    }

    async fn files(&self) -> Vec<String> {
        let files = self.table.io().storage().list("memory://warehouse").await.unwrap();
        files.into_iter().map(|f| f.location).collect()
    }
}

fn table(document: TableDocument, storage: Storage, encryption: &CatalogEncryption) -> Table {
    let properties = EncryptionProperties::from_table(document.metadata()).unwrap();
    let io = EncryptingFileIO::new(storage, encryption.manager("db.t", properties));
    Table::new(TableIdent::from_strs(["db", "t"]).unwrap(), Arc::new(document), String::new(), io)
}

/// A file of one row that is encrypted.
fn file(path: &str, k: Option<f64>) -> DataFile {
    let key = StandardKeyMetadata::generate(KeyLength::Aes128).unwrap().with_file_length(100);
    DataFile { key_metadata: Some(EncodedKeyMetadata::from(&key)), ..plain_file(path, k) }
}

fn plain_file(path: &str, k: Option<f64>) -> DataFile {
    DataFile {
        column_sizes: Some(BTreeMap::from([(1, 50)])),
        lower_bounds: Some(BTreeMap::from([(1, vec![0; 8])])),
        split_offsets: Some(vec![4]),
        sort_order_id: Some(0),
        first_row_id: Some(77),
        ..DataFile::new(
            FileContent::Data,
            path,
            FileFormat::Parquet,
            0,
            std::iter::once(k.map(Literal::double)).collect::<Struct>(),
            1,
            100,
        )
    }
}

fn pair(i: u8) -> Vec<DataFile> {
    let k = (i != 2).then_some(f64::from(i));
    vec![file(&format!("/nan-{i}"), Some(f64::NAN)), file(&format!("/{i}"), k)]
}

#[tokio::test]
async fn appends_and_merges_as_java_does() {
    // The same appends by Java 1.12 gave these counts, ids and entries.
    let mut t = Fixture::encrypted(&[("commit.manifest.min-count-to-merge", "3")]);
    let mut seen = Vec::new();
    for i in 0..5 {
        let snapshot = t.append(pair(i)).await.unwrap();
        let value = |key: &str| snapshot.summary().additional_properties.get(key).cloned().unwrap_or_default();
        let manifests = ["manifests-created", "manifests-kept", "manifests-replaced"].map(value).join("/");
        let files = ["added-data-files", "added-records", "added-files-size"].map(value).join("/");
        let totals = ["changed-partition-count", "total-records", "total-files-size", "total-data-files"];
        seen.push((snapshot.row_range().unwrap(), manifests, files, totals.map(value).join("/")));
    }
    let row =
        |range, manifests: &str, totals: &str| (range, manifests.to_owned(), "2/2/200".to_owned(), totals.to_owned());
    assert_eq!(
        seen,
        [
            row((0, 2), "1/0/0", "2/2/200/2"),
            row((2, 2), "1/1/0", "2/4/400/4"),
            row((4, 6), "1/0/2", "2/6/600/6"),
            row((10, 2), "1/1/0", "2/8/800/8"),
            row((12, 10), "1/0/2", "2/10/1000/10"),
        ]
    );
    let (added, existing) = (ManifestStatus::Added, ManifestStatus::Existing);
    let entry = |status, sequence, row, path: &str| (status, sequence, row, path.to_owned());
    let merged = vec![
        entry(added, 5, 12, "/nan-4"),
        entry(added, 5, 13, "/4"),
        entry(existing, 4, 10, "/nan-3"),
        entry(existing, 4, 11, "/3"),
        entry(existing, 3, 4, "/nan-2"),
        entry(existing, 3, 5, "/2"),
        entry(existing, 2, 2, "/nan-1"),
        entry(existing, 2, 3, "/1"),
        entry(existing, 1, 0, "/nan-0"),
        entry(existing, 1, 1, "/0"),
    ];
    assert_eq!(t.manifests().await, [([2, 8, 0], Some(12), merged.clone())]);

    // Without files: a snapshot that keeps all, with a list and a key of its own.
    let before = t.table.metadata().current_snapshot().unwrap().clone();
    let empty = t.append(vec![]).await.unwrap();
    assert_eq!((empty.row_range(), empty.parent_snapshot_id()), (Some((22, 0)), Some(before.snapshot_id())));
    assert_ne!(empty.encryption_key_id(), before.encryption_key_id());
    assert_eq!(empty.summary().additional_properties["changed-partition-count"], "0");
    assert!(!empty.summary().additional_properties.contains_key("added-data-files"));
    assert_eq!(t.manifests().await, [([2, 8, 0], Some(12), merged)]);
    let list = read_manifest_list(t.table.io(), t.table.metadata(), &empty).await.unwrap();
    let summary = &list[0].partitions.as_ref().unwrap()[0];
    assert_eq!((summary.contains_null, summary.contains_nan), (true, Some(true)));
    assert_eq!(summary.lower_bound.as_deref(), Some(&0f64.to_le_bytes()[..]));
    assert_eq!(summary.upper_bound.as_deref(), Some(&4f64.to_le_bytes()[..]));
    assert_eq!((list[0].min_sequence_number, list[0].sequence_number), (1, 5));
}

/// The same append by Java 1.12 has these entries; see the interoperability tests.
#[tokio::test]
async fn partitions_are_counted_and_summed_by_their_folders() {
    for (limit, summed) in [("1", false), ("2", true)] {
        let mut t = Fixture::encrypted(&[("write.summary.partition-limit", limit)]);
        let files = vec![file("/a", None), file("/b", Some(0.5)), file("/c", None)];
        let snapshot = t.append(files).await.unwrap();
        let entries = &snapshot.summary().additional_properties;
        assert_eq!(entries["changed-partition-count"], "2");
        let of_partitions: BTreeMap<_, _> = entries.iter().filter(|(key, _)| key.starts_with("partition")).collect();
        let expected = [
            ("partition-summaries-included", "true"),
            ("partitions.k=0.5", "added-data-files=1,added-records=1,added-files-size=100"),
            ("partitions.k=null", "added-data-files=2,added-records=2,added-files-size=200"),
        ];
        let expected = expected.into_iter().filter(|_| summed);
        assert!(of_partitions.into_iter().map(|(k, v)| (k.as_str(), v.as_str())).eq(expected), "{entries:?}");
    }
}

#[tokio::test]
async fn a_commit_carries_its_keys_before_its_snapshot() {
    let mut t = Fixture::encrypted(&[]);
    let mut key_ids = Vec::new();
    for (i, expected) in [("add-key add-key snapshot ref"), ("add-key snapshot ref")].into_iter().enumerate() {
        let commit = AppendFiles::new(pair(u8::try_from(i).unwrap())).prepare(&t.table).await.unwrap();
        let names = commit.updates.iter().map(|update| match update {
            TableUpdate::AddEncryptionKey { encryption_key } => {
                key_ids.push(encryption_key.key_id().to_owned());
                "add-key"
            }
            TableUpdate::AddSnapshot { snapshot } => {
                assert_eq!(snapshot.encryption_key_id(), key_ids.last().map(String::as_str));
                "snapshot"
            }
            TableUpdate::SetSnapshotRef { .. } => "ref",
            _ => "other",
        });
        assert_eq!(names.collect::<Vec<_>>().join(" "), expected);
        t.apply(&commit).unwrap();
    }
    assert_eq!(t.kms.wrap_count(), 1, "the KEK is reused");
    for location in t.files().await {
        let bytes = t.table.io().storage().read(&location).await.unwrap();
        assert!(bytes.starts_with(b"AGS1"), "{location}");
    }
}

#[tokio::test]
async fn what_does_not_fit_the_table_is_refused_before_a_file_is_written() {
    let good = || file("/a", Some(1.0));
    let other_length = StandardKeyMetadata::generate(KeyLength::Aes128).unwrap().with_file_length(99);
    let delete = FileContent::PositionDeletes;
    let invalid = ErrorKind::InvalidInput;
    let cases: Vec<(&str, Fixture, Vec<DataFile>, ErrorKind)> = vec![
        ("no key", Fixture::encrypted(&[]), vec![good(), plain_file("/b", None)], invalid),
        ("a key", Fixture::new(&[]), vec![good()], invalid),
        ("spec", Fixture::encrypted(&[]), vec![DataFile { spec_id: 1, ..good() }], invalid),
        ("content", Fixture::encrypted(&[]), vec![DataFile { content: delete, ..good() }], invalid),
        ("twice", Fixture::encrypted(&[]), vec![good(), good()], invalid),
        (
            "length",
            Fixture::encrypted(&[]),
            vec![DataFile { key_metadata: Some(EncodedKeyMetadata::from(&other_length)), ..good() }],
            invalid,
        ),
        (
            "key metadata",
            Fixture::encrypted(&[]),
            vec![DataFile { key_metadata: Some(EncodedKeyMetadata::new(vec![9])), ..good() }],
            ErrorKind::InvalidData,
        ),
        (
            "partition",
            Fixture::encrypted(&[]),
            vec![DataFile { partition: std::iter::once(Some(Literal::int(1))).collect(), ..good() }],
            invalid,
        ),
        (
            "property",
            Fixture::encrypted(&[]).with_property("commit.manifest.target-size-bytes", "big"),
            vec![good()],
            invalid,
        ),
        (
            "codec",
            Fixture::encrypted(&[]).with_property("write.manifest.compression-codec", "lz5"),
            vec![good()],
            invalid,
        ),
        (
            "encrypted, version 2",
            Fixture::with_version(FormatVersion::V2, &[]).with_property(KEY_ID, "key"),
            vec![good()],
            ErrorKind::Unsupported,
        ),
        ("version 1", Fixture::with_version(FormatVersion::V1, &[]), vec![], ErrorKind::Unsupported),
    ];
    for (what, fixture, files, kind) in cases {
        let error = AppendFiles::new(files).prepare(&fixture.table).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(fixture.files().await.is_empty(), "{what}");
    }

    let with_kms = Fixture::encrypted(&[]);
    let document = TableDocument::clone(with_kms.table.document());
    let no_kms = table(document, with_kms.table.io().storage().clone(), &CatalogEncryption::new(None));
    let error = AppendFiles::new([good()]).prepare(&no_kms).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encryption);
    assert!(with_kms.files().await.is_empty());
}

#[tokio::test]
async fn plaintext_tables_of_version_2_are_appended_to() {
    let mut t = Fixture::with_version(FormatVersion::V2, &[("write.metadata.path", "memory://warehouse/elsewhere/")]);
    let snapshot = t.append(vec![plain_file("/a", Some(0.5))]).await.unwrap();
    assert_eq!((snapshot.row_range(), snapshot.encryption_key_id()), (None, None));
    let list = read_manifest_list(t.table.io(), t.table.metadata(), &snapshot).await.unwrap();
    assert_eq!((list.len(), list[0].first_row_id), (1, None));
    let name = format!("memory://warehouse/elsewhere/snap-{}-1-", snapshot.snapshot_id());
    assert!(snapshot.manifest_list().starts_with(&name), "{}", snapshot.manifest_list());
}

#[tokio::test]
async fn a_lost_race_is_cleaned_up_and_tried_again() {
    let mut t = Fixture::encrypted(&[]);
    let ours = AppendFiles::new(pair(0));
    let lost = ours.prepare(&t.table).await.unwrap();
    let theirs = t.append(pair(1)).await.unwrap();
    let before = t.files().await.len();
    assert_eq!(t.apply(&lost).unwrap_err().kind(), ErrorKind::Conflict);
    ours.discard(&t.table, &lost).await;
    assert_eq!(t.files().await.len(), before - 2, "a manifest and a list");
    let again = ours.prepare(&t.table).await.unwrap();
    t.apply(&again).unwrap();
    let snapshot = t.table.metadata().current_snapshot().unwrap();
    assert_eq!(snapshot.parent_snapshot_id(), Some(theirs.snapshot_id()));
    assert_eq!((snapshot.sequence_number(), snapshot.row_range()), (2, Some((2, 2))));
    assert!(snapshot.manifest_list().contains("-2-"), "the second attempt");
    assert_eq!(t.manifests().await.len(), 2);
}

#[tokio::test]
async fn a_kms_that_fails_leaves_no_file_behind() {
    let t = Fixture::encrypted(&[]);
    t.kms.fail_next(KmsErrorKind::AccessDenied);
    let error = AppendFiles::new(pair(0)).prepare(&t.table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Encryption);
    assert!(t.files().await.is_empty());
}

#[tokio::test]
async fn many_files_make_several_manifests() {
    let mut t = Fixture::encrypted(&[
        ("commit.manifest.target-size-bytes", "9000"),
        ("write.manifest.compression-codec", "uncompressed"),
    ]);
    let files = (0..1200).map(|i| file(&format!("/{i:050}"), Some(1.0))).collect();
    t.append(files).await.unwrap();
    let manifests = t.manifests().await;
    // A block is closed at 64 KB, so the target is met at the first check after it.
    assert_eq!(manifests.iter().map(|m| m.0[0]).collect::<Vec<_>>(), [500, 500, 200]);
    let rows: Vec<_> = manifests.iter().flat_map(|m| &m.2).map(|e| e.2).collect();
    assert_eq!(rows, (0..1200).collect::<Vec<_>>());
    assert_eq!(t.table.metadata().next_row_id(), 1200);
}

#[tokio::test]
async fn a_merge_leaves_out_what_earlier_snapshots_deleted() {
    let mut t = Fixture::encrypted(&[]);
    t.append(pair(0)).await.unwrap();
    let metadata = t.table.metadata();
    let list = read_manifest_list(t.table.io(), metadata, metadata.current_snapshot().unwrap()).await.unwrap();
    let mut manifest = Manifest::read(t.table.io(), metadata, &list[0]).await.unwrap();
    manifest.entries[0].status = ManifestStatus::Deleted;
    let snapshot = SnapshotWriter::new(&t.table, 1);
    let spec = metadata.default_partition_spec();
    let mut writer = snapshot.manifest_writer(ManifestContent::Data, spec, Codec::DEFAULT).unwrap();
    add_existing(&mut writer, &manifest).unwrap();
    let merged = writer.finish().unwrap().write(t.table.io(), format!("{LOCATION}/m.avro")).await.unwrap();
    assert_eq!((merged.existing_files_count, merged.deleted_files_count), (Some(1), Some(0)));
    let beyond = ManifestFile { first_row_id: Some(1), ..list[0].clone() };
    let error = Manifest::read(t.table.io(), metadata, &beyond).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "row ids that the table has not given out: {error}");
    assert!(error.to_string().contains(&beyond.manifest_path), "{error}");
    let merged = Manifest::read(t.table.io(), metadata, &merged).await.unwrap();
    assert_eq!((merged.entries[0].data_file.file_path.as_str(), merged.entries[0].sequence_number), ("/0", Some(1)));
    assert_eq!(merged.entries[0].data_file.first_row_id, None, "the manifest has none before its list is written");

    manifest.entries[1].sequence_number = None;
    let mut writer = snapshot.manifest_writer(ManifestContent::Data, spec, Codec::DEFAULT).unwrap();
    assert_eq!(add_existing(&mut writer, &manifest).unwrap_err().kind(), ErrorKind::InvalidData);
}

#[derive(Debug)]
struct FixedClock(i64);

impl Clock for FixedClock {
    fn now_ms(&self) -> i64 {
        self.0
    }
}

#[tokio::test]
async fn time_retention_and_extra_summary_entries_are_kept() {
    let mut t = Fixture::encrypted(&[]);
    t.append(pair(0)).await.unwrap();
    let first = t.table.metadata().current_snapshot().unwrap().clone();
    let retention = SnapshotRetention::branch(Some(7), None, None);
    let set = TableUpdate::SetSnapshotRef {
        ref_name: MAIN_BRANCH.to_owned(),
        reference: SnapshotReference::new(first.snapshot_id(), retention.clone()),
    };
    let identifier = t.table.identifier().clone();
    t.apply(&TableCommit { identifier, requirements: vec![], updates: vec![set] }).unwrap();
    let later = t.table.metadata().last_updated_ms() + 1000;
    for (clock, expected) in [(later, later), (later - 500_000, later)] {
        let append = AppendFiles::new([]).with_clock(Arc::new(FixedClock(clock))).with_summary("engine-name", "test");
        let commit = append.prepare(&t.table).await.unwrap();
        t.apply(&commit).unwrap();
        let snapshot = t.table.metadata().current_snapshot().unwrap();
        assert_eq!(snapshot.timestamp_ms(), expected);
        assert_eq!(snapshot.summary().additional_properties["engine-name"], "test");
        assert!(snapshot.summary().additional_properties.contains_key("lakelock-version"));
    }
    assert_eq!(t.table.document().references()[MAIN_BRANCH].retention, retention);
}
