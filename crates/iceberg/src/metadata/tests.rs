use std::collections::HashMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::spec::{
    EncryptedKey, NestedField, NullOrder, Operation, PartitionStatisticsFile, PrimitiveType, Schema, Snapshot,
    SnapshotReference, SnapshotRetention, SortDirection, SortField, SortOrder, StatisticsFile, Summary, TableUpdate,
    Transform, Type, UnboundPartitionSpec,
};

mod refused;

const LOCATION: &str = "memory://w/t/metadata/00001-x.metadata.json";

/// A document with every kind of field, and in every kind of element something that no version knows.
fn document() -> Value {
    json!({
        "future": {"a": [1, 2.50]},
        "format-version": 3,
        "table-uuid": "fb072c92-a02b-11e9-ae9c-1bb7bc9eca94",
        "location": "memory://w/t/",
        "last-sequence-number": 2,
        "last-updated-ms": 1_700_000_000_002_i64,
        "last-column-id": 2,
        "current-schema-id": 0,
        "schemas": [{
            "type": "struct", "schema-id": 0, "future": 1, "fields": [
                {"id": 1, "name": "id", "required": true, "type": "long", "future": 2},
                {"id": 2, "name": "name", "required": false, "type": "string", "initial-default": "x"},
            ],
        }],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": [], "future": 3}],
        "last-partition-id": 999,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": [], "future": 4}],
        "properties": {"z": "1", "encryption.key-id": "keyA", "a": "2"},
        "current-snapshot-id": 12,
        "next-row-id": 20,
        "refs": {
            "main": {"snapshot-id": 12, "type": "branch", "future": 5},
            "old": {"snapshot-id": 11, "type": "tag", "max-ref-age-ms": 7, "future": 6},
        },
        "encryption-keys": [
            {"key-id": "kek", "encrypted-key-metadata": "AAAA", "encrypted-by-id": "keyA", "properties": {"KEY_TIMESTAMP": "1"}, "future": 7},
            {"key-id": "m1", "encrypted-key-metadata": "AAAA", "encrypted-by-id": "kek"},
            {"key-id": "m2", "encrypted-key-metadata": "AAAA", "encrypted-by-id": "kek"},
        ],
        "snapshots": [
            {"snapshot-id": 11, "sequence-number": 1, "timestamp-ms": 1_700_000_000_001_i64, "manifest-list": "l1",
             "summary": {"operation": "append"}, "schema-id": 0, "first-row-id": 0, "added-rows": 10, "key-id": "m1", "future": 8},
            {"snapshot-id": 12, "parent-snapshot-id": 11, "sequence-number": 2, "timestamp-ms": 1_700_000_000_002_i64,
             "manifest-list": "l2", "summary": {"operation": "append", "more": "yes"}, "schema-id": 0, "first-row-id": 10,
             "added-rows": 10, "key-id": "m2", "future": 9},
        ],
        "statistics": [{"snapshot-id": 11, "statistics-path": "s", "file-size-in-bytes": 1,
            "file-footer-size-in-bytes": 1, "blob-metadata": [], "future": 10}],
        "partition-statistics": [{"snapshot-id": 11, "statistics-path": "p", "file-size-in-bytes": 1, "future": 11}],
        "snapshot-log": [
            {"snapshot-id": 11, "timestamp-ms": 1_700_000_000_001_i64, "future": 12},
            {"snapshot-id": 12, "timestamp-ms": 1_700_000_000_002_i64},
        ],
        "metadata-log": [{"metadata-file": "m0", "timestamp-ms": 1_700_000_000_001_i64, "future": 13}],
    })
}

fn read(document: &Value) -> TableDocument {
    TableDocument::read(&serde_json::to_vec_pretty(document).unwrap(), LOCATION).unwrap()
}

fn to_value(document: &TableDocument) -> Value {
    serde_json::from_slice(&document.to_json()).unwrap()
}

fn key(id: &str, by: &str) -> EncryptedKey {
    EncryptedKey::builder().key_id(id).encrypted_key_metadata(vec![1, 2, 3]).encrypted_by_id(by).build()
}

