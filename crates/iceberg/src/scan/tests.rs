//! Pruning against brute force: on random rows, partitionings, statistics and predicates, whatever holds a matching
//! row must be kept.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::predicate::{Comparison, Predicate, Test};
use super::pruning::Pruner;
use crate::manifest::{
    ColumnStatistics, DataFile, EntryFilter, FieldSummary, FileContent, FileFormat, FileStatistics, ManifestContent,
    ManifestFile,
};
use crate::spec::{
    Datum, Literal, NestedField, PartitionField, PartitionSpec, PrimitiveLiteral, PrimitiveType, Schema, Struct,
    Transform, Type, UnboundPartitionField, UnboundPartitionSpec,
};
use crate::transform;

/// Field ids are positions in a row plus one.
const COLUMNS: [(&str, PrimitiveType); 7] = [
    ("int", PrimitiveType::Int),
    ("long", PrimitiveType::Long),
    ("double", PrimitiveType::Double),
    ("string", PrimitiveType::String),
    ("timestamp", PrimitiveType::Timestamp),
    ("date", PrimitiveType::Date),
    ("uuid", PrimitiveType::Uuid),
];

type Row = Vec<Option<Datum>>;

fn schema() -> Schema {
    let fields = (1..)
        .zip(COLUMNS)
        .map(|(id, (name, r#type))| Arc::new(NestedField::optional(id, name, Type::Primitive(r#type))));
    Schema::builder().with_fields(fields).build().unwrap()
}

/// A value of a column, from a domain small enough for rows and predicates to meet.
fn value(column: usize) -> BoxedStrategy<Datum> {
    const DAY: i64 = 86_400_000_000;
    match column {
        0 => prop_oneof![6 => -12_i32..12, 1 => i32::MIN..i32::MIN + 7].prop_map(Datum::int).boxed(),
        1 => prop_oneof![6 => -12_i64..12, 1 => i64::MIN..i64::MIN + 7].prop_map(Datum::long).boxed(),
        2 => select(vec![f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.0, 2.5])
            .prop_map(Datum::double)
            .boxed(),
        3 => "[abß]{0,5}".prop_map(Datum::string).boxed(),
        4 => (-900_i64..900, -1_i64..2).prop_map(|(day, off)| Datum::timestamp_micros(day * DAY / 2 + off)).boxed(),
        5 => (-900_i32..900).prop_map(Datum::date).boxed(),
        _ => select(vec![0_u128, 1, 1 << 63, 1 << 127, u128::MAX])
            .prop_map(|v| Datum::uuid(uuid::Uuid::from_u128(v)))
            .boxed(),
    }
}

fn row() -> impl Strategy<Value = Row> {
    let column = |column| prop_oneof![1 => Just(None), 4 => value(column).prop_map(Some)];
    (0..COLUMNS.len()).map(column).collect::<Vec<_>>()
}

fn spec() -> impl Strategy<Value = PartitionSpec> {
    let field = (0..COLUMNS.len()).prop_flat_map(|column| {
        let transforms = match column {
            0 | 1 => vec![Transform::Identity, Transform::Bucket(3), Transform::Truncate(5), Transform::Void],
            2 => vec![Transform::Identity, Transform::Void],
            3 => vec![Transform::Identity, Transform::Bucket(3), Transform::Truncate(2)],
            4 => vec![Transform::Year, Transform::Month, Transform::Day, Transform::Hour, Transform::Bucket(3)],
            5 => vec![Transform::Year, Transform::Month, Transform::Day, Transform::Identity],
            _ => vec![Transform::Identity, Transform::Bucket(3)],
        };
        (Just(column), select(transforms))
    });
    vec(field, 0..3).prop_map(|fields| {
        let fields = fields.into_iter().enumerate().map(|(index, (column, transform))| UnboundPartitionField {
            source_id: i32::try_from(column).unwrap() + 1,
            field_id: Some(1000 + i32::try_from(index).unwrap()),
            name: format!("p{index}"),
            transform,
        });
        // Two transforms of one column that a spec may not combine: drop the second.
        let fields: Vec<_> = fields.collect();
        let build = |fields: &[UnboundPartitionField]| {
            let unbound = UnboundPartitionSpec::builder().with_spec_id(0).add_partition_fields(fields.to_vec()).ok()?;
            unbound.build().bind(Arc::new(schema())).ok()
        };
        build(&fields).or_else(|| build(&fields[..1])).unwrap()
    })
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let test = (0..COLUMNS.len()).prop_flat_map(|column| {
        let comparison = select(vec![
            Comparison::Less,
            Comparison::LessOrEqual,
            Comparison::Equal,
            Comparison::NotEqual,
            Comparison::GreaterOrEqual,
            Comparison::Greater,
        ]);
        let mut tests = vec![
            Just(Test::IsNull).boxed(),
            Just(Test::NotNull).boxed(),
            (comparison, value(column)).prop_map(|(c, v)| Test::Compare(c, v)).boxed(),
            vec(value(column), 1..3).prop_map(Test::In).boxed(),
            vec(value(column), 1..3).prop_map(Test::NotIn).boxed(),
        ];
        match column {
            2 => tests.extend([Just(Test::IsNan).boxed(), Just(Test::NotNan).boxed()]),
            3 => tests
                .extend([value(3).prop_map(Test::StartsWith).boxed(), value(3).prop_map(Test::NotStartsWith).boxed()]),
            _ => {}
        }
        let id = i32::try_from(column).unwrap() + 1;
        proptest::strategy::Union::new(tests).prop_map(move |test| Predicate::Column(id, test))
    });
    test.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..3).prop_map(Predicate::And),
            vec(inner.clone(), 1..3).prop_map(Predicate::Or),
            inner.prop_map(|predicate| !predicate),
        ]
    })
}

