//! The records of manifests and manifest lists, between Avro and our own types.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::value::{AvroValue, RawPartition, RawValue};
use super::{
    DataFile, FieldSummary, FileContent, FileFormat, ManifestContent, ManifestEntry, ManifestFile, ManifestStatus,
};
use crate::encryption::EncodedKeyMetadata;
use crate::spec::{FormatVersion, Literal, PrimitiveType, Struct};

/// Bytes of an Avro file.
#[derive(Debug)]
pub(super) struct ByteBuf(pub(super) Vec<u8>);

impl<'de> Deserialize<'de> for ByteBuf {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BytesVisitor;
        impl Visitor<'_> for BytesVisitor {
            type Value = ByteBuf;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, v: &[u8]) -> Result<ByteBuf, E> {
                Ok(ByteBuf(v.to_vec()))
            }
            fn visit_str<E: de::Error>(self, _: &str) -> Result<ByteBuf, E> {
                // Serde's own message would show the text, which stands where a key may.
                Err(E::custom("a string where bytes are expected"))
            }
        }
        deserializer.deserialize_bytes(BytesVisitor)
    }
}

struct Bytes<'a>(&'a [u8]);

impl Serialize for Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(self.0)
    }
}

/// A map with integer keys, which Avro keeps as an array of pairs.
#[derive(Debug)]
struct IdMap<V>(BTreeMap<i32, V>);

#[derive(Serialize, Deserialize)]
struct Pair<V> {
    key: i32,
    value: V,
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for IdMap<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PairsVisitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for PairsVisitor<V> {
            type Value = IdMap<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of key and value pairs")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<IdMap<V>, A::Error> {
                let mut map = BTreeMap::new();
                while let Some(Pair { key, value }) = seq.next_element()? {
                    map.insert(key, value);
                }
                Ok(IdMap(map))
            }
        }
        deserializer.deserialize_seq(PairsVisitor(PhantomData))
    }
}

/// A manifest entry as it lies in the file.
#[derive(Debug, Deserialize)]
pub(super) struct RawEntry {
    status: i32,
    #[serde(default)]
    snapshot_id: Option<i64>,
    #[serde(default)]
    sequence_number: Option<i64>,
    #[serde(default)]
    file_sequence_number: Option<i64>,
    data_file: RawDataFile,
}

#[derive(Debug, Deserialize)]
struct RawDataFile {
    #[serde(default)]
    content: i32,
    file_path: String,
    file_format: String,
    partition: RawPartition,
    record_count: i64,
    file_size_in_bytes: i64,
    #[serde(default)]
    column_sizes: Option<IdMap<i64>>,
    #[serde(default)]
    value_counts: Option<IdMap<i64>>,
    #[serde(default)]
    null_value_counts: Option<IdMap<i64>>,
    #[serde(default)]
    nan_value_counts: Option<IdMap<i64>>,
    #[serde(default)]
    lower_bounds: Option<IdMap<ByteBuf>>,
    #[serde(default)]
    upper_bounds: Option<IdMap<ByteBuf>>,
    #[serde(default)]
    key_metadata: Option<ByteBuf>,
    #[serde(default)]
    split_offsets: Option<Vec<i64>>,
    #[serde(default)]
    equality_ids: Option<Vec<i32>>,
    #[serde(default)]
    sort_order_id: Option<i32>,
    #[serde(default)]
    first_row_id: Option<i64>,
    #[serde(default)]
    referenced_data_file: Option<String>,
    #[serde(default)]
    content_offset: Option<i64>,
    #[serde(default)]
    content_size_in_bytes: Option<i64>,
}

/// How a manifest's partition records become values of its spec.
pub(super) struct PartitionLayout<'a> {
    pub(super) spec_id: i32,
    /// The spec's fields: type, and where in the file's record the value is.
    pub(super) fields: Vec<(&'a PrimitiveType, usize)>,
}

impl PartitionLayout<'_> {
    /// The partition that has these values in the file.
    pub(super) fn partition(&self, values: Vec<RawValue>) -> Result<Struct, String> {
        let mut values: Vec<_> = values.into_iter().map(Some).collect();
        let partition = self.fields.iter().map(|(expected, position)| {
            // Each value is taken once: two fields of a spec never share an id.
            let value = values.get_mut(*position).and_then(Option::take);
            value.map_or(Ok(None), |v| v.into_literal(expected))
        });
        partition.collect()
    }
}

impl RawEntry {
    pub(super) fn into_entry(self, layout: &PartitionLayout<'_>) -> Result<ManifestEntry, String> {
        Ok(ManifestEntry {
            status: status(self.status)?,
            snapshot_id: self.snapshot_id,
            sequence_number: optional("sequence_number", self.sequence_number)?,
            file_sequence_number: optional("file_sequence_number", self.file_sequence_number)?,
            data_file: self.data_file.into_data_file(layout)?,
        })
    }
}

