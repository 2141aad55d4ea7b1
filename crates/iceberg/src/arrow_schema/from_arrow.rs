//! Arrow schemas to Iceberg's: with the ids they carry, or with fresh ones.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema as ArrowSchema, TimeUnit};

use super::{DOC_META_KEY, EXTENSION_NAME_META_KEY, UUID_EXTENSION_NAME, field_id};
use crate::spec::{ListType, MapType, NestedField, NestedFieldRef, PrimitiveType, Schema, StructType, Type};
use crate::{Error, ErrorKind, Result};

/// How deeply types may nest: beyond any real schema, and far from exhausting the stack.
const MAX_DEPTH: usize = 100;

/// A table schema that can hold what an Arrow schema describes, with fresh ids in the order in which Java assigns
/// them: all fields of a struct first, then what is nested in each.
///
/// Types without a counterpart take the next wider one: small and unsigned integers become int, long or
/// decimal(20, 0), half floats float, dates in milliseconds date, times time, timestamps in seconds or milliseconds
/// timestamp. Dictionaries, views and large variants are the plain types they stand for.
///
/// # Errors
/// [`ErrorKind::Unsupported`] naming the column, for a type that no Iceberg type can hold;
/// [`ErrorKind::InvalidInput`] for two columns of one name.
pub fn arrow_to_schema(schema: &ArrowSchema) -> Result<Schema> {
    convert_schema(schema, &mut Ids::Fresh(0))
}

/// The table schema whose Arrow form this is: ids are those in the metadata of its fields.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] naming the column, for a field without an id; otherwise as [`arrow_to_schema`].
pub fn arrow_to_schema_with_ids(schema: &ArrowSchema) -> Result<Schema> {
    convert_schema(schema, &mut Ids::Carried)
}

/// Where field ids come from.
enum Ids {
    /// The last id given out.
    Fresh(i32),
    Carried,
}

impl Ids {
    fn of(&mut self, field: &Field, path: &str) -> Result<i32> {
        match self {
            Self::Fresh(last) => {
                *last += 1;
                Ok(*last)
            }
            Self::Carried => field_id(field)
                .ok_or_else(|| Error::new(ErrorKind::InvalidInput, format!("column {path} has no field id"))),
        }
    }
}

fn convert_schema(schema: &ArrowSchema, ids: &mut Ids) -> Result<Schema> {
    let fields = convert_fields(schema.fields(), "", 0, ids)?;
    Schema::builder()
        .with_fields(fields)
        .build()
        .map_err(|e| Error::new(ErrorKind::InvalidInput, "the columns do not make a schema").with_source(e))
}

fn convert_fields(fields: &Fields, parent: &str, depth: usize, ids: &mut Ids) -> Result<Vec<NestedFieldRef>> {
    let mut names = HashSet::new();
    let paths = fields.iter().map(|field| join(parent, field.name())).collect::<Vec<_>>();
    for (field, path) in fields.iter().zip(&paths) {
        if !names.insert(field.name()) {
            return Err(Error::new(ErrorKind::InvalidInput, format!("two columns are named {path}")));
        }
    }
    let own = fields.iter().zip(&paths).map(|(field, path)| ids.of(field, path)).collect::<Result<Vec<_>>>()?;
    let fields = fields.iter().zip(own).zip(&paths);
    fields.map(|((field, id), path)| Ok(Arc::new(convert_field(field, id, path, depth, ids)?))).collect()
}

fn convert_field(field: &Field, id: i32, path: &str, depth: usize, ids: &mut Ids) -> Result<NestedField> {
    let field_type = convert_type(field, path, depth, ids)?;
    let converted = NestedField::new(id, field.name(), field_type, !field.is_nullable());
    Ok(match field.metadata().get(DOC_META_KEY) {
        Some(doc) => converted.with_doc(doc),
        None => converted,
    })
}