/// How engines order two values: by total order, or with equal zeros.
fn compare(a: &Datum, b: &Datum, equal_zeros: bool) -> Ordering {
    match (a.literal(), b.literal()) {
        (PrimitiveLiteral::Double(a), PrimitiveLiteral::Double(b)) => {
            let (a, b) = (a.into_inner(), b.into_inner());
            if equal_zeros && a == 0.0 && b == 0.0 { Ordering::Equal } else { a.total_cmp(&b) }
        }
        (PrimitiveLiteral::Int(a), PrimitiveLiteral::Int(b)) => a.cmp(b),
        (PrimitiveLiteral::Long(a), PrimitiveLiteral::Long(b)) => a.cmp(b),
        (PrimitiveLiteral::String(a), PrimitiveLiteral::String(b)) => a.cmp(b),
        (PrimitiveLiteral::UInt128(a), PrimitiveLiteral::UInt128(b)) => a.cmp(b),
        pair => panic!("{pair:?}"),
    }
}

fn evaluate(predicate: &Predicate, row: &Row, equal_zeros: bool) -> Option<bool> {
    let all = |of: &[Predicate], neutral: bool| {
        let results: Vec<_> = of.iter().map(|p| evaluate(p, row, equal_zeros)).collect();
        if results.contains(&Some(!neutral)) {
            Some(!neutral)
        } else if results.contains(&None) {
            None
        } else {
            Some(neutral)
        }
    };
    match predicate {
        Predicate::True => Some(true),
        Predicate::False => Some(false),
        Predicate::And(of) => all(of, true),
        Predicate::Or(of) => all(of, false),
        Predicate::Not(inner) => evaluate(inner, row, equal_zeros).map(|result| !result),
        Predicate::Column(id, test) => {
            let value = row[usize::try_from(*id).unwrap() - 1].as_ref();
            match test {
                Test::IsNull => Some(value.is_none()),
                Test::NotNull => Some(value.is_some()),
                test => value.map(|value| passes(test, value, equal_zeros)),
            }
        }
    }
}

