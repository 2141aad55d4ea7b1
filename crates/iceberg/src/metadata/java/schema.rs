//! Schemas: their types, and default values, whose text depends on the type.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Deserialize as DeriveDeserialize, Serialize};
use serde_json::value::RawValue;

use super::ordered::Ordered;

#[derive(DeriveDeserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SchemaText {
    r#type: StructTag,
    #[serde(default)]
    schema_id: i32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    identifier_field_ids: Vec<i32>,
    fields: Vec<FieldText>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum TypeText {
    Primitive(String),
    Struct(StructText),
    List(Box<ListText>),
    Map(Box<MapText>),
}

#[derive(DeriveDeserialize, Serialize)]
struct StructText {
    r#type: StructTag,
    fields: Vec<FieldText>,
}

#[derive(DeriveDeserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct ListText {
    r#type: ListTag,
    element_id: i32,
    element: TypeText,
    element_required: bool,
}

#[derive(DeriveDeserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
struct MapText {
    r#type: MapTag,
    key_id: i32,
    key: TypeText,
    value_id: i32,
    value: TypeText,
    value_required: bool,
}

#[derive(DeriveDeserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum StructTag {
    Struct,
}

#[derive(DeriveDeserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum ListTag {
    List,
}

#[derive(DeriveDeserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum MapTag {
    Map,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct FieldText {
    id: i32,
    name: String,
    required: bool,
    r#type: TypeText,
    #[serde(skip_serializing_if = "Option::is_none")]
    doc: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    initial_default: Option<DefaultText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write_default: Option<DefaultText>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum DefaultText {
    Boolean(bool),
    Integer(i64),
    Float(f32),
    Double(f64),
    Text(String),
    List(Vec<Option<DefaultText>>),
    Map { keys: Vec<Option<DefaultText>>, values: Vec<Option<DefaultText>> },
    Struct(Ordered<DefaultText>),
}

// A document is read here after the spec's parser has read it, and with it every type, within its limit of nesting: these
// readers, which start anew at each level, need none of their own.

impl<'de> Deserialize<'de> for TypeText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(DeriveDeserialize)]
        struct Tag<'a> {
            #[serde(borrow)]
            r#type: Cow<'a, str>,
        }

        fn parse(text: &str) -> serde_json::Result<TypeText> {
            if text.starts_with('"') {
                return Ok(TypeText::Primitive(primitive(&serde_json::from_str::<String>(text)?)));
            }
            match &*serde_json::from_str::<Tag<'_>>(text)?.r#type {
                "struct" => Ok(TypeText::Struct(serde_json::from_str(text)?)),
                "list" => Ok(TypeText::List(serde_json::from_str(text)?)),
                "map" => Ok(TypeText::Map(serde_json::from_str(text)?)),
                other => Err(serde_json::Error::custom(format!("unknown type {other}"))),
            }
        }

        parse(<&RawValue>::deserialize(deserializer)?.get()).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for FieldText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(DeriveDeserialize)]
        #[serde(rename_all = "kebab-case")]
        struct Field<'a> {
            id: i32,
            name: String,
            required: bool,
            r#type: TypeText,
            doc: Option<String>,
            #[serde(borrow)]
            initial_default: Option<&'a RawValue>,
            #[serde(borrow)]
            write_default: Option<&'a RawValue>,
        }

        let field = Field::deserialize(deserializer)?;
        let default = |text: Option<&RawValue>| match text {
            Some(text) => DefaultText::parse(&field.r#type, text.get()).map_err(D::Error::custom),
            None => Ok(None),
        };
        let (initial_default, write_default) = (default(field.initial_default)?, default(field.write_default)?);
        Ok(Self {
            id: field.id,
            name: field.name,
            required: field.required,
            r#type: field.r#type,
            doc: field.doc,
            initial_default,
            write_default,
        })
    }
}

impl DefaultText {
    /// A value of a type; numbers are taken from the text, as a JSON value would not hold them to the last digit.
    fn parse(of_type: &TypeText, text: &str) -> serde_json::Result<Option<Self>> {
        #[derive(DeriveDeserialize)]
        struct Entries<'a> {
            #[serde(borrow)]
            keys: Vec<&'a RawValue>,
            #[serde(borrow)]
            values: Vec<&'a RawValue>,
        }

        fn all(of_type: &TypeText, texts: &[&RawValue]) -> serde_json::Result<Vec<Option<DefaultText>>> {
            texts.iter().map(|text| DefaultText::parse(of_type, text.get())).collect()
        }

        if text == "null" {
            return Ok(None);
        }
        Ok(Some(match of_type {
            TypeText::Primitive(name) => Self::primitive(name, text)?,
            TypeText::List(list) => Self::List(all(&list.element, &serde_json::from_str::<Vec<_>>(text)?)?),
            TypeText::Map(map) => {
                let Entries { keys, values } = serde_json::from_str(text)?;
                Self::Map { keys: all(&map.key, &keys)?, values: all(&map.value, &values)? }
            }
            TypeText::Struct(of_type) => {
                // By field id, in the order of the type.
                let values: std::collections::HashMap<String, &RawValue> = serde_json::from_str(text)?;
                let mut fields = Vec::new();
                for field in &of_type.fields {
                    let id = field.id.to_string();
                    if let Some(text) = values.get(&id)
                        && let Some(value) = Self::parse(&field.r#type, text.get())?
                    {
                        fields.push((id, value));
                    }
                }
                Self::Struct(Ordered(fields))
            }
        }))
    }

