//! Rows with the values that go wrong first: extremes, odd ones, null, and the same again at random.
#![expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "any value will do")]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, FixedSizeBinaryArray, ListArray, MapArray, PrimitiveArray,
    RecordBatch, StringArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Field, Float32Type, Float64Type, Int32Type, Int64Type, SchemaRef,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
};

/// Which value a cell gets: 0 null where it may be, then the least, the greatest, odd ones, and from [`ODD`] on any.
type Choice = u64;

const ODD: Choice = 11;

/// A batch of a schema whose first column counts from `first`.
pub(crate) fn batch(schema: &SchemaRef, rows: u64, first: i64) -> RecordBatch {
    let choices = (0..rows).map(|row| row + 100 * first.unsigned_abs()).map(|row| row % 100).collect::<Vec<_>>();
    let ids = PrimitiveArray::<Int64Type>::from_iter_values((first..).take(choices.len()));
    let columns = schema.fields().iter().skip(1).zip(1..).map(|(field, salt)| column(field, &choices, salt));
    let columns = std::iter::once(Arc::new(ids) as ArrayRef).chain(columns).collect();
    RecordBatch::try_new(Arc::clone(schema), columns).unwrap()
}

fn column(field: &Field, choices: &[Choice], salt: u64) -> ArrayRef {
    let null = |choice: Choice| {
        field.is_nullable() && (choice == 0 || choice >= ODD && random(choice, salt).is_multiple_of(5))
    };
    let valid = choices.iter().map(|choice| !null(*choice)).collect::<Vec<_>>();
    let random = choices.iter().map(|choice| random(*choice, salt + 1)).collect::<Vec<_>>();
    let cells = Cells { choices, random: &random, valid: &valid };
    match field.data_type() {
        DataType::Boolean => Arc::new(cells.map(|choice, _| choice % 2 == 0).collect::<BooleanArray>()),
        DataType::Int32 => cells.numbers::<Int32Type>([i32::MIN, i32::MAX, -1, 0], |random| (random >> 32) as i32),
        DataType::Int64 => cells.numbers::<Int64Type>([i64::MIN, i64::MAX, -1, 0], u64::cast_signed),
        DataType::Float32 => cells
            .numbers::<Float32Type>([f32::NEG_INFINITY, f32::INFINITY, f32::NAN, -0.0, 0.0, 0.5], |random| {
                (random % 2_000_000) as f32 - 1e6
            }),
        DataType::Float64 => cells.numbers::<Float64Type>(
            [f64::NEG_INFINITY, f64::INFINITY, f64::NAN, 0.0, -0.0, 0.5],
            // So few digits that every parser of JSON gets them right.
            |random| (random % (1 << 40)) as f64 / 8.0 - 1e9,
        ),
        DataType::Decimal128(precision, _) => {
            let limit = 10_i128.pow(u32::from(*precision));
            let any = |random: u64| i128::from(random.cast_signed()) * 1_000_000_007 % limit;
            let numbers =
                cells.primitives::<Decimal128Type>([1 - limit, limit - 1, -1, 0, 128 % limit, -129 % limit], any);
            Arc::new(numbers.with_data_type(field.data_type().clone()))
        }
        // From the year 1 to 9999.
        DataType::Date32 => {
            cells.numbers::<Date32Type>([-719_162, 2_932_896, -1, 0], |random| (random % 60_000) as i32 - 20_000)
        }
        DataType::Time64(_) => cells.numbers::<Time64MicrosecondType>([0, 86_399_999_999, 1_500_000], |random| {
            (random % 86_400_000_000).cast_signed()
        }),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let edges = [-62_135_596_799_999_999, 253_402_300_799_999_999, -1, 0, 1_500_000];
            let any = |random: u64| (random % 4_000_000_000_000_000).cast_signed() - 2_000_000_000_000_000;
            let numbers = cells.primitives::<TimestampMicrosecondType>(edges, any);
            Arc::new(numbers.with_data_type(field.data_type().clone()))
        }
        DataType::Timestamp(_, _) => {
            let edges = [-9_223_286_399_999_999_999, 9_223_286_400_999_999_999, -1, 0, -1001];
            let any = |random: u64| (random % 4_000_000_000_000_000_000).cast_signed() - 2_000_000_000_000_000_000;
            let numbers = cells.primitives::<TimestampNanosecondType>(edges, any);
            Arc::new(numbers.with_data_type(field.data_type().clone()))
        }
        DataType::Utf8 => Arc::new(cells.map(text).collect::<StringArray>()),
        DataType::Binary => Arc::new(cells.map(bytes).collect::<BinaryArray>()),
        DataType::FixedSizeBinary(length) => {
            let length = *length;
            let value = |choice, random: u64| match choice {
                1 => vec![0; length as usize],
                2 => vec![255; length as usize],
                _ => random.to_be_bytes().into_iter().cycle().take(length as usize).collect(),
            };
            let values = cells.map(value);
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, length).unwrap())
        }
        DataType::Struct(fields) => {
            let children = fields.iter().zip(salt * 31..).map(|(field, salt)| column(field, choices, salt)).collect();
            Arc::new(StructArray::new(fields.clone(), children, Some(NullBuffer::from(valid))))
        }
        DataType::List(element) => {
            let (offsets, inner) = cells.elements();
            let values = column(element, &inner, salt * 31);
            Arc::new(ListArray::new(Arc::clone(element), offsets, values, Some(NullBuffer::from(valid))))
        }
        DataType::Map(entry, _) => {
            let (offsets, inner) = cells.elements();
            let DataType::Struct(fields) = entry.data_type() else { panic!("a map of {entry}") };
            let keys: ArrayRef =
                Arc::new(StringArray::from_iter_values((0..inner.len()).map(|key| format!("key-{key}"))));
            let values = column(&fields[1], &inner, salt * 31);
            let entries = StructArray::new(fields.clone(), vec![keys, values], None);
            Arc::new(MapArray::new(Arc::clone(entry), offsets, entries, Some(NullBuffer::from(valid)), false))
        }
        other => panic!("no values of type {other}"),
    }
}

