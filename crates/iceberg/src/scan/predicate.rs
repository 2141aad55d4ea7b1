//! What a query asks of rows, in terms of field ids.

use std::ops::Not;

use crate::spec::{Datum, NestedFieldRef, PrimitiveLiteral, PrimitiveType, Schema, Type};
use crate::{Error, ErrorKind, Result};

/// A condition on rows, by SQL's rules: a row matches when it is true, not when it is false or null.
///
/// It is used to leave out files without a match, never to filter rows, so a condition that cannot be said with it is
/// best replaced by [`Predicate::True`] wherever it stands under no [`Predicate::Not`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Predicate {
    /// Every row.
    True,
    /// No row.
    False,
    /// All of them.
    And(Vec<Predicate>),
    /// At least one of them.
    Or(Vec<Predicate>),
    /// The opposite; null stays null.
    Not(Box<Predicate>),
    /// A test of one column, by its field id.
    Column(i32, Test<Datum>),
}

/// A test of one column's value.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Test<V> {
    /// The value is null.
    IsNull,
    /// The value is not null.
    NotNull,
    /// The value is NaN.
    IsNan,
    /// The value is neither NaN nor null.
    NotNan,
    /// It compares so with a value. NaN is greater than all other numbers and equals itself.
    Compare(Comparison, V),
    /// It equals one of them.
    In(Vec<V>),
    /// It is neither null nor one of them.
    NotIn(Vec<V>),
    /// A string that starts with this one.
    StartsWith(V),
    /// A string that does not start with this one.
    NotStartsWith(V),
}

/// How a value compares with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
}

impl Predicate {
    /// Both.
    #[must_use]
    pub fn and(self, other: Predicate) -> Self {
        Self::And(vec![self, other])
    }

    /// One or both.
    #[must_use]
    pub fn or(self, other: Predicate) -> Self {
        Self::Or(vec![self, other])
    }

    /// Resolves the columns in a schema and removes [`Predicate::Not`].
    ///
    /// Tests that no statistic can answer (of columns inside lists and maps, of whole structs) become true.
    pub(crate) fn bind(&self, schema: &Schema) -> Result<Bound> {
        self.bind_as(schema, true)
    }

    fn bind_as(&self, schema: &Schema, positive: bool) -> Result<Bound> {
        let children = |of: &[Predicate]| of.iter().map(|p| p.bind_as(schema, positive)).collect::<Result<Vec<_>>>();
        Ok(match (self, positive) {
            (Self::True, true) | (Self::False, false) => Tree::True,
            (Self::False, true) | (Self::True, false) => Tree::False,
            (Self::And(of), true) | (Self::Or(of), false) => Tree::And(children(of)?),
            (Self::Or(of), true) | (Self::And(of), false) => Tree::Or(children(of)?),
            (Self::Not(inner), _) => inner.bind_as(schema, !positive)?,
            (Self::Column(field_id, test), true) => bind_test(schema, *field_id, test)?,
            (Self::Column(field_id, test), false) => bind_test(schema, *field_id, &test.clone().negate())?,
        })
    }
}

impl Not for Predicate {
    type Output = Self;

    fn not(self) -> Self {
        Self::Not(Box::new(self))
    }
}

impl<V> Test<V> {
    /// The test that is true where this one is false. Both are null where the value is null, except null tests.
    fn negate(self) -> Self {
        match self {
            Self::IsNull => Self::NotNull,
            Self::NotNull => Self::IsNull,
            Self::IsNan => Self::NotNan,
            Self::NotNan => Self::IsNan,
            Self::Compare(comparison, value) => Self::Compare(comparison.negate(), value),
            Self::In(values) => Self::NotIn(values),
            Self::NotIn(values) => Self::In(values),
            Self::StartsWith(prefix) => Self::NotStartsWith(prefix),
            Self::NotStartsWith(prefix) => Self::StartsWith(prefix),
        }
    }

    fn try_map<W>(&self, mut f: impl FnMut(&V) -> Result<W>) -> Result<Test<W>> {
        Ok(match self {
            Self::IsNull => Test::IsNull,
            Self::NotNull => Test::NotNull,
            Self::IsNan => Test::IsNan,
            Self::NotNan => Test::NotNan,
            Self::Compare(comparison, value) => Test::Compare(*comparison, f(value)?),
            Self::In(values) => Test::In(values.iter().map(f).collect::<Result<_>>()?),
            Self::NotIn(values) => Test::NotIn(values.iter().map(f).collect::<Result<_>>()?),
            Self::StartsWith(prefix) => Test::StartsWith(f(prefix)?),
            Self::NotStartsWith(prefix) => Test::NotStartsWith(f(prefix)?),
        })
    }

