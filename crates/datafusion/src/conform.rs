//! Turns what a file holds for a column into the type that the table has for it now.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, MapArray, RecordBatch, StructArray};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use lakelock_iceberg::arrow_schema::field_id;
use lakelock_iceberg::{Error, ErrorKind};

use crate::columns::InitialDefaults;
use crate::error::external;

/// What to do with an array of a file to make it one of the table.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Conform {
    /// Nothing.
    Keep,
    /// Its values are the same in another type.
    Cast(DataType),
    /// The fields of the struct, and where each comes from.
    Struct(Fields, Vec<Child>),
    /// The field of the elements, and what to do with them.
    List(FieldRef, Box<Conform>),
    /// The field of the entries, and what to do with key and value.
    Map(FieldRef, Box<Conform>),
}

/// Where a field of a struct comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Child {
    /// A field of the file's struct.
    Field(usize, Conform),
    /// The file does not have it.
    Constant(ScalarValue),
}

impl Conform {
    /// Works out how a file's field becomes the table's.
    ///
    /// # Errors
    /// When a value of the one could not be one of the other, and when nested fields have no ids.
    pub fn plan(source: &Field, target: &Field, defaults: &InitialDefaults) -> Result<Self> {
        if source.data_type() == target.data_type() {
            return Ok(Self::Keep);
        }
        match (source.data_type(), target.data_type()) {
            (DataType::Struct(from), DataType::Struct(to)) => {
                let children = to.iter().map(|field| Self::child(from, field, defaults)).collect::<Result<_>>()?;
                Ok(Self::Struct(to.clone(), children))
            }
            (DataType::List(from), DataType::List(to)) => {
                same_id(from, to)?;
                Ok(Self::List(Arc::clone(to), Box::new(Self::plan(from, to, defaults)?)))
            }
            (DataType::Map(from, _), DataType::Map(to, _)) => {
                let (DataType::Struct(from_entry), DataType::Struct(to_entry)) = (from.data_type(), to.data_type())
                else {
                    return Err(mismatch(source, target));
                };
                let children = from_entry.iter().zip(to_entry).enumerate();
                let children = children.map(|(at, (from, to))| {
                    same_id(from, to)?;
                    Ok(Child::Field(at, Self::plan(from, to, defaults)?))
                });
                let entries = Self::Struct(to_entry.clone(), children.collect::<Result<_>>()?);
                Ok(Self::Map(Arc::clone(to), Box::new(entries)))
            }
            (from, to) if is_promotion(from, to) => Ok(Self::Cast(to.clone())),
            _ => Err(mismatch(source, target)),
        }
    }

    fn child(from: &Fields, target: &FieldRef, defaults: &InitialDefaults) -> Result<Child> {
        let id = field_id(target).ok_or_else(|| no_id(target))?;
        if let Some(nameless) = from.iter().find(|field| field_id(field).is_none()) {
            return Err(no_id(nameless));
        }
        match from.iter().position(|field| field_id(field) == Some(id)) {
            Some(at) => Ok(Child::Field(at, Self::plan(&from[at], target, defaults)?)),
            None => defaults.missing(id, target).map(Child::Constant),
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// When a value is beyond what its new type can hold.
    pub fn apply(&self, array: &ArrayRef) -> Result<ArrayRef> {
        Ok(match self {
            Self::Keep => Arc::clone(array),
            Self::Cast(to) => {
                let options = CastOptions { safe: false, ..CastOptions::default() };
                cast_with_options(array, to, &options)?
            }
            Self::Struct(fields, children) => Arc::new(conform_struct(array.as_struct(), fields, children)?),
            Self::List(field, element) => {
                let list = array.as_list::<i32>();
                let values = element.apply(list.values())?;
                Arc::new(ListArray::try_new(Arc::clone(field), list.offsets().clone(), values, list.nulls().cloned())?)
            }
            Self::Map(field, entry) => {
                let map = array.as_map();
                let entries: ArrayRef = Arc::new(map.entries().clone());
                let entries = entry.apply(&entries)?.as_struct().clone();
                let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
                Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, nulls, false)?)
            }
        })
    }
}

fn conform_struct(array: &StructArray, fields: &Fields, children: &[Child]) -> Result<StructArray> {
    let children = children.iter().map(|child| match child {
        Child::Field(at, conform) => conform.apply(array.column(*at)),
        Child::Constant(value) => value.to_array_of_size(array.len()),
    });
    let (children, nulls) = (children.collect::<Result<Vec<_>>>()?, array.nulls().cloned());
    Ok(StructArray::try_new_with_length(fields.clone(), children, nulls, array.len())?)
}

