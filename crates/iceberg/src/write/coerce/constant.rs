//! Columns of one value: write defaults, and null.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StringArray, UInt32Array,
    new_null_array,
};
use arrow::compute::take;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type};

use crate::spec::{Literal, PrimitiveLiteral, PrimitiveType};

/// So many rows of a value, or of null, as the Arrow form of its type.
pub(super) fn repeat(
    value: Option<&Literal>,
    primitive: Option<&PrimitiveType>,
    arrow: &DataType,
    rows: usize,
) -> Result<ArrayRef, String> {
    let Some(value) = value else { return Ok(new_null_array(arrow, rows)) };
    let (Literal::Primitive(value), Some(primitive)) = (value, primitive) else {
        return Err("write defaults of nested types are not supported".to_owned());
    };
    if !primitive.compatible(value) {
        return Err("its write default is not of its type".to_owned());
    }
    let one = one(value, primitive, arrow).map_err(|e| format!("its write default cannot be used: {e}"))?;
    take(&one, &UInt32Array::from(vec![0; rows]), None).map_err(|e| e.to_string())
}

fn one(
    value: &PrimitiveLiteral,
    primitive: &PrimitiveType,
    arrow: &DataType,
) -> Result<ArrayRef, arrow::error::ArrowError> {
    Ok(match value {
        PrimitiveLiteral::Boolean(value) => Arc::new(BooleanArray::from(vec![*value])),
        PrimitiveLiteral::Int(value) => number::<Int32Type>(*value, arrow)?,
        PrimitiveLiteral::Long(value) => number::<Int64Type>(*value, arrow)?,
        PrimitiveLiteral::Float(value) => number::<Float32Type>(value.0, arrow)?,
        PrimitiveLiteral::Double(value) => number::<Float64Type>(value.0, arrow)?,
        PrimitiveLiteral::Int128(value) => number::<Decimal128Type>(*value, arrow)?,
        PrimitiveLiteral::String(value) => Arc::new(StringArray::from(vec![value.as_str()])),
        PrimitiveLiteral::Binary(value) if *primitive == PrimitiveType::Binary => {
            Arc::new(BinaryArray::from(vec![value.as_slice()]))
        }
        PrimitiveLiteral::Binary(value) => fixed(value)?,
        PrimitiveLiteral::UInt128(value) => fixed(&value.to_be_bytes())?,
        PrimitiveLiteral::AboveMax | PrimitiveLiteral::BelowMin => {
            return Err(arrow::error::ArrowError::InvalidArgumentError("it is out of range".to_owned()));
        }
    })
}

/// Dates, times and timestamps have the layout of the integer that counts them.
fn number<T: ArrowPrimitiveType>(value: T::Native, arrow: &DataType) -> Result<ArrayRef, arrow::error::ArrowError> {
    let data = PrimitiveArray::<T>::from_value(value, 1).into_data();
    Ok(arrow::array::make_array(data.into_builder().data_type(arrow.clone()).build()?))
}

fn fixed(value: &[u8]) -> Result<ArrayRef, arrow::error::ArrowError> {
    Ok(Arc::new(FixedSizeBinaryArray::try_from_iter(std::iter::once(value))?))
}
