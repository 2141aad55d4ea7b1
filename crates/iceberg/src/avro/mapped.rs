//! Ids for files without them, by the names of their fields.

use std::sync::Arc;

use super::schema::{Array, Entry, Field, Node};
use crate::name_mapping::{MappedField, MappedFields};

impl Node {
    /// The type with the ids that names are mapped to; a field whose name is not has none.
    pub(super) fn with_ids(&self, mapping: &MappedFields) -> Self {
        match self {
            Self::Record(fields) => {
                Self::Record(fields.iter().map(|field| field.with_id(&field.name, mapping)).collect())
            }
            Self::Array(array) if array.is_map => {
                // Its keys and values are mapped like those of any other map.
                let element = Field { node: array.element.node.with_ids(mapping), ..array.element.clone() };
                Self::Array(Arc::new(Array { element, is_map: true }))
            }
            Self::Array(array) => {
                let element = array.element.with_id("element", mapping);
                Self::Array(Arc::new(Array { element, is_map: false }))
            }
            Self::Map(entry) => {
                let key_id = mapping.by_name("key").and_then(MappedField::id);
                Self::Map(Arc::new(Entry { key_id, value: entry.value.with_id("value", mapping) }))
            }
            Self::Union(branches) => Self::Union(branches.iter().map(|branch| branch.with_ids(mapping)).collect()),
            other => other.clone(),
        }
    }
}

impl Field {
    fn with_id(&self, name: &str, mapping: &MappedFields) -> Self {
        let mapped = mapping.by_name(name);
        let node = mapped.map_or_else(|| self.node.clone(), |mapped| self.node.with_ids(mapped.fields()));
        Self { name: self.name.clone(), id: mapped.and_then(MappedField::id), node }
    }
}