    fn primitive(name: &str, text: &str) -> serde_json::Result<Self> {
        let string = || serde_json::from_str::<String>(text);
        let malformed = |_| serde_json::Error::custom(format!("a default of type {name} cannot be {text}"));
        Ok(match name {
            "boolean" => Self::Boolean(serde_json::from_str(text)?),
            "int" | "long" => Self::Integer(serde_json::from_str(text)?),
            // Java reads a double and makes a float of it.
            #[expect(clippy::cast_possible_truncation, reason = "the float next to the double is wanted")]
            "float" => Self::Float(text.parse::<f64>().map_err(malformed)? as f32),
            "double" => Self::Double(text.parse().map_err(malformed)?),
            "binary" => Self::Text(string()?.to_uppercase()),
            "uuid" => Self::Text(string()?.to_lowercase()),
            "time" => Self::Text(time(&string()?, MICROS)),
            "timestamp" | "timestamptz" => Self::Text(timestamp(&string()?, MICROS)),
            "timestamp_ns" | "timestamptz_ns" => Self::Text(timestamp(&string()?, NANOS)),
            _ if name.starts_with("fixed[") => Self::Text(string()?.to_uppercase()),
            _ if name.starts_with("decimal(") => Self::Text(decimal(&string()?)),
            _ => Self::Text(string()?),
        })
    }
}

const MICROS: usize = 6;
const NANOS: usize = 9;

/// The name of a type as Java writes it.
fn primitive(name: &str) -> String {
    let arguments = name.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')')?.split_once(','));
    arguments.map_or_else(
        || name.to_owned(),
        |(precision, scale)| format!("decimal({}, {})", precision.trim(), scale.trim()),
    )
}

/// Without the sign and zeros that mean nothing.
fn decimal(text: &str) -> String {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let trimmed = digits.trim_start_matches('0');
    let digits =
        if trimmed.is_empty() || trimmed.starts_with('.') { format!("0{trimmed}") } else { trimmed.to_owned() };
    let sign = if digits.bytes().all(|b| matches!(b, b'0' | b'.')) { "" } else { sign };
    format!("{sign}{digits}")
}

/// `HH:mm:ss`, then as much of a fraction as there is.
fn time(text: &str, precision: usize) -> String {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds = if seconds.len() == "HH:mm".len() { format!("{seconds}:00") } else { seconds.to_owned() };
    let fraction = fraction.get(..precision).unwrap_or(fraction).trim_end_matches('0');
    if fraction.is_empty() { seconds } else { format!("{seconds}.{fraction}") }
}

/// A date and a time, with `+00:00` where there is an offset.
fn timestamp(text: &str, precision: usize) -> String {
    let Some((date, rest)) = text.split_once('T') else { return text.to_owned() };
    let (clock, offset) = match rest.find(['+', '-', 'Z']) {
        Some(at) => (&rest[..at], "+00:00"),
        None => (rest, ""),
    };
    format!("{date}T{}{offset}", time(clock, precision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_written_as_java_does() {
        for (name, text, expected) in [
            ("int", "7", "7"),
            ("float", "0.10000000149011612", "0.1"),
            ("double", "1e7", "1.0E7"),
            ("decimal(9, 2)", r#""-01.50""#, r#""-1.50""#),
            ("decimal(9, 2)", r#""+0.00""#, r#""0.00""#),
            ("binary", r#""0aff""#, r#""0AFF""#),
            ("fixed[2]", r#""0aff""#, r#""0AFF""#),
            ("time", r#""12:30""#, r#""12:30:00""#),
            ("time", r#""12:30:00.120000""#, r#""12:30:00.12""#),
            ("timestamp", r#""2020-01-02T03:04:05.000001234""#, r#""2020-01-02T03:04:05.000001""#),
            ("timestamptz", r#""2020-01-02T03:04Z""#, r#""2020-01-02T03:04:00+00:00""#),
            ("timestamptz_ns", r#""2020-01-02T03:04:05.123456789+00:00""#, r#""2020-01-02T03:04:05.123456789+00:00""#),
            ("string", r#""a b""#, r#""a b""#),
        ] {
            let value = DefaultText::primitive(name, text).unwrap();
            assert_eq!(super::super::text(&value).unwrap(), expected, "{name} {text}");
        }
        assert!(DefaultText::primitive("double", "\"x\"").is_err());
    }

    #[test]
    fn a_schema_is_put_in_order() {
        let given = r#"{"schema-id":1,"fields":[{"type":{"type":"map","key":"string","value":"decimal(9,2)","key-id":2,
            "value-id":3,"value-required":false,"x":1},"name":"m","id":1,"required":true,"doc":null,"initial-default":null}],
            "type":"struct","identifier-field-ids":[]}"#;
        let schema: SchemaText = serde_json::from_str(given).unwrap();
        assert_eq!(
            super::super::text(&schema).unwrap(),
            r#"{"type":"struct","schema-id":1,"fields":[{"id":1,"name":"m","required":true,"type":{"type":"map","key-id":2,"key":"string","value-id":3,"value":"decimal(9, 2)","value-required":false}}]}"#
        );
    }
}
