//! What is looked at beyond the parser: what it would not say, and what it would let pass.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::numbers;
use super::raw::{RawDocument, RawObject, write_object};
use crate::opaque::{self, OpaqueType};
use crate::spec::{FormatVersion, NestedField, PrimitiveType, Schema, TableMetadata, Type};
use crate::{Error, ErrorKind, Result};

/// The type names of the spec that the parser knows; `decimal` and `fixed` have parameters.
const KNOWN_TYPES: &[&str] = &[
    "binary",
    "boolean",
    "date",
    "double",
    "float",
    "int",
    "list",
    "long",
    "map",
    "string",
    "struct",
    "time",
    "timestamp",
    "timestamp_ns",
    "timestamptz",
    "timestamptz_ns",
    "uuid",
];

const MAX_DECIMAL_PRECISION: u32 = 38;

/// Checks that the format version is one that the parser knows.
pub(super) fn format_version(raw: &RawDocument, location: &str) -> Result<()> {
    let invalid = |problem| Error::new(ErrorKind::InvalidData, format!("{location} is not table metadata: {problem}"));
    let version = raw.get("format-version").ok_or_else(|| invalid("it has no format-version"))?;
    match serde_json::from_str::<u64>(version) {
        Ok(1..=3) => Ok(()),
        Ok(version) => {
            Err(Error::new(ErrorKind::Unsupported, format!("{location} has the unknown format version {version}")))
        }
        Err(e) => Err(invalid("its format-version is no version").with_source(e)),
    }
}

/// The metadata of a table of version 2 that has keys, read as if it were of version 3.
///
/// # Errors
/// [`ErrorKind::InvalidData`] for keys that make no sense.
pub(super) fn as_version_3(
    raw: &RawDocument,
    metadata: &TableMetadata,
    location: &str,
) -> Result<Option<Arc<TableMetadata>>> {
    if metadata.format_version() != FormatVersion::V2 || raw.get("encryption-keys").is_none() {
        return Ok(None);
    }
    let mut raw = raw.clone();
    raw.set("format-version", "3");
    raw.set("next-row-id", "0");
    super::parse_metadata(&raw.to_json()).map(|metadata| Some(Arc::new(metadata))).map_err(|e| {
        let message = format!("the encryption keys of {location}, which has format version 2, cannot be read");
        Error::new(ErrorKind::InvalidData, message).with_source(e)
    })
}

/// The metadata with the sequence number of every snapshot; `None` if none is left out.
///
/// Java writes none for snapshots from when a table was of version 1, where it stands for 0; in version 3 the parser wants one.
pub(super) fn with_sequence_numbers(json: &[u8]) -> Option<Vec<u8>> {
    const FIELD: &str = "sequence-number";
    let mut raw = RawDocument::parse(json).ok()?;
    let snapshots: Vec<RawObject<'_>> = serde_json::from_str(raw.get("snapshots")?).ok()?;
    let lacks_it = |snapshot: &RawObject<'_>| snapshot.0.iter().all(|(name, _)| name != FIELD);
    if !snapshots.iter().any(lacks_it) {
        return None;
    }
    let mut text = String::from("[");
    for (i, snapshot) in snapshots.iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        let fields = snapshot.0.iter().map(|(name, value)| (name.as_ref(), value.get()));
        write_object(&mut text, fields.chain(lacks_it(snapshot).then_some((FIELD, "0"))));
    }
    text.push(']');
    raw.set("snapshots", text);
    Some(raw.to_json())
}

/// The metadata with placeholders for the types of its columns that are not read; `None` if it has no such column.
///
/// # Errors
/// [`ErrorKind::InvalidData`] for a type that looks like a placeholder.
pub(super) fn without_opaque_types(raw: &RawDocument, location: &str) -> Result<Option<RawDocument>> {
    let mut hidden = raw.clone();
    let mut found = false;
    for field in ["schemas", "schema"] {
        let Some(mut schemas) = raw.get(field).and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
            continue;
        };
        found |= opaque::hide(&mut schemas)
            .map_err(|name| Error::new(ErrorKind::InvalidData, format!("{location}: a column has the type {name}")))?;
        hidden.set(field, schemas.to_string());
    }
    Ok(found.then_some(hidden))
}

