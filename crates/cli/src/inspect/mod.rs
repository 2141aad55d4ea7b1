//! What a file is, by its bytes alone.

mod avro;
mod metadata_json;
mod parquet;
mod puffin;
mod thrift;

use std::fmt::Write as _;
use std::ops::Range;

use bytes::Bytes;
use lakelock_crypto::ags1;
use lakelock_storage::Storage;
use serde_json::{Map, Value, json};

use crate::failure::{Context as _, Result};
use crate::terminal::{byte_size, grouped};

/// Bytes at the start that tell most formats apart.
const HEAD: u64 = 64;
/// Whole files are read only up to here.
const WHOLE_LIMIT: u64 = 256 << 20;

/// A file to look into.
#[derive(Debug)]
pub(crate) struct Subject<'a> {
    pub(crate) storage: &'a Storage,
    pub(crate) location: &'a str,
    pub(crate) length: u64,
}

impl<'a> Subject<'a> {
    /// Asks for the file's length.
    pub(crate) async fn open(storage: &'a Storage, location: &'a str) -> Result<Self> {
        let length = storage.length(location).await.with_context(|| format!("cannot read {location}"))?;
        Ok(Self { storage, location, length })
    }

    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let range = range.start.min(self.length)..range.end.min(self.length);
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        self.storage.read_range(self.location, range).await.with_context(|| format!("cannot read {}", self.location))
    }

    async fn read_tail(&self, bytes: u64) -> Result<Bytes> {
        self.read(self.length.saturating_sub(bytes)..self.length).await
    }

    /// Looks at the file: what it is, and what can be said of it without a key.
    pub(crate) async fn describe(&self) -> Result<Report> {
        let head = self.read(0..HEAD).await?;
        let tail = self.read_tail(4).await?;
        let mut report = Report::new(self);
        let outcome = match (&*head, &*tail) {
            ([b'P', b'A', b'R', b'E', ..], _) => parquet::encrypted(self, &mut report).await,
            ([b'P', b'A', b'R', b'1', ..], _) => parquet::plaintext(self, &mut report).await,
            ([b'A', b'G', b'S', b'1', ..], _) => {
                ags1_stream(self, &head, &mut report);
                Ok(())
            }
            ([b'O', b'b', b'j', 1, ..], _) => avro::container(self, &mut report).await,
            ([b'P', b'F', b'A', b'1', ..], _) => puffin::file(self, &mut report).await,
            (head, _) if head.trim_ascii_start().starts_with(b"{") || head.starts_with(&[0x1f, 0x8b]) => {
                metadata_json::document(self, &mut report).await
            }
            (head, _) if head.starts_with(b"SQLite format 3\0") => {
                report.format("SQLite database", false);
                Ok(())
            }
            // Its bytes are not shown: it may be a file of keys.
            _ => {
                report.set("format", "unknown");
                Ok(())
            }
        };
        if let Err(failure) = outcome {
            report.set("damaged", failure.render(crate::terminal::Paint::plain(), None).trim().replace("error: ", ""));
        }
        Ok(report)
    }
}

/// What was found, in the order in which it is shown.
#[derive(Debug)]
pub(crate) struct Report {
    entries: Map<String, Value>,
}

impl Report {
    fn new(subject: &Subject<'_>) -> Self {
        let mut entries = Map::new();
        entries.insert("file".into(), json!(subject.location));
        entries.insert("format".into(), Value::Null);
        entries.insert("encrypted".into(), Value::Null);
        entries.insert("stored_length".into(), json!(subject.length));
        Self { entries }
    }

    fn format(&mut self, format: &str, encrypted: bool) {
        self.set("format", format);
        self.set("encrypted", encrypted);
    }

    /// Adds or changes an entry.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.entries.insert(name.to_owned(), value.into());
    }

    /// As JSON.
    pub(crate) fn into_json(self) -> Value {
        Value::Object(self.entries)
    }

    /// Names and values for programs that take text.
    pub(crate) fn plain(&self) -> impl Iterator<Item = (&str, Option<String>)> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        };
        self.entries.iter().map(move |(name, value)| (name.as_str(), text(value)))
    }

    /// Names and values for people.
    pub(crate) fn lines(&self) -> Vec<(String, String)> {
        let text = |name: &str, value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            Value::Null => "-".to_owned(),
            Value::Number(number) => match number.as_u64() {
                Some(bytes) if name.ends_with("_length") && bytes >= 1024 => {
                    format!("{} ({})", grouped(bytes), byte_size(bytes))
                }
                Some(_) if name.ends_with("_id") || name.ends_with("version") => number.to_string(),
                Some(count) => grouped(count),
                None => number.to_string(),
            },
            other => other.to_string(),
        };
        self.entries.iter().map(|(name, value)| (name.replace('_', " "), text(name, value))).collect()
    }
}

/// AGS1 as far as it can be known without the key.
fn ags1_stream(subject: &Subject<'_>, head: &[u8], report: &mut Report) {
    report.format("AES GCM stream (AGS1)", true);
    if let Some(length) = head.get(4..8).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok()) {
        report.set("block_length", u32::from_le_bytes(length));
    }
    let layout = ags1::check_header(head).and_then(|()| ags1::Layout::from_stored_length(subject.length));
    match layout {
        Ok(layout) => {
            report.set("plaintext_length", layout.plain_length());
            report.set("blocks", layout.block_count());
            report.set("note", "lengths follow from the stored length; only the key tells whether it is the true one");
        }
        Err(error) => report.set("damaged", error.to_string()),
    }
}

/// The first `length` bytes as a hex dump, sixteen a line.
pub(crate) fn hex_dump(bytes: &[u8]) -> Vec<String> {
    bytes
        .chunks(16)
        .enumerate()
        .map(|(i, chunk)| {
            let mut hex = String::new();
            for (j, byte) in chunk.iter().enumerate() {
                let _ = write!(hex, "{}{byte:02x}", if j == 8 { "  " } else { " " });
            }
            let text: String =
                chunk.iter().map(|b| if (0x20..0x7f).contains(b) { char::from(*b) } else { '.' }).collect();
            format!("{:08x} {hex:<49}  {text}", i * 16)
        })
        .collect()
}

#[cfg(test)]
mod tests;
