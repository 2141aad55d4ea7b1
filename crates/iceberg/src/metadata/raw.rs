//! The text of metadata.json, cut at its top level.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of a JSON object, in their order, each with the text of its value. Cloning is cheap.
#[derive(Clone, Default)]
pub(super) struct RawDocument {
    fields: Vec<(String, Arc<str>)>,
}

impl RawDocument {
    /// Cuts a JSON object. A field that occurs twice is an error: readers differ in which of them they take.
    pub(super) fn parse(json: &[u8]) -> Result<Self, serde_json::Error> {
        let RawObject(fields) = serde_json::from_slice(json)?;
        let fields = fields.into_iter().map(|(name, value)| (name.into_owned(), value.get().into())).collect();
        Ok(Self { fields })
    }

    /// The text of a field's value.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(n, _)| n == name).map(|(_, value)| &**value)
    }

    /// Sets a field in its place, or at the end; `value` must be valid JSON.
    pub(super) fn set(&mut self, name: &str, value: impl Into<Arc<str>>) {
        match self.fields.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value.into(),
            None => self.fields.push((name.to_owned(), value.into())),
        }
    }

    /// The length of the text, if no name in it needs an escape.
    pub(super) fn json_length(&self) -> usize {
        let fields: usize = self.fields.iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        fields + 1
    }

    pub(super) fn to_json(&self) -> Vec<u8> {
        let mut json = String::with_capacity(self.json_length());
        write_object(&mut json, self.fields.iter().map(|(name, value)| (name.as_str(), &**value)));
        json.into_bytes()
    }
}

impl fmt::Debug for RawDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.fields.iter().map(|(name, _)| name)).finish()
    }
}

/// Writes an object from the texts of its values.
pub(super) fn write_object<'a>(json: &mut String, fields: impl IntoIterator<Item = (&'a str, &'a str)>) {
    json.push('{');
    for (i, (name, value)) in fields.into_iter().enumerate() {
        if i > 0 {
            json.push(',');
        }
        json.push_str(&quote(name));
        json.push(':');
        json.push_str(value);
    }
    json.push('}');
}

/// A string as JSON.
pub(super) fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object's fields in their order, none of them twice.
pub(super) struct RawObject<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = RawObject<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                let mut names = HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !names.insert(name.clone()) {
                        return Err(A::Error::custom(format!("duplicate field `{name}`")));
                    }
                    fields.push((Cow::Owned(name), map.next_value()?));
                }
                Ok(RawObject(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}
