//! Schemas between Iceberg and Arrow.
//!
//! | Iceberg | Arrow |
//! |---|---|
//! | boolean, int, long, float, double | Boolean, Int32, Int64, Float32, Float64 |
//! | decimal(P, S) | Decimal128(P, S) |
//! | date, time | Date32, Time64(us) |
//! | timestamp, timestamptz | Timestamp(us), Timestamp(us, UTC) |
//! | `timestamp_ns`, `timestamptz_ns` | Timestamp(ns), Timestamp(ns, UTC) |
//! | string, binary, fixed(N) | Utf8, Binary, FixedSizeBinary(N) |
//! | uuid | FixedSizeBinary(16) with the extension type `arrow.uuid` |
//! | unknown | Null |
//! | variant, geometry, geography | Binary, marked as [unreadable](unreadable_type) |
//! | struct, list, map | Struct, List (`element`), Map (`key_value` of `key` and `value`) |
//!
//! Field ids are kept in the metadata of Arrow fields under `PARQUET:field_id`, docs under `doc`.

mod from_arrow;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

pub use from_arrow::{arrow_to_schema, arrow_to_schema_with_ids};

use crate::opaque::OpaqueType;
use crate::spec::{ListType, MapType, NestedField, PrimitiveType, Schema, StructType, Type};
use crate::{Error, ErrorKind, Result};

/// Key of a field's doc in the metadata of its Arrow field.
const DOC_META_KEY: &str = "doc";
/// Key of the type's name in the metadata of a field that cannot be read.
const UNREADABLE_META_KEY: &str = "lakelock:unreadable-type";
const EXTENSION_NAME_META_KEY: &str = "ARROW:extension:name";
const UUID_EXTENSION_NAME: &str = "arrow.uuid";
const UTC: &str = "UTC";

/// The Arrow form of a table's schema, in which the table's rows are read and written.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for a decimal or fixed type beyond what Arrow can hold.
pub fn schema_to_arrow(schema: &Schema) -> Result<SchemaRef> {
    Ok(Arc::new(ArrowSchema::new(struct_to_arrow(schema.as_struct())?)))
}

/// The Arrow form of one field, with its id in the metadata.
///
/// # Errors
/// As [`schema_to_arrow`].
pub fn field_to_arrow(field: &NestedField) -> Result<Field> {
    named_field_to_arrow(field, &field.name)
}

/// The Arrow form of a type; fields nested in it carry their ids.
///
/// # Errors
/// As [`schema_to_arrow`].
pub fn type_to_arrow(field_type: &Type) -> Result<DataType> {
    match field_type {
        Type::Primitive(primitive) => primitive_to_arrow(primitive),
        Type::Struct(fields) => Ok(DataType::Struct(struct_to_arrow(fields)?)),
        Type::List(list) => list_to_arrow(list),
        Type::Map(map) => map_to_arrow(map),
    }
}

/// The field id in the metadata of an Arrow field, if it has one.
#[must_use]
pub fn field_id(field: &Field) -> Option<i32> {
    field.metadata().get(PARQUET_FIELD_ID_META_KEY)?.parse().ok()
}

/// The type of a column that cannot be read, or that something nested in it has, for there is no Arrow form of its values.
#[must_use]
pub fn unreadable_type(field: &Field) -> Option<&str> {
    let own = field.metadata().get(UNREADABLE_META_KEY).map(String::as_str);
    own.or_else(|| match field.data_type() {
        DataType::Struct(fields) => fields.iter().find_map(|field| unreadable_type(field)),
        DataType::List(inner) | DataType::Map(inner, _) => unreadable_type(inner),
        _ => None,
    })
}

fn struct_to_arrow(fields: &StructType) -> Result<Fields> {
    fields.fields().iter().map(|field| Ok(Arc::new(field_to_arrow(field)?))).collect()
}

fn list_to_arrow(list: &ListType) -> Result<DataType> {
    Ok(DataType::List(Arc::new(named_field_to_arrow(&list.element_field, "element")?)))
}

fn map_to_arrow(map: &MapType) -> Result<DataType> {
    let entries: [FieldRef; 2] = [
        Arc::new(named_field_to_arrow(&map.key_field, "key")?.with_nullable(false)),
        Arc::new(named_field_to_arrow(&map.value_field, "value")?),
    ];
    let entries = Field::new("key_value", DataType::Struct(entries.into_iter().collect()), false);
    Ok(DataType::Map(Arc::new(entries), false))
}

fn named_field_to_arrow(field: &NestedField, name: &str) -> Result<Field> {
    let mut metadata = HashMap::from([(PARQUET_FIELD_ID_META_KEY.to_owned(), field.id.to_string())]);
    if let Some(doc) = &field.doc {
        metadata.insert(DOC_META_KEY.to_owned(), doc.clone());
    }
    if let Type::Primitive(primitive) = &*field.field_type
        && let Some(opaque) = OpaqueType::of(primitive).filter(|opaque| *opaque != OpaqueType::Unknown)
    {
        metadata.insert(UNREADABLE_META_KEY.to_owned(), opaque.name().to_owned());
    }
    if matches!(*field.field_type, Type::Primitive(PrimitiveType::Uuid)) {
        metadata.insert(EXTENSION_NAME_META_KEY.to_owned(), UUID_EXTENSION_NAME.to_owned());
    }
    Ok(Field::new(name, type_to_arrow(&field.field_type)?, !field.required).with_metadata(metadata))
}

fn primitive_to_arrow(primitive: &PrimitiveType) -> Result<DataType> {
    let beyond_arrow = || Error::new(ErrorKind::Unsupported, format!("type {primitive} is beyond what Arrow can hold"));
    if let Some(opaque) = OpaqueType::of(primitive) {
        return Ok(if opaque == OpaqueType::Unknown { DataType::Null } else { DataType::Binary });
    }
    Ok(match primitive {
        PrimitiveType::Boolean => DataType::Boolean,
        PrimitiveType::Int => DataType::Int32,
        PrimitiveType::Long => DataType::Int64,
        PrimitiveType::Float => DataType::Float32,
        PrimitiveType::Double => DataType::Float64,
        PrimitiveType::Decimal { precision, scale } => {
            if !(1..=38).contains(precision) || scale > precision {
                return Err(beyond_arrow());
            }
            let (precision, scale) = (u8::try_from(*precision), i8::try_from(*scale));
            DataType::Decimal128(precision.map_err(|_| beyond_arrow())?, scale.map_err(|_| beyond_arrow())?)
        }
        PrimitiveType::Date => DataType::Date32,
        PrimitiveType::Time => DataType::Time64(TimeUnit::Microsecond),
        PrimitiveType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        PrimitiveType::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        PrimitiveType::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        PrimitiveType::TimestamptzNs => DataType::Timestamp(TimeUnit::Nanosecond, Some(UTC.into())),
        PrimitiveType::String => DataType::Utf8,
        PrimitiveType::Uuid => DataType::FixedSizeBinary(16),
        PrimitiveType::Fixed(length) => DataType::FixedSizeBinary(i32::try_from(*length).map_err(|_| beyond_arrow())?),
        PrimitiveType::Binary => DataType::Binary,
    })
}

#[cfg(test)]
mod tests;