fn convert_type(field: &Field, path: &str, depth: usize, ids: &mut Ids) -> Result<Type> {
    if depth > MAX_DEPTH {
        return Err(Error::new(ErrorKind::Unsupported, format!("column {path} is nested too deeply")));
    }
    match field.data_type() {
        DataType::Struct(fields) => Ok(Type::Struct(StructType::new(convert_fields(fields, path, depth + 1, ids)?))),
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::FixedSizeList(element, _)
        | DataType::ListView(element)
        | DataType::LargeListView(element) => {
            let path = join(path, "element");
            let id = ids.of(element, &path)?;
            let element_type = convert_type(element, &path, depth + 1, ids)?;
            Ok(Type::List(ListType::new(NestedField::list_element(id, element_type, !element.is_nullable()).into())))
        }
        DataType::Map(entries, _) => convert_map(entries, path, depth, ids),
        other => convert_primitive(other, is_uuid(field))
            .map(Type::Primitive)
            .ok_or_else(|| Error::new(ErrorKind::Unsupported, format!("column {path} has unsupported type {other}"))),
    }
}

fn convert_map(entries: &Field, path: &str, depth: usize, ids: &mut Ids) -> Result<Type> {
    let DataType::Struct(entries) = entries.data_type() else {
        return Err(Error::new(ErrorKind::InvalidInput, format!("column {path} is a map without entries")));
    };
    let [key, value] = entries.as_ref() else {
        return Err(Error::new(ErrorKind::InvalidInput, format!("column {path} is a map without key and value")));
    };
    let (key_path, value_path) = (join(path, "key"), join(path, "value"));
    let (key_id, value_id) = (ids.of(key, &key_path)?, ids.of(value, &value_path)?);
    let key_type = convert_type(key, &key_path, depth + 1, ids)?;
    let value_type = convert_type(value, &value_path, depth + 1, ids)?;
    Ok(Type::Map(MapType::new(
        NestedField::map_key_element(key_id, key_type).into(),
        NestedField::map_value_element(value_id, value_type, !value.is_nullable()).into(),
    )))
}

fn convert_primitive(data_type: &DataType, uuid: bool) -> Option<PrimitiveType> {
    Some(match data_type {
        DataType::Boolean => PrimitiveType::Boolean,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 => PrimitiveType::Int,
        DataType::Int64 | DataType::UInt32 => PrimitiveType::Long,
        DataType::UInt64 => PrimitiveType::Decimal { precision: 20, scale: 0 },
        DataType::Float16 | DataType::Float32 => PrimitiveType::Float,
        DataType::Float64 => PrimitiveType::Double,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal(*precision, *scale)?,
        DataType::Date32 | DataType::Date64 => PrimitiveType::Date,
        DataType::Time32(_) | DataType::Time64(_) => PrimitiveType::Time,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => PrimitiveType::TimestampNs,
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => PrimitiveType::TimestamptzNs,
        DataType::Timestamp(_, None) => PrimitiveType::Timestamp,
        DataType::Timestamp(_, Some(_)) => PrimitiveType::Timestamptz,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => PrimitiveType::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => PrimitiveType::Binary,
        DataType::FixedSizeBinary(16) if uuid => PrimitiveType::Uuid,
        DataType::FixedSizeBinary(length) => PrimitiveType::Fixed(u64::try_from(*length).ok()?),
        DataType::Dictionary(_, value) => convert_primitive(value, uuid)?,
        _ => return None,
    })
}

/// A decimal that holds all values of Arrow's: a negative scale moves into the precision.
fn decimal(precision: u8, scale: i8) -> Option<PrimitiveType> {
    let (precision, scale) = match u32::try_from(scale) {
        Ok(scale) => (u32::from(precision), scale),
        Err(_) => (u32::from(precision) + u32::from(scale.unsigned_abs()), 0),
    };
    ((1..=38).contains(&precision) && scale <= precision).then_some(PrimitiveType::Decimal { precision, scale })
}

fn is_uuid(field: &Field) -> bool {
    field.metadata().get(EXTENSION_NAME_META_KEY).is_some_and(|name| name == UUID_EXTENSION_NAME)
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
}
