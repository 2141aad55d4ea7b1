//! The parts of metadata.json that the spec types cannot write, or not as Java does.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;

use crate::spec::{EncryptedKey, Snapshot};

/// A snapshot, its fields in Java's order.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SnapshotItem<'a> {
    sequence_number: i64,
    snapshot_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_snapshot_id: Option<i64>,
    timestamp_ms: i64,
    summary: SummaryItem<'a>,
    manifest_list: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_id: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_row_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    added_rows: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<&'a str>,
}

#[derive(Serialize)]
struct SummaryItem<'a> {
    operation: &'a str,
    #[serde(flatten)]
    others: BTreeMap<&'a str, &'a str>,
}

impl<'a> From<&'a Snapshot> for SnapshotItem<'a> {
    fn from(snapshot: &'a Snapshot) -> Self {
        let summary = snapshot.summary();
        Self {
            sequence_number: snapshot.sequence_number(),
            snapshot_id: snapshot.snapshot_id(),
            parent_snapshot_id: snapshot.parent_snapshot_id(),
            timestamp_ms: snapshot.timestamp_ms(),
            summary: SummaryItem {
                operation: summary.operation.as_str(),
                others: summary.additional_properties.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
            },
            manifest_list: snapshot.manifest_list(),
            schema_id: snapshot.schema_id(),
            first_row_id: snapshot.first_row_id(),
            added_rows: snapshot.added_rows_count(),
            key_id: snapshot.encryption_key_id(),
        }
    }
}

/// An entry of `encryption-keys`; Java does not accept a null in it.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct EncryptedKeyItem<'a> {
    key_id: &'a str,
    encrypted_key_metadata: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_by_id: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    properties: BTreeMap<&'a str, &'a str>,
}

impl<'a> From<&'a EncryptedKey> for EncryptedKeyItem<'a> {
    fn from(key: &'a EncryptedKey) -> Self {
        Self {
            key_id: key.key_id(),
            encrypted_key_metadata: BASE64.encode(key.encrypted_key_metadata()),
            encrypted_by_id: key.encrypted_by_id(),
            properties: key.properties().iter().map(|(k, v)| (k.as_str(), v.as_str())).collect(),
        }
    }
}
