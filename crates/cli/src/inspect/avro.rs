//! Avro container files: their header, which is all that can be said without the schema's meaning.
//!
//! `"Obj" 1 | map of metadata | 16 bytes of sync`, where a map is blocks of `count | (key, value)*`, ended by a zero.

use serde_json::Value;

use super::{Report, Subject};
use crate::failure::{Failure, Result};

/// A header of more than this is none of Iceberg's.
const HEADER_LIMIT: u64 = 16 << 20;

pub(super) async fn container(subject: &Subject<'_>, report: &mut Report) -> Result<()> {
    report.format("Avro", false);
    let bytes = subject.read(0..HEADER_LIMIT).await?;
    let metadata = header(&bytes).ok_or_else(|| Failure::new("the header is malformed"))?;
    let text = |key: &str| metadata.iter().find(|(k, _)| *k == key).and_then(|(_, v)| std::str::from_utf8(v).ok());
    let schema = text("avro.schema").and_then(|schema| serde_json::from_str::<Value>(schema).ok());
    let record = schema.as_ref().and_then(|schema| schema.get("name")).and_then(Value::as_str);
    match record {
        Some("manifest_entry") => report.format("Iceberg manifest (Avro)", false),
        Some("manifest_file") => report.format("Iceberg manifest list (Avro)", false),
        Some(name) => report.set("record", name),
        None => {}
    }
    report.set("codec", text("avro.codec").unwrap_or("null"));
    for key in ["format-version", "content", "partition-spec-id", "snapshot-id", "sequence-number"] {
        if let Some(value) = text(key) {
            report.set(&key.replace('-', "_"), value);
        }
    }
    Ok(())
}

/// The entries of the header's map.
fn header(bytes: &[u8]) -> Option<Vec<(&str, &[u8])>> {
    let mut rest = bytes.get(4..)?;
    let mut entries = Vec::new();
    loop {
        let count = long(&mut rest)?;
        if count == 0 {
            return Some(entries);
        }
        if count < 0 {
            // A negative count is followed by the block's length.
            long(&mut rest)?;
        }
        for _ in 0..count.unsigned_abs() {
            let key = std::str::from_utf8(string(&mut rest)?).ok()?;
            entries.push((key, string(&mut rest)?));
        }
    }
}

fn string<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(long(rest)?).ok()?;
    let (text, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(text)
}

fn long(rest: &mut &[u8]) -> Option<i64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    None
}
