//! Manifests and manifest lists as JSON for people to read: values by their types, keys redacted.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use chrono::{DateTime, NaiveDate, NaiveTime};
use serde_json::{Map, Value, json};

use super::{DataFile, FieldSummary, FileContent, FileFormat, Manifest, ManifestContent, ManifestFile, ManifestStatus};
use crate::encryption::EncodedKeyMetadata;
use crate::spec::{Datum, Literal, PartitionSpec, PrimitiveLiteral, PrimitiveType, Schema, StructType, Type};

impl Manifest {
    /// The manifest as JSON. Columns and partition fields go by their names in the manifest's own schema. Snapshot ids
    /// are text: they are beyond what many readers keep of a number.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let entries = self.entries.iter().map(|entry| {
            let status = match entry.status {
                ManifestStatus::Existing => "existing",
                ManifestStatus::Added => "added",
                ManifestStatus::Deleted => "deleted",
            };
            json!({
                "status": status,
                "snapshot_id": entry.snapshot_id.map(|id| id.to_string()),
                "sequence_number": entry.sequence_number,
                "file_sequence_number": entry.file_sequence_number,
                "data_file": data_file(&entry.data_file, &self.schema, &self.partition_type),
            })
        });
        json!({
            "format_version": self.format_version as u8,
            "content": content_name(self.content),
            "schema_id": self.schema.schema_id(),
            "partition_spec": partition_spec(&self.partition_spec, &self.schema),
            "entries": entries.collect::<Vec<_>>(),
        })
    }
}

/// A manifest list as JSON. `partition_type` gives the types of a partition spec by its id, for the bounds; without
/// one they are shown as hexadecimal bytes.
#[must_use]
pub fn manifest_list_to_json(manifests: &[ManifestFile], partition_type: impl Fn(i32) -> Option<StructType>) -> Value {
    let manifests = manifests.iter().map(|manifest| {
        let types = partition_type(manifest.partition_spec_id);
        let summaries = manifest.partitions.as_ref().map(|summaries| {
            let show = |(i, s): (usize, &FieldSummary)| {
                let field = types.as_ref().and_then(|t| t.fields().get(i));
                let of_type = field.and_then(|f| primitive(&f.field_type));
                json!({
                    "field": field.map(|f| &f.name),
                    "contains_null": s.contains_null,
                    "contains_nan": s.contains_nan,
                    "lower_bound": s.lower_bound.as_ref().map(|bytes| bound(bytes, of_type)),
                    "upper_bound": s.upper_bound.as_ref().map(|bytes| bound(bytes, of_type)),
                })
            };
            summaries.iter().enumerate().map(show).collect::<Vec<_>>()
        });
        json!({
            "manifest_path": manifest.manifest_path,
            "manifest_length": manifest.manifest_length,
            "partition_spec_id": manifest.partition_spec_id,
            "content": content_name(manifest.content),
            "sequence_number": manifest.sequence_number,
            "min_sequence_number": manifest.min_sequence_number,
            "added_snapshot_id": manifest.added_snapshot_id.to_string(),
            "added_files_count": manifest.added_files_count,
            "existing_files_count": manifest.existing_files_count,
            "deleted_files_count": manifest.deleted_files_count,
            "added_rows_count": manifest.added_rows_count,
            "existing_rows_count": manifest.existing_rows_count,
            "deleted_rows_count": manifest.deleted_rows_count,
            "partitions": summaries,
            "key_metadata": key_metadata(&manifest.manifest_path, manifest.key_metadata.as_ref()),
            "first_row_id": manifest.first_row_id,
        })
    });
    manifests.collect()
}

