//! The Avro schemas of manifests and manifest lists, as Java 1.12 writes them, and what of a schema decides the bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_avro_fast::Schema;
use serde_json::{Value, json};

use crate::spec::{FormatVersion, PrimitiveType, StructType, Type};
use crate::{Error, ErrorKind, Result};

/// A header's schema may be this long: Java's has 6 KB and some 100 bytes per partition field.
const MAX_SCHEMA_LENGTH: usize = 1 << 20;

/// The schema of manifest entries.
pub(super) fn entry_schema(version: FormatVersion, partition: &StructType) -> Result<Value> {
    let mut file = vec![
        required("content", "int", 134, "Contents of the file: 0=data, 1=position deletes, 2=equality deletes"),
        required("file_path", "string", 100, "Location URI with FS scheme"),
        required("file_format", "string", 101, "File format name: avro, orc, or parquet"),
        required(
            "partition",
            partition_schema(partition)?,
            102,
            "Partition data tuple, schema based on the partition spec",
        ),
        required("record_count", "long", 103, "Number of records in the file"),
        required("file_size_in_bytes", "long", 104, "Total file size in bytes"),
        optional("column_sizes", id_map(117, "long"), 108, "Map of column id to total size on disk"),
        optional("value_counts", id_map(119, "long"), 109, "Map of column id to total count, including null and NaN"),
        optional("null_value_counts", id_map(121, "long"), 110, "Map of column id to null value count"),
        optional(
            "nan_value_counts",
            id_map(138, "long"),
            137,
            "Map of column id to number of NaN values in the column",
        ),
        optional("lower_bounds", id_map(126, "bytes"), 125, "Map of column id to lower bound"),
        optional("upper_bounds", id_map(129, "bytes"), 128, "Map of column id to upper bound"),
        optional("key_metadata", "bytes", 131, "Encryption key metadata blob"),
        optional("split_offsets", array("long", 133), 132, "Splittable offsets"),
        optional("equality_ids", array("int", 136), 135, "Equality comparison field IDs"),
        optional("sort_order_id", "int", 140, "Sort order ID"),
        optional(
            "referenced_data_file",
            "string",
            143,
            "Fully qualified location (URI with FS scheme) of a data file that all deletes reference",
        ),
    ];
    if version >= FormatVersion::V3 {
        let first_row_id = "The first row ID assigned to the first row in the data file";
        file.insert(file.len() - 1, optional("first_row_id", "long", 142, first_row_id));
        file.push(optional("content_offset", "long", 144, "The offset in the file where the content starts"));
        let size = "The length of referenced content stored in the file";
        file.push(optional("content_size_in_bytes", "long", 145, size));
    }
    Ok(json!({"type": "record", "name": "manifest_entry", "fields": [
        {"name": "status", "type": "int", "field-id": 0},
        {"name": "snapshot_id", "type": ["null", "long"], "default": null, "field-id": 1},
        {"name": "sequence_number", "type": ["null", "long"], "default": null, "field-id": 3},
        {"name": "file_sequence_number", "type": ["null", "long"], "default": null, "field-id": 4},
        {"name": "data_file", "type": {"type": "record", "name": "r2", "fields": file}, "field-id": 2},
    ]}))
}