fn passes(test: &Test<Datum>, value: &Datum, equal_zeros: bool) -> bool {
    let equals = |other: &Datum| compare(value, other, equal_zeros) == Ordering::Equal;
    let starts_with = |prefix: &Datum| match (value.literal(), prefix.literal()) {
        (PrimitiveLiteral::String(value), PrimitiveLiteral::String(prefix)) => value.starts_with(prefix.as_str()),
        pair => panic!("{pair:?}"),
    };
    match test {
        Test::IsNull | Test::NotNull => panic!("tests of null are answered before"),
        Test::IsNan => value.is_nan(),
        Test::NotNan => !value.is_nan(),
        Test::Compare(comparison, other) => {
            let order = compare(value, other, equal_zeros);
            match comparison {
                Comparison::Less => order.is_lt(),
                Comparison::LessOrEqual => order.is_le(),
                Comparison::Equal => order.is_eq(),
                Comparison::NotEqual => order.is_ne(),
                Comparison::GreaterOrEqual => order.is_ge(),
                Comparison::Greater => order.is_gt(),
            }
        }
        Test::In(values) => values.iter().any(equals),
        Test::NotIn(values) => !values.iter().any(equals),
        Test::StartsWith(prefix) => starts_with(prefix),
        Test::NotStartsWith(prefix) => !starts_with(prefix),
    }
}

fn partition_value(field: &PartitionField, row: &Row) -> Option<PrimitiveLiteral> {
    let value = row[usize::try_from(field.source_id).unwrap() - 1].as_ref()?;
    if field.transform == Transform::Void {
        return None;
    }
    // The least integers wrap around when they are written: there is no lower multiple.
    Some(match (field.transform, value.literal()) {
        (Transform::Truncate(5), PrimitiveLiteral::Int(v)) => PrimitiveLiteral::Int(v.wrapping_sub(v.rem_euclid(5))),
        (Transform::Truncate(5), PrimitiveLiteral::Long(v)) => PrimitiveLiteral::Long(v.wrapping_sub(v.rem_euclid(5))),
        (transform, literal) => transform::apply(transform, value.data_type(), literal).unwrap(),
    })
}

/// Bounds as a writer keeps them: zeros widened or not, strings cut to three characters or not.
fn bounds(values: &[&Datum], cut: bool) -> Option<(Vec<u8>, Vec<u8>)> {
    let numbers = values.iter().filter(|value| !value.is_nan());
    let lower = *numbers.clone().min_by(|a, b| compare(a, b, false))?;
    let upper = *numbers.max_by(|a, b| compare(a, b, false))?;
    match (lower.literal(), upper.literal()) {
        (PrimitiveLiteral::String(lower), PrimitiveLiteral::String(upper)) if cut => {
            let head = |s: &str| s.chars().take(3).collect::<String>();
            let mut end = head(upper);
            if end != *upper {
                // The next string of that length; the alphabet has no greatest character.
                let last = end.pop().unwrap();
                end.push(char::from_u32(u32::from(last) + 1).unwrap());
            }
            Some((head(lower).into_bytes(), end.into_bytes()))
        }
        _ => Some((lower.to_bytes().unwrap().into_vec(), upper.to_bytes().unwrap().into_vec())),
    }
}

/// Which statistics a writer kept: counts, NaN counts, bounds, and whether these are cut.
type Kept = (bool, bool, bool, bool);

fn data_file(spec: &PartitionSpec, rows: &[Row], kept: Kept) -> DataFile {
    let (counts, nan_counts, with_bounds, cut) = kept;
    let partition = spec.fields().iter().map(|field| partition_value(field, &rows[0]).map(Literal::Primitive));
    let mut file = DataFile {
        value_counts: counts.then(BTreeMap::new),
        null_value_counts: counts.then(BTreeMap::new),
        nan_value_counts: nan_counts.then(BTreeMap::new),
        lower_bounds: with_bounds.then(BTreeMap::new),
        upper_bounds: with_bounds.then(BTreeMap::new),
        ..DataFile::new(
            FileContent::Data,
            "memory:///f.parquet",
            FileFormat::Parquet,
            spec.spec_id(),
            partition.collect::<Struct>(),
            rows.len() as u64,
            1,
        )
    };
    for (id, column) in (1..).zip(0..COLUMNS.len()) {
        let values: Vec<_> = rows.iter().filter_map(|row| row[column].as_ref()).collect();
        let count = |n: usize| i64::try_from(n).unwrap();
        let set = |counts: &mut Option<BTreeMap<i32, i64>>, n| counts.as_mut().and_then(|m| m.insert(id, count(n)));
        set(&mut file.value_counts, rows.len());
        set(&mut file.null_value_counts, rows.len() - values.len());
        if column == 2 {
            set(&mut file.nan_value_counts, values.iter().filter(|value| value.is_nan()).count());
        }
        if let (Some(lowers), Some(uppers), Some((lower, upper))) =
            (&mut file.lower_bounds, &mut file.upper_bounds, bounds(&values, cut))
        {
            lowers.insert(id, lower);
            uppers.insert(id, upper);
        }
    }
    file
}