impl RawDataFile {
    fn into_data_file(self, layout: &PartitionLayout<'_>) -> Result<DataFile, String> {
        let bounds = |map: IdMap<ByteBuf>| map.0.into_iter().map(|(id, bytes)| (id, bytes.0)).collect();
        Ok(DataFile {
            content: file_content(self.content)?,
            file_format: file_format(&self.file_format)?,
            file_path: self.file_path,
            spec_id: layout.spec_id,
            partition: layout.partition(self.partition.0)?,
            record_count: count("record_count", self.record_count)?,
            file_size_in_bytes: count("file_size_in_bytes", self.file_size_in_bytes)?,
            column_sizes: counts("column_sizes", self.column_sizes)?,
            value_counts: counts("value_counts", self.value_counts)?,
            null_value_counts: self.null_value_counts.map(known),
            nan_value_counts: counts("nan_value_counts", self.nan_value_counts)?,
            lower_bounds: self.lower_bounds.map(bounds),
            upper_bounds: self.upper_bounds.map(bounds),
            key_metadata: self.key_metadata.map(|bytes| EncodedKeyMetadata::new(bytes.0)),
            split_offsets: self.split_offsets,
            equality_ids: self.equality_ids,
            sort_order_id: self.sort_order_id,
            first_row_id: optional("first_row_id", self.first_row_id)?,
            referenced_data_file: self.referenced_data_file,
            content_offset: optional("content_offset", self.content_offset)?,
            content_size_in_bytes: optional("content_size_in_bytes", self.content_size_in_bytes)?,
        })
    }
}

/// A manifest entry on its way into a manifest.
pub(super) struct EntryRecord<'a> {
    pub(super) version: FormatVersion,
    /// Avro name and type of each partition field.
    pub(super) partition: &'a [(String, PrimitiveType)],
    pub(super) status: ManifestStatus,
    pub(super) snapshot_id: Option<i64>,
    pub(super) sequence_number: Option<i64>,
    pub(super) file_sequence_number: Option<i64>,
    pub(super) file: &'a DataFile,
}

impl Serialize for EntryRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("manifest_entry", 5)?;
        record.serialize_field("status", &(self.status as i32))?;
        record.serialize_field("snapshot_id", &self.snapshot_id)?;
        record.serialize_field("sequence_number", &self.sequence_number)?;
        record.serialize_field("file_sequence_number", &self.file_sequence_number)?;
        record.serialize_field("data_file", &DataFileRecord(self))?;
        record.end()
    }
}

struct DataFileRecord<'a>(&'a EntryRecord<'a>);

impl Serialize for DataFileRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (version, file) = (self.0.version, self.0.file);
        let format = match file.file_format {
            FileFormat::Avro => "AVRO",
            FileFormat::Orc => "ORC",
            FileFormat::Parquet => "PARQUET",
            FileFormat::Puffin => "PUFFIN",
        };
        let mut record = serializer.serialize_struct("r2", 20)?;
        record.serialize_field("content", &(file.content as i32))?;
        record.serialize_field("file_path", &file.file_path)?;
        record.serialize_field("file_format", format)?;
        record.serialize_field("partition", &PartitionRecord(self.0.partition, &file.partition))?;
        record.serialize_field("record_count", &file.record_count)?;
        record.serialize_field("file_size_in_bytes", &file.file_size_in_bytes)?;
        record.serialize_field("column_sizes", &file.column_sizes.as_ref().map(Pairs))?;
        record.serialize_field("value_counts", &file.value_counts.as_ref().map(Pairs))?;
        record.serialize_field("null_value_counts", &file.null_value_counts.as_ref().map(Pairs))?;
        record.serialize_field("nan_value_counts", &file.nan_value_counts.as_ref().map(Pairs))?;
        record.serialize_field("lower_bounds", &file.lower_bounds.as_ref().map(BytesPairs))?;
        record.serialize_field("upper_bounds", &file.upper_bounds.as_ref().map(BytesPairs))?;
        let key_metadata = file.key_metadata.as_ref().map(|key| Bytes(key.expose_secret()));
        record.serialize_field("key_metadata", &key_metadata)?;
        record.serialize_field("split_offsets", &file.split_offsets)?;
        record.serialize_field("equality_ids", &file.equality_ids)?;
        record.serialize_field("sort_order_id", &file.sort_order_id)?;
        if version >= FormatVersion::V3 {
            // Delete files have no rows of their own.
            let first_row_id = file.first_row_id.filter(|_| file.content == FileContent::Data);
            record.serialize_field("first_row_id", &first_row_id)?;
        }
        record.serialize_field("referenced_data_file", &file.referenced_data_file)?;
        if version >= FormatVersion::V3 {
            record.serialize_field("content_offset", &file.content_offset)?;
            record.serialize_field("content_size_in_bytes", &file.content_size_in_bytes)?;
        }
        record.end()
    }
}

