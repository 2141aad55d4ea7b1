//! What every catalog must do: plain functions on a [`Catalog`] that has no namespace yet, a warehouse, and what
//! [`kms_properties`] says.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future;
use lakelock_iceberg::commit::{TableAction, TableCommit};
use lakelock_iceberg::encryption::EncodedKeyMetadata;
use lakelock_iceberg::manifest::{
    Codec, DataFile, FileContent, FileFormat, ManifestContent, ManifestListHeader, ManifestOptions, ManifestWriter,
    assign_first_row_ids, encode_manifest_list,
};
use lakelock_iceberg::spec::{
    EncryptedKey, NamespaceIdent, NestedField, Operation, PrimitiveType, Schema, Snapshot, SnapshotReference,
    SnapshotRetention, Struct, Summary, TableIdent, TableRequirement, TableUpdate, Type,
};
use lakelock_iceberg::{Result as TableResult, Table};

use crate::{Catalog, ErrorKind, TableCreation, commit};

/// Runs the whole suite.
pub(crate) async fn check(catalog: Arc<dyn Catalog>) {
    namespaces(&*catalog).await;
    check_tables(catalog, &["db", "sub"], true).await;
}

/// Runs what concerns tables, in a namespace that is not there yet. `pins_bytes` is whether the catalog knows metadata files
/// by their bytes.
pub(crate) async fn check_tables(catalog: Arc<dyn Catalog>, levels: &[&str], pins_bytes: bool) {
    tables(&*catalog, levels).await;
    encryption_rules(&*catalog, levels).await;
    commits(&*catalog, levels).await;
    pins(&*catalog, levels, pins_bytes).await;
    registration(&*catalog, levels).await;
    purge(&*catalog, levels).await;
    concurrent_commits(&*catalog, levels).await;
    let debug = format!("{catalog:?}");
    assert!(!debug.contains("secret") && !debug.contains("3031323334"), "{debug}");
}

/// A KMS with one key, and a property that must not be shown.
pub(crate) fn kms_properties() -> [(&'static str, &'static str); 3] {
    [("encryption.kms-impl", "memory"), ("memory.key.keyA", "30313233343536373839303132333435"), ("password", "secret")]
}

pub(crate) fn namespace(levels: &[&str]) -> NamespaceIdent {
    NamespaceIdent::from_strs(levels).unwrap()
}

/// The parts of a table's name.
fn at<'a>(levels: &[&'a str], name: &'a str) -> Vec<&'a str> {
    [levels, &[name]].concat()
}

pub(crate) fn ident(parts: &[&str]) -> TableIdent {
    TableIdent::from_strs(parts).unwrap()
}

pub(crate) fn schema() -> Schema {
    let id = NestedField::required(7, "id", Type::Primitive(PrimitiveType::Long));
    let name = NestedField::optional(9, "name", Type::Primitive(PrimitiveType::String));
    Schema::builder().with_fields([id.into(), name.into()]).build().unwrap()
}