fn data_file(file: &DataFile, schema: &Schema, partition_type: &StructType) -> Value {
    let content = match file.content {
        FileContent::Data => "data",
        FileContent::PositionDeletes => "position_deletes",
        FileContent::EqualityDeletes => "equality_deletes",
    };
    let format = match file.file_format {
        FileFormat::Avro => "avro",
        FileFormat::Orc => "orc",
        FileFormat::Parquet => "parquet",
        FileFormat::Puffin => "puffin",
    };
    let partition = partition_type.fields().iter().zip(file.partition.fields()).map(|(field, value)| {
        let value = match (value, primitive(&field.field_type)) {
            (Some(Literal::Primitive(literal)), Some(type_)) => literal_to_json(literal, type_),
            _ => Value::Null,
        };
        (field.name.clone(), value)
    });
    let counts = |map: &Option<BTreeMap<i32, i64>>| {
        map.as_ref().map(|map| map.iter().map(|(id, n)| (column(schema, *id), json!(n))).collect::<Map<_, _>>())
    };
    let bounds = |map: &Option<BTreeMap<i32, Vec<u8>>>| {
        map.as_ref().map(|map| {
            let bounds = map.iter().map(|(id, bytes)| {
                let field = schema.field_by_id(*id);
                (column(schema, *id), bound(bytes, field.and_then(|f| primitive(&f.field_type))))
            });
            bounds.collect::<Map<_, _>>()
        })
    };
    json!({
        "content": content,
        "file_path": file.file_path,
        "file_format": format,
        "partition": partition.collect::<Map<_, _>>(),
        "record_count": file.record_count,
        "file_size_in_bytes": file.file_size_in_bytes,
        "column_sizes": counts(&file.column_sizes),
        "value_counts": counts(&file.value_counts),
        "null_value_counts": counts(&file.null_value_counts),
        "nan_value_counts": counts(&file.nan_value_counts),
        "lower_bounds": bounds(&file.lower_bounds),
        "upper_bounds": bounds(&file.upper_bounds),
        "key_metadata": key_metadata(&file.file_path, file.key_metadata.as_ref()),
        "split_offsets": file.split_offsets,
        "equality_ids": file.equality_ids,
        "sort_order_id": file.sort_order_id,
        "first_row_id": file.first_row_id,
        "referenced_data_file": file.referenced_data_file,
        "content_offset": file.content_offset,
        "content_size_in_bytes": file.content_size_in_bytes,
    })
}

fn partition_spec(spec: &PartitionSpec, schema: &Schema) -> Value {
    let fields = spec.fields().iter().map(|field| {
        let source = column(schema, field.source_id);
        json!({"name": field.name, "transform": field.transform.to_string(), "source": source})
    });
    json!({"spec_id": spec.spec_id(), "fields": fields.collect::<Vec<_>>()})
}

fn content_name(content: ManifestContent) -> &'static str {
    match content {
        ManifestContent::Data => "data",
        ManifestContent::Deletes => "deletes",
    }
}

fn primitive(type_: &Type) -> Option<&PrimitiveType> {
    match type_ {
        Type::Primitive(primitive) => Some(primitive),
        _ => None,
    }
}

/// A column's full name, or its id if the schema has no such column (any more).
fn column(schema: &Schema, id: i32) -> String {
    schema.name_by_field_id(id).map_or_else(|| id.to_string(), str::to_owned)
}

/// All that may be shown of key metadata.
fn key_metadata(location: &str, key: Option<&EncodedKeyMetadata>) -> Value {
    match key.map(|key| key.decode(location)) {
        None => Value::Null,
        Some(Ok(key)) => json!({
            "encryption_key": "[redacted]",
            "key_length": key.encryption_key().length().bytes(),
            "file_length": key.file_length(),
        }),
        Some(Err(_)) => json!({"encryption_key": "[redacted]", "error": "malformed key metadata"}),
    }
}

/// A bound by the type of its column; hexadecimal when there is none, or the bytes are not of it.
fn bound(bytes: &[u8], type_: Option<&PrimitiveType>) -> Value {
    match type_.map(|t| (t, Datum::try_from_bytes(bytes, t.clone()))) {
        Some((t, Ok(datum))) => literal_to_json(datum.literal(), t),
        _ => json!(hex(bytes)),
    }
}

/// A value as JSON: numbers and booleans as themselves, the rest as text, dates and times in ISO 8601. Out of the
/// calendar's range they are shown as the number they are.
fn literal_to_json(literal: &PrimitiveLiteral, type_: &PrimitiveType) -> Value {
    let float = |v: f64| if v.is_finite() { json!(v) } else { json!(v.to_string()) };
    match (literal, type_) {
        (PrimitiveLiteral::Boolean(v), _) => json!(v),
        (PrimitiveLiteral::Int(v), PrimitiveType::Date) => {
            let date = v.checked_add(719_163).and_then(NaiveDate::from_num_days_from_ce_opt);
            date.map_or_else(|| json!(v), |date| json!(date.to_string()))
        }
        (PrimitiveLiteral::Int(v), _) => json!(v),
        (PrimitiveLiteral::Long(v), type_) => time_to_json(*v, type_).unwrap_or_else(|| json!(v)),
        (PrimitiveLiteral::Float(v), _) => float(v.0.into()),
        (PrimitiveLiteral::Double(v), _) => float(v.0),
        (PrimitiveLiteral::String(v), _) => json!(v),
        (PrimitiveLiteral::Binary(v), _) => json!(hex(v)),
        (PrimitiveLiteral::UInt128(v), _) => json!(uuid::Uuid::from_u128(*v).to_string()),
        (PrimitiveLiteral::Int128(v), PrimitiveType::Decimal { scale, .. }) => json!(decimal(*v, *scale as usize)),
        (PrimitiveLiteral::Int128(v), _) => json!(v.to_string()),
        (PrimitiveLiteral::AboveMax | PrimitiveLiteral::BelowMin, _) => Value::Null,
    }
}

