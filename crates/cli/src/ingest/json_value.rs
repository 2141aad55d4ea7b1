//! JSON values exactly as they are written: numbers keep all their digits, and no key of an object is there twice.
//!
//! The usual reader of JSON makes a double of a fraction and lets the last of two equal keys win; both would change data
//! without a word.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Arrays and objects within each other end before this.
const DEPTH_LIMIT: usize = 128;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    /// Its digits.
    Number(String),
    String(String),
    Array(Vec<Value>),
    /// Keys and values, in their order.
    Object(Vec<(String, Value)>),
}

/// Why text is no JSON value that could be taken.
#[derive(Debug)]
pub(super) struct Malformed {
    pub(super) reason: String,
    /// Whether the text ends too early.
    pub(super) is_cut: bool,
}

impl Value {
    /// Parses text that holds one value.
    pub(super) fn parse(text: &str) -> Result<Self, Malformed> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|error| Malformed {
            reason: format!("not valid JSON at column {}", error.column()),
            is_cut: error.is_eof(),
        })?;
        Self::of(raw, 0)
    }

    /// The elements of an array.
    pub(super) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The entries of an object.
    pub(super) fn as_object(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// The value of text whose syntax was checked.
    fn of(raw: &RawValue, depth: usize) -> Result<Self, Malformed> {
        if depth > DEPTH_LIMIT {
            return Err(Malformed::new(format!("arrays and objects are nested more than {DEPTH_LIMIT} deep")));
        }
        let text = raw.get();
        Ok(match text.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't') => Self::Boolean(true),
            Some(b'f') => Self::Boolean(false),
            Some(b'"') => Self::String(part(text)?),
            Some(b'[') => {
                let elements: Vec<&RawValue> = part(text)?;
                Self::Array(elements.into_iter().map(|raw| Self::of(raw, depth + 1)).collect::<Result<_, _>>()?)
            }
            Some(b'{') => {
                let Entries(entries) = part(text)?;
                let mut seen = HashSet::with_capacity(entries.len());
                if let Some((name, _)) = entries.iter().find(|(name, _)| !seen.insert(name.as_str())) {
                    return Err(Malformed::new(format!("the key {name:?} is there twice in one object")));
                }
                let value = |(name, raw)| Ok((name, Self::of(raw, depth + 1)?));
                Self::Object(entries.into_iter().map(value).collect::<Result<_, _>>()?)
            }
            _ => Self::Number(text.to_owned()),
        })
    }
}

impl Malformed {
    fn new(reason: String) -> Self {
        Self { reason, is_cut: false }
    }
}

/// What checking the syntax left open: escapes that stand for no character.
fn part<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Malformed> {
    serde_json::from_str(text).map_err(|error| {
        // The position is one within this part.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        Malformed::new(format!("not valid JSON: {message}"))
    })
}

/// An object's keys and values, equal keys too.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(All)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_are_kept_or_refused() {
        let number = |digits: &str| Value::Number(digits.to_owned());
        let object = |entries: &[(&str, Value)]| {
            Value::Object(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
        };
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let cases = [
            (" null ", Ok(Value::Null)),
            ("123456789012345678901234567890.10", Ok(number("123456789012345678901234567890.10"))),
            ("-0", Ok(number("-0"))),
            ("1e400", Ok(number("1e400"))),
            ("\"\\u00e9\\n\"", Ok(Value::String("é\n".to_owned()))),
            ("[true, false]", Ok(Value::Array(vec![Value::Boolean(true), Value::Boolean(false)]))),
            ("{\"b\": 1, \"a\": {\"b\": 2}}", Ok(object(&[("b", number("1")), ("a", object(&[("b", number("2"))]))]))),
            ("{\"a\": 1, \"\\u0061\": 1}", Err("the key \"a\" is there twice")),
            ("[{\"x\": {\"a\": 1, \"b\": 2, \"a\": 3}}]", Err("the key \"a\" is there twice")),
            ("{\"a\": 1", Err("not valid JSON at column 7")),
            ("01", Err("not valid JSON at column 2")),
            ("[1] 2", Err("not valid JSON at column 5")),
            ("NaN", Err("not valid JSON at column 1")),
            ("\"\\ud800\"", Err("not valid JSON: ")),
            (&deep(200), Err("nested more than 128 deep")),
        ];
        for (text, expected) in cases {
            match (Value::parse(text), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
                (Err(found), Err(expected)) => assert!(found.reason.contains(expected), "{text}: {}", found.reason),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        assert!(Value::parse("{\"a\"").unwrap_err().is_cut);
        assert!(Value::parse(&deep(128)).is_ok());
    }

    proptest! {
        /// Text is taken exactly when the usual reader takes it, numbers beyond a double and equal keys aside.
        #[test]
        fn any_text_is_a_value_or_an_error(text in "[\\[\\]{},:\"a\\\\u0-9.eE+ -]{0,24}|\\PC*") {
            let usual = serde_json::from_str::<serde_json::Value>(&text);
            match Value::parse(&text) {
                Ok(_) => prop_assert!(usual.map_or_else(|e| e.to_string().contains("out of range"), |_| true)),
                Err(error) => prop_assert!(usual.is_err() || error.reason.contains("twice"), "{}", error.reason),
            }
        }
    }
}
