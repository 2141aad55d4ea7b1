//! A file's column statistics, by the names of the columns and with values of their types.

use std::collections::BTreeMap;

use arrow::datatypes::{DataType, Field};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::cell::Cell;
use super::optional;
use crate::Result;
use crate::arrow_schema::field_to_arrow;
use crate::manifest::DataFile;
use crate::spec::{Datum, NestedField, PrimitiveType, Schema, Type};

/// The primitive columns of the table's current schema, by their full names.
#[derive(Debug)]
pub(super) struct ReadableMetrics {
    columns: BTreeMap<String, (i32, PrimitiveType)>,
}

impl ReadableMetrics {
    pub(super) fn new(schema: &Schema) -> Self {
        let columns = schema.field_id_to_name_map().iter().filter_map(|(id, name)| {
            let Type::Primitive(primitive) = &*schema.field_by_id(*id)?.field_type else { return None };
            Some((name.clone(), (*id, primitive.clone())))
        });
        Self { columns: columns.collect() }
    }

    pub(super) fn field(&self) -> Result<Field> {
        let column = |(name, (_, primitive)): (&String, &(i32, PrimitiveType))| {
            let metrics = vec![
                optional("column_size", DataType::Int64),
                optional("value_count", DataType::Int64),
                optional("null_value_count", DataType::Int64),
                optional("nan_value_count", DataType::Int64),
                bound_field("lower_bound", primitive)?,
                bound_field("upper_bound", primitive)?,
            ];
            Ok(optional(name, DataType::Struct(metrics.into())))
        };
        let columns = self.columns.iter().map(column).collect::<Result<Vec<_>>>()?;
        Ok(optional("readable_metrics", DataType::Struct(columns.into())))
    }

    pub(super) fn cell(&self, file: &DataFile) -> Cell {
        let column = |(id, primitive): &(i32, PrimitiveType)| {
            let count = |counts: &Option<BTreeMap<i32, i64>>| -> Cell {
                counts.as_ref().and_then(|counts| counts.get(id)).copied().into()
            };
            let bound = |bounds: &Option<BTreeMap<i32, Vec<u8>>>| -> Cell {
                let bytes = bounds.as_ref().and_then(|bounds| bounds.get(id));
                // What cannot be read as the type that the column has now is not known.
                let value = bytes.and_then(|bytes| Datum::try_from_bytes(bytes, primitive.clone()).ok());
                value.map(|value| value.literal().clone()).into()
            };
            Cell::Struct(vec![
                count(&file.column_sizes),
                count(&file.value_counts),
                count(&file.null_value_counts),
                count(&file.nan_value_counts),
                bound(&file.lower_bounds),
                bound(&file.upper_bounds),
            ])
        };
        Cell::Struct(self.columns.values().map(column).collect())
    }
}

fn bound_field(name: &str, primitive: &PrimitiveType) -> Result<Field> {
    if matches!(primitive, PrimitiveType::Fixed(_)) {
        // Bounds may be cut short, which Arrow's fixed lengths do not allow.
        return Ok(optional(name, DataType::Binary));
    }
    let field = field_to_arrow(&NestedField::optional(0, name, Type::Primitive(primitive.clone())))?;
    let mut metadata = field.metadata().clone();
    metadata.remove(PARQUET_FIELD_ID_META_KEY);
    Ok(field.with_metadata(metadata))
}