    fn values(&self) -> &[V] {
        match self {
            Self::IsNull | Self::NotNull | Self::IsNan | Self::NotNan => &[],
            Self::Compare(_, value) | Self::StartsWith(value) | Self::NotStartsWith(value) => {
                std::slice::from_ref(value)
            }
            Self::In(values) | Self::NotIn(values) => values,
        }
    }
}

impl Comparison {
    fn negate(self) -> Self {
        match self {
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::GreaterOrEqual => Self::Less,
            Self::Greater => Self::LessOrEqual,
        }
    }

    /// The comparison that says the same with its sides exchanged.
    #[must_use]
    pub fn flip(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Equal => Self::Equal,
            Self::NotEqual => Self::NotEqual,
            Self::GreaterOrEqual => Self::LessOrEqual,
            Self::Greater => Self::Less,
        }
    }
}

/// A condition without negation, over tests of any kind.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree<T> {
    True,
    False,
    And(Vec<Tree<T>>),
    Or(Vec<Tree<T>>),
    Test(T),
}

/// A predicate whose columns are known.
pub(crate) type Bound = Tree<BoundTest>;

/// A test of a column of a known primitive type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoundTest {
    pub(crate) field_id: i32,
    pub(crate) r#type: PrimitiveType,
    pub(crate) test: Test<PrimitiveLiteral>,
}

impl<T> Tree<T> {
    /// Whether it can hold, given whether each test can.
    pub(crate) fn may_match(&self, test: &impl Fn(&T) -> bool) -> bool {
        match self {
            Self::True => true,
            Self::False => false,
            Self::And(of) => of.iter().all(|tree| tree.may_match(test)),
            Self::Or(of) => of.iter().any(|tree| tree.may_match(test)),
            Self::Test(t) => test(t),
        }
    }

    /// Calls `f` with each test.
    pub(crate) fn for_each(&self, f: &mut impl FnMut(&T)) {
        match self {
            Self::True | Self::False => {}
            Self::And(of) | Self::Or(of) => of.iter().for_each(|tree| tree.for_each(f)),
            Self::Test(t) => f(t),
        }
    }

    /// The same with each test replaced.
    pub(crate) fn map<U>(&self, f: &impl Fn(&T) -> Tree<U>) -> Tree<U> {
        match self {
            Self::True => Tree::True,
            Self::False => Tree::False,
            Self::And(of) => Tree::And(of.iter().map(|tree| tree.map(f)).collect()),
            Self::Or(of) => Tree::Or(of.iter().map(|tree| tree.map(f)).collect()),
            Self::Test(t) => f(t),
        }
    }
}

fn bind_test(schema: &Schema, field_id: i32, test: &Test<Datum>) -> Result<Bound> {
    let field = schema.field_by_id(field_id).ok_or_else(|| {
        Error::new(ErrorKind::InvalidInput, format!("no field {field_id} in schema {}", schema.schema_id()))
    })?;
    let Type::Primitive(r#type) = field.field_type.as_ref() else {
        return if test.values().is_empty() { Ok(Tree::True) } else { Err(mismatch(field, "a value")) };
    };
    let test = test.try_map(|value| literal_of(field, r#type, value))?;
    let strings = matches!(test, Test::StartsWith(_) | Test::NotStartsWith(_));
    if strings && *r#type != PrimitiveType::String {
        return Err(mismatch(field, "a prefix"));
    }
    // NaN is outside of every bound that statistics keep.
    let unanswerable = test.values().iter().any(PrimitiveLiteral::is_nan) || !has_statistics(schema, field_id);
    Ok(if unanswerable { Tree::True } else { Tree::Test(BoundTest { field_id, r#type: r#type.clone(), test }) })
}

fn literal_of(field: &NestedFieldRef, r#type: &PrimitiveType, value: &Datum) -> Result<PrimitiveLiteral> {
    let same = match (r#type, value.data_type()) {
        (PrimitiveType::Decimal { scale, .. }, PrimitiveType::Decimal { scale: other, .. }) => scale == other,
        (expected, actual) => expected == actual,
    };
    if same && r#type.compatible(value.literal()) {
        Ok(value.literal().clone())
    } else {
        Err(mismatch(field, &format!("a value of type {}", value.data_type())))
    }
}

fn mismatch(field: &NestedFieldRef, with: &str) -> Error {
    let message = format!("column {} of type {} cannot be compared with {with}", field.name, field.field_type);
    Error::new(ErrorKind::InvalidInput, message)
}

/// Whether a field has one value a row: it is not inside a list or map.
fn has_statistics(schema: &Schema, field_id: i32) -> bool {
    fn within(fields: &[NestedFieldRef], field_id: i32) -> bool {
        fields.iter().any(|field| {
            field.id == field_id
                || matches!(field.field_type.as_ref(), Type::Struct(inner) if within(inner.fields(), field_id))
        })
    }
    within(schema.as_struct().fields(), field_id)
}
