//! Puffin files: `"PFA1" | blobs | "PFA1" | footer payload | payload length, i32 LE | flags | "PFA1"`.

use serde_json::Value;

use super::{Report, Subject, WHOLE_LIMIT};
use crate::failure::{Context as _, Failure, Result};

const TRAILER: u64 = 12;
const MAGIC: &[u8] = b"PFA1";

pub(super) async fn file(subject: &Subject<'_>, report: &mut Report) -> Result<()> {
    report.format("Puffin", false);
    let trailer = subject.read_tail(TRAILER).await?;
    let (Some(length), Some(flags), Some(MAGIC)) = (trailer.first_chunk::<4>(), trailer.get(4), trailer.get(8..))
    else {
        return Err(Failure::new("it does not end in PFA1: cut off?"));
    };
    let length = u64::from(u32::from_le_bytes(*length));
    let end = subject.length - TRAILER;
    if length > end.saturating_sub(8) || length > WHOLE_LIMIT {
        return Err(Failure::new(format!("it claims a footer of {length} bytes, more than there are")));
    }
    report.set("footer_length", length);
    if flags & 1 != 0 {
        report.set("footer_codec", "lz4");
        return Ok(());
    }
    let payload = subject.read(end - length..end).await?;
    let footer: Value = serde_json::from_slice(&payload).context("the footer is no JSON")?;
    let blobs = footer.get("blobs").and_then(Value::as_array).cloned().unwrap_or_default();
    report.set("blobs", blobs.len());
    let mut kinds: Vec<&str> = blobs.iter().filter_map(|blob| blob.get("type")?.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    report.set("blob_types", kinds.join(", "));
    if let Some(writer) = footer.pointer("/properties/created-by") {
        report.set("created_by", writer.clone());
    }
    Ok(())
}