/// The schema of manifest list entries.
pub(super) fn list_schema(version: FormatVersion) -> Value {
    let summary = json!({"type": "record", "name": "r508", "fields": [
        required("contains_null", "boolean", 509, "True if any file has a null partition value"),
        optional("contains_nan", "boolean", 518, "True if any file has a nan partition value"),
        optional("lower_bound", "bytes", 510, "Partition lower bound for all files"),
        optional("upper_bound", "bytes", 511, "Partition upper bound for all files"),
    ]});
    let mut fields = vec![
        required("manifest_path", "string", 500, "Location URI with FS scheme"),
        required("manifest_length", "long", 501, "Total file size in bytes"),
        required("partition_spec_id", "int", 502, "Spec ID used to write"),
        required("content", "int", 517, "Contents of the manifest: 0=data, 1=deletes"),
        required("sequence_number", "long", 515, "Sequence number when the manifest was added"),
        required("min_sequence_number", "long", 516, "Lowest sequence number in the manifest"),
        required("added_snapshot_id", "long", 503, "Snapshot ID that added the manifest"),
        required("added_files_count", "int", 504, "Added entry count"),
        required("existing_files_count", "int", 505, "Existing entry count"),
        required("deleted_files_count", "int", 506, "Deleted entry count"),
        required("added_rows_count", "long", 512, "Added rows count"),
        required("existing_rows_count", "long", 513, "Existing rows count"),
        required("deleted_rows_count", "long", 514, "Deleted rows count"),
        optional("partitions", array(summary, 508), 507, "Summary for each partition"),
        optional("key_metadata", "bytes", 519, "Encryption key metadata blob"),
    ];
    if version >= FormatVersion::V3 {
        let doc = "Starting row ID to assign to new rows in ADDED data files";
        fields.push(optional("first_row_id", "long", 520, doc));
    }
    json!({"type": "record", "name": "manifest_file", "fields": fields})
}

/// How a file holds partition values of type `fixed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FixedForm {
    /// As Java 1.12 reads and writes them: with their length before them, whatever the schema says.
    Bytes,
    /// As the schema says.
    Fixed,
}

/// The schema that decodes and encodes the records of a file whose header holds `json`.
///
/// Logical types are left out: they change no byte, and the library's decimals hold 96 bits only. Of names, only those
/// of fixed types may be referred to, as Java does for two decimals of one precision: a schema cannot recur.
pub(super) fn record_schema(json: &Value, fixed: FixedForm) -> Result<Schema, String> {
    compile(&reduce(json, fixed)?)
}

/// The first half of [`record_schema`]: what of a schema decides the bytes, as JSON.
pub(super) fn reduce(json: &Value, fixed: FixedForm) -> Result<Value, String> {
    Reducer { fixed, names: BTreeMap::new() }.reduce(json)
}

/// The other half.
pub(super) fn compile(reduced: &Value) -> Result<Schema, String> {
    reduced.to_string().parse().map_err(|e: serde_avro_fast::schema::SchemaError| e.to_string())
}

/// Parses the schema of a header.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    if text.len() > MAX_SCHEMA_LENGTH {
        return Err(format!("it has {} bytes, more than {MAX_SCHEMA_LENGTH}", text.len()));
    }
    serde_json::from_str(text).map_err(|e| e.to_string())
}

/// The partition fields of a manifest's schema: the field id of each (none where the writer gave none), and whether
/// one is a `fixed` that is neither decimal nor UUID.
pub(super) fn partition_fields(entry: &Value) -> Option<(Vec<Option<i32>>, bool)> {
    let field = |record: &'_ Value, name: &str| {
        record
            .get("fields")?
            .as_array()?
            .iter()
            .find(|f| f.get("name").is_some_and(|n| n == name))?
            .get("type")
            .cloned()
    };
    let partition = field(&field(entry, "data_file")?, "partition")?;
    let fields = partition.get("fields")?.as_array()?;
    let ids = fields.iter().map(|f| f.get("field-id")?.as_i64()?.try_into().ok()).collect();
    let is_fixed = |t: &Value| t.get("type").is_some_and(|t| t == "fixed") && t.get("logicalType").is_none();
    let has_fixed = fields.iter().filter_map(|f| f.get("type")).any(|t| match t {
        Value::Array(variants) => variants.iter().any(is_fixed),
        other => is_fixed(other),
    });
    Some((ids, has_fixed))
}

/// A name that Avro allows, as Java makes it of a column's: letters, digits and `_` stay, the rest becomes `_x` and
/// its UTF-16 code in hexadecimal; a leading digit gets a `_`.
pub(super) fn sanitize(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (i, c) in name.chars().enumerate() {
        let supplementary = u32::from(c) > 0xffff;
        if c == '_' || !supplementary && (c.is_alphabetic() || i > 0 && c.is_numeric()) {
            out.push(c);
        } else if !supplementary && c.is_numeric() {
            out.push('_');
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "_x{unit:X}");
            }
        }
    }
    out
}