fn manifest(spec: &PartitionSpec, files: &[Vec<Row>]) -> ManifestFile {
    let summaries = spec.fields().iter().map(|field| {
        let source = &COLUMNS[usize::try_from(field.source_id).unwrap() - 1].1;
        let values: Vec<_> = files.iter().map(|rows| partition_value(field, &rows[0])).collect();
        let datums: Vec<_> = values
            .iter()
            .flatten()
            .map(|literal| match (transform::result_type(field.transform, source), literal) {
                (Some(PrimitiveType::Date), PrimitiveLiteral::Int(v)) => Datum::date(*v),
                (_, PrimitiveLiteral::Int(v)) => Datum::int(*v),
                (_, PrimitiveLiteral::Long(v)) => Datum::long(*v),
                (_, PrimitiveLiteral::Double(v)) => Datum::double(*v),
                (_, PrimitiveLiteral::String(v)) => Datum::string(v),
                (_, PrimitiveLiteral::UInt128(v)) => Datum::uuid(uuid::Uuid::from_u128(*v)),
                other => panic!("{other:?}"),
            })
            .collect();
        let bounds = bounds(&datums.iter().collect::<Vec<_>>(), false);
        FieldSummary {
            contains_null: values.contains(&None),
            contains_nan: Some(datums.iter().any(Datum::is_nan)),
            lower_bound: bounds.clone().map(|(lower, _)| lower),
            upper_bound: bounds.map(|(_, upper)| upper),
        }
    });
    ManifestFile {
        manifest_path: "memory:///m.avro".into(),
        manifest_length: 1,
        partition_spec_id: spec.spec_id(),
        content: ManifestContent::Data,
        sequence_number: 1,
        min_sequence_number: 1,
        added_snapshot_id: 1,
        added_files_count: None,
        existing_files_count: None,
        deleted_files_count: None,
        added_rows_count: None,
        existing_rows_count: None,
        deleted_rows_count: None,
        partitions: Some(summaries.collect()),
        key_metadata: None,
        first_row_id: None,
    }
}

/// Rows grouped into files as a partitioned writer groups them.
fn split(spec: &PartitionSpec, rows: Vec<Row>) -> Vec<Vec<Row>> {
    let mut files: Vec<(Vec<Option<PrimitiveLiteral>>, Vec<Row>)> = Vec::new();
    for row in rows {
        let key: Vec<_> = spec.fields().iter().map(|field| partition_value(field, &row)).collect();
        match files.iter_mut().find(|(other, _)| *other == key) {
            Some((_, rows)) => rows.push(row),
            None => files.push((key, vec![row])),
        }
    }
    files.into_iter().map(|(_, rows)| rows).collect()
}

fn pruner(predicate: &Predicate, spec: &PartitionSpec) -> Pruner {
    Pruner::with_specs(predicate.bind(&schema()).unwrap(), &[], [Arc::new(spec.clone())].iter())
}

fn may_match(pruner: &Pruner, file: &DataFile) -> bool {
    let columns = pruner.columns();
    let statistics: Vec<_> = columns.iter().map(|id| ColumnStatistics::of(file, *id)).collect();
    pruner.may_match_partition(file.spec_id, &file.partition)
        && pruner.may_match_file(file.record_count, FileStatistics { columns, statistics: &statistics })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn pruning_keeps_every_file_with_a_matching_row(
        rows in vec(row(), 1..8),
        spec in spec(),
        predicate in predicate(),
        kept in any::<Kept>(),
    ) {
        let pruner = pruner(&predicate, &spec);
        let files = split(&spec, rows);
        for rows in &files {
            let matches = |row: &Row| [false, true].iter().any(|z| evaluate(&predicate, row, *z) == Some(true));
            if rows.iter().any(matches) {
                let file = data_file(&spec, rows, kept);
                prop_assert!(may_match(&pruner, &file), "{spec:?} {file:?}");
                prop_assert!(pruner.may_match_manifest(&manifest(&spec, &files)));
                prop_assert!(pruner.may_match_manifest(&manifest(&spec, std::slice::from_ref(rows))));
            }
        }
    }
}

