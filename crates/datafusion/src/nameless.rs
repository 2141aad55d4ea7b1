//! Parquet files without field ids: their columns get those that the table's name mapping has for their names.
//!
//! <https://iceberg.apache.org/spec/#column-projection>. A column that the mapping does not have gets an id that no table has, so
//! that nothing of the table is read from it.

use std::sync::Arc;

use lakelock_iceberg::name_mapping::{MappedField, MappedFields, NameMapping};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::basic::{ConvertedType, LogicalType};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

/// Whether any column has an id.
#[must_use]
pub fn has_ids(schema: &Type) -> bool {
    let has_id = |field: &TypePtr| field.get_basic_info().has_id() || has_ids(field);
    schema.is_group() && schema.get_fields().iter().any(has_id)
}

/// The metadata of a file without ids as if it had those that its names are mapped to.
///
/// # Errors
/// When its schema makes no sense.
pub fn with_ids(metadata: &ParquetMetaData, mapping: &NameMapping) -> Result<ParquetMetaData> {
    let file = metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    let fields = Ids { last: 0 }.fields(root.get_fields(), mapping.fields())?;
    let schema = Type::group_type_builder(root.name()).with_fields(fields).build()?;
    // The schema that Arrow's writers embed would take precedence, and it has no ids either.
    let texts = file
        .key_value_metadata()
        .map(|texts| texts.iter().filter(|text| text.key != ARROW_SCHEMA_META_KEY).cloned().collect::<Vec<_>>());
    let mapped = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(str::to_owned),
        texts,
        Arc::new(SchemaDescriptor::new(Arc::new(schema))),
        file.column_orders().cloned(),
    );
    let mapped = ParquetMetaDataBuilder::new(mapped)
        .set_row_groups(metadata.row_groups().to_vec())
        .set_column_index(metadata.column_index().cloned())
        .set_offset_index(metadata.offset_index().cloned());
    Ok(mapped.build())
}

/// Gives ids to columns.
struct Ids {
    /// The last id that stands for none.
    last: i32,
}

impl Ids {
    fn fields(&mut self, fields: &[TypePtr], mapping: &MappedFields) -> Result<Vec<TypePtr>> {
        fields.iter().map(|field| self.field(field, mapping.by_name(field.name()))).collect()
    }

    fn field(&mut self, field: &TypePtr, mapped: Option<&MappedField>) -> Result<TypePtr> {
        let nothing = MappedFields::default();
        let inner = mapped.map_or(&nothing, MappedField::fields);
        let id = mapped.and_then(MappedField::id).unwrap_or_else(|| {
            self.last -= 1;
            self.last
        });
        let info = field.get_basic_info();
        if !field.is_group() {
            let (Type::PrimitiveType { type_length, scale, precision, .. }, physical) =
                (&**field, field.get_physical_type())
            else {
                return Err(ParquetError::General("a column is neither a group nor primitive".to_owned()));
            };
            let builder = Type::primitive_type_builder(field.name(), physical)
                .with_repetition(info.repetition())
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_length(*type_length)
                .with_precision(*precision)
                .with_scale(*scale);
            return Ok(Arc::new(builder.with_id(Some(id)).build()?));
        }
        let logical = info.logical_type_ref();
        let (is_list, is_map) = (
            logical == Some(&LogicalType::List) || info.converted_type() == ConvertedType::LIST,
            logical == Some(&LogicalType::Map)
                || matches!(info.converted_type(), ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE),
        );
        let fields = match field.get_fields() {
            [repeated] if is_list => vec![self.list(repeated, inner)?],
            [repeated] if is_map && repeated.is_group() => vec![self.entries(repeated, inner)?],
            fields => self.fields(fields, inner)?,
        };
        group(field, fields, Some(id))
    }

    /// The repeated field of a list is its element, in old files, or holds it:
    /// <https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#backward-compatibility-rules>.
    fn list(&mut self, repeated: &TypePtr, mapping: &MappedFields) -> Result<TypePtr> {
        let element = mapping.by_name("element");
        let holds_it = repeated.is_group()
            && repeated.get_fields().len() == 1
            && repeated.name() != "array"
            && !repeated.name().ends_with("_tuple");
        if !holds_it {
            return self.field(repeated, element);
        }
        let inner = self.field(&repeated.get_fields()[0], element)?;
        group(repeated, vec![inner], None)
    }

    fn entries(&mut self, repeated: &TypePtr, mapping: &MappedFields) -> Result<TypePtr> {
        let parts = repeated.get_fields().iter().zip(["key", "value"]);
        let parts = parts.map(|(part, name)| self.field(part, mapping.by_name(name))).collect::<Result<Vec<_>>>()?;
        group(repeated, parts, None)
    }
}

/// The group with other fields.
fn group(group: &Type, fields: Vec<TypePtr>, id: Option<i32>) -> Result<TypePtr> {
    let info = group.get_basic_info();
    let builder = Type::group_type_builder(group.name())
        .with_repetition(info.repetition())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_fields(fields);
    Ok(Arc::new(builder.with_id(id).build()?))
}
