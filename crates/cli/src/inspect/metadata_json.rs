//! Table metadata, and JSON that is something else.

use std::io::Read as _;

use serde_json::Value;

use super::{Report, Subject, WHOLE_LIMIT};
use crate::failure::{Context as _, Failure, Result};

pub(super) async fn document(subject: &Subject<'_>, report: &mut Report) -> Result<()> {
    report.format("JSON", false);
    if subject.length > WHOLE_LIMIT {
        return Err(Failure::new("too large to look into"));
    }
    let mut bytes = subject.read(0..subject.length).await?.to_vec();
    if bytes.starts_with(&[0x1f, 0x8b]) {
        report.format("gzip", false);
        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(&*bytes)
            .take(WHOLE_LIMIT + 1)
            .read_to_end(&mut plain)
            .context("it does not decompress")?;
        if plain.len() as u64 > WHOLE_LIMIT {
            return Err(Failure::new("too large to look into once decompressed"));
        }
        bytes = plain;
        report.set("plaintext_length", bytes.len());
    }
    let json: Value = serde_json::from_slice(&bytes).context("it is no valid JSON")?;
    if let (Some(version), Some(uuid)) = (json.get("format-version"), json.get("table-uuid")) {
        report.format("Iceberg table metadata", false);
        report.set("format_version", version.clone());
        report.set("table_uuid", uuid.clone());
        set_table(report, &json);
    } else if json.get("store-key").is_some() && json.get("protection").is_some() {
        report.format("Lakelock keystore", true);
    }
    Ok(())
}

fn set_table(report: &mut Report, json: &Value) {
    let count = |key: &str| json.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    for key in ["location", "last-sequence-number", "current-snapshot-id", "next-row-id"] {
        // Some writers have -1 for no snapshot.
        if let Some(value) = json.get(key).filter(|value| !value.is_null() && **value != -1) {
            // Ids of snapshots are beyond what many readers keep of a number.
            let id = value.as_i64().filter(|_| key == "current-snapshot-id");
            report.set(&key.replace('-', "_"), id.map_or_else(|| value.clone(), |id| id.to_string().into()));
        }
    }
    report.set("snapshots", count("snapshots"));
    let key_id = json.pointer("/properties/encryption.key-id");
    report.set("master_key_id", key_id.cloned().unwrap_or_else(|| "none: the table is not encrypted".into()));
    let entries = json.get("encryption-keys").and_then(Value::as_array);
    let is_kek = |entry: &&Value| key_id.is_some() && entry.get("encrypted-by-id") == key_id;
    let key_encryption_keys = entries.map_or(0, |entries| entries.iter().filter(is_kek).count());
    report.set("key_encryption_keys", key_encryption_keys);
    report.set("manifest_list_keys", count("encryption-keys") - key_encryption_keys);
}
