//! Finds a table's columns in a data file: by field id, whatever their names and order are there.
//!
//! Tables evolve without rewriting files: columns are renamed, moved, dropped, added, widened. A column is therefore
//! looked up by the id it keeps for life; one that the file does not have reads as its initial default, else as null.
//! <https://iceberg.apache.org/spec/#column-projection>.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::StructArray;
use datafusion::arrow::datatypes::{DataType, Field, Fields, SchemaRef};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal, case, is_not_null};
use datafusion::physical_expr_adapter::{PhysicalExprAdapter, PhysicalExprAdapterFactory};
use lakelock_iceberg::arrow_schema::{field_id, schema_to_arrow};
use lakelock_iceberg::metadata_table::UnifiedPartition;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::spec::{self, PrimitiveLiteral, Schema, Type};
use lakelock_iceberg::{Error, ErrorKind};

use crate::conform::{Conform, ConformExpr};
use crate::error::external;
use crate::metadata_columns::MetadataColumn;

/// Makes the [`FieldIdAdapter`] of one file.
#[derive(Debug, Clone)]
pub(crate) struct FieldIdAdapterFactory {
    table: TableColumns,
    task: Arc<FileScanTask>,
}

/// What a table says of columns that are not in its files.
#[derive(Debug, Clone)]
pub(crate) struct TableColumns {
    pub(crate) defaults: Arc<InitialDefaults>,
    /// The type of partitions, if it is understood.
    pub(crate) partition: Option<Arc<UnifiedPartition>>,
}

impl FieldIdAdapterFactory {
    pub(crate) fn new(table: TableColumns, task: Arc<FileScanTask>) -> Self {
        Self { table, task }
    }
}

impl PhysicalExprAdapterFactory for FieldIdAdapterFactory {
    fn create(&self, logical: SchemaRef, physical: SchemaRef) -> Result<Arc<dyn PhysicalExprAdapter>> {
        let by_id = physical.fields().iter().enumerate().filter_map(|(at, field)| Some((field_id(field)?, at)));
        let by_id = by_id.collect();
        Ok(Arc::new(FieldIdAdapter { logical, physical, by_id, file: self.clone() }))
    }
}

/// Rewrites expressions over a table's columns into expressions over a file's columns.
#[derive(Debug)]
struct FieldIdAdapter {
    logical: SchemaRef,
    physical: SchemaRef,
    /// Positions in the file by field id.
    by_id: HashMap<i32, usize>,
    file: FieldIdAdapterFactory,
}

impl PhysicalExprAdapter for FieldIdAdapter {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        expr.transform_down(|expr| match expr.downcast_ref::<Column>() {
            Some(column) => {
                let rewritten = self.column(column.name())?;
                Ok(Transformed::new(rewritten, true, TreeNodeRecursion::Jump))
            }
            None => Ok(Transformed::no(expr)),
        })
        .data()
    }
}

impl FieldIdAdapter {
    fn column(&self, name: &str) -> Result<Arc<dyn PhysicalExpr>> {
        let field = self.logical.field_with_name(name)?;
        if let Some(column) = MetadataColumn::of(field) {
            return self.metadata_column(column, field);
        }
        let id = field_id(field).ok_or_else(|| internal(&format!("column {name} has no field id")))?;
        match self.by_id.get(&id) {
            Some(at) => self.file_column(*at, field),
            None => self.file.table.defaults.missing(id, field).map(|value| lit(value, field)),
        }
    }