#[test]
fn pruning_leaves_out_what_cannot_match() {
    let all: Kept = (true, true, true, true);
    let row = |int: i32, day: i32, string: &str, double: f64| -> Row {
        let timestamp = Datum::timestamp_micros(i64::from(day) * 86_400_000_000);
        vec![
            Some(Datum::int(int)),
            None,
            Some(Datum::double(double)),
            Some(Datum::string(string)),
            Some(timestamp),
            Some(Datum::date(day)),
            None,
        ]
    };
    let rows = [row(1, 10, "apple", 1.0), row(5, 10, "banana", 2.0)];
    let column = |id, test| Predicate::Column(id, test);
    let spec_of = |source_id, transform| {
        let field = UnboundPartitionField { source_id, field_id: Some(1000), name: "p".into(), transform };
        let unbound = UnboundPartitionSpec::builder().with_spec_id(0).add_partition_fields([field]).unwrap().build();
        unbound.bind(Arc::new(schema())).unwrap()
    };
    let day = |day: i64| Datum::timestamp_micros(day * 86_400_000_000);
    let cases = [
        ("bounds", column(1, Test::Compare(Comparison::Greater, Datum::int(5)))),
        ("in", column(1, Test::In(vec![Datum::int(0), Datum::int(6)]))),
        ("negation", !column(1, Test::Compare(Comparison::LessOrEqual, Datum::int(5)))),
        ("no nulls", column(1, Test::IsNull)),
        ("nulls only", column(2, Test::Compare(Comparison::Equal, Datum::long(0)))),
        ("no NaN", column(3, Test::IsNan)),
        ("prefix", column(4, Test::StartsWith(Datum::string("c")))),
        ("cut bounds", column(4, Test::Compare(Comparison::Less, Datum::string("app")))),
        ("day, next", column(5, Test::Compare(Comparison::Equal, day(11)))),
        ("day, up to", column(5, Test::Compare(Comparison::Less, day(10)))),
    ];
    for (name, predicate) in cases {
        let spec = spec_of(5, Transform::Day);
        let pruner = pruner(&predicate, &spec);
        assert!(!may_match(&pruner, &data_file(&spec, &rows, all)), "{name}");
    }

    // By the partition alone, without statistics; also through the summaries of the manifest list.
    let none: Kept = (false, false, false, false);
    let cases = [
        (6, Transform::Identity, column(6, Test::Compare(Comparison::NotEqual, Datum::date(10)))),
        (6, Transform::Month, column(6, Test::Compare(Comparison::Greater, Datum::date(30)))),
        (6, Transform::Year, column(6, Test::Compare(Comparison::Less, Datum::date(-400)))),
        (5, Transform::Hour, column(5, Test::Compare(Comparison::Equal, day(9)))),
        (6, Transform::Day, column(6, Test::IsNull)),
    ];
    for (source, transform, predicate) in cases {
        let spec = spec_of(source, transform);
        let pruner = pruner(&predicate, &spec);
        assert!(!may_match(&pruner, &data_file(&spec, &rows, none)), "{transform}");
        assert!(!pruner.may_match_manifest(&manifest(&spec, &[rows.to_vec()])), "{transform}");
    }
}

#[test]
fn a_filter_that_does_not_fit_the_schema_is_an_error() {
    let cases = [
        Predicate::Column(99, Test::IsNull),
        Predicate::Column(1, Test::Compare(Comparison::Equal, Datum::string("1"))),
        Predicate::Column(1, Test::StartsWith(Datum::int(1))),
    ];
    for predicate in cases {
        assert_eq!(predicate.bind(&schema()).unwrap_err().kind(), crate::ErrorKind::InvalidInput, "{predicate:?}");
    }
}
