//! What is known of a set of values, and which tests it leaves open.

use std::cmp::Ordering;

use super::predicate::{Comparison, Test};
use crate::manifest::{ColumnStatistics, FieldSummary};
use crate::spec::{Datum, Literal, PrimitiveLiteral, PrimitiveType};

/// What is known of the values of a column in a file, or of a partition field in a manifest. What is not known is
/// possible: a statistic that is missing, or that cannot be read as the type the column has now, rules nothing out.
#[derive(Debug, Clone)]
pub(crate) struct ValueSummary<'a> {
    /// There may be nulls.
    nulls: bool,
    /// There may be NaN.
    nans: bool,
    /// There may be values that are neither null nor NaN: `lower` and `upper` are about them.
    others: bool,
    lower: Option<Value<'a>>,
    upper: Option<Value<'a>>,
}

/// A value that is neither null nor NaN. Texts and bytes stay where they are.
#[derive(Debug, Clone)]
enum Value<'a> {
    Text(&'a str),
    Bytes(&'a [u8]),
    /// Any other.
    Literal(PrimitiveLiteral),
}

impl<'a> ValueSummary<'a> {
    /// Nothing is known of values of this type.
    pub(crate) fn unknown(r#type: &PrimitiveType) -> Self {
        Self { nulls: true, nans: is_floating(r#type), others: true, lower: None, upper: None }
    }

    /// The one value that a partition field has in a file.
    pub(crate) fn of_value(r#type: &PrimitiveType, value: Option<&'a Literal>) -> Self {
        let unknown = Self::unknown(r#type);
        let Some(literal) = value else { return Self { nans: false, others: false, ..unknown } };
        let Literal::Primitive(literal) = literal else { return Self { nulls: false, ..unknown } };
        if literal.is_nan() && promote(r#type, literal).is_some() {
            return Self { nulls: false, nans: true, others: false, ..unknown };
        }
        match promote(r#type, literal) {
            None => Self { nulls: false, ..unknown },
            Some(value) => {
                Self { nulls: false, nans: false, others: true, lower: Some(value.clone()), upper: Some(value) }
            }
        }
    }

    /// A partition field in the files of a manifest.
    pub(crate) fn of_partition(r#type: &PrimitiveType, summary: &'a FieldSummary) -> Self {
        Self {
            nulls: summary.contains_null,
            nans: is_floating(r#type) && summary.contains_nan.unwrap_or(true),
            others: true,
            lower: bound(r#type, summary.lower_bound.as_deref()),
            upper: bound(r#type, summary.upper_bound.as_deref()),
        }
    }

    /// A column in a file, by the file's statistics.
    pub(crate) fn of_column(r#type: &PrimitiveType, column: &ColumnStatistics<'a>) -> Self {
        let known = |count: Option<i64>| count.filter(|count| *count >= 0);
        let values = column.values.filter(|count| *count > 0);
        let nulls = known(column.nulls);
        let nans = if is_floating(r#type) { known(column.nans) } else { Some(0) };
        let exhausted = |of: Option<i64>| matches!((values, of), (Some(values), Some(of)) if of >= values);
        Self {
            nulls: nulls != Some(0),
            nans: nans != Some(0) && !exhausted(nulls),
            others: !exhausted(nulls) && !exhausted(nulls.zip(nans).and_then(|(a, b)| a.checked_add(b))),
            lower: bound(r#type, column.lower),
            upper: bound(r#type, column.upper),
        }
    }

    /// Whether one of the values may pass a test.
    pub(crate) fn may_match(&self, test: &Test<PrimitiveLiteral>) -> bool {
        match test {
            Test::IsNull => self.nulls,
            Test::NotNull => self.nans || self.others,
            Test::IsNan => self.nans,
            Test::NotNan => self.others,
            // A query engine puts NaN at one end or the other, by its sign: it may pass every inequality.
            Test::Compare(comparison, value) => {
                (self.nans && *comparison != Comparison::Equal) || (self.others && self.may_compare(*comparison, value))
            }
            Test::In(values) => self.others && values.iter().any(|value| self.may_compare(Comparison::Equal, value)),
            Test::NotIn(values) => {
                self.nans || (self.others && values.iter().all(|value| self.may_compare(Comparison::NotEqual, value)))
            }
            Test::StartsWith(prefix) => self.others && self.may_start_with(prefix),
            Test::NotStartsWith(prefix) => self.others && !self.all_start_with(prefix),
        }
    }

    fn may_compare(&self, comparison: Comparison, value: &PrimitiveLiteral) -> bool {
        let lower = self.lower.as_ref().and_then(|lower| compare(lower, value));
        let upper = self.upper.as_ref().and_then(|upper| compare(upper, value));
        match comparison {
            Comparison::Less => !matches!(lower, Some(Ordering::Equal | Ordering::Greater)),
            Comparison::LessOrEqual => lower != Some(Ordering::Greater),
            Comparison::Equal => lower != Some(Ordering::Greater) && upper != Some(Ordering::Less),
            // Equal bounds are exact: a truncated one would not meet the other.
            Comparison::NotEqual => !(lower == Some(Ordering::Equal) && upper == Some(Ordering::Equal)),
            Comparison::GreaterOrEqual => upper != Some(Ordering::Less),
            Comparison::Greater => !matches!(upper, Some(Ordering::Equal | Ordering::Less)),
        }
    }

    fn may_start_with(&self, prefix: &PrimitiveLiteral) -> bool {
        let PrimitiveLiteral::String(prefix) = prefix else { return true };
        let prefix = prefix.as_str();
        let beyond = matches!(self.lower, Some(Value::Text(lower)) if lower > prefix && !lower.starts_with(prefix));
        let before = matches!(self.upper, Some(Value::Text(upper)) if upper < prefix);
        !beyond && !before
    }

    fn all_start_with(&self, prefix: &PrimitiveLiteral) -> bool {
        match (&self.lower, &self.upper, prefix) {
            (Some(Value::Text(lower)), Some(Value::Text(upper)), PrimitiveLiteral::String(prefix)) => {
                lower.starts_with(prefix.as_str()) && upper.starts_with(prefix.as_str())
            }
            _ => false,
        }
    }
}

fn is_floating(r#type: &PrimitiveType) -> bool {
    matches!(r#type, PrimitiveType::Float | PrimitiveType::Double)
}

/// Reads a bound in single-value form. `None` when it is missing, cannot be read as this type, or is NaN, which some
/// writers let slip in.
fn bound<'a>(r#type: &PrimitiveType, bytes: Option<&'a [u8]>) -> Option<Value<'a>> {
    let bytes = bytes?;
    match r#type {
        PrimitiveType::String => std::str::from_utf8(bytes).ok().map(Value::Text),
        PrimitiveType::Binary | PrimitiveType::Fixed(_) => Some(Value::Bytes(bytes)),
        PrimitiveType::Boolean if bytes.len() != 1 => None,
        _ => {
            let datum = Datum::try_from_bytes(bytes, r#type.clone()).ok()?;
            Some(datum.literal().clone()).filter(|literal| !literal.is_nan()).map(Value::Literal)
        }
    }
}

/// A value written when the column had a narrower type, as the type it has now.
fn promote<'a>(r#type: &PrimitiveType, literal: &'a PrimitiveLiteral) -> Option<Value<'a>> {
    match (r#type, literal) {
        (PrimitiveType::Long, PrimitiveLiteral::Int(v)) => Some(Value::Literal(PrimitiveLiteral::Long(i64::from(*v)))),
        (PrimitiveType::Double, PrimitiveLiteral::Float(v)) => {
            Some(Value::Literal(Datum::double(f64::from(v.into_inner())).literal().clone()))
        }
        (r#type, literal) if !r#type.compatible(literal) => None,
        (_, PrimitiveLiteral::String(text)) => Some(Value::Text(text)),
        (_, PrimitiveLiteral::Binary(bytes)) => Some(Value::Bytes(bytes)),
        (_, literal) => Some(Value::Literal(literal.clone())),
    }
}

/// Compares two values of one type; `None` where writers do not agree on the order, so that nothing follows from it.
fn compare(a: &Value<'_>, b: &PrimitiveLiteral) -> Option<Ordering> {
    let a = match (a, b) {
        (Value::Text(a), PrimitiveLiteral::String(b)) => return Some((*a).cmp(b)),
        (Value::Bytes(a), PrimitiveLiteral::Binary(b)) => return Some((*a).cmp(b)),
        (Value::Literal(a), _) => a,
        (Value::Text(_) | Value::Bytes(_), _) => return None,
    };
    match (a, b) {
        (PrimitiveLiteral::Boolean(a), PrimitiveLiteral::Boolean(b)) => Some(a.cmp(b)),
        (PrimitiveLiteral::Int(a), PrimitiveLiteral::Int(b)) => Some(a.cmp(b)),
        (PrimitiveLiteral::Long(a), PrimitiveLiteral::Long(b)) => Some(a.cmp(b)),
        (PrimitiveLiteral::Float(a), PrimitiveLiteral::Float(b)) => {
            compare_floats(a.into_inner().into(), b.into_inner().into())
        }
        (PrimitiveLiteral::Double(a), PrimitiveLiteral::Double(b)) => compare_floats(a.into_inner(), b.into_inner()),
        (PrimitiveLiteral::Int128(a), PrimitiveLiteral::Int128(b)) => Some(a.cmp(b)),
        // UUIDs: Java ordered them as two signed numbers in some versions, by their bytes in others.
        (PrimitiveLiteral::UInt128(a), PrimitiveLiteral::UInt128(b)) => {
            let signed = |v: u128| v ^ ((1 << 127) | (1 << 63));
            Some(a.cmp(b)).filter(|order| *order == signed(*a).cmp(&signed(*b)))
        }
        _ => None,
    }
}

/// The two zeros are equal to some and different to others, and NaN has no place that all agree on.
fn compare_floats(a: f64, b: f64) -> Option<Ordering> {
    if a == 0.0 && b == 0.0 { None } else { a.partial_cmp(&b) }
}
