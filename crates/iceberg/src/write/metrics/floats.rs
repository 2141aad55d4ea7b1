//! Floating point columns: Parquet's statistics neither count NaN nor tell zeros apart.

use std::collections::BTreeMap;

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Float32Type, Float64Type};

use crate::spec::{PrimitiveType, StructType, Type};

/// What is known of each floating point leaf that is not inside a list or map, by field id.
#[derive(Debug, Default)]
pub(in crate::write) struct FloatMetrics {
    columns: BTreeMap<i32, FloatColumn>,
}

/// Of one column.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloatColumn {
    pub(super) nan_count: i64,
    /// The least and the greatest value that is not NaN. Minus zero is below zero.
    range: Option<(f64, f64)>,
    single: bool,
}

impl FloatMetrics {
    /// Adds rows of the table's schema.
    pub(in crate::write) fn add(&mut self, schema: &StructType, columns: &[ArrayRef]) {
        self.add_struct(schema, columns, None);
    }

    pub(super) fn column(&self, field_id: i32) -> Option<&FloatColumn> {
        self.columns.get(&field_id)
    }

    fn add_struct(&mut self, fields: &StructType, columns: &[ArrayRef], parents: Option<&NullBuffer>) {
        for (field, column) in fields.fields().iter().zip(columns) {
            match &*field.field_type {
                Type::Primitive(PrimitiveType::Float) => {
                    let values = column.as_primitive::<Float32Type>();
                    let nulls = NullBuffer::union(parents, values.nulls());
                    self.entry(field.id, true).add(values.values().iter().map(|v| f64::from(*v)), nulls.as_ref());
                }
                Type::Primitive(PrimitiveType::Double) => {
                    let values = column.as_primitive::<Float64Type>();
                    let nulls = NullBuffer::union(parents, values.nulls());
                    self.entry(field.id, false).add(values.values().iter().copied(), nulls.as_ref());
                }
                Type::Struct(nested) => {
                    let column: &StructArray = column.as_struct();
                    let nulls = NullBuffer::union(parents, column.nulls());
                    self.add_struct(nested, column.columns(), nulls.as_ref());
                }
                Type::Primitive(_) | Type::List(_) | Type::Map(_) => {}
            }
        }
    }

    fn entry(&mut self, field_id: i32, single: bool) -> &mut FloatColumn {
        self.columns.entry(field_id).or_insert(FloatColumn { nan_count: 0, range: None, single })
    }
}

impl FloatColumn {
    fn add(&mut self, values: impl Iterator<Item = f64>, nulls: Option<&NullBuffer>) {
        match nulls {
            None => values.for_each(|value| self.add_value(value)),
            Some(nulls) => {
                values.zip(nulls.iter()).filter(|(_, valid)| *valid).for_each(|(value, _)| self.add_value(value));
            }
        }
    }

    fn add_value(&mut self, value: f64) {
        if value.is_nan() {
            self.nan_count += 1;
            return;
        }
        let (least, greatest) = self.range.get_or_insert((value, value));
        if value.total_cmp(least).is_lt() {
            *least = value;
        }
        if value.total_cmp(greatest).is_gt() {
            *greatest = value;
        }
    }

    /// Lower and upper bound in single-value form: none if every value is null or NaN.
    pub(super) fn bounds(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let (least, greatest) = self.range?;
        Some((self.encode(least), self.encode(greatest)))
    }

    fn encode(&self, value: f64) -> Vec<u8> {
        if self.single {
            #[expect(clippy::cast_possible_truncation, reason = "it was a single before it was widened")]
            let value = value as f32;
            value.to_le_bytes().to_vec()
        } else {
            value.to_le_bytes().to_vec()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Float32Array, Float64Array};

    use super::*;
    use crate::schema_text::parse_schema;

    fn metrics(text: &str, columns: &[ArrayRef]) -> FloatMetrics {
        let mut metrics = FloatMetrics::default();
        metrics.add(parse_schema(text).unwrap().as_struct(), columns);
        metrics
    }

    #[test]
    fn nan_is_counted_and_stays_out_of_bounds() {
        let nan = f64::NAN;
        let cases = [
            (vec![Some(1.5), None, Some(nan), Some(-2.0), Some(-nan)], 2, Some((-2.0, 1.5))),
            (vec![Some(nan), None], 1, None),
            (vec![None], 0, None),
            (vec![Some(f64::INFINITY), Some(f64::NEG_INFINITY)], 0, Some((f64::NEG_INFINITY, f64::INFINITY))),
        ];
        for (values, nan_count, bounds) in cases {
            let found = metrics("c double", &[Arc::new(Float64Array::from(values.clone()))]);
            let column = found.column(1).unwrap();
            assert_eq!(column.nan_count, nan_count, "{values:?}");
            let bounds = bounds.map(|(a, b): (f64, f64)| (a.to_le_bytes().to_vec(), b.to_le_bytes().to_vec()));
            assert_eq!(column.bounds(), bounds, "{values:?}");
        }
    }

    #[test]
    fn minus_zero_is_below_zero() {
        let found = metrics("c float", &[Arc::new(Float32Array::from(vec![0.0, -0.0]))]);
        let bounds = (vec![0, 0, 0, 0x80], vec![0, 0, 0, 0]);
        assert_eq!(found.column(1).unwrap().bounds(), Some(bounds));
        let found = metrics("c float", &[Arc::new(Float32Array::from(vec![0.0]))]);
        assert_eq!(found.column(1).unwrap().bounds(), Some((vec![0; 4], vec![0; 4])));
    }

    #[test]
    fn values_under_a_null_struct_do_not_count() {
        let child: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN, 1.0, 2.0]));
        let fields = vec![arrow::datatypes::Field::new("x", child.data_type().clone(), true)].into();
        let nulls = NullBuffer::from(vec![false, true, true]);
        let parent: ArrayRef = Arc::new(StructArray::new(fields, vec![child], Some(nulls)));
        let found = metrics("s struct<x: double>", &[parent]);
        let column = found.column(2).unwrap();
        assert_eq!((column.nan_count, column.range), (0, Some((1.0, 2.0))));
    }
}
