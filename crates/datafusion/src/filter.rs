//! SQL filters as Iceberg predicates, for leaving out files.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Like, Operator, expr::InList};
use lakelock_iceberg::scan::{Comparison, Predicate, Test};
use lakelock_iceberg::spec::{Datum, PrimitiveType, Schema, Type};

/// The part of a conjunction of filters that Iceberg's statistics can answer. Every row that passes the filters matches
/// the predicate; it may match more.
pub(crate) fn to_predicate(filters: &[Expr], schema: &Schema) -> Predicate {
    let converter = Converter { schema };
    Predicate::And(filters.iter().map(|filter| converter.convert(filter, Sense::Weaker)).collect())
}

/// Which way a condition that cannot be said may be replaced: by one that holds more often, or, under a negation, by
/// one that holds less often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sense {
    Weaker,
    Stronger,
}

impl Sense {
    fn opposite(self) -> Self {
        match self {
            Self::Weaker => Self::Stronger,
            Self::Stronger => Self::Weaker,
        }
    }

    fn unknown(self) -> Predicate {
        match self {
            Self::Weaker => Predicate::True,
            Self::Stronger => Predicate::False,
        }
    }
}

struct Converter<'a> {
    schema: &'a Schema,
}

impl Converter<'_> {
    fn convert(&self, expr: &Expr, sense: Sense) -> Predicate {
        match expr {
            Expr::Not(inner) => !self.convert(inner, sense.opposite()),
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                self.convert(left, sense).and(self.convert(right, sense))
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                self.convert(left, sense).or(self.convert(right, sense))
            }
            other => self.test(other).unwrap_or_else(|| sense.unknown()),
        }
    }

    /// A condition on one column, exactly, or `None`.
    fn test(&self, expr: &Expr) -> Option<Predicate> {
        match expr {
            Expr::Column(_) => self.equals(expr, true),
            Expr::IsTrue(inner) => self.equals(inner, true),
            Expr::IsFalse(inner) => self.equals(inner, false),
            Expr::IsNull(inner) => Some(Predicate::Column(self.column(inner)?.0, Test::IsNull)),
            Expr::IsNotNull(inner) => Some(Predicate::Column(self.column(inner)?.0, Test::NotNull)),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let comparison = comparison(*op)?;
                self.compare(left, comparison, right).or_else(|| self.compare(right, comparison.flip(), left))
            }
            Expr::Between(Between { expr, negated, low, high }) => {
                let low = self.compare(expr, Comparison::GreaterOrEqual, low)?;
                let high = self.compare(expr, Comparison::LessOrEqual, high)?;
                Some(if *negated { !low.and(high) } else { low.and(high) })
            }
            Expr::InList(InList { expr, list, negated }) => {
                let (id, r#type) = self.column(expr)?;
                let values = list.iter().map(|value| datum(value, r#type)).collect::<Option<Vec<_>>>()?;
                Some(Predicate::Column(id, if *negated { Test::NotIn(values) } else { Test::In(values) }))
            }
            Expr::Like(Like { negated, expr, pattern, escape_char: None, case_insensitive: false }) => {
                let prefix = like_prefix(literal(pattern)?.try_as_str()??)?;
                self.starts_with(expr, prefix, *negated)
            }
            Expr::ScalarFunction(call) => match (call.name(), call.args.as_slice()) {
                ("isnan", [value]) => {
                    let (id, r#type) = self.column(value)?;
                    matches!(r#type, PrimitiveType::Float | PrimitiveType::Double)
                        .then_some(Predicate::Column(id, Test::IsNan))
                }
                ("starts_with", [value, prefix]) => self.starts_with(value, literal(prefix)?.try_as_str()??, false),
                _ => None,
            },
            _ => None,
        }
    }

    fn compare(&self, column: &Expr, comparison: Comparison, value: &Expr) -> Option<Predicate> {
        let (id, r#type) = self.column(column)?;
        Some(Predicate::Column(id, Test::Compare(comparison, datum(value, r#type)?)))
    }

    fn equals(&self, column: &Expr, value: bool) -> Option<Predicate> {
        let (id, r#type) = self.column(column)?;
        let test = Test::Compare(Comparison::Equal, Datum::bool(value));
        (*r#type == PrimitiveType::Boolean).then_some(Predicate::Column(id, test))
    }

    fn starts_with(&self, column: &Expr, prefix: &str, negated: bool) -> Option<Predicate> {
        let (id, r#type) = self.column(column)?;
        let prefix = Datum::string(prefix);
        let test = if negated { Test::NotStartsWith(prefix) } else { Test::StartsWith(prefix) };
        (*r#type == PrimitiveType::String).then_some(Predicate::Column(id, test))
    }

    /// A column of primitive type at the top of the schema.
    fn column(&self, expr: &Expr) -> Option<(i32, &PrimitiveType)> {
        let Expr::Column(column) = expr else { return None };
        // Not by the schema's index of names: there, `a.b` is a field inside a struct.
        let field = self.schema.as_struct().fields().iter().find(|field| field.name == column.name)?;
        match field.field_type.as_ref() {
            Type::Primitive(r#type) => Some((field.id, r#type)),
            _ => None,
        }
    }
}

fn comparison(op: Operator) -> Option<Comparison> {
    Some(match op {
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Eq => Comparison::Equal,
        Operator::NotEq => Comparison::NotEqual,
        Operator::GtEq => Comparison::GreaterOrEqual,
        Operator::Gt => Comparison::Greater,
        _ => return None,
    })
}

/// The prefix of a pattern that asks for nothing else.
fn like_prefix(pattern: &str) -> Option<&str> {
    pattern.strip_suffix('%').filter(|prefix| !prefix.contains(['%', '_', '\\']))
}

fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// A literal as a value of exactly this type, or `None`: a rounded value could leave out matching rows.
fn datum(expr: &Expr, r#type: &PrimitiveType) -> Option<Datum> {
    let value = literal(expr)?;
    match r#type {
        PrimitiveType::Boolean => match value {
            ScalarValue::Boolean(Some(v)) => Some(Datum::bool(*v)),
            _ => None,
        },
        PrimitiveType::Int => i32::try_from(integer(value)?).ok().map(Datum::int),
        PrimitiveType::Long => integer(value).map(Datum::long),
        PrimitiveType::Float => match value {
            ScalarValue::Float32(Some(v)) => Some(Datum::float(*v)),
            _ => None,
        },
        PrimitiveType::Double => match value {
            ScalarValue::Float64(Some(v)) => Some(Datum::double(*v)),
            ScalarValue::Float32(Some(v)) => Some(Datum::double(f64::from(*v))),
            _ => None,
        },
        PrimitiveType::Decimal { scale, .. } => match value {
            ScalarValue::Decimal128(Some(v), _, from) if i64::from(*from) == i64::from(*scale) => {
                Datum::try_from_bytes(&v.to_be_bytes(), r#type.clone()).ok()
            }
            _ => None,
        },
        PrimitiveType::Date => match value {
            ScalarValue::Date32(Some(v)) => Some(Datum::date(*v)),
            _ => None,
        },
        PrimitiveType::Time => match value {
            ScalarValue::Time64Microsecond(Some(v)) => Datum::time_micros(*v).ok(),
            _ => None,
        },
        PrimitiveType::Timestamp => micros(value, false).map(Datum::timestamp_micros),
        PrimitiveType::Timestamptz => micros(value, true).map(Datum::timestamptz_micros),
        PrimitiveType::TimestampNs => nanos(value, false).map(Datum::timestamp_nanos),
        PrimitiveType::TimestamptzNs => nanos(value, true).map(Datum::timestamptz_nanos),
        PrimitiveType::String => value.try_as_str().flatten().map(Datum::string),
        PrimitiveType::Uuid | PrimitiveType::Fixed(_) | PrimitiveType::Binary => match value {
            ScalarValue::Binary(Some(v))
            | ScalarValue::LargeBinary(Some(v))
            | ScalarValue::BinaryView(Some(v))
            | ScalarValue::FixedSizeBinary(_, Some(v)) => Datum::try_from_bytes(v, r#type.clone()).ok(),
            _ => None,
        },
    }
}

fn integer(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int8(Some(v)) => Some((*v).into()),
        ScalarValue::Int16(Some(v)) => Some((*v).into()),
        ScalarValue::Int32(Some(v)) => Some((*v).into()),
        ScalarValue::Int64(Some(v)) => Some(*v),
        _ => None,
    }
}

/// Microseconds of a timestamp that has a zone or has none, if they say it exactly.
fn micros(value: &ScalarValue, zoned: bool) -> Option<i64> {
    match value {
        ScalarValue::TimestampSecond(Some(v), zone) if zone.is_some() == zoned => v.checked_mul(1_000_000),
        ScalarValue::TimestampMillisecond(Some(v), zone) if zone.is_some() == zoned => v.checked_mul(1_000),
        ScalarValue::TimestampMicrosecond(Some(v), zone) if zone.is_some() == zoned => Some(*v),
        ScalarValue::TimestampNanosecond(Some(v), zone) if zone.is_some() == zoned && v % 1_000 == 0 => Some(v / 1_000),
        _ => None,
    }
}

fn nanos(value: &ScalarValue, zoned: bool) -> Option<i64> {
    match value {
        ScalarValue::TimestampNanosecond(Some(v), zone) if zone.is_some() == zoned => Some(*v),
        _ => micros(value, zoned)?.checked_mul(1_000),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::logical_expr::{col, lit, not};
    use lakelock_iceberg::spec::NestedField;

    use super::*;

    fn schema() -> Schema {
        let field = |id, name, r#type| Arc::new(NestedField::optional(id, name, Type::Primitive(r#type)));
        Schema::builder()
            .with_fields([
                field(1, "id", PrimitiveType::Long),
                field(2, "name", PrimitiveType::String),
                field(3, "price", PrimitiveType::Decimal { precision: 9, scale: 2 }),
                field(4, "flag", PrimitiveType::Boolean),
            ])
            .build()
            .unwrap()
    }

    #[test]
    fn what_cannot_be_said_is_replaced_on_the_safe_side() {
        let id = |test| Predicate::Column(1, test);
        let greater = id(Test::Compare(Comparison::Greater, Datum::long(5)));
        let unknown = || col("id").eq(col("id") + lit(1_i64));
        let cases = [
            (col("id").gt(lit(5_i64)), greater.clone()),
            (lit(5_i64).lt(col("id")), greater.clone()),
            (unknown(), Predicate::True),
            (not(unknown()), !Predicate::False),
            (not(col("id").gt(lit(5_i64)).and(unknown())), !greater.clone().and(Predicate::False)),
            (col("id").gt(lit(5_i64)).or(unknown()), greater.or(Predicate::True)),
            (col("name").like(lit("ab%")), Predicate::Column(2, Test::StartsWith(Datum::string("ab")))),
            (col("name").like(lit("a_b%")), Predicate::True),
            (col("name").like(lit("ab")), Predicate::True),
            // Rounding 1.005 to the column's scale would change which rows match.
            (col("price").gt(lit(ScalarValue::Decimal128(Some(1005), 10, 3))), Predicate::True),
            (col("id").eq(lit(ScalarValue::Int64(None))), Predicate::True),
            (col("flag"), Predicate::Column(4, Test::Compare(Comparison::Equal, Datum::bool(true)))),
            (col("id").in_list(vec![lit(1_i64), col("id")], false), Predicate::True),
        ];
        for (expr, expected) in cases {
            assert_eq!(to_predicate(std::slice::from_ref(&expr), &schema()), Predicate::And(vec![expected]), "{expr}");
        }
    }
}
