//! From a change of the parsed metadata to a change of its text.
//!
//! Each top-level field is compared before and after; one that is the same keeps its text, whatever that is. In lists
//! and maps the same holds of each element. So nothing is lost but what the change itself replaced.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::item::{EncryptedKeyItem, SnapshotItem};
use super::raw::{RawDocument, RawObject, quote, write_object};
use super::refs::References;
use crate::spec::{FormatVersion, TableMetadata};
use crate::{Error, ErrorKind, Result};

/// What kept the text from being changed: it is not what the parser took it for.
#[derive(Debug)]
pub(super) struct SpliceError {
    field: &'static str,
    source: serde_json::Error,
}

impl SpliceError {
    pub(super) fn in_document(self, location: &str) -> Error {
        let message = format!("cannot change field {} of {location} without losing parts of it", self.field);
        Error::new(ErrorKind::InvalidData, message).with_source(self.source)
    }
}

/// The text of a new table's metadata.
pub(super) fn write(metadata: &TableMetadata) -> Result<RawDocument> {
    splice(RawDocument::default(), None, (metadata, &References::new())).map_err(|e| e.in_document(metadata.location()))
}

/// The text after a change, from the text before it.
pub(super) fn update(raw: &RawDocument, before: State<'_>, after: State<'_>) -> Result<RawDocument, SpliceError> {
    splice(raw.clone(), Some(before), after)
}

/// Metadata and its references.
pub(super) type State<'a> = (&'a TableMetadata, &'a References);

fn splice(
    raw: RawDocument,
    before: Option<State<'_>>,
    (after, refs_after): State<'_>,
) -> Result<RawDocument, SpliceError> {
    let mut splice = Splice { raw, before: before.map(|b| b.0), after };
    splice.scalar("format-version", |m| (m.format_version() as u8).to_string());
    splice.scalar("table-uuid", |m| quote(&m.uuid().to_string()));
    splice.scalar("location", |m| quote(m.location()));
    splice.scalar("last-sequence-number", |m| m.last_sequence_number().to_string());
    splice.scalar("last-updated-ms", |m| m.last_updated_ms().to_string());
    splice.scalar("last-column-id", |m| m.last_column_id().to_string());
    splice.scalar("current-schema-id", |m| m.current_schema_id().to_string());
    splice.list("schemas", "schema-id", |m| m.schemas_iter().map(|s| (s.schema_id(), s)).collect(), to_text)?;
    splice.scalar("default-spec-id", |m| m.default_partition_spec_id().to_string());
    splice.list(
        "partition-specs",
        "spec-id",
        |m| m.partition_specs_iter().map(|s| (s.spec_id(), s)).collect(),
        to_text,
    )?;
    splice.scalar("last-partition-id", |m| m.last_partition_id().to_string());
    splice.scalar("default-sort-order-id", |m| m.default_sort_order_id().to_string());
    splice.list("sort-orders", "order-id", |m| m.sort_orders_iter().map(|s| (s.order_id, s)).collect(), to_text)?;
    splice.properties()?;
    splice.scalar("current-snapshot-id", |m| match m.current_snapshot_id() {
        Some(id) => id.to_string(),
        None if m.format_version() >= FormatVersion::V3 => "null".to_owned(),
        None => "-1".to_owned(),
    });
    if after.format_version() >= FormatVersion::V3 {
        splice.next_row_id();
    }
    splice.refs(before.map(|b| b.1), refs_after)?;
    splice.snapshots()?;
    splice.encryption_keys()?;
    splice.list("statistics", "snapshot-id", |m| m.statistics_iter().map(|s| (s.snapshot_id, s)).collect(), to_text)?;
    splice.list(
        "partition-statistics",
        "snapshot-id",
        |m| m.partition_statistics_iter().map(|s| (s.snapshot_id, s)).collect(),
        to_text,
    )?;
    splice.log("snapshot-log", |m| m.history())?;
    splice.log("metadata-log", |m| m.metadata_log())?;
    Ok(splice.raw)
}

struct Splice<'a> {
    raw: RawDocument,
    before: Option<&'a TableMetadata>,
    after: &'a TableMetadata,
}

impl<'a> Splice<'a> {
    fn scalar(&mut self, field: &'static str, value: impl Fn(&TableMetadata) -> String) {
        let after = value(self.after);
        if self.before.map(value).as_ref() != Some(&after) {
            self.raw.set(field, after);
        }
    }

    /// A table that was upgraded to version 3 starts with the same number that older ones are said to have.
    fn next_row_id(&mut self) {
        if self.raw.get("next-row-id").is_none()
            || self.before.is_none_or(|b| b.next_row_id() != self.after.next_row_id())
        {
            self.raw.set("next-row-id", self.after.next_row_id().to_string());
        }
    }