pub(crate) fn creation(parts: &[&str], properties: &[(&str, &str)]) -> TableCreation {
    TableCreation::new(ident(parts), schema())
        .with_properties(properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
}

pub(crate) fn set(table: &TableIdent, properties: &[(&str, &str)]) -> TableCommit {
    let updates = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    TableCommit {
        identifier: table.clone(),
        requirements: vec![],
        updates: vec![TableUpdate::SetProperties { updates }],
    }
}

async fn namespaces(catalog: &dyn Catalog) {
    let none: Vec<NamespaceIdent> = vec![];
    assert_eq!(catalog.list_namespaces(None).await.unwrap(), none);
    let properties = HashMap::from([("owner".to_owned(), "me".to_owned())]);
    catalog.create_namespace(&namespace(&["a", "b", "c"]), properties.clone()).await.unwrap();
    catalog.create_namespace(&namespace(&["z"]), HashMap::new()).await.unwrap();
    assert_eq!(catalog.list_namespaces(None).await.unwrap(), [namespace(&["a"]), namespace(&["z"])]);
    assert_eq!(catalog.list_namespaces(Some(&namespace(&["a"]))).await.unwrap(), [namespace(&["a", "b"])]);
    assert_eq!(catalog.list_namespaces(Some(&namespace(&["z"]))).await.unwrap(), none);
    assert_eq!(catalog.namespace_properties(&namespace(&["a", "b", "c"])).await.unwrap(), properties);
    // A parent is there with its child, and a name that begins alike is not a child.
    assert!(catalog.namespace_exists(&namespace(&["a", "b"])).await.unwrap());
    assert!(!catalog.namespace_exists(&namespace(&["a", "bb"])).await.unwrap());
    let unknown = namespace(&["none"]);
    for (error, kind) in [
        (catalog.create_namespace(&namespace(&["z"]), HashMap::new()).await, ErrorKind::AlreadyExists),
        (catalog.create_namespace(&namespace(&["a"]), HashMap::new()).await, ErrorKind::AlreadyExists),
        (catalog.create_namespace(&namespace(&["a.b"]), HashMap::new()).await, ErrorKind::InvalidInput),
        (catalog.drop_namespace(&namespace(&["a"])).await, ErrorKind::NotEmpty),
        (catalog.drop_namespace(&unknown).await, ErrorKind::NotFound),
        (catalog.list_namespaces(Some(&unknown)).await.map(drop), ErrorKind::NotFound),
        (catalog.list_tables(&unknown).await.map(drop), ErrorKind::NotFound),
        (catalog.namespace_properties(&unknown).await.map(drop), ErrorKind::NotFound),
    ] {
        assert_eq!(error.unwrap_err().kind(), kind);
    }
    catalog.drop_namespace(&namespace(&["z"])).await.unwrap();
    catalog.drop_namespace(&namespace(&["a", "b", "c"])).await.unwrap();
    assert_eq!(catalog.list_namespaces(None).await.unwrap(), none);
}

async fn tables(catalog: &dyn Catalog, levels: &[&str]) {
    let db = namespace(levels);
    let missing = catalog.create_table(creation(&at(levels, "t"), &[])).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    catalog.create_namespace(&db, HashMap::new()).await.unwrap();
    let table = ident(&at(levels, "t"));
    let created = catalog.create_table(creation(&at(levels, "t"), &[("k", "v")])).await.unwrap();
    let metadata = created.metadata();
    assert_eq!(metadata.format_version() as u8, 3);
    assert_eq!(metadata.properties()["k"], "v");
    assert!(metadata.location().ends_with("/t"), "{}", metadata.location());
    assert!(created.metadata_location().starts_with(&format!("{}/metadata/00000-", metadata.location())));
    assert_eq!(metadata.current_schema().field_by_name("name").unwrap().id, 2);
    let loaded = catalog.load_table(&table).await.unwrap();
    assert_eq!((loaded.metadata(), loaded.metadata_location()), (metadata, created.metadata_location()));

    catalog.create_table(creation(&at(levels, "a"), &[("format-version", "2")])).await.unwrap();
    assert_eq!(catalog.load_table(&ident(&at(levels, "a"))).await.unwrap().metadata().format_version() as u8, 2);
    assert_eq!(catalog.list_tables(&db).await.unwrap(), [ident(&at(levels, "a")), table.clone()]);
    if let [parent, _] = levels {
        assert!(metadata.location().ends_with("/db/sub/t"), "{}", metadata.location());
        assert_eq!(catalog.list_tables(&namespace(&[parent])).await.unwrap(), []);
    }
    assert!(catalog.table_exists(&table).await.unwrap());
    let unknown = ident(&at(levels, "none"));
    for (error, kind) in [
        (catalog.create_table(creation(&at(levels, "t"), &[])).await.map(drop), ErrorKind::AlreadyExists),
        (catalog.create_table(creation(&at(levels, "../t"), &[])).await.map(drop), ErrorKind::InvalidInput),
        (catalog.drop_namespace(&db).await, ErrorKind::NotEmpty),
        (catalog.load_table(&unknown).await.map(drop), ErrorKind::NotFound),
        (catalog.load_table(&ident(&["db.sub", "t"])).await.map(drop), ErrorKind::NotFound),
        (catalog.drop_table(&ident(&["db.sub", "t"]), false).await, ErrorKind::NotFound),
        (catalog.drop_table(&unknown, false).await, ErrorKind::NotFound),
        (catalog.drop_table(&unknown, true).await, ErrorKind::NotFound),
        (catalog.update_table(set(&unknown, &[("k", "v")])).await.map(drop), ErrorKind::NotFound),
    ] {
        assert_eq!(error.unwrap_err().kind(), kind);
    }
    // A table that is dropped leaves its files.
    catalog.drop_table(&table, false).await.unwrap();
    assert!(!catalog.table_exists(&table).await.unwrap());
    assert!(created.io().storage().exists(created.metadata_location()).await.unwrap());
    catalog.create_table(creation(&at(levels, "t"), &[])).await.unwrap();
}

async fn encryption_rules(catalog: &dyn Catalog, levels: &[&str]) {
    for properties in [
        &[("encryption.key-id", "keyA"), ("format-version", "2")][..],
        &[("encryption.key-id", "")],
        &[("encryption.key-id", "keyA"), ("encryption.data-key-length", "20")],
    ] {
        let error = catalog.create_table(creation(&at(levels, "e"), properties)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{properties:?}");
    }
    let (table, plain) = (ident(&at(levels, "e")), ident(&at(levels, "t")));
    catalog.create_table(creation(&at(levels, "e"), &[("encryption.key-id", "keyA")])).await.unwrap();
    let remove = TableUpdate::RemoveProperties { removals: vec!["encryption.key-id".into()] };
    for commit in [
        set(&table, &[("encryption.key-id", "keyB")]),
        set(&plain, &[("encryption.key-id", "keyA")]),
        TableCommit { updates: vec![remove], ..set(&table, &[]) },
        set(&table, &[("encryption.data-key-length", "20")]),
    ] {
        let before = catalog.load_table(&commit.identifier).await.unwrap();
        assert_eq!(catalog.update_table(commit).await.unwrap_err().kind(), ErrorKind::InvalidInput);
        let after = catalog.load_table(before.identifier()).await.unwrap();
        assert_eq!(after.metadata_location(), before.metadata_location());
    }
    let longer = catalog.update_table(set(&table, &[("encryption.data-key-length", "32")])).await.unwrap();
    assert!(longer.io().manager().is_encrypting());
    assert!(!catalog.load_table(&plain).await.unwrap().io().manager().is_encrypting());
}

async fn commits(catalog: &dyn Catalog, levels: &[&str]) {
    let table = ident(&at(levels, "commits"));
    let first = catalog.create_table(creation(&at(levels, "commits"), &[])).await.unwrap();
    let second = catalog.update_table(set(&table, &[("k", "1")])).await.unwrap();
    assert!(second.metadata_location().contains("/metadata/00001-"), "{}", second.metadata_location());
    let log: Vec<_> = second.metadata().metadata_log().iter().map(|e| e.metadata_file.as_str()).collect();
    assert_eq!(log, [first.metadata_location()]);
    let loaded = catalog.load_table(&table).await.unwrap();
    assert_eq!((loaded.metadata(), loaded.metadata_location()), (second.metadata(), second.metadata_location()));

    // What cannot be met leaves neither a change nor a file.
    let unmet = TableRequirement::RefSnapshotIdMatch { r#ref: "main".into(), snapshot_id: Some(1) };
    let commit = TableCommit { requirements: vec![unmet], ..set(&table, &[("k", "2")]) };
    assert_eq!(catalog.update_table(commit).await.unwrap_err().kind(), ErrorKind::Conflict);
    // What changes nothing is no change.
    let same = TableCommit { updates: vec![], ..set(&table, &[]) };
    assert_eq!(catalog.update_table(same).await.unwrap().metadata_location(), second.metadata_location());
    let folder = format!("{}/metadata", first.metadata().location());
    assert_eq!(first.io().storage().list(&folder).await.unwrap().len(), 2);

    let gzip = catalog.update_table(set(&table, &[("write.metadata.compression-codec", "gzip")])).await.unwrap();
    assert!(gzip.metadata_location().ends_with(".gz.metadata.json"), "{}", gzip.metadata_location());
    assert_eq!(catalog.load_table(&table).await.unwrap().metadata(), gzip.metadata());
}

async fn pins(catalog: &dyn Catalog, levels: &[&str], pins_bytes: bool) {
    let table = ident(&at(levels, "pinned"));
    let created =
        catalog.create_table(creation(&at(levels, "pinned"), &[("encryption.key-id", "keyA")])).await.unwrap();
    let (storage, location) = (created.io().storage(), created.metadata_location());
    let original = storage.read(location).await.unwrap();
    let text = String::from_utf8(original.to_vec()).unwrap();
    let with_blank = pins_bytes.then(|| format!("{text} "));
    let other_keys = [text.replace("keyA", "keyB"), text.replace("encryption.key-id", "x")];
    let other_table = text.replace("\"last-column-id\":2", "\"last-column-id\":3");
    assert_ne!(other_table, text);
    for forged in other_keys.into_iter().chain([other_table]).chain(with_blank) {
        storage.write(location, forged.into_bytes()).await.unwrap();
        let error = catalog.load_table(&table).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains(location), "{error}");
    }
    storage.delete(location).await.unwrap();
    let error = catalog.load_table(&table).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "the table is there, its metadata is not");
    storage.write(location, original).await.unwrap();
    catalog.load_table(&table).await.unwrap();
}

async fn registration(catalog: &dyn Catalog, levels: &[&str]) {
    let source = catalog.load_table(&ident(&at(levels, "pinned"))).await.unwrap();
    let location = source.metadata_location();
    let (good, bad) = (ident(&at(levels, "good")), ident(&at(levels, "bad")));
    for (result, kind) in [
        (catalog.register_table(&bad, location, Some("keyB")).await, ErrorKind::InvalidInput),
        (catalog.register_table(&bad, location, None).await, ErrorKind::InvalidInput),
        (catalog.register_table(source.identifier(), location, Some("keyA")).await, ErrorKind::AlreadyExists),
        (catalog.register_table(&bad, &format!("{location}.none"), None).await, ErrorKind::InvalidInput),
        (catalog.register_table(&ident(&["none", "t"]), location, None).await, ErrorKind::NotFound),
    ] {
        assert_eq!(result.unwrap_err().kind(), kind);
    }
    assert!(!catalog.table_exists(&bad).await.unwrap());
    // The same file, be it written in another way.
    let location = if location.starts_with('/') { format!("file://{location}") } else { location.to_owned() };
    let registered = catalog.register_table(&good, &location, Some("keyA")).await.unwrap();
    assert_eq!(registered.metadata(), source.metadata());
    assert_eq!(catalog.load_table(&good).await.unwrap().metadata_location(), location);
    // Its files are another table's.
    assert_eq!(catalog.drop_table(&good, true).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    catalog.drop_table(&good, false).await.unwrap();
}

async fn purge(catalog: &dyn Catalog, levels: &[&str]) {
    let table = ident(&at(levels, "purged"));
    let created =
        catalog.create_table(creation(&at(levels, "purged"), &[("encryption.key-id", "keyA")])).await.unwrap();
    let (storage, location) = (created.io().storage(), created.metadata().location());
    // Nothing of the table's metadata leads to the first, and the second is not the table's to delete.
    let (foreign, outside) = (format!("{location}/other"), format!("{location}-2/data.parquet"));
    let inside = format!("{location}/data/data.parquet");
    for file in [&foreign, &outside, &inside] {
        storage.write(file, "x").await.unwrap();
    }
    let append = append(&created, &[&inside, &outside]).await;
    catalog.update_table(append).await.unwrap();
    catalog.drop_table(&table, true).await.unwrap();
    let left: Vec<_> = storage.list(location).await.unwrap().into_iter().map(|f| f.location).collect();
    assert_eq!(left, [foreign]);
    assert!(storage.exists(&outside).await.unwrap());
}

/// The first append to a table, of files that are there already.
async fn append(table: &Table, files: &[&str]) -> TableCommit {
    let metadata = table.metadata();
    let key = table.io().manager().new_file_key().unwrap().unwrap().with_file_length(1);
    let mut writer = ManifestWriter::new(ManifestOptions {
        format_version: metadata.format_version(),
        content: ManifestContent::Data,
        schema: metadata.current_schema().clone(),
        partition_spec: metadata.default_partition_spec().clone(),
        snapshot_id: 1,
        sequence_number: 1,
        codec: Codec::DEFAULT,
    })
    .unwrap();
    for file in files {
        writer.add(&data_file(file, EncodedKeyMetadata::from(&key))).unwrap();
    }
    let location = |name: &str| format!("{}/metadata/{name}", metadata.location());
    let manifest = writer.finish().unwrap();
    let mut manifests = [manifest.write(table.io(), location("manifest.avro")).await.unwrap()];
    let rows = assign_first_row_ids(&mut manifests, 0).unwrap();
    let header = ManifestListHeader {
        format_version: metadata.format_version(),
        snapshot_id: 1,
        parent_snapshot_id: None,
        sequence_number: 1,
        first_row_id: Some(0),
    };
    let list = encode_manifest_list(header, &manifests).unwrap();
    let list = table.io().write(&location("list.avro"), list).await.unwrap();
    let list_key = list.key_metadata.unwrap().decode(&list.location).unwrap();
    let wrapped = table.io().manager().wrap_manifest_list_key(metadata, &list_key).await.unwrap();
    let snapshot = Snapshot::builder()
        .with_snapshot_id(1)
        .with_sequence_number(1)
        .with_timestamp_ms(metadata.last_updated_ms())
        .with_manifest_list(list.location)
        .with_summary(Summary { operation: Operation::Append, additional_properties: HashMap::new() })
        .with_encryption_key_id(Some(wrapped.key_id))
        .with_row_range(0, rows)
        .build();
    let reference = SnapshotReference::new(1, SnapshotRetention::branch(None, None, None));
    let keys = wrapped.new_entries.into_iter().map(|encryption_key| TableUpdate::AddEncryptionKey { encryption_key });
    let snapshot =
        [TableUpdate::AddSnapshot { snapshot }, TableUpdate::SetSnapshotRef { ref_name: "main".into(), reference }];
    TableCommit {
        identifier: table.identifier().clone(),
        requirements: vec![],
        updates: keys.chain(snapshot).collect(),
    }
}

fn data_file(file_path: &str, key_metadata: EncodedKeyMetadata) -> DataFile {
    DataFile {
        key_metadata: Some(key_metadata),
        ..DataFile::new(FileContent::Data, file_path, FileFormat::Parquet, 0, Struct::empty(), 1, 1)
    }
}

async fn concurrent_commits(catalog: &dyn Catalog, levels: &[&str]) {
    const TASKS: i64 = 24;
    let table = ident(&at(levels, "contended"));
    let retries =
        [("commit.retry.num-retries", "1000"), ("commit.retry.min-wait-ms", "1"), ("commit.retry.max-wait-ms", "20")];
    let properties: Vec<_> = [("encryption.key-id", "keyA")].into_iter().chain(retries).collect();
    catalog.create_table(creation(&at(levels, "contended"), &properties)).await.unwrap();
    let actions: Vec<_> = (1..=TASKS).map(AddSnapshot).collect();
    let commits = actions.iter().map(|action| commit(catalog, &table, action));
    for result in future::join_all(commits).await {
        result.unwrap();
    }
    let metadata = catalog.load_table(&table).await.unwrap().metadata().clone();
    assert_eq!(metadata.last_sequence_number(), TASKS);
    assert_eq!(metadata.next_row_id(), u64::try_from(TASKS).unwrap());
    let mut chain = Vec::new();
    let mut next = metadata.current_snapshot().cloned();
    while let Some(snapshot) = next {
        assert!(metadata.encryption_key(snapshot.encryption_key_id().unwrap()).is_some());
        chain.push(snapshot.snapshot_id());
        next = snapshot.parent_snapshot_id().and_then(|id| metadata.snapshot_by_id(id).cloned());
    }
    chain.sort_unstable();
    assert_eq!(chain, (1..=TASKS).collect::<Vec<_>>());
    let files = catalog.load_table(&table).await.unwrap().io().storage().list(metadata.location()).await.unwrap();
    assert_eq!(files.len(), usize::try_from(TASKS).unwrap() + 1, "lost attempts leave no file");
}

/// Adds an empty snapshot of one row, with a key, after whatever is current.
struct AddSnapshot(i64);

#[async_trait]
impl TableAction for AddSnapshot {
    async fn prepare(&self, table: &Table) -> TableResult<TableCommit> {
        let metadata = table.metadata();
        let key = |id: &str, by: &str| TableUpdate::AddEncryptionKey {
            encryption_key: EncryptedKey::builder()
                .key_id(id)
                .encrypted_key_metadata(vec![1])
                .encrypted_by_id(by)
                .build(),
        };
        let key_id = format!("list-{}", self.0);
        let snapshot = Snapshot::builder()
            .with_snapshot_id(self.0)
            .with_parent_snapshot_id(metadata.current_snapshot_id())
            .with_sequence_number(metadata.next_sequence_number())
            .with_timestamp_ms(metadata.last_updated_ms() + 1)
            .with_manifest_list(format!("{}/metadata/snap-{}.avro", metadata.location(), self.0))
            .with_summary(Summary { operation: Operation::Append, additional_properties: HashMap::new() })
            .with_encryption_key_id(Some(key_id.clone()))
            .with_row_range(metadata.next_row_id(), 1)
            .build();
        let reference = SnapshotReference::new(self.0, SnapshotRetention::branch(None, None, None));
        Ok(TableCommit {
            identifier: table.identifier().clone(),
            requirements: vec![TableRequirement::RefSnapshotIdMatch {
                r#ref: "main".into(),
                snapshot_id: metadata.current_snapshot_id(),
            }],
            updates: vec![
                key("kek", "keyA"),
                key(&key_id, "kek"),
                TableUpdate::AddSnapshot { snapshot },
                TableUpdate::SetSnapshotRef { ref_name: "main".into(), reference },
            ],
        })
    }

    async fn discard(&self, _table: &Table, _commit: &TableCommit) {}
}
