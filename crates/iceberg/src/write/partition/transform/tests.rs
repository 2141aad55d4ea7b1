use arrow::array::{
    Decimal128Array, FixedSizeBinaryArray, Int64Array, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray,
};
use proptest::prelude::*;

use super::*;
use crate::spec::{Literal, PrimitiveLiteral, PrimitiveType, Type};

fn ints(array: &ArrayRef) -> Vec<Option<i32>> {
    array.as_primitive::<Int32Type>().iter().collect()
}

fn array(values: impl Array + 'static) -> ArrayRef {
    Arc::new(values)
}

/// A value, and what it becomes: a bucket of 16, day, hour, month and year.
type Row = (i64, i32, i32, i32, i32, i32);

/// Results of Java's transforms.
#[test]
fn timestamps_are_transformed_as_java_does() {
    let micros: [Row; 6] = [
        (-1, 8, -1, -1, -1, -1),
        (0, 12, 0, 0, 0, 0),
        (1_510_871_468_000_001, 6, 17_486, 419_686, 574, 47),
        (-62_167_219_200_000_001, 4, -719_529, -17_268_673, -23_641, -1971),
        (-86_400_000_000, 15, -1, -24, -1, -1),
        (-86_400_000_001, 14, -2, -25, -1, -1),
    ];
    let nanos = [
        (-1, 8, -1, -1, -1, -1),
        (-1000, 8, -1, -1, -1, -1),
        (-1001, 5, -1, -1, -1, -1),
        (1_510_871_468_000_001_001, 6, 17_486, 419_686, 574, 47),
        (i64::MIN, 15, -106_752, -2_562_048, -3508, -293),
        (i64::MAX, 14, 106_751, 2_562_047, 3507, 292),
    ];
    let micros_source = array(TimestampMicrosecondArray::from_iter_values(micros.map(|row| row.0)));
    let nanos_source = array(TimestampNanosecondArray::from_iter_values(nanos.map(|row| row.0)));
    for (source, rows) in [(micros_source, micros), (nanos_source, nanos)] {
        let expected = |column: fn(&Row) -> i32| rows.iter().map(column).map(Some).collect::<Vec<_>>();
        assert_eq!(ints(&apply(Transform::Bucket(16), &source).unwrap()), expected(|row| row.1));
        let days = apply(Transform::Day, &source).unwrap();
        assert_eq!(days.as_primitive::<Date32Type>().iter().collect::<Vec<_>>(), expected(|row| row.2));
        assert_eq!(ints(&apply(Transform::Hour, &source).unwrap()), expected(|row| row.3));
        assert_eq!(ints(&apply(Transform::Month, &source).unwrap()), expected(|row| row.4));
        assert_eq!(ints(&apply(Transform::Year, &source).unwrap()), expected(|row| row.5));
    }
}

#[test]
fn dates_are_transformed_as_java_does() {
    let rows = [
        (i32::MIN, -70_555_327, -5_879_611),
        (-719_529, -23_641, -1971),
        (-1, -1, -1),
        (0, 0, 0),
        (11_016, 361, 30),
        (2_932_896, 96_359, 8029),
        (i32::MAX, 70_555_326, 5_879_610),
    ];
    let source = array(Date32Array::from_iter_values(rows.map(|row| row.0)));
    assert_eq!(ints(&apply(Transform::Month, &source).unwrap()), rows.map(|row| Some(row.1)));
    assert_eq!(ints(&apply(Transform::Year, &source).unwrap()), rows.map(|row| Some(row.2)));
}

/// The hashes of the spec's appendix B, in a number of buckets that leaves them whole but for the sign.
#[test]
fn buckets_are_the_spec_hashes() {
    let uuid = uuid::uuid!("f79c3e09-677c-4bbd-a479-3f349cb785e7");
    let decimal = Decimal128Array::from(vec![1420]).with_precision_and_scale(9, 2).unwrap();
    let cases = [
        (array(Int32Array::from(vec![34])), 2_017_239_379),
        (array(Int64Array::from(vec![34])), 2_017_239_379),
        (array(decimal), -500_754_589),
        (array(Date32Array::from(vec![17_486])), -653_330_422),
        (array(Time64MicrosecondArray::from(vec![81_068_000_000])), -662_762_989),
        (array(TimestampMicrosecondArray::from(vec![1_510_871_468_000_001])), -1_207_196_810),
        (array(TimestampNanosecondArray::from(vec![1_510_871_468_000_001_001])), -1_207_196_810),
        (array(StringArray::from(vec!["iceberg"])), 1_210_000_089),
        (array(FixedSizeBinaryArray::try_from_iter(std::iter::once(uuid.as_bytes())).unwrap()), 1_488_055_340),
        (array(FixedSizeBinaryArray::try_from_iter(std::iter::once([0, 1, 2, 3])).unwrap()), -188_683_207),
        (array(BinaryArray::from(vec![[0, 1, 2, 3].as_slice()])), -188_683_207),
    ];
    for (source, hash) in cases {
        let buckets = i32::MAX;
        let found = apply(Transform::Bucket(buckets.unsigned_abs()), &source).unwrap();
        assert_eq!(ints(&found), [Some((hash & i32::MAX) % buckets)], "{}", source.data_type());
    }
}