    fn properties(&mut self) -> Result<(), SpliceError> {
        const FIELD: &str = "properties";
        if self.before.is_some_and(|b| b.properties() == self.after.properties()) {
            return Ok(());
        }
        let before = object(FIELD, self.raw.get(FIELD))?;
        let values: HashMap<&str, String> =
            self.after.properties().iter().map(|(name, value)| (name.as_str(), quote(value))).collect();
        let order = kept_then_new(before.iter().map(|(name, _)| &**name), values.keys().copied());
        let mut text = String::new();
        write_object(&mut text, order.iter().map(|name| (name.as_str(), values[name.as_str()].as_str())));
        self.raw.set(FIELD, text);
        Ok(())
    }

    fn refs(&mut self, before: Option<&References>, after: &References) -> Result<(), SpliceError> {
        const FIELD: &str = "refs";
        if before == Some(after) {
            return Ok(());
        }
        let fields = object(FIELD, self.raw.get(FIELD))?;
        let texts: HashMap<&str, &RawValue> = fields.iter().map(|(name, text)| (&**name, *text)).collect();
        let mut values: HashMap<&str, String> = HashMap::new();
        for (name, reference) in after {
            let unchanged = before.is_some_and(|b| b.get(name) == Some(reference));
            let value = match texts.get(name.as_str()) {
                Some(text) if unchanged => text.get().to_owned(),
                old => merge_object(FIELD, old.copied(), &to_text(reference).map_err(at(FIELD))?, REFERENCE_FIELDS)?,
            };
            values.insert(name, value);
        }
        let order = kept_then_new(fields.iter().map(|(name, _)| &**name), values.keys().copied());
        let mut text = String::new();
        write_object(&mut text, order.iter().map(|name| (name.as_str(), values[name.as_str()].as_str())));
        self.raw.set(FIELD, text);
        Ok(())
    }

    fn snapshots(&mut self) -> Result<(), SpliceError> {
        const FIELD: &str = "snapshots";
        // The common case, without a look at the thousands that stay.
        if let Some(before) = self.before
            && before.snapshots().all(|old| {
                self.after.snapshot_by_id(old.snapshot_id()).is_some_and(|new| Arc::ptr_eq(old, new) || old == new)
            })
        {
            let mut added: Vec<_> =
                self.after.snapshots().filter(|s| before.snapshot_by_id(s.snapshot_id()).is_none()).collect();
            added.sort_by_key(|s| (s.sequence_number(), s.snapshot_id()));
            return self.append(FIELD, added.into_iter().map(|s| to_text(&SnapshotItem::from(&**s))));
        }
        self.list(
            FIELD,
            "snapshot-id",
            |m| m.snapshots().map(|s| (s.snapshot_id(), s)).collect(),
            |s| to_text(&SnapshotItem::from(&***s)),
        )
    }

    fn encryption_keys(&mut self) -> Result<(), SpliceError> {
        const FIELD: &str = "encryption-keys";
        match self.before {
            None if self.after.encryption_keys_iter().len() == 0 => return Ok(()),
            Some(before)
                if before.encryption_keys_iter().all(|old| self.after.encryption_key(old.key_id()) == Some(old)) =>
            {
                let mut added: Vec<_> =
                    self.after.encryption_keys_iter().filter(|k| before.encryption_key(k.key_id()).is_none()).collect();
                added.sort_by_key(|k| k.key_id());
                return self.append(FIELD, added.into_iter().map(|k| to_text(&EncryptedKeyItem::from(k))));
            }
            _ => {}
        }
        self.list(
            FIELD,
            "key-id",
            |m| m.encryption_keys_iter().map(|k| (k.key_id().to_owned(), k)).collect(),
            |k| to_text(&EncryptedKeyItem::from(*k)),
        )
    }

    /// Adds elements at the end of a list whose other elements stay.
    fn append(
        &mut self,
        field: &'static str,
        added: impl Iterator<Item = serde_json::Result<String>>,
    ) -> Result<(), SpliceError> {
        let added = added.collect::<serde_json::Result<Vec<_>>>().map_err(at(field))?;
        if added.is_empty() {
            return Ok(());
        }
        let old = self.raw.get(field).and_then(|text| text.strip_prefix('[')?.strip_suffix(']')).unwrap_or_default();
        let old = old.trim_ascii();
        let mut text = String::with_capacity(old.len() + added.iter().map(|a| a.len() + 1).sum::<usize>() + 2);
        text.push('[');
        text.push_str(old);
        for element in &added {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(element);
        }
        text.push(']');
        self.raw.set(field, text);
        Ok(())
    }

