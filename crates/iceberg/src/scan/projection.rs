//! Inclusive projection: what a test of a column says of a partition field made from it.

use super::predicate::{Bound, BoundTest, Comparison, Test, Tree};
use crate::spec::{PartitionSpec, PrimitiveLiteral, PrimitiveType, Transform};
use crate::transform;

/// A test of one field of a partition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PartitionTest {
    /// Which field of the spec.
    pub(crate) index: usize,
    /// The type of the partition field's values.
    pub(crate) r#type: PrimitiveType,
    pub(crate) test: Test<PrimitiveLiteral>,
}

/// The condition that the partition of a file with a matching row fulfils.
pub(crate) fn project(predicate: &Bound, spec: &PartitionSpec) -> Tree<PartitionTest> {
    predicate.map(&|bound| {
        let fields = spec.fields().iter().enumerate().filter(|(_, field)| field.source_id == bound.field_id);
        Tree::And(
            fields
                .filter_map(|(index, field)| {
                    let r#type = transform::result_type(field.transform, &bound.r#type)?;
                    let leaf = |test| Tree::Test(PartitionTest { index, r#type: r#type.clone(), test });
                    let test = leaf(project_test(field.transform, bound)?);
                    Some(match wrapped(field.transform, bound) {
                        Some(other) => Tree::Or(vec![test, leaf(other)]),
                        None => test,
                    })
                })
                .collect(),
        )
    })
}

/// What a test of the source says of the transformed value, or `None` for nothing.
///
/// Every known transform maps null, and only null, to null, so every other test implies at least that the partition
/// value is not null.
fn project_test(transform: Transform, bound: &BoundTest) -> Option<Test<PrimitiveLiteral>> {
    let source = &bound.r#type;
    let apply = |value: &PrimitiveLiteral| transform::apply(transform, source, value);
    let projected = match (transform, &bound.test) {
        (Transform::Void | Transform::Unknown, _) => return None,
        (Transform::Identity, test) => return Some(test.clone()),
        (_, Test::IsNull) => return Some(Test::IsNull),
        (_, Test::Compare(Comparison::Equal, value)) => apply(value).map(|value| Test::In(equal_to(transform, value))),
        (_, Test::In(values)) => values
            .iter()
            .map(|value| Some(equal_to(transform, apply(value)?)))
            .collect::<Option<Vec<_>>>()
            .map(|values| Test::In(values.concat())),
        (Transform::Bucket(_), _) => None,
        (_, Test::Compare(Comparison::Less | Comparison::LessOrEqual, value)) => {
            let greatest = if bound.test.is_strict() { predecessor(value) } else { Some(value.clone()) };
            greatest
                .and_then(|value| apply(&value))
                .map(|value| Test::Compare(Comparison::LessOrEqual, at_most(transform, value)))
        }
        (_, Test::Compare(Comparison::Greater | Comparison::GreaterOrEqual, value)) => {
            let least = if bound.test.is_strict() { successor(value) } else { Some(value.clone()) };
            least.and_then(|value| apply(&value)).map(|value| Test::Compare(Comparison::GreaterOrEqual, value))
        }
        (Transform::Truncate(width), Test::StartsWith(PrimitiveLiteral::String(prefix))) => {
            if prefix.chars().count() < width as usize {
                Some(bound.test.clone())
            } else {
                apply(&PrimitiveLiteral::String(prefix.clone())).map(|value| Test::Compare(Comparison::Equal, value))
            }
        }
        (Transform::Truncate(width), Test::NotStartsWith(PrimitiveLiteral::String(prefix))) => {
            (prefix.chars().count() <= width as usize).then(|| bound.test.clone())
        }
        _ => None,
    };
    Some(projected.unwrap_or(Test::NotNull))
}

/// What else the partition of a row below a bound may be: truncation takes the least integers below what their type can
/// hold, and Java lets them come out at the other end.
fn wrapped(transform: Transform, bound: &BoundTest) -> Option<Test<PrimitiveLiteral>> {
    let (Transform::Truncate(width), Test::Compare(Comparison::Less | Comparison::LessOrEqual, value)) =
        (transform, &bound.test)
    else {
        return None;
    };
    let least = match value {
        // Greater widths reach every value.
        PrimitiveLiteral::Int(_) => PrimitiveLiteral::Int(i32::MAX.saturating_sub_unsigned(width).saturating_add(1)),
        PrimitiveLiteral::Long(_) => {
            PrimitiveLiteral::Long(i64::MAX.saturating_sub_unsigned(width.into()).saturating_add(1))
        }
        _ => return None,
    };
    Some(Test::Compare(Comparison::GreaterOrEqual, least))
}

impl Test<PrimitiveLiteral> {
    fn is_strict(&self) -> bool {
        matches!(self, Self::Compare(Comparison::Less | Comparison::Greater, _))
    }
}

/// The partition values that rows with one transformed value may have.
fn equal_to(transform: Transform, value: PrimitiveLiteral) -> Vec<PrimitiveLiteral> {
    match late(transform, &value) {
        Some(late) => vec![value, late],
        None => vec![value],
    }
}

/// The greatest partition value that rows up to one transformed value may have.
fn at_most(transform: Transform, value: PrimitiveLiteral) -> PrimitiveLiteral {
    late(transform, &value).unwrap_or(value)
}

/// Old writers rounded times before 1970 towards zero: what they wrote instead of a negative value.
fn late(transform: Transform, value: &PrimitiveLiteral) -> Option<PrimitiveLiteral> {
    match (transform, value) {
        (Transform::Year | Transform::Month | Transform::Day | Transform::Hour, PrimitiveLiteral::Int(v)) if *v < 0 => {
            Some(PrimitiveLiteral::Int(v + 1))
        }
        _ => None,
    }
}

/// The next smaller value of types that have one, else the value itself.
fn predecessor(value: &PrimitiveLiteral) -> Option<PrimitiveLiteral> {
    Some(match value {
        PrimitiveLiteral::Int(v) => PrimitiveLiteral::Int(v.checked_sub(1)?),
        PrimitiveLiteral::Long(v) => PrimitiveLiteral::Long(v.checked_sub(1)?),
        PrimitiveLiteral::Int128(v) => PrimitiveLiteral::Int128(v.checked_sub(1)?),
        other => other.clone(),
    })
}

/// The next greater value of types that have one, else the value itself.
fn successor(value: &PrimitiveLiteral) -> Option<PrimitiveLiteral> {
    Some(match value {
        PrimitiveLiteral::Int(v) => PrimitiveLiteral::Int(v.checked_add(1)?),
        PrimitiveLiteral::Long(v) => PrimitiveLiteral::Long(v.checked_add(1)?),
        PrimitiveLiteral::Int128(v) => PrimitiveLiteral::Int128(v.checked_add(1)?),
        other => other.clone(),
    })
}
