//! Which statistics are kept of which column: the `write.metadata.metrics.*` properties.

use std::collections::HashMap;

use crate::Result;
use crate::properties::{INT_MAX, invalid, number};
use crate::spec::{NestedField, Schema, SortOrder, StructType, Type};

const DEFAULT_MODE: &str = "write.metadata.metrics.default";
const MAX_INFERRED: &str = "write.metadata.metrics.max-inferred-column-defaults";
const COLUMN_MODE_PREFIX: &str = "write.metadata.metrics.column.";
const DEFAULT: MetricsMode = MetricsMode::Truncate(16);
const DEFAULT_MAX_INFERRED: usize = 100;

/// How much is kept of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::write) enum MetricsMode {
    None,
    /// Sizes and counts.
    Counts,
    /// And bounds, of strings and binary values no longer than so many characters or bytes.
    Truncate(usize),
    /// And whole bounds.
    Full,
}

impl MetricsMode {
    /// `none`, `counts`, `truncate(N)` or `full`, in any case.
    fn parse(text: &str) -> Option<Self> {
        match text.to_ascii_lowercase().as_str() {
            "none" => Some(Self::None),
            "counts" => Some(Self::Counts),
            "full" => Some(Self::Full),
            other => {
                let length = other.strip_prefix("truncate(")?.strip_suffix(')')?.parse().ok()?;
                (length > 0).then_some(Self::Truncate(length))
            }
        }
    }

    fn parse_or(text: &str, fallback: Self, property: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| {
            tracing::warn!("ignoring the invalid metrics mode '{text}' of {property}");
            fallback
        })
    }
}

/// The modes of a table's columns.
#[derive(Debug, Clone)]
pub(in crate::write) struct MetricsConfig {
    columns: HashMap<i32, MetricsMode>,
    default: MetricsMode,
}

impl MetricsConfig {
    /// As Java decides it: properties of columns first; then columns that the sort order keeps in order have bounds;
    /// then the default property; without one, all columns have the default mode, or in a wide table the first
    /// hundred leaves, and the others none. What is not a mode is ignored with a warning.
    pub(in crate::write) fn new(properties: &HashMap<String, String>, schema: &Schema, order: &SortOrder) -> Self {
        let mut columns = HashMap::new();
        let default = if let Some(configured) = properties.get(DEFAULT_MODE) {
            MetricsMode::parse_or(configured, DEFAULT, DEFAULT_MODE)
        } else {
            let limit = properties.get(MAX_INFERRED).and_then(|limit| limit.trim().parse().ok());
            let limit = limit.unwrap_or(DEFAULT_MAX_INFERRED);
            if leaf_count(schema.as_struct()) <= limit {
                DEFAULT
            } else {
                add_leaves(schema.as_struct(), limit, &mut columns);
                MetricsMode::None
            }
        };
        let sorted = match default {
            MetricsMode::None | MetricsMode::Counts => DEFAULT,
            with_bounds => with_bounds,
        };
        for field in order.fields.iter().filter(|field| field.transform.preserves_order()) {
            columns.insert(field.source_id, sorted);
        }
        for (property, mode) in properties {
            if let Some(field) = property.strip_prefix(COLUMN_MODE_PREFIX).and_then(|name| schema.field_by_name(name)) {
                columns.insert(field.id, MetricsMode::parse_or(mode, default, property));
            }
        }
        Self { columns, default }
    }

    /// Refuses modes that are none, and those of columns that the schema does not have.
    pub(in crate::write) fn check(properties: &HashMap<String, String>, schema: &Schema) -> Result<()> {
        number(properties, MAX_INFERRED, 0, 0..=INT_MAX)?;
        for (property, mode) in properties {
            let column = property.strip_prefix(COLUMN_MODE_PREFIX);
            if (column.is_some() || property == DEFAULT_MODE) && MetricsMode::parse(mode).is_none() {
                return Err(invalid(property, mode, "none, counts, truncate(N) or full"));
            }
            if column.is_some_and(|name| schema.field_by_name(name).is_none()) {
                return Err(invalid(property, mode, "the name of a column"));
            }
        }
        Ok(())
    }

    pub(in crate::write) fn mode(&self, field_id: i32) -> MetricsMode {
        self.columns.get(&field_id).copied().unwrap_or(self.default)
    }
}

fn is_leaf(field: &NestedField) -> bool {
    field.field_type.is_primitive()
}

fn leaf_count(fields: &StructType) -> usize {
    fields.fields().iter().map(|field| type_leaf_count(&field.field_type)).sum()
}

fn type_leaf_count(field_type: &Type) -> usize {
    match field_type {
        Type::Primitive(_) => 1,
        Type::Struct(fields) => leaf_count(fields),
        Type::List(list) => type_leaf_count(&list.element_field.field_type),
        // Java does not count a key whose value is nested.
        Type::Map(map) if is_leaf(&map.value_field) => type_leaf_count(&map.key_field.field_type) + 1,
        Type::Map(map) => type_leaf_count(&map.value_field.field_type),
    }
}

/// Gives leaves the default mode until so many have one: those of a struct before what is nested in it.
fn add_leaves(fields: &StructType, limit: usize, modes: &mut HashMap<i32, MetricsMode>) {
    for field in fields.fields() {
        add_leaf(field, limit, modes);
    }
    for field in fields.fields() {
        add_nested(&field.field_type, limit, modes);
    }
}

fn add_nested(field_type: &Type, limit: usize, modes: &mut HashMap<i32, MetricsMode>) {
    match field_type {
        Type::Primitive(_) => {}
        Type::Struct(fields) => add_leaves(fields, limit, modes),
        Type::List(list) => {
            add_leaf(&list.element_field, limit, modes);
            add_nested(&list.element_field.field_type, limit, modes);
        }
        Type::Map(map) => {
            add_leaf(&map.key_field, limit, modes);
            add_leaf(&map.value_field, limit, modes);
            add_nested(&map.key_field.field_type, limit, modes);
            add_nested(&map.value_field.field_type, limit, modes);
        }
    }
}

fn add_leaf(field: &NestedField, limit: usize, modes: &mut HashMap<i32, MetricsMode>) {
    if is_leaf(field) && modes.len() < limit {
        modes.insert(field.id, DEFAULT);
    }
}