#[test]
fn truncation_rounds_down() {
    let source = array(Int32Array::from(vec![Some(i32::MIN), Some(-11), Some(-10), Some(-1), Some(0), Some(11), None]));
    let expected = [Some(2_147_483_646), Some(-20), Some(-10), Some(-10), Some(0), Some(10), None];
    assert_eq!(ints(&apply(Transform::Truncate(10), &source).unwrap()), expected);
    let source = array(Decimal128Array::from(vec![1065, -5]).with_precision_and_scale(9, 2).unwrap());
    let expected = Decimal128Array::from(vec![1050, -50]).with_precision_and_scale(9, 2).unwrap();
    assert_eq!(&apply(Transform::Truncate(50), &source).unwrap(), &array(expected));
    let source = array(StringArray::from(vec![Some("iceberg"), Some("größe"), Some("🦀🦀🦀🦀"), Some(""), None]));
    let expected = StringArray::from(vec![Some("ice"), Some("grö"), Some("🦀🦀🦀"), Some(""), None]);
    assert_eq!(&apply(Transform::Truncate(3), &source).unwrap(), &array(expected));
    let source = array(BinaryArray::from(vec![[1, 2, 3, 4].as_slice(), &[1]]));
    assert_eq!(
        &apply(Transform::Truncate(3), &source).unwrap(),
        &array(BinaryArray::from(vec![[1, 2, 3].as_slice(), &[1]]))
    );
}

#[test]
fn what_cannot_be_transformed_is_an_error() {
    let source = array(StringArray::from(vec!["x"]));
    let far = array(TimestampMicrosecondArray::from(vec![i64::MAX]));
    let cases = [
        (Transform::Bucket(0), &source, ErrorKind::InvalidData),
        (Transform::Truncate(0), &source, ErrorKind::InvalidData),
        (Transform::Year, &source, ErrorKind::InvalidData),
        (Transform::Hour, &source, ErrorKind::InvalidData),
        (Transform::Hour, &far, ErrorKind::InvalidInput),
        (Transform::Unknown, &source, ErrorKind::Unsupported),
    ];
    for (transform, source, kind) in cases {
        assert_eq!(apply(transform, source).unwrap_err().kind(), kind, "{transform}");
    }
    assert_eq!(apply(Transform::Void, &source).unwrap().null_count(), 1);
}

/// The transform of a column and of each of its values are the same.
fn agree(
    transform: Transform,
    source: &ArrayRef,
    primitive: &PrimitiveType,
    values: &[PrimitiveLiteral],
) -> Result<(), TestCaseError> {
    let result = transform.result_type(&Type::Primitive(primitive.clone())).unwrap();
    let result = result.as_primitive_type().unwrap();
    let transformed = apply(transform, source).unwrap();
    for (index, value) in values.iter().enumerate() {
        if let Some(expected) = crate::transform::apply(transform, primitive, value) {
            let found = super::super::literal(&transformed, index, result).unwrap();
            prop_assert_eq!(found, Some(Literal::Primitive(expected)), "{} {:?}", transform, value);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn columns_agree_with_single_values(
        longs in prop::collection::vec(any::<i64>(), 1..20),
        text in ".{0,8}",
        bytes in prop::collection::vec(any::<u8>(), 0..20),
        width in 1..1000_u32,
    ) {
        let ints = longs.iter().map(|v| (v >> 32) as i32).collect::<Vec<_>>();
        let long_values = longs.iter().copied().map(PrimitiveLiteral::Long).collect::<Vec<_>>();
        let int_values = ints.iter().copied().map(PrimitiveLiteral::Int).collect::<Vec<_>>();
        let dates = array(Date32Array::from(ints.clone()));
        let nanos = array(TimestampNanosecondArray::from(longs.clone()));
        for transform in [Transform::Year, Transform::Month, Transform::Day, Transform::Bucket(width)] {
            agree(transform, &dates, &PrimitiveType::Date, &int_values)?;
            agree(transform, &nanos, &PrimitiveType::TimestampNs, &long_values)?;
        }
        agree(Transform::Hour, &nanos, &PrimitiveType::TimestampNs, &long_values)?;
        let ints = array(Int32Array::from(ints));
        let decimals = longs.iter().map(|v| i128::from(*v) << 20).collect::<Vec<_>>();
        let decimal_values = decimals.iter().copied().map(PrimitiveLiteral::Int128).collect::<Vec<_>>();
        let decimals = array(Decimal128Array::from(decimals).with_precision_and_scale(38, 2).unwrap());
        let longs = array(Int64Array::from(longs));
        let strings = array(StringArray::from(vec![text.as_str()]));
        let binary = array(BinaryArray::from(vec![bytes.as_slice()]));
        for transform in [Transform::Truncate(width), Transform::Bucket(width)] {
            agree(transform, &ints, &PrimitiveType::Int, &int_values)?;
            agree(transform, &longs, &PrimitiveType::Long, &long_values)?;
            agree(transform, &decimals, &PrimitiveType::Decimal { precision: 38, scale: 2 }, &decimal_values)?;
            agree(transform, &strings, &PrimitiveType::String, &[PrimitiveLiteral::String(text.clone())])?;
            agree(transform, &binary, &PrimitiveType::Binary, &[PrimitiveLiteral::Binary(bytes.clone())])?;
        }
    }
}