/// Checks that every column has a type that the parser knows.
pub(super) fn known_types(raw: &RawDocument, location: &str) -> Result<()> {
    for column in columns(raw) {
        if let Some(name) = column.definition.get("type").and_then(unknown_type) {
            let message =
                format!("column {} of {location} has the type {name}, which is not supported yet", column.path);
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    }
    Ok(())
}

/// Checks what the parser let pass: types with impossible parameters, and default values that it dropped because it
/// could not read them. Without those a reader would return nulls for the values. There are placeholders if it is `opaque`.
pub(super) fn parsed(raw: &RawDocument, metadata: &TableMetadata, opaque: bool, location: &str) -> Result<()> {
    let error = |kind, problem: String| Err(Error::new(kind, format!("{location}: {problem}")));
    if metadata.location().trim_matches('/').is_empty() {
        return error(ErrorKind::InvalidData, "the table's location is empty: its files would go anywhere".to_owned());
    }
    if let Err(problem) = numbers::check(metadata) {
        return error(ErrorKind::InvalidData, problem);
    }
    for schema in metadata.schemas_iter() {
        for (id, name) in schema.field_id_to_name_map() {
            if let Some(field) = schema.field_by_id(*id)
                && let Some(problem) = impossible_type(&field.field_type, opaque)
            {
                return error(ErrorKind::InvalidData, format!("column {name} has the type {problem}"));
            }
        }
    }
    if !has_defaults(raw) {
        return Ok(());
    }
    for column in columns(raw) {
        let wanted = |name| column.definition.get(name).is_some_and(|value: &Value| !value.is_null());
        let field = column.field(metadata);
        for (name, found) in [
            ("initial-default", field.is_some_and(|f| f.initial_default.is_some())),
            ("write-default", field.is_some_and(|f| f.write_default.is_some())),
        ] {
            if wanted(name) && !found {
                let problem = format!("the {name} of column {} cannot be read", column.path);
                return error(ErrorKind::Unsupported, problem);
            }
        }
    }
    Ok(())
}

/// Checks the default values of decimal columns, in which the parser does not expect more digits than decimals have.
pub(super) fn decimal_defaults(raw: &RawDocument, location: &str) -> Result<()> {
    if !has_defaults(raw) {
        return Ok(());
    }
    for column in columns(raw) {
        for name in ["initial-default", "write-default"] {
            if let (Some(Value::String(field_type)), Some(Value::String(value))) =
                (column.definition.get("type"), column.definition.get(name))
                && field_type.starts_with("decimal")
                && !is_decimal(value)
            {
                let message = format!("{location}: the {name} of column {} is no decimal", column.path);
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
        }
    }
    Ok(())
}

/// A plain number of at most 38 digits.
fn is_decimal(text: &str) -> bool {
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    (1..=MAX_DECIMAL_PRECISION as usize).contains(&digits)
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'.'))
}

/// Whether columns may have default values. Names may be written with escapes.
fn has_defaults(raw: &RawDocument) -> bool {
    let may_have = |text: &str| text.contains("-default") || text.contains('\\');
    ["schemas", "schema"].iter().any(|field| raw.get(field).is_some_and(may_have))
}

fn impossible_type(field_type: &Type, opaque: bool) -> Option<String> {
    match field_type {
        Type::Primitive(primitive) if opaque && OpaqueType::of(primitive).is_some() => None,
        Type::Primitive(PrimitiveType::Decimal { precision, scale })
            if *precision == 0 || *precision > MAX_DECIMAL_PRECISION || scale > precision =>
        {
            Some(format!("decimal({precision}, {scale})"))
        }
        Type::Primitive(PrimitiveType::Fixed(length)) if i32::try_from(*length).is_err() => {
            Some(format!("fixed[{length}]"))
        }
        _ => None,
    }
}

/// The name of a type that the parser does not know; nested types are looked at by [`columns`].
fn unknown_type(field_type: &Value) -> Option<&str> {
    let name = field_type.as_str().or_else(|| field_type.get("type")?.as_str())?;
    let known = KNOWN_TYPES.contains(&name) || name.starts_with("decimal(") || name.starts_with("fixed[");
    (!known).then_some(name)
}

/// A column as the JSON has it.
struct Column {
    schema_id: Option<i64>,
    path: String,
    definition: Value,
}

impl Column {
    fn field<'m>(&self, metadata: &'m TableMetadata) -> Option<&'m NestedField> {
        let id = i32::try_from(self.definition.get("id")?.as_i64()?).ok()?;
        let in_schema = |schema: &'m Schema| schema.field_by_id(id).map(|field| &**field);
        match self.schema_id {
            Some(schema_id) => in_schema(metadata.schema_by_id(i32::try_from(schema_id).ok()?)?),
            None => in_schema(metadata.current_schema()),
        }
    }
}

/// All columns of all schemas, nested ones too.
fn columns(raw: &RawDocument) -> Vec<Column> {
    fn visit_type(schema_id: Option<i64>, path: &str, field_type: &Value, columns: &mut Vec<Column>) {
        let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for definition in field_type.get("fields").and_then(Value::as_array).into_iter().flatten() {
            let path = join(definition.get("name").and_then(Value::as_str).unwrap_or("?"));
            if let Some(field_type) = definition.get("type") {
                visit_type(schema_id, &path, field_type, columns);
            }
            columns.push(Column { schema_id, path, definition: definition.clone() });
        }
        for part in ["element", "key", "value"] {
            if let Some(part_type) = field_type.get(part) {
                visit_type(schema_id, &join(part), part_type, columns);
                let definition = serde_json::json!({ "type": part_type });
                columns.push(Column { schema_id, path: join(part), definition });
            }
        }
    }

    let read = |field| raw.get(field).and_then(|text| serde_json::from_str::<Value>(text).ok());
    let mut columns = Vec::new();
    let schemas = read("schemas").and_then(|v| <Option<Vec<Value>>>::deserialize(v).ok()).flatten();
    for schema in schemas.into_iter().flatten().chain(read("schema")) {
        visit_type(schema.get("schema-id").and_then(Value::as_i64), "", &schema, &mut columns);
    }
    columns
}