fn partition_schema(partition: &StructType) -> Result<Value> {
    let mut named = Vec::new();
    let mut fields = Vec::with_capacity(partition.fields().len());
    for field in partition.fields() {
        let Type::Primitive(primitive) = &*field.field_type else {
            let message =
                format!("partition field {:?} has type {}, not a primitive one", field.name, field.field_type);
            return Err(Error::new(ErrorKind::Unsupported, message));
        };
        let name = sanitize(&field.name);
        let mut json =
            json!({"name": name, "type": ["null", primitive_schema(primitive, &mut named)], "default": null});
        if name != field.name {
            json["iceberg-field-name"] = json!(field.name);
        }
        json["field-id"] = json!(field.id);
        fields.push(json);
    }
    Ok(json!({"type": "record", "name": "r102", "fields": fields}))
}

/// `named` holds the fixed types defined so far: a second use is a reference.
fn primitive_schema(primitive: &PrimitiveType, named: &mut Vec<String>) -> Value {
    let mut fixed = |name: String, mut schema: Value| {
        if named.contains(&name) {
            return json!(name);
        }
        schema["name"] = json!(name);
        named.push(name);
        schema
    };
    match primitive {
        PrimitiveType::Boolean => json!("boolean"),
        PrimitiveType::Int => json!("int"),
        PrimitiveType::Long => json!("long"),
        PrimitiveType::Float => json!("float"),
        PrimitiveType::Double => json!("double"),
        PrimitiveType::Decimal { precision, scale } => fixed(
            format!("decimal_{precision}_{scale}"),
            json!({"type": "fixed", "name": null, "size": decimal_length(*precision), "logicalType": "decimal",
                "precision": precision, "scale": scale}),
        ),
        PrimitiveType::Date => json!({"type": "int", "logicalType": "date"}),
        PrimitiveType::Time => json!({"type": "long", "logicalType": "time-micros"}),
        PrimitiveType::Timestamp => timestamp("timestamp-micros", false),
        PrimitiveType::Timestamptz => timestamp("timestamp-micros", true),
        PrimitiveType::TimestampNs => timestamp("timestamp-nanos", false),
        PrimitiveType::TimestamptzNs => timestamp("timestamp-nanos", true),
        PrimitiveType::String => json!("string"),
        PrimitiveType::Uuid => {
            fixed("uuid_fixed".to_owned(), json!({"type": "fixed", "name": null, "size": 16, "logicalType": "uuid"}))
        }
        PrimitiveType::Fixed(length) => {
            fixed(format!("fixed_{length}"), json!({"type": "fixed", "name": null, "size": length}))
        }
        PrimitiveType::Binary => json!("bytes"),
    }
}

/// Bytes of a decimal of this precision in a `fixed`.
pub(super) fn decimal_length(precision: u32) -> usize {
    let digits = 10u128.checked_pow(precision).map_or(u128::MAX, |n| n - 1);
    // One bit for the sign.
    ((u128::BITS - digits.leading_zeros() + 1).div_ceil(8) as usize).min(16)
}

fn timestamp(logical: &str, utc: bool) -> Value {
    json!({"type": "long", "logicalType": logical, "adjust-to-utc": utc})
}

fn required(name: &str, type_: impl Into<Value>, id: i32, doc: &str) -> Value {
    json!({"name": name, "type": type_.into(), "doc": doc, "field-id": id})
}

fn optional(name: &str, type_: impl Into<Value>, id: i32, doc: &str) -> Value {
    json!({"name": name, "type": ["null", type_.into()], "doc": doc, "default": null, "field-id": id})
}

fn array(items: impl Into<Value>, id: i32) -> Value {
    json!({"type": "array", "items": items.into(), "element-id": id})
}