/// Whether values of one type are read as another without loss: promotions of the specification, and other forms in
/// which writers store the same values.
fn is_promotion(from: &DataType, to: &DataType) -> bool {
    use DataType as D;
    match (from, to) {
        (D::Int8, D::Int16 | D::Int32 | D::Int64)
        | (D::Int16, D::Int32 | D::Int64)
        | (D::Int32, D::Int64)
        | (D::UInt8, D::UInt16 | D::UInt32 | D::UInt64 | D::Int16 | D::Int32 | D::Int64)
        | (D::UInt16, D::UInt32 | D::UInt64 | D::Int32 | D::Int64)
        | (D::UInt32, D::UInt64 | D::Int64)
        // DuckDB stores whole numbers of 128 bits as floating-point ones.
        | (D::Float64, D::Decimal256(_, 0))
        | (D::Float32, D::Float64)
        | (D::Date32, D::Timestamp(_, None))
        | (D::Time32(_), D::Time64(_))
        | (D::Binary | D::LargeBinary | D::BinaryView | D::LargeUtf8 | D::Utf8View, D::Utf8)
        | (D::Utf8 | D::LargeUtf8 | D::Utf8View | D::LargeBinary | D::BinaryView, D::Binary) => true,
        (
            D::Decimal32(p, s) | D::Decimal64(p, s) | D::Decimal128(p, s) | D::Decimal256(p, s),
            D::Decimal128(precision, scale),
        ) => s == scale && p <= precision,
        // A coarser unit, or the same instants labelled with another zone.
        (D::Timestamp(from, _), D::Timestamp(to, _)) => rank(*from) <= rank(*to),
        (D::Dictionary(_, value), to) => value.as_ref() == to || is_promotion(value, to),
        _ => false,
    }
}

fn rank(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}

fn same_id(from: &Field, to: &Field) -> Result<()> {
    match (field_id(from), field_id(to)) {
        (None, _) => Err(no_id(from)),
        (from_id, to_id) if from_id == to_id => Ok(()),
        _ => Err(mismatch(from, to)),
    }
}

fn no_id(field: &Field) -> DataFusionError {
    let message = format!("nested column {} has no field id, though others have one", field.name());
    external(Error::new(ErrorKind::Unsupported, message))
}

fn mismatch(source: &Field, target: &Field) -> DataFusionError {
    let (name, from, to) = (target.name(), source.data_type(), target.data_type());
    let message = format!("column {name} is {from} in the file, which cannot be read as the table's {to}");
    external(Error::new(ErrorKind::InvalidData, message))
}

/// Applies a [`Conform`] to a nested column.
#[derive(Debug, Clone)]
pub struct ConformExpr {
    column: Arc<dyn PhysicalExpr>,
    target: FieldRef,
    conform: Arc<Conform>,
}

impl ConformExpr {
    /// What becomes of a column, as the table's field.
    #[must_use]
    pub fn new(column: Arc<dyn PhysicalExpr>, target: FieldRef, conform: Conform) -> Self {
        Self { column, target, conform: Arc::new(conform) }
    }
}

impl PhysicalExpr for ConformExpr {
    fn data_type(&self, _: &Schema) -> Result<DataType> {
        Ok(self.target.data_type().clone())
    }

    fn nullable(&self, _: &Schema) -> Result<bool> {
        Ok(self.target.is_nullable())
    }

    fn return_field(&self, _: &Schema) -> Result<FieldRef> {
        Ok(Arc::clone(&self.target))
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let array = self.column.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(ColumnarValue::Array(self.conform.apply(&array)?))
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.column]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let [column] = <[_; 1]>::try_from(children)
            .map_err(|_| external(Error::new(ErrorKind::Internal, "a conformed column has exactly one child")))?;
        Ok(Arc::new(Self { column, target: Arc::clone(&self.target), conform: Arc::clone(&self.conform) }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.column.fmt_sql(f)
    }
}

impl fmt::Display for ConformExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} as {}", self.column, self.target.data_type())
    }
}

impl PartialEq for ConformExpr {
    fn eq(&self, other: &Self) -> bool {
        self.column.eq(&other.column) && self.target == other.target && self.conform == other.conform
    }
}

impl Eq for ConformExpr {}

impl Hash for ConformExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.column.hash(state);
        self.target.hash(state);
        self.conform.hash(state);
    }
}
