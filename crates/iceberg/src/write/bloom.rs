//! Which columns get bloom filters, and how large they are.

use std::collections::HashMap;

use parquet::basic::Type as PhysicalType;
use parquet::file::properties::WriterPropertiesBuilder;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

use crate::Result;
use crate::properties::{INT_MAX, LONG_MAX, invalid, number};
use crate::spec::Schema;

const ENABLED: &str = "write.parquet.bloom-filter-enabled.column.";
const FALSE_POSITIVES: &str = "write.parquet.bloom-filter-fpp.column.";
const DISTINCT_VALUES: &str = "write.parquet.bloom-filter-ndv.column.";
const MAX_BYTES: &str = "write.parquet.bloom-filter-max-bytes";
const DEFAULT_FALSE_POSITIVES: f64 = 0.01;
const DEFAULT_MAX_BYTES: u64 = 1024 * 1024;
/// The format's own limits.
const LEAST_BYTES: u64 = 32;
const MOST_BYTES: u64 = 128 * 1024 * 1024;

/// The bloom filters of a table's data files.
///
/// While rows are written a filter has the most bytes that it may have, as in Java. Then it is folded to what the values
/// that came need, which Java does not do.
#[derive(Debug, Clone)]
pub(super) struct BloomFilters(Vec<BloomFilter>);

#[derive(Debug, Clone)]
struct BloomFilter {
    column: ColumnPath,
    false_positives: f64,
    distinct_values: u64,
}

impl BloomFilters {
    /// Takes them from a table's properties. A column that there is not, or that cannot have one, is passed over, as it
    /// is by Java.
    pub(super) fn new(
        properties: &HashMap<String, String>,
        schema: &Schema,
        parquet: &SchemaDescriptor,
    ) -> Result<Self> {
        let mut filters = Vec::new();
        for (name, size) in wanted(properties)? {
            let Some(id) = schema.field_id_by_name(name) else { continue };
            let is_column = |column: &&parquet::schema::types::ColumnDescPtr| {
                let info = column.self_type().get_basic_info();
                info.has_id() && info.id() == id && column.physical_type() != PhysicalType::BOOLEAN
            };
            if let Some(column) = parquet.columns().iter().find(is_column) {
                filters.push(BloomFilter {
                    column: column.path().clone(),
                    false_positives: size.false_positives,
                    distinct_values: size.distinct_values,
                });
            }
        }
        Ok(Self(filters))
    }

    /// Refuses properties that make no sense, also for columns that there are not.
    pub(super) fn check(properties: &HashMap<String, String>, schema: &Schema) -> Result<()> {
        for (name, _) in wanted(properties)? {
            let is_primitive = schema.field_by_name(name).is_some_and(|field| field.field_type.is_primitive());
            if !is_primitive {
                return Err(invalid(&format!("{ENABLED}{name}"), "true", "the name of a column with single values"));
            }
        }
        Ok(())
    }

    pub(super) fn apply(&self, mut properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
        for BloomFilter { column, false_positives, distinct_values } in &self.0 {
            properties = properties
                .set_column_bloom_filter_fpp(column.clone(), *false_positives)
                .set_column_bloom_filter_max_ndv(column.clone(), *distinct_values);
        }
        properties
    }
}

/// How large a filter becomes.
struct Size {
    false_positives: f64,
    distinct_values: u64,
}

/// The columns that are to have filters.
fn wanted(properties: &HashMap<String, String>) -> Result<Vec<(&str, Size)>> {
    let max_bytes = number(properties, MAX_BYTES, DEFAULT_MAX_BYTES, 1..=INT_MAX)?;
    let mut wanted = Vec::new();
    for (property, value) in properties {
        let Some(name) = property.strip_prefix(ENABLED) else { continue };
        // As Java reads booleans.
        if value.eq_ignore_ascii_case("true") {
            let false_positives = probability(properties, &format!("{FALSE_POSITIVES}{name}"))?;
            let most = most_distinct_values(max_bytes, false_positives);
            let distinct_values = number(properties, &format!("{DISTINCT_VALUES}{name}"), most, 1..=LONG_MAX)?;
            wanted.push((name, Size { false_positives, distinct_values: distinct_values.min(most) }));
        }
    }
    Ok(wanted)
}

fn probability(properties: &HashMap<String, String>, name: &str) -> Result<f64> {
    let Some(text) = properties.get(name) else { return Ok(DEFAULT_FALSE_POSITIVES) };
    let valid = text.parse().ok().filter(|number| (f64::MIN_POSITIVE..1.0).contains(number));
    valid.ok_or_else(|| invalid(name, text, "a number between 0 and 1"))
}

/// So many values that a filter for them has no more than this many bytes, if it can. Its bytes are a power of two, and
/// a filter of `m` bits gives `(1 - e^(-8 n / m))^8` false positives for `n` values.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a power of two up to 2^27, times a positive factor below 745"
)]
fn most_distinct_values(max_bytes: u64, false_positives: f64) -> u64 {
    let bytes = 1_u64 << max_bytes.clamp(LEAST_BYTES, MOST_BYTES).ilog2();
    let per_byte = -(1.0 - false_positives.powf(0.125)).ln();
    ((bytes as f64 * per_byte) as u64).max(1)
}

#[cfg(test)]
mod tests {
    use parquet::bloom_filter::Sbbf;

    use super::*;

    #[test]
    fn filters_are_as_large_as_they_may_be_and_no_larger() {
        for false_positives in [1e-9, 0.001, 0.01, 0.05, 0.5, 0.99] {
            for (max_bytes, bytes) in
                [(1, 32), (32, 32), (1000, 512), (1024, 1024), (1 << 20, 1 << 20), (1 << 31, 1 << 27)]
            {
                let values = most_distinct_values(max_bytes, false_positives);
                let mut bitset = Vec::new();
                Sbbf::new_with_ndv_fpp(values, false_positives).unwrap().write_bitset(&mut bitset).unwrap();
                assert!(bitset.len() == bytes, "{max_bytes} bytes, {false_positives}: {}", bitset.len());
            }
        }
    }
}