struct PartitionRecord<'a>(&'a [(String, PrimitiveType)], &'a Struct);

impl Serialize for PartitionRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for ((name, type_), value) in self.0.iter().zip(self.1.fields()) {
            match value {
                Some(Literal::Primitive(literal)) => map.serialize_entry(name, &AvroValue(literal, type_))?,
                _ => map.serialize_entry(name, &())?,
            }
        }
        map.end()
    }
}

struct Pairs<'a, V>(&'a BTreeMap<i32, V>);

impl<V: Serialize + Copy> Serialize for Pairs<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(&key, &value)| Pair { key, value }))
    }
}

struct BytesPairs<'a>(&'a BTreeMap<i32, Vec<u8>>);

impl Serialize for BytesPairs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|(&key, value)| Pair { key, value: Bytes(value) }))
    }
}

/// A manifest list entry as it lies in the file. The aliases are the names of version 1.
#[derive(Debug, Deserialize)]
pub(super) struct RawManifestFile {
    manifest_path: String,
    manifest_length: i64,
    partition_spec_id: i32,
    #[serde(default)]
    content: i32,
    #[serde(default)]
    sequence_number: i64,
    #[serde(default)]
    min_sequence_number: i64,
    added_snapshot_id: i64,
    #[serde(default, alias = "added_data_files_count")]
    added_files_count: Option<i32>,
    #[serde(default, alias = "existing_data_files_count")]
    existing_files_count: Option<i32>,
    #[serde(default, alias = "deleted_data_files_count")]
    deleted_files_count: Option<i32>,
    #[serde(default)]
    added_rows_count: Option<i64>,
    #[serde(default)]
    existing_rows_count: Option<i64>,
    #[serde(default)]
    deleted_rows_count: Option<i64>,
    #[serde(default)]
    partitions: Option<Vec<RawSummary>>,
    #[serde(default)]
    key_metadata: Option<ByteBuf>,
    #[serde(default)]
    first_row_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
struct RawSummary {
    contains_null: bool,
    #[serde(default)]
    contains_nan: Option<bool>,
    #[serde(default)]
    lower_bound: Option<ByteBuf>,
    #[serde(default)]
    upper_bound: Option<ByteBuf>,
}

impl RawManifestFile {
    pub(super) fn into_manifest_file(self) -> Result<ManifestFile, String> {
        let files = |name, value: Option<i32>| {
            value.map(|n| u32::try_from(n).map_err(|_| format!("the negative {name} {n}"))).transpose()
        };
        let rows = |name, value: Option<i64>| value.map(|n| count(name, n)).transpose();
        let summaries = self.partitions.map(|summaries| {
            let summary = |s: RawSummary| FieldSummary {
                contains_null: s.contains_null,
                contains_nan: s.contains_nan,
                lower_bound: s.lower_bound.map(|b| b.0),
                upper_bound: s.upper_bound.map(|b| b.0),
            };
            summaries.into_iter().map(summary).collect()
        });
        Ok(ManifestFile {
            manifest_path: self.manifest_path,
            manifest_length: count("manifest_length", self.manifest_length)?,
            partition_spec_id: self.partition_spec_id,
            content: match self.content {
                0 => ManifestContent::Data,
                1 => ManifestContent::Deletes,
                other => return Err(format!("the unknown content {other}")),
            },
            sequence_number: not_negative("sequence_number", self.sequence_number)?,
            min_sequence_number: not_negative("min_sequence_number", self.min_sequence_number)?,
            added_snapshot_id: self.added_snapshot_id,
            added_files_count: files("added_files_count", self.added_files_count)?,
            existing_files_count: files("existing_files_count", self.existing_files_count)?,
            deleted_files_count: files("deleted_files_count", self.deleted_files_count)?,
            added_rows_count: rows("added_rows_count", self.added_rows_count)?,
            existing_rows_count: rows("existing_rows_count", self.existing_rows_count)?,
            deleted_rows_count: rows("deleted_rows_count", self.deleted_rows_count)?,
            partitions: summaries,
            key_metadata: self.key_metadata.map(|bytes| EncodedKeyMetadata::new(bytes.0)),
            first_row_id: optional("first_row_id", self.first_row_id)?,
        })
    }
}

/// A manifest list entry on its way into a list of version 2 or later, where no count may be missing.
pub(super) struct ManifestFileRecord<'a>(pub(super) FormatVersion, pub(super) &'a ManifestFile);

