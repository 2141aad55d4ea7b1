//! What a manifest list keeps of a manifest's partition values.

use super::FieldSummary;
use super::value::{compare, single_value};
use crate::spec::{Literal, PrimitiveLiteral, Struct};

/// Gathers the summaries of a manifest's partition fields.
#[derive(Debug)]
pub(super) struct PartitionSummary(Vec<FieldStats>);

#[derive(Debug, Clone, Default)]
struct FieldStats {
    contains_null: bool,
    contains_nan: bool,
    bounds: Option<(PrimitiveLiteral, PrimitiveLiteral)>,
}

impl PartitionSummary {
    pub(super) fn new(fields: usize) -> Self {
        Self(vec![FieldStats::default(); fields])
    }

    pub(super) fn add(&mut self, partition: &Struct) {
        for (stats, value) in self.0.iter_mut().zip(partition.fields()) {
            match value {
                Some(Literal::Primitive(value)) => stats.add(value),
                _ => stats.contains_null = true,
            }
        }
    }

    pub(super) fn finish(self) -> Vec<FieldSummary> {
        let summary = |stats: FieldStats| {
            let (lower, upper) = stats.bounds.unzip();
            FieldSummary {
                contains_null: stats.contains_null,
                contains_nan: Some(stats.contains_nan),
                lower_bound: lower.as_ref().and_then(single_value),
                upper_bound: upper.as_ref().and_then(single_value),
            }
        };
        self.0.into_iter().map(summary).collect()
    }
}

impl FieldStats {
    fn add(&mut self, value: &PrimitiveLiteral) {
        if value.is_nan() {
            self.contains_nan = true;
            return;
        }
        match &mut self.bounds {
            None => self.bounds = Some((value.clone(), value.clone())),
            Some((lower, upper)) => {
                if compare(value, lower).is_lt() {
                    *lower = value.clone();
                } else if compare(value, upper).is_gt() {
                    *upper = value.clone();
                }
            }
        }
    }
}