fn snapshot(id: i64, sequence_number: i64, first_row_id: u64, key_id: Option<&str>) -> Snapshot {
    Snapshot::builder()
        .with_snapshot_id(id)
        .with_parent_snapshot_id(Some(12))
        .with_sequence_number(sequence_number)
        .with_timestamp_ms(1_700_000_000_000 + sequence_number)
        .with_manifest_list(format!("l{id}"))
        .with_summary(Summary {
            operation: Operation::Append,
            additional_properties: HashMap::from([("added-records".into(), "10".into())]),
        })
        .with_encryption_key_id(key_id.map(str::to_owned))
        .with_row_range(first_row_id, 10)
        .with_schema_id(0)
        .build()
}

fn main_branch(snapshot_id: i64) -> TableUpdate {
    let reference = SnapshotReference::new(snapshot_id, SnapshotRetention::branch(Some(1), None, None));
    TableUpdate::SetSnapshotRef { ref_name: "main".into(), reference }
}

fn append(id: i64, sequence_number: i64, first_row_id: u64) -> Vec<TableUpdate> {
    let key_id = format!("m{id}");
    vec![
        TableUpdate::AddEncryptionKey { encryption_key: key(&key_id, "kek") },
        TableUpdate::AddSnapshot { snapshot: snapshot(id, sequence_number, first_row_id, Some(&key_id)) },
        main_branch(id),
    ]
}

fn schema(names: &[&str]) -> Schema {
    let fields = names
        .iter()
        .zip(1..)
        .map(|(name, id)| NestedField::optional(id, *name, Type::Primitive(PrimitiveType::Long)).into());
    Schema::builder().with_schema_id(1).with_fields(fields).build().unwrap()
}

fn properties(pairs: &[(&str, &str)]) -> TableUpdate {
    TableUpdate::SetProperties { updates: pairs.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect() }
}

/// Every kind of update with what it takes, and the `future` marks that it may remove.
fn updates() -> Vec<(&'static str, Vec<TableUpdate>, &'static [i64])> {
    let statistics = |snapshot_id| StatisticsFile {
        snapshot_id,
        statistics_path: "s2".into(),
        file_size_in_bytes: 2,
        file_footer_size_in_bytes: 2,
        key_metadata: None,
        blob_metadata: vec![],
    };
    let partition_statistics =
        |snapshot_id| PartitionStatisticsFile { snapshot_id, statistics_path: "p2".into(), file_size_in_bytes: 2 };
    let spec = UnboundPartitionSpec::builder().add_partition_field(1, "bucket", Transform::Bucket(4)).unwrap().build();
    let order = SortOrder::builder()
        .with_sort_field(SortField {
            source_id: 1,
            transform: Transform::Identity,
            direction: SortDirection::Ascending,
            null_order: NullOrder::First,
        })
        .build_unbound()
        .unwrap();
    let tag = SnapshotReference::new(12, SnapshotRetention::Tag { max_ref_age_ms: None });
    vec![
        ("append", append(13, 3, 20), &[]),
        ("two appends", [append(13, 3, 20), append(14, 4, 30)].concat(), &[]),
        ("location", vec![TableUpdate::SetLocation { location: "memory://elsewhere/t".into() }], &[]),
        ("properties", vec![properties(&[("b", "new \"value\""), ("z", "changed")])], &[]),
        ("remove properties", vec![TableUpdate::RemoveProperties { removals: vec!["z".into(), "none".into()] }], &[]),
        (
            "schema",
            vec![
                TableUpdate::AddSchema { schema: schema(&["id", "name", "more"]) },
                TableUpdate::SetCurrentSchema { schema_id: -1 },
                TableUpdate::RemoveSchemas { schema_ids: vec![0] },
            ],
            &[1, 2],
        ),
        ("spec", vec![TableUpdate::AddSpec { spec }, TableUpdate::SetDefaultSpec { spec_id: -1 }], &[]),
        (
            "sort order",
            vec![
                TableUpdate::AddSortOrder { sort_order: order },
                TableUpdate::SetDefaultSortOrder { sort_order_id: -1 },
            ],
            &[],
        ),
        ("move a branch back", vec![main_branch(11)], &[]),
        ("tag", vec![TableUpdate::SetSnapshotRef { ref_name: "new".into(), reference: tag }], &[]),
        ("remove a tag", vec![TableUpdate::RemoveSnapshotRef { ref_name: "old".into() }], &[6]),
        ("remove the main branch", vec![TableUpdate::RemoveSnapshotRef { ref_name: "main".into() }], &[5]),
        ("remove a snapshot", vec![TableUpdate::RemoveSnapshots { snapshot_ids: vec![11] }], &[6, 8, 10, 11, 12]),
        ("statistics", vec![TableUpdate::SetStatistics { statistics: statistics(12) }], &[]),
        ("replace statistics", vec![TableUpdate::SetStatistics { statistics: statistics(11) }], &[10]),
        ("remove statistics", vec![TableUpdate::RemoveStatistics { snapshot_id: 11 }], &[10]),
        (
            "partition statistics",
            vec![TableUpdate::SetPartitionStatistics { partition_statistics: partition_statistics(12) }],
            &[],
        ),
        ("remove partition statistics", vec![TableUpdate::RemovePartitionStatistics { snapshot_id: 11 }], &[11]),
        ("add a key", vec![TableUpdate::AddEncryptionKey { encryption_key: key("kek2", "keyA") }], &[]),
        (
            "replace a key",
            vec![
                TableUpdate::RemoveEncryptionKey { key_id: "kek".into() },
                TableUpdate::AddEncryptionKey { encryption_key: key("kek", "keyA") },
            ],
            &[7],
        ),
        ("data key length", vec![properties(&[("encryption.data-key-length", "32")])], &[]),
        ("short metadata log", vec![properties(&[("write.metadata.previous-versions-max", "1")])], &[13]),
    ]
}

