//! Field ids for files that have none, by the names of their columns:
//! <https://iceberg.apache.org/spec/#name-mapping-serialization>.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::spec::{NestedFieldRef, Schema, StructType, TableMetadata, Type};
use crate::{Error, ErrorKind, Result};

/// The table property that holds the mapping.
pub const DEFAULT_NAME_MAPPING: &str = "schema.name-mapping.default";

/// How deeply fields may nest: beyond any real schema, and far from exhausting the stack.
const MAX_DEPTH: usize = 64;

/// Which names the fields of files without ids have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameMapping(MappedFields);

/// The fields of one level, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MappedFields(HashMap<String, MappedField>);

/// A field: its id, and the fields in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedField {
    id: Option<i32>,
    fields: Arc<MappedFields>,
}

impl NameMapping {
    /// The mapping of a table, if it has one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] for a property that holds none, or one that means two fields by one name.
    pub fn of_table(metadata: &TableMetadata) -> Result<Option<Self>> {
        metadata.properties().get(DEFAULT_NAME_MAPPING).map(|text| Self::parse(text)).transpose()
    }

    /// The mapping that a property holds.
    ///
    /// # Errors
    /// As [`of_table`](Self::of_table).
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = || {
            let message = format!("table property {DEFAULT_NAME_MAPPING} is no name mapping");
            Error::new(ErrorKind::InvalidData, message)
        };
        let fields: Vec<JsonField> = serde_json::from_str(text).map_err(|e| invalid().with_source(e))?;
        MappedFields::of_json(fields, 0).map(Self).map_err(|what| invalid().with_source(what))
    }

    /// The mapping of the names that a schema has now.
    #[must_use]
    pub fn of_schema(schema: &Schema) -> Self {
        Self(MappedFields::of_struct(schema.as_struct()))
    }

    /// Its columns.
    #[must_use]
    pub fn fields(&self) -> &MappedFields {
        &self.0
    }
}

impl MappedFields {
    /// The field of this name. Elements of lists are `element`, keys and values of maps `key` and `value`.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<&MappedField> {
        self.0.get(name)
    }

    fn of_json(json: Vec<JsonField>, depth: usize) -> Result<Self, String> {
        if depth > MAX_DEPTH {
            return Err(format!("its fields nest more than {MAX_DEPTH} deep"));
        }
        let mut fields = HashMap::new();
        for field in json {
            // Shared by all names of the field.
            let inner = Arc::new(Self::of_json(field.fields, depth + 1)?);
            for name in field.names {
                let mapped = MappedField { id: field.field_id, fields: Arc::clone(&inner) };
                if fields.insert(name.clone(), mapped).is_some() {
                    return Err(format!("the name {name} is that of two fields"));
                }
            }
        }
        Ok(Self(fields))
    }

    fn of_struct(fields: &StructType) -> Self {
        Self(fields.fields().iter().map(|field| (field.name.clone(), MappedField::of_field(field))).collect())
    }

    fn of_type(r#type: &Type) -> Self {
        let named = |name: &str, field: &NestedFieldRef| (name.to_owned(), MappedField::of_field(field));
        match r#type {
            Type::Primitive(_) => Self::default(),
            Type::Struct(fields) => Self::of_struct(fields),
            Type::List(list) => Self(HashMap::from([named("element", &list.element_field)])),
            Type::Map(map) => Self(HashMap::from([named("key", &map.key_field), named("value", &map.value_field)])),
        }
    }
}

impl MappedField {
    fn of_field(field: &NestedFieldRef) -> Self {
        Self { id: Some(field.id), fields: Arc::new(MappedFields::of_type(&field.field_type)) }
    }

    /// Its id, if it has one in the table.
    #[must_use]
    pub fn id(&self) -> Option<i32> {
        self.id
    }

    /// The fields in it.
    #[must_use]
    pub fn fields(&self) -> &MappedFields {
        &self.fields
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct JsonField {
    #[serde(default)]
    field_id: Option<i32>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    fields: Vec<JsonField>,
}