    /// A column of the file as the table's type.
    fn file_column(&self, at: usize, target: &Field) -> Result<Arc<dyn PhysicalExpr>> {
        let source = self.physical.field(at);
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(source.name(), at));
        Ok(match Conform::plan(source, target, &self.file.table.defaults)? {
            Conform::Keep => column,
            // Of DataFusion's own kind, which its pruning understands.
            Conform::Cast(_) => Arc::new(CastExpr::new_with_target_field(column, Arc::new(target.clone()), None)),
            nested => Arc::new(ConformExpr::new(column, Arc::new(target.clone()), nested)),
        })
    }

    fn metadata_column(&self, column: MetadataColumn, field: &Field) -> Result<Arc<dyn PhysicalExpr>> {
        let task = &self.file.task;
        let null = || -> Result<Arc<dyn PhysicalExpr>> { Ok(lit(ScalarValue::try_from(field.data_type())?, field)) };
        match column {
            MetadataColumn::File => Ok(lit(ScalarValue::from(task.location()), field)),
            MetadataColumn::SpecId => Ok(lit(ScalarValue::from(task.data_file().spec_id), field)),
            MetadataColumn::Partition => self.partition(field).map(|partition| lit(partition, field)),
            MetadataColumn::Position => {
                let at = self.physical.index_of(field.name())?;
                Ok(Arc::new(Column::new(field.name(), at)))
            }
            MetadataColumn::RowId => {
                let Some(first) = task.first_row_id() else { return null() };
                let position = MetadataColumn::Position.field(&Fields::empty());
                let position = self.metadata_column(MetadataColumn::Position, &position)?;
                let first = lit(ScalarValue::Int64(Some(first)), field);
                self.stored_or(column, field, Arc::new(BinaryExpr::new(first, Operator::Plus, position)))
            }
            MetadataColumn::LastUpdatedSequenceNumber => {
                // Rows without ids have no lineage at all.
                if task.first_row_id().is_none() {
                    return null();
                }
                let inherited = ScalarValue::Int64(task.data_sequence_number());
                self.stored_or(column, field, lit(inherited, field))
            }
        }
    }

    /// The partition of the file, as a struct.
    fn partition(&self, field: &Field) -> Result<ScalarValue> {
        let DataType::Struct(fields) = field.data_type() else { return Err(internal("a partition is no struct")) };
        if fields.is_empty() {
            return ScalarValue::try_from(field.data_type());
        }
        let file = self.file.task.data_file();
        let unified = self.file.table.partition.as_ref().ok_or_else(|| internal("the partition type is not known"))?;
        let values = unified.values(file.spec_id, &file.partition).map_err(external)?;
        let arrays = fields.iter().zip(values).map(|(field, value)| {
            let value = match value {
                Some(value) => scalar(value.clone(), field.data_type()).ok_or_else(|| {
                    let message = format!("{} has a partition value of another type", file.file_path);
                    external(Error::new(ErrorKind::InvalidData, message))
                })?,
                None => ScalarValue::try_from(field.data_type())?,
            };
            value.to_array()
        });
        let partition = StructArray::try_new(fields.clone(), arrays.collect::<Result<_>>()?, None)?;
        Ok(ScalarValue::Struct(Arc::new(partition)))
    }

    /// What the file itself keeps for a row, where it keeps something.
    fn stored_or(
        &self,
        column: MetadataColumn,
        field: &Field,
        inherited: Arc<dyn PhysicalExpr>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(at) = self.by_id.get(&column.field_id()) else { return Ok(inherited) };
        let stored = self.file_column(*at, field)?;
        case(None, vec![(is_not_null(Arc::clone(&stored))?, stored)], Some(inherited))
    }
}

fn lit(value: ScalarValue, field: &Field) -> Arc<dyn PhysicalExpr> {
    Arc::new(Literal::new_with_metadata(value, Some(field.into())))
}

fn internal(message: &str) -> DataFusionError {
    external(Error::new(ErrorKind::Internal, message))
}

/// What columns that a file does not have read as.
#[derive(Debug, Default)]
pub struct InitialDefaults(HashMap<i32, ScalarValue>);

impl InitialDefaults {
    pub(crate) fn new(schema: &Schema) -> lakelock_iceberg::Result<Self> {
        let mut defaults = HashMap::new();
        let arrow = schema_to_arrow(schema)?;
        collect(schema.as_struct().fields(), arrow.fields(), &mut defaults)?;
        Ok(Self(defaults))
    }

    /// The value of a column that the file does not have.
    ///
    /// # Errors
    /// When there must be a value and none is known.
    pub fn missing(&self, id: i32, field: &Field) -> Result<ScalarValue> {
        match self.0.get(&id) {
            Some(default) => Ok(default.clone()),
            None if field.is_nullable() => ScalarValue::try_from(field.data_type()),
            None => {
                let message = format!("required column {} (field id {id}) is missing and has no default", field.name());
                Err(external(Error::new(ErrorKind::InvalidData, message)))
            }
        }
    }
}

