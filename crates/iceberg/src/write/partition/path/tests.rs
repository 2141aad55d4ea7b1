use super::*;

fn check(transform: Transform, primitive: PrimitiveType, value: PrimitiveLiteral, expected: &str) {
    let found = human_string(transform, &Type::Primitive(primitive), Some(&Literal::Primitive(value)));
    assert_eq!(url_encode(&found), expected);
}

fn int(transform: Transform, value: i32, expected: &str) {
    check(transform, PrimitiveType::Int, PrimitiveLiteral::Int(value), expected);
}

fn identity(primitive: PrimitiveType, value: PrimitiveLiteral, expected: &str) {
    check(Transform::Identity, primitive, value, expected);
}

/// What Java's `PartitionSpec.partitionToPath` of 1.12.0 makes of these values.
#[test]
fn dates_and_times_are_printed_as_java_does() {
    for (year, text) in [(0, "1970"), (47, "2017"), (-1970, "0000"), (-1971, "-001"), (8030, "10000")] {
        int(Transform::Year, year, text);
    }
    for (month, text) in [(0, "1970-01"), (-1, "1969-12"), (575, "2017-12"), (-23_641, "-001-12")] {
        int(Transform::Month, month, text);
    }
    for (hour, text) in [(0, "1970-01-01-00"), (-1, "1969-12-31-23"), (420_034, "2017-12-01-10")] {
        int(Transform::Hour, hour, text);
    }
    for (day, text) in [(0, "1970-01-01"), (17_501, "2017-12-01"), (-719_529, "-001-12-31"), (-719_528, "0000-01-01")] {
        check(Transform::Day, PrimitiveType::Date, PrimitiveLiteral::Int(day), text);
    }
    let times = [
        (0, "00%3A00"),
        (1, "00%3A00%3A00.000001"),
        (60_000_000, "00%3A01"),
        (1_500_000, "00%3A00%3A01.500"),
        (36_775_038_194, "10%3A12%3A55.038194"),
    ];
    for (micros, text) in times {
        identity(PrimitiveType::Time, PrimitiveLiteral::Long(micros), text);
    }
    let timestamps = [
        (0, "1970-01-01T00%3A00%3A00"),
        (-1, "1969-12-31T23%3A59%3A59.999999"),
        (1_500_000, "1970-01-01T00%3A00%3A01.5"),
        (1_512_151_920_000_000, "2017-12-01T18%3A12%3A00"),
        (-62_167_219_200_000_001, "-0001-12-31T23%3A59%3A59.999999"),
        (253_402_300_799_999_999, "9999-12-31T23%3A59%3A59.999999"),
    ];
    for (micros, text) in timestamps {
        identity(PrimitiveType::Timestamp, PrimitiveLiteral::Long(micros), text);
        identity(PrimitiveType::Timestamptz, PrimitiveLiteral::Long(micros), &format!("{text}%2B00%3A00"));
    }
    let nanos = PrimitiveLiteral::Long(1_512_151_975_038_194_001);
    identity(PrimitiveType::TimestampNs, nanos.clone(), "2017-12-01T18%3A12%3A55.038194001");
    identity(PrimitiveType::TimestamptzNs, nanos, "2017-12-01T18%3A12%3A55.038194001%2B00%3A00");
}

/// Also Java's.
#[test]
fn other_values_are_printed_as_java_does() {
    let decimals = [
        (0, "0E-10"),
        (12, "1.2E-9"),
        (-1_234_567, "-0.0001234567"),
        (1000, "1.000E-7"),
        (50_000, "0.0000050000"),
        (15_000_000_000, "1.5000000000"),
    ];
    for (unscaled, text) in decimals {
        identity(PrimitiveType::Decimal { precision: 38, scale: 10 }, PrimitiveLiteral::Int128(unscaled), text);
    }
    identity(PrimitiveType::Decimal { precision: 9, scale: 2 }, PrimitiveLiteral::Int128(0), "0.00");
    let floats = [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (1e7, "1.0E7"),
        (9_999_999.0, "9999999.0"),
        (0.001, "0.001"),
        (0.0009, "9.0E-4"),
        (1.5e-10, "1.5E-10"),
        (f32::NAN, "NaN"),
        (f32::INFINITY, "Infinity"),
        (123.456, "123.456"),
    ];
    for (value, text) in floats {
        identity(PrimitiveType::Float, PrimitiveLiteral::Float(value.into()), text);
    }
    for (value, text) in [(12_345_678.9, "1.23456789E7"), (1e21, "1.0E21"), (123_456.789, "123456.789"), (-1.0, "-1.0")]
    {
        identity(PrimitiveType::Double, PrimitiveLiteral::Double(f64::into(value)), text);
    }
    let strings = [
        ("", ""),
        ("a b", "a+b"),
        ("a/b=c", "a%2Fb%3Dc"),
        ("größe", "gr%C3%B6%C3%9Fe"),
        ("🦀~*-_.", "%F0%9F%A6%80%7E*-_."),
        ("../..", "..%2F.."),
    ];
    for (value, text) in strings {
        identity(PrimitiveType::String, PrimitiveLiteral::String(value.to_owned()), text);
    }
    let uuid = uuid::uuid!("f79c3e09-677c-4bbd-a479-3f349cb785e7");
    identity(PrimitiveType::Uuid, PrimitiveLiteral::UInt128(uuid.as_u128()), &uuid.to_string());
    identity(PrimitiveType::Fixed(4), PrimitiveLiteral::Binary(vec![0, 1, 2, 255]), "AAEC%2Fw%3D%3D");
    identity(PrimitiveType::Boolean, PrimitiveLiteral::Boolean(true), "true");
    check(Transform::Void, PrimitiveType::Long, PrimitiveLiteral::Long(1), "null");
    assert_eq!(human_string(Transform::Identity, &Type::Primitive(PrimitiveType::Long), None), "null");
}