fn time_to_json(value: i64, type_: &PrimitiveType) -> Option<Value> {
    let time = match type_ {
        PrimitiveType::Time => {
            let (seconds, micros) = (value.div_euclid(1_000_000), value.rem_euclid(1_000_000));
            let nanos = u32::try_from(micros).ok()? * 1000;
            NaiveTime::from_num_seconds_from_midnight_opt(u32::try_from(seconds).ok()?, nanos)?.to_string()
        }
        PrimitiveType::Timestamp | PrimitiveType::Timestamptz => iso(DateTime::from_timestamp_micros(value)?),
        PrimitiveType::TimestampNs | PrimitiveType::TimestamptzNs => iso(DateTime::from_timestamp_nanos(value)),
        _ => return None,
    };
    let zone = matches!(type_, PrimitiveType::Timestamptz | PrimitiveType::TimestamptzNs);
    Some(json!(if zone { time + "+00:00" } else { time }))
}

fn iso(time: DateTime<chrono::Utc>) -> String {
    time.format("%Y-%m-%dT%H:%M:%S%.f").to_string()
}

fn decimal(unscaled: i128, scale: usize) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    // A forged scale must not decide how much is written.
    let scale = scale.min(38);
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_by_type_whatever_the_bytes() {
        let decimal = PrimitiveType::Decimal { precision: 9, scale: 2 };
        let cases: [(&[u8], PrimitiveType, Value); 15] = [
            (&[1], PrimitiveType::Boolean, json!(true)),
            (&[0xff; 4], PrimitiveType::Int, json!(-1)),
            (&19_782i32.to_le_bytes(), PrimitiveType::Date, json!("2024-02-29")),
            (&i32::MIN.to_le_bytes(), PrimitiveType::Date, json!(i32::MIN)),
            (&i32::MAX.to_le_bytes(), PrimitiveType::Date, json!(i32::MAX)),
            (&86_399_999_999i64.to_le_bytes(), PrimitiveType::Time, json!("23:59:59.999999")),
            (&(-1i64).to_le_bytes(), PrimitiveType::Time, json!(-1)),
            (&(-1i64).to_le_bytes(), PrimitiveType::Timestamp, json!("1969-12-31T23:59:59.999999")),
            (&0i64.to_le_bytes(), PrimitiveType::TimestamptzNs, json!("1970-01-01T00:00:00+00:00")),
            (&i64::MAX.to_le_bytes(), PrimitiveType::Timestamptz, json!(i64::MAX)),
            (&f64::NAN.to_le_bytes(), PrimitiveType::Double, json!("NaN")),
            (&[0xff], decimal.clone(), json!("-0.01")),
            (&[0x30, 0x39], decimal, json!("123.45")),
            (&[1, 2, 3], PrimitiveType::Long, json!("010203")),
            (&[0xff], PrimitiveType::String, json!("ff")),
        ];
        for (bytes, type_, expected) in cases {
            assert_eq!(bound(bytes, Some(&type_)), expected, "{type_} {bytes:?}");
        }
        assert_eq!(bound(b"ab", None), json!("6162"));
    }

    #[test]
    fn keys_are_redacted() {
        let key = lakelock_crypto::SecretKey::new(b"0123456789abcdef").unwrap();
        let metadata = lakelock_crypto::StandardKeyMetadata::new(key, Some(vec![7; 16])).with_file_length(99);
        let shown = key_metadata("f", Some(&EncodedKeyMetadata::from(&metadata)));
        assert_eq!(shown, json!({"encryption_key": "[redacted]", "key_length": 16, "file_length": 99}));
        let malformed = key_metadata("f", Some(&EncodedKeyMetadata::new(b"0123456789abcdef".to_vec())));
        assert!(!malformed.to_string().contains("0123"), "{malformed}");
    }
}