struct Cells<'a> {
    choices: &'a [Choice],
    random: &'a [u64],
    valid: &'a [bool],
}

impl Cells<'_> {
    fn map<T>(&self, value: impl Fn(Choice, u64) -> T) -> impl Iterator<Item = Option<T>> {
        let cells = self.choices.iter().zip(self.random).zip(self.valid);
        cells.map(move |((choice, random), valid)| valid.then(|| value(*choice, *random)))
    }

    fn primitives<T: ArrowPrimitiveType>(
        &self,
        edges: impl AsRef<[T::Native]>,
        any: impl Fn(u64) -> T::Native,
    ) -> PrimitiveArray<T> {
        let edge = |choice: Choice| edges.as_ref().get(usize::try_from(choice.checked_sub(1)?).ok()?).copied();
        self.map(|choice, random| edge(choice).unwrap_or_else(|| any(random))).collect()
    }

    fn numbers<T: ArrowPrimitiveType>(
        &self,
        edges: impl AsRef<[T::Native]>,
        any: impl Fn(u64) -> T::Native,
    ) -> ArrayRef {
        Arc::new(self.primitives::<T>(edges, any))
    }

    /// None to three elements a row, and none where it is null.
    fn elements(&self) -> (OffsetBuffer<i32>, Vec<Choice>) {
        let lengths = self.map(|choice, _| (choice % 4) as usize).map(Option::unwrap_or_default).collect::<Vec<_>>();
        let elements = lengths
            .iter()
            .zip(self.random)
            .flat_map(|(length, random)| (0..*length as u64).map(move |element| (random + element) % 40));
        (OffsetBuffer::from_lengths(lengths.iter().copied()), elements.collect())
    }
}

fn text(choice: Choice, random: u64) -> String {
    match choice {
        1 => String::new(),
        2 => "🦀".repeat(20),
        3 => "größe 日本語 \u{200f}עברית".to_owned(),
        4 => "a\u{0}b\"\\\n\t".to_owned(),
        5 => "\u{d7ff}".repeat(20),
        6 => "z".repeat(100),
        7 => "\u{10ffff}".repeat(16),
        _ => format!("s{random:x}"),
    }
}

fn bytes(choice: Choice, random: u64) -> Vec<u8> {
    match choice {
        1 => Vec::new(),
        2 => vec![255; 40],
        3 => vec![0; 20],
        _ => random.to_be_bytes()[..(random % 9) as usize].to_vec(),
    }
}

/// The finalizer of `SplitMix64`.
fn random(choice: Choice, salt: u64) -> u64 {
    let mut z = (choice.wrapping_mul(1_000_003) ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}
