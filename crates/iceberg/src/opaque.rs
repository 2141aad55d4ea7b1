//! Types of columns that are not read: `unknown`, `variant`, `geometry` and `geography`.
//!
//! The spec's types do not have them, and one such column must not make a table unreadable. In a parsed schema they stand as
//! `fixed` of lengths that no column can have; metadata.json keeps its own text, so that nothing of them is lost. A
//! schema with such a column is never written: `refuse`.

use serde_json::Value;

use crate::spec::{PrimitiveType, Schema, Type};
use crate::{Error, ErrorKind, Result};

/// A type that the spec's parser does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpaqueType {
    /// Points, lines and areas on a globe.
    Geography,
    /// Points, lines and areas in a plane.
    Geometry,
    /// Nothing but null.
    Unknown,
    /// A value of any shape.
    Variant,
}

impl OpaqueType {
    const ALL: [Self; 4] = [Self::Geography, Self::Geometry, Self::Unknown, Self::Variant];

    /// The opaque type that a type of a schema stands for.
    #[must_use]
    pub fn of(primitive: &PrimitiveType) -> Option<Self> {
        Self::ALL.into_iter().find(|opaque| opaque.placeholder() == *primitive)
    }

    /// Its name, without parameters.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Geography => "geography",
            Self::Geometry => "geometry",
            Self::Unknown => "unknown",
            Self::Variant => "variant",
        }
    }

    fn by_name(text: &str) -> Option<Self> {
        let name = text.split_once('(').map_or(text, |(name, _)| name);
        Self::ALL.into_iter().find(|opaque| opaque.name() == name)
    }

    fn placeholder(self) -> PrimitiveType {
        PrimitiveType::Fixed(match self {
            Self::Geography => u64::MAX,
            Self::Geometry => u64::MAX - 1,
            Self::Unknown => u64::MAX - 2,
            Self::Variant => u64::MAX - 3,
        })
    }
}

/// Puts placeholders for the opaque types of a schema's JSON; returns whether there were any.
///
/// # Errors
/// The name of a type that looks like a placeholder.
pub(crate) fn hide(schema: &mut Value) -> Result<bool, String> {
    let mut found = false;
    match schema {
        Value::Array(parts) => {
            for part in parts {
                found |= hide(part)?;
            }
        }
        Value::Object(attributes) => {
            for (name, part) in attributes {
                match (name.as_str(), part.as_str()) {
                    ("type" | "element" | "key" | "value", Some(text)) => {
                        if let Some(opaque) = OpaqueType::by_name(text) {
                            *part = Value::String(opaque.placeholder().to_string().replace('(', "[").replace(')', "]"));
                            found = true;
                        } else if is_impossible(text) {
                            return Err(text.to_owned());
                        }
                    }
                    ("type" | "element" | "key" | "value" | "fields", None) => found |= hide(part)?,
                    _ => {}
                }
            }
        }
        _ => {}
    }
    Ok(found)
}

/// Refuses to write a schema, or data of it, in which there is a column of an opaque type.
///
/// # Errors
/// [`ErrorKind::Unsupported`] naming the column.
pub(crate) fn refuse(schema: &Schema) -> Result<()> {
    for (id, name) in schema.field_id_to_name_map() {
        if let Some(field) = schema.field_by_id(*id)
            && let Type::Primitive(primitive) = &*field.field_type
            && let Some(opaque) = OpaqueType::of(primitive)
        {
            let message = format!(
                "column {name} has the type {}: a table with such a column can be read, not written, as yet",
                opaque.name()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    }
    Ok(())
}

fn is_impossible(text: &str) -> bool {
    let length = text.strip_prefix("fixed[").and_then(|rest| rest.strip_suffix(']'));
    length.is_some_and(|length| length.trim().parse::<i32>().is_err())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn opaque_types_come_and_go() {
        use OpaqueType::{Geography, Geometry, Unknown, Variant};

        let mut schema = json!({"type": "struct", "schema-id": 1, "fields": [
            {"id": 1, "name": "type", "required": false, "type": "variant", "doc": "variant"},
            {"id": 2, "name": "s", "required": true, "type": {"type": "struct", "fields": [
                {"id": 3, "name": "variant", "required": false, "type": "geometry(srid:3857)"}]}},
            {"id": 4, "name": "l", "required": false, "type": {"type": "list", "element-id": 5, "element": "unknown",
                "element-required": false}},
            {"id": 6, "name": "m", "required": false, "type": {"type": "map", "key-id": 7, "key": "int", "value-id": 8,
                "value": "geography", "value-required": false}}]});
        assert_eq!(hide(&mut schema), Ok(true));
        let schema: Schema = serde_json::from_value(schema).unwrap();
        let of = |id| match &*schema.field_by_id(id).unwrap().field_type {
            Type::Primitive(primitive) => OpaqueType::of(primitive),
            _ => None,
        };
        let expected = [Some(Variant), None, Some(Geometry), None, Some(Unknown), None, None, Some(Geography)];
        assert_eq!((1..=8).map(of).collect::<Vec<_>>(), expected);
        assert!(refuse(&schema).is_err());

        let plain =
            json!({"type": "struct", "fields": [{"id": 1, "name": "unknown", "required": true, "type": "int"}]});
        assert_eq!(hide(&mut plain.clone()), Ok(false));
        let mut forged =
            json!({"fields": [{"id": 1, "name": "a", "required": false, "type": "fixed[18446744073709551613]"}]});
        assert!(hide(&mut forged).is_err());
    }
}