impl Serialize for ManifestFileRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let manifest = self.1;
        let summaries = manifest.partitions.as_ref().map(|s| s.iter().map(SummaryRecord).collect::<Vec<_>>());
        let mut record = serializer.serialize_struct("manifest_file", 16)?;
        record.serialize_field("manifest_path", &manifest.manifest_path)?;
        record.serialize_field("manifest_length", &manifest.manifest_length)?;
        record.serialize_field("partition_spec_id", &manifest.partition_spec_id)?;
        record.serialize_field("content", &(manifest.content as i32))?;
        record.serialize_field("sequence_number", &manifest.sequence_number)?;
        record.serialize_field("min_sequence_number", &manifest.min_sequence_number)?;
        record.serialize_field("added_snapshot_id", &manifest.added_snapshot_id)?;
        record.serialize_field("added_files_count", &manifest.added_files_count.unwrap_or(0))?;
        record.serialize_field("existing_files_count", &manifest.existing_files_count.unwrap_or(0))?;
        record.serialize_field("deleted_files_count", &manifest.deleted_files_count.unwrap_or(0))?;
        record.serialize_field("added_rows_count", &manifest.added_rows_count.unwrap_or(0))?;
        record.serialize_field("existing_rows_count", &manifest.existing_rows_count.unwrap_or(0))?;
        record.serialize_field("deleted_rows_count", &manifest.deleted_rows_count.unwrap_or(0))?;
        record.serialize_field("partitions", &summaries)?;
        let key_metadata = manifest.key_metadata.as_ref().map(|key| Bytes(key.expose_secret()));
        record.serialize_field("key_metadata", &key_metadata)?;
        if self.0 >= FormatVersion::V3 {
            record.serialize_field("first_row_id", &manifest.first_row_id)?;
        }
        record.end()
    }
}

struct SummaryRecord<'a>(&'a FieldSummary);

impl Serialize for SummaryRecord<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut record = serializer.serialize_struct("r508", 4)?;
        record.serialize_field("contains_null", &self.0.contains_null)?;
        record.serialize_field("contains_nan", &self.0.contains_nan)?;
        record.serialize_field("lower_bound", &self.0.lower_bound.as_deref().map(Bytes))?;
        record.serialize_field("upper_bound", &self.0.upper_bound.as_deref().map(Bytes))?;
        record.end()
    }
}

pub(super) fn status(value: i32) -> Result<ManifestStatus, String> {
    match value {
        0 => Ok(ManifestStatus::Existing),
        1 => Ok(ManifestStatus::Added),
        2 => Ok(ManifestStatus::Deleted),
        other => Err(format!("the unknown status {other}")),
    }
}

pub(super) fn file_content(value: i32) -> Result<FileContent, String> {
    match value {
        0 => Ok(FileContent::Data),
        1 => Ok(FileContent::PositionDeletes),
        2 => Ok(FileContent::EqualityDeletes),
        other => Err(format!("the unknown content {other}")),
    }
}

pub(super) fn file_format(name: &str) -> Result<FileFormat, String> {
    const NAMES: [(&str, FileFormat); 4] = [
        ("parquet", FileFormat::Parquet),
        ("avro", FileFormat::Avro),
        ("orc", FileFormat::Orc),
        ("puffin", FileFormat::Puffin),
    ];
    let found = NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, format)| *format).ok_or_else(|| format!("the unknown file format {name:?}"))
}

fn count(name: &str, value: i64) -> Result<u64, String> {
    not_negative(name, value).map(i64::unsigned_abs)
}

fn not_negative(name: &str, value: i64) -> Result<i64, String> {
    if value < 0 { Err(format!("the negative {name} {value}")) } else { Ok(value) }
}

fn optional(name: &str, value: Option<i64>) -> Result<Option<i64>, String> {
    value.map(|value| not_negative(name, value)).transpose()
}

fn counts(name: &str, map: Option<IdMap<i64>>) -> Result<Option<BTreeMap<i32, i64>>, String> {
    let Some(IdMap(map)) = map else { return Ok(None) };
    match map.iter().find(|(_, count)| **count < 0) {
        Some((id, count)) => Err(format!("the negative {name} {count} of field {id}")),
        None => Ok(Some(map)),
    }
}

/// The null counts without those that are not known: of a Parquet file that has none, Java takes -1 over as it is.
fn known(IdMap(mut map): IdMap<i64>) -> BTreeMap<i32, i64> {
    map.retain(|_, count| *count >= 0);
    map
}