/// A map with integer keys: an array of pairs; the value's field id follows the key's.
fn id_map(key_id: i32, value: &str) -> Value {
    let value_id = key_id + 1;
    json!({"type": "array", "items": {"type": "record", "name": format!("k{key_id}_v{value_id}"), "fields": [
        {"name": "key", "type": "int", "field-id": key_id},
        {"name": "value", "type": value, "field-id": value_id},
    ]}, "logicalType": "map"})
}

struct Reducer {
    fixed: FixedForm,
    /// Fixed types seen so far, and what they were reduced to for later references.
    names: BTreeMap<String, Value>,
}

impl Reducer {
    fn reduce(&mut self, json: &Value) -> Result<Value, String> {
        const PRIMITIVES: [&str; 8] = ["null", "boolean", "int", "long", "float", "double", "bytes", "string"];
        match json {
            Value::String(name) if PRIMITIVES.contains(&name.as_str()) => Ok(json.clone()),
            Value::String(name) => {
                self.names.get(name).cloned().ok_or_else(|| format!("it refers to the unknown type {name:?}"))
            }
            Value::Array(variants) => variants.iter().map(|v| self.reduce(v)).collect(),
            Value::Object(object) => {
                let member = |key: &str| object.get(key).ok_or_else(|| format!("a type has no {key:?}"));
                match member("type")? {
                    Value::String(kind) => match kind.as_str() {
                        "record" => {
                            let fields = member("fields")?.as_array().ok_or("\"fields\" is no array")?;
                            let fields = fields.iter().map(|field| {
                                let part = |key: &str| field.get(key).ok_or_else(|| format!("a field has no {key:?}"));
                                Ok(json!({"name": part("name")?, "type": self.reduce(part("type")?)?}))
                            });
                            let fields = fields.collect::<Result<Vec<_>, String>>()?;
                            Ok(json!({"type": "record", "name": member("name")?, "fields": fields}))
                        }
                        "array" => Ok(json!({"type": "array", "items": self.reduce(member("items")?)?})),
                        "map" => Ok(json!({"type": "map", "values": self.reduce(member("values")?)?})),
                        "fixed" => {
                            let name = member("name")?.as_str().ok_or("a name is no string")?;
                            let logical = object.contains_key("logicalType");
                            let (first, later) = if self.fixed == FixedForm::Bytes && !logical {
                                (json!("bytes"), json!("bytes"))
                            } else {
                                (json!({"type": "fixed", "name": name, "size": member("size")?}), json!(name))
                            };
                            self.names.insert(name.to_owned(), later);
                            Ok(first)
                        }
                        "enum" => Err("it has an enum".to_owned()),
                        _ => self.reduce(&json!(kind)),
                    },
                    nested => self.reduce(nested),
                }
            }
            _ => Err("a type is neither a name, an array nor an object".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sanitised_as_java_does() {
        let cases = [
            ("größe 1-x", "größe_x201_x2Dx"),
            ("9z", "_9z"),
            ("a_b", "a_b"),
            ("x.y", "x_x2Ey"),
            ("🦀", "_xD83E_xDD80"),
        ];
        for (name, expected) in cases {
            assert_eq!(sanitize(name), expected);
        }
    }

    #[test]
    fn decimals_take_the_bytes_of_the_specification() {
        for (precision, length) in [(1, 1), (2, 1), (3, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)] {
            assert_eq!(decimal_length(precision), length, "precision {precision}");
        }
    }

    #[test]
    fn schemas_that_recur_or_refer_are_refused() {
        let recursive = json!({"type": "record", "name": "r", "fields": [{"name": "a", "type": ["null", "r"]}]});
        let nested = (0..100).fold(json!("int"), |inner, _| json!({"type": "array", "items": inner}));
        for schema in [recursive, json!("elsewhere"), json!(1), json!({}), json!({"type": "enum", "symbols": ["A"]})] {
            assert!(record_schema(&schema, FixedForm::Fixed).is_err(), "{schema}");
        }
        assert!(record_schema(&nested, FixedForm::Fixed).is_ok());
    }
}