    /// A list of objects, each known by an id; new ones go to the end in the order of their ids.
    fn list<K: Eq + Hash + Ord + DeserializeOwned, T: PartialEq>(
        &mut self,
        field: &'static str,
        id_field: &str,
        elements: impl Fn(&'a TableMetadata) -> HashMap<K, T>,
        write: impl Fn(&T) -> serde_json::Result<String>,
    ) -> Result<(), SpliceError> {
        let before = self.before.map(&elements);
        let mut after = elements(self.after);
        if before.as_ref() == Some(&after) {
            return Ok(());
        }
        let before = before.unwrap_or_default();
        let mut texts = Vec::with_capacity(after.len());
        for text in list(field, self.raw.get(field))? {
            let id = id_of::<K>(text, id_field).map_err(at(field))?;
            if let Some(new) = after.remove(&id) {
                let unchanged = before.get(&id) == Some(&new);
                texts.push(if unchanged { text.get().to_owned() } else { write(&new).map_err(at(field))? });
            }
        }
        let mut added: Vec<_> = after.into_iter().collect();
        added.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (_, new) in added {
            texts.push(write(&new).map_err(at(field))?);
        }
        self.raw.set(field, write_list(&texts));
        Ok(())
    }

    /// A list to whose end entries are added and from which others go.
    fn log<T: PartialEq + Serialize + 'a>(
        &mut self,
        field: &'static str,
        entries: impl Fn(&'a TableMetadata) -> &'a [T],
    ) -> Result<(), SpliceError> {
        let before = self.before.map_or(&[][..], &entries);
        let after = entries(self.after);
        if self.before.is_some() && before == after {
            return Ok(());
        }
        if self.before.is_some() && after.starts_with(before) {
            return self.append(field, after[before.len()..].iter().map(to_text));
        }
        let old = list(field, self.raw.get(field))?;
        let mut old = before.iter().zip(old);
        let mut texts = Vec::with_capacity(after.len());
        for entry in after {
            let text = old.find(|(known, _)| *known == entry).map(|(_, text)| text.get().to_owned());
            texts.push(text.map_or_else(|| to_text(entry), Ok).map_err(at(field))?);
        }
        self.raw.set(field, write_list(&texts));
        Ok(())
    }
}

/// The fields of a reference that are known: what they held before does not stay when it changes.
const REFERENCE_FIELDS: &[&str] =
    &["snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"];

fn at(field: &'static str) -> impl Fn(serde_json::Error) -> SpliceError {
    move |source| SpliceError { field, source }
}

fn to_text<T: Serialize>(value: &T) -> serde_json::Result<String> {
    serde_json::to_string(value)
}

fn object<'r>(field: &'static str, text: Option<&'r str>) -> Result<Vec<(Cow<'r, str>, &'r RawValue)>, SpliceError> {
    let parsed = text.map(serde_json::from_str::<Option<RawObject<'r>>>).transpose().map_err(at(field))?;
    Ok(parsed.flatten().map(|object| object.0).unwrap_or_default())
}

fn list<'r>(field: &'static str, text: Option<&'r str>) -> Result<Vec<&'r RawValue>, SpliceError> {
    let parsed = text.map(serde_json::from_str::<Option<Vec<&'r RawValue>>>).transpose().map_err(at(field))?;
    Ok(parsed.flatten().unwrap_or_default())
}

fn id_of<K: DeserializeOwned>(element: &RawValue, id_field: &str) -> serde_json::Result<K> {
    let RawObject(fields) = serde_json::from_str(element.get())?;
    let id = fields.iter().find(|(name, _)| name == id_field).map_or("null", |(_, id)| id.get());
    serde_json::from_str(id)
}

/// The new text of an object, with those fields of the old one that are not `known`.
fn merge_object(field: &'static str, old: Option<&RawValue>, new: &str, known: &[&str]) -> Result<String, SpliceError> {
    let mut fields = object(field, Some(new))?;
    fields.extend(object(field, old.map(RawValue::get))?.into_iter().filter(|(name, _)| !known.contains(&&**name)));
    let mut text = String::new();
    write_object(&mut text, fields.iter().map(|(name, value)| (&**name, value.get())));
    Ok(text)
}

/// The names of `old` that are in `new`, in their order, then the others, sorted.
fn kept_then_new<'n>(old: impl IntoIterator<Item = &'n str>, new: impl IntoIterator<Item = &'n str>) -> Vec<String> {
    let mut new: BTreeSet<&str> = new.into_iter().collect();
    let mut names: Vec<String> = old.into_iter().filter(|name| new.remove(name)).map(str::to_owned).collect();
    names.extend(new.into_iter().map(str::to_owned));
    names
}

fn write_list(elements: &[String]) -> String {
    format!("[{}]", elements.join(","))
}