fn futures(value: &Value) -> Vec<i64> {
    let mut found = Vec::new();
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("future").and_then(Value::as_i64));
            fields.values().for_each(|v| found.extend(futures(v)));
        }
        Value::Array(elements) => elements.iter().for_each(|v| found.extend(futures(v))),
        _ => {}
    }
    found.sort_unstable();
    found
}

/// Text and parsed metadata say the same, and nothing unknown is lost but what was taken out.
fn check(name: &str, before: &TableDocument, after: &TableDocument, removed: &[i64]) {
    let again = TableDocument::read(&after.to_json(), LOCATION).unwrap();
    assert_eq!(again.metadata(), after.metadata(), "{name}");
    assert_eq!(again.references(), after.references(), "{name}");
    let (old, new) = (to_value(before), to_value(after));
    assert_eq!(new["future"], old["future"], "{name}");
    let kept: Vec<i64> = futures(&old).into_iter().filter(|f| !removed.contains(f)).collect();
    assert_eq!(futures(&new), kept, "{name}");
}

#[test]
fn each_update_changes_text_and_metadata_alike_and_loses_nothing() {
    let before = read(&document());
    for (name, updates, removed) in updates() {
        let after = before.apply(&updates, LOCATION).unwrap_or_else(|e| panic!("{name}: {e:?}"));
        assert_ne!(before.metadata(), after.metadata(), "{name}");
        check(name, &before, &after, removed);
        assert_eq!(after.metadata().metadata_log().last().unwrap().metadata_file, LOCATION, "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sequences_of_updates_change_text_and_metadata_alike(picks in proptest::collection::vec(0..updates().len(), 1..12)) {
        let mut current = read(&document());
        let updates = updates();
        for pick in picks {
            // What does not fit after what went before is refused as a whole; what fits must be written as it is.
            if let Ok(after) = current.apply(&updates[pick].1, LOCATION) {
                check(updates[pick].0, &current, &after, updates[pick].2);
                current = after;
            }
        }
    }

    #[test]
    fn damaged_metadata_is_an_error_and_no_panic(at in 0_usize..4000, with in any::<u8>(), cut in any::<bool>()) {
        let mut bytes = document().to_string().into_bytes();
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] = with }
        if let Ok(document) = TableDocument::read(&bytes, LOCATION) {
            let _ = document.apply(&append(13, 3, 20), LOCATION);
        }
    }
}

/// Replaces the `nth` value of a document, counted in depth-first order.
fn replace_nth(value: &mut Value, nth: &mut usize, with: &Value) -> bool {
    if *nth == 0 {
        *value = with.clone();
        return true;
    }
    *nth -= 1;
    match value {
        Value::Object(fields) => fields.values_mut().any(|v| replace_nth(v, nth, with)),
        Value::Array(elements) => elements.iter_mut().any(|v| replace_nth(v, nth, with)),
        _ => false,
    }
}