impl FromIterator<(i32, ScalarValue)> for InitialDefaults {
    /// Of values by field id.
    fn from_iter<T: IntoIterator<Item = (i32, ScalarValue)>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

fn collect(
    fields: &[spec::NestedFieldRef],
    arrow: &Fields,
    defaults: &mut HashMap<i32, ScalarValue>,
) -> lakelock_iceberg::Result<()> {
    for (field, arrow) in fields.iter().zip(arrow) {
        if let Some(literal) = &field.initial_default {
            let value = literal.as_primitive_literal().and_then(|literal| scalar(literal, arrow.data_type()));
            let value = value.ok_or_else(|| {
                let message = format!("the initial default of column {} is not supported", field.name);
                Error::new(ErrorKind::Unsupported, message)
            })?;
            defaults.insert(field.id, value);
        }
        collect_nested(field, arrow.data_type(), defaults)?;
    }
    Ok(())
}

fn collect_nested(
    field: &spec::NestedFieldRef,
    arrow: &DataType,
    defaults: &mut HashMap<i32, ScalarValue>,
) -> lakelock_iceberg::Result<()> {
    match (field.field_type.as_ref(), arrow) {
        (Type::Struct(inner), DataType::Struct(arrow)) => collect(inner.fields(), arrow, defaults),
        (Type::List(list), DataType::List(element)) => {
            collect_nested(&list.element_field, element.data_type(), defaults)
        }
        (Type::Map(map), DataType::Map(entries, _)) => {
            let DataType::Struct(entry) = entries.data_type() else { return Ok(()) };
            for (field, arrow) in [&map.key_field, &map.value_field].into_iter().zip(entry) {
                collect_nested(field, arrow.data_type(), defaults)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// An Iceberg value as Arrow's.
pub(crate) fn scalar(literal: PrimitiveLiteral, r#type: &DataType) -> Option<ScalarValue> {
    use datafusion::arrow::datatypes::TimeUnit;
    Some(match (r#type, literal) {
        (DataType::Boolean, PrimitiveLiteral::Boolean(v)) => ScalarValue::Boolean(Some(v)),
        (DataType::Int32, PrimitiveLiteral::Int(v)) => ScalarValue::Int32(Some(v)),
        (DataType::Int64, PrimitiveLiteral::Long(v)) => ScalarValue::Int64(Some(v)),
        (DataType::Int64, PrimitiveLiteral::Int(v)) => ScalarValue::Int64(Some(v.into())),
        (DataType::Float32, PrimitiveLiteral::Float(v)) => ScalarValue::Float32(Some(v.into_inner())),
        (DataType::Float64, PrimitiveLiteral::Double(v)) => ScalarValue::Float64(Some(v.into_inner())),
        (DataType::Float64, PrimitiveLiteral::Float(v)) => ScalarValue::Float64(Some(v.into_inner().into())),
        (DataType::Decimal128(p, s), PrimitiveLiteral::Int128(v)) => ScalarValue::Decimal128(Some(v), *p, *s),
        (DataType::Date32, PrimitiveLiteral::Int(v)) => ScalarValue::Date32(Some(v)),
        (DataType::Time64(TimeUnit::Microsecond), PrimitiveLiteral::Long(v)) => ScalarValue::Time64Microsecond(Some(v)),
        (DataType::Timestamp(TimeUnit::Microsecond, zone), PrimitiveLiteral::Long(v)) => {
            ScalarValue::TimestampMicrosecond(Some(v), zone.clone())
        }
        (DataType::Timestamp(TimeUnit::Nanosecond, zone), PrimitiveLiteral::Long(v)) => {
            ScalarValue::TimestampNanosecond(Some(v), zone.clone())
        }
        (DataType::Utf8, PrimitiveLiteral::String(v)) => ScalarValue::Utf8(Some(v)),
        (DataType::Binary, PrimitiveLiteral::Binary(v)) => ScalarValue::Binary(Some(v)),
        (DataType::FixedSizeBinary(n), PrimitiveLiteral::Binary(v)) if usize::try_from(*n) == Ok(v.len()) => {
            ScalarValue::FixedSizeBinary(*n, Some(v))
        }
        (DataType::FixedSizeBinary(16), PrimitiveLiteral::UInt128(v)) => {
            ScalarValue::FixedSizeBinary(16, Some(v.to_be_bytes().to_vec()))
        }
        _ => return None,
    })
}