fn odd_values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!([])),
        Just(json!({})),
        Just(json!("")),
        Just(json!(true)),
        Just(json!(1e300)),
        any::<i64>().prop_map(|n| json!(n)),
        any::<u64>().prop_map(|n| json!(n)),
        (-2_i64..15).prop_map(|n| json!(n)),
        proptest::sample::select(vec![
            "decimal(0, 0)",
            "decimal(38, 39)",
            "fixed[0]",
            "fixed[99999999999999999999]",
            "bucket[0]",
            "truncate[-1]",
            "uuid",
            "timestamptz_ns",
            "main",
            "kek",
        ])
        .prop_map(|text| json!(text)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn odd_values_are_an_error_or_metadata_that_can_be_changed(nth in 0_usize..200, with in odd_values()) {
        let mut odd = document();
        replace_nth(&mut odd, &mut { nth }, &with);
        if let Ok(document) = TableDocument::read(odd.to_string().as_bytes(), LOCATION) {
            for (name, updates, _) in updates() {
                if let Ok(after) = document.apply(&updates, LOCATION) {
                    let again = TableDocument::read(&after.to_json(), LOCATION).unwrap();
                    assert_eq!(again.metadata(), after.metadata(), "{name}");
                }
            }
        }
    }
}

#[test]
fn a_created_table_reads_back_as_it_was_made() {
    for format_version in [FormatVersion::V2, FormatVersion::V3] {
        let creation = TableCreation::builder()
            .name("t".into())
            .location("memory://w/t".into())
            .schema(schema(&["id", "name"]))
            .properties([("k".to_owned(), "v".to_owned())])
            .format_version(format_version)
            .build();
        let document = TableDocument::create(creation).unwrap();
        let again = TableDocument::read(&document.to_json(), LOCATION).unwrap();
        assert_eq!(again.metadata(), document.metadata());
    }
}

#[test]
fn an_upgrade_keeps_what_version_2_wrote() {
    let mut old = document();
    old["format-version"] = json!(2);
    old["properties"] = json!({});
    for field in ["next-row-id", "encryption-keys"] {
        old.as_object_mut().unwrap().remove(field);
    }
    let before = read(&old);
    let upgrade = [TableUpdate::UpgradeFormatVersion { format_version: FormatVersion::V3 }];
    // Snapshots that version 2 ignores the row ids of are not what the parsed side says of them: refused, not lost.
    assert_eq!(before.apply(&upgrade, LOCATION).unwrap_err().kind(), ErrorKind::Unsupported);
    for snapshot in old["snapshots"].as_array_mut().unwrap() {
        let snapshot = snapshot.as_object_mut().unwrap();
        for field in ["first-row-id", "added-rows", "key-id"] {
            snapshot.remove(field);
        }
    }
    let before = read(&old);
    let after = before.apply(&upgrade, LOCATION).unwrap();
    check("upgrade", &before, &after, &[]);
}

/// As Java leaves it out.
#[test]
fn a_snapshot_of_version_1_needs_no_sequence_number() {
    let mut document = document();
    let first = document["snapshots"][0].as_object_mut().unwrap();
    for later in ["sequence-number", "first-row-id", "added-rows"] {
        first.remove(later);
    }
    let read = read(&document);
    assert_eq!(read.metadata().snapshot_by_id(11).unwrap().sequence_number(), 0);
    let changed = read.apply(&[properties(&[("b", "3")])], LOCATION).unwrap();
    assert_eq!(to_value(&changed)["snapshots"], document["snapshots"]);
}

#[test]
fn updates_that_change_nothing_give_the_same_metadata() {
    let before = read(&document());
    let after = before.apply(&[TableUpdate::SetLocation { location: "memory://w/t".into() }], LOCATION).unwrap();
    assert!(Arc::ptr_eq(before.metadata(), after.metadata()));
}

#[test]
fn gzip_is_written_when_asked_for_and_read_by_its_content() {
    let document =
        read(&document()).apply(&[properties(&[("write.metadata.compression-codec", "GZIP")])], LOCATION).unwrap();
    let file = document.to_file().unwrap();
    assert!(file.starts_with(&[0x1f, 0x8b]));
    for name in ["v1.gz.metadata.json", "v1.metadata.json.gz", "v1.metadata.json"] {
        assert_eq!(TableDocument::read(&file, name).unwrap().metadata(), document.metadata());
    }
}
