//! Rows like those of TPC-H's `lineitem`: sixteen columns of numbers, decimals, dates and text, a little over 100 bytes each.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch, StringArray};
use lakelock_iceberg::arrow_schema::schema_to_arrow;
use lakelock_iceberg::schema_text::parse_schema;

use crate::Result;

/// The columns.
pub const SCHEMA: &str = "orderkey long, partkey long, suppkey long, linenumber int, quantity decimal(15, 2), \
    extendedprice decimal(15, 2), discount decimal(15, 2), tax decimal(15, 2), returnflag string, linestatus string, \
    shipdate date, commitdate date, receiptdate date, shipinstruct string, shipmode string, comment string";

const INSTRUCTIONS: [&str; 4] = ["DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"];
const MODES: [&str; 7] = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"];
const WORDS: [&str; 24] = [
    "furiously",
    "sly",
    "carefully",
    "blithely",
    "quick",
    "fluffy",
    "slow",
    "quiet",
    "ruthless",
    "thin",
    "close",
    "dogged",
    "daring",
    "bold",
    "deposits",
    "requests",
    "accounts",
    "packages",
    "theodolites",
    "ideas",
    "pinto beans",
    "foxes",
    "instructions",
    "dependencies",
];
/// 1992-01-01.
const FIRST_DAY: i32 = 8035;

/// The rows from `first` on, always the same ones.
///
/// # Errors
/// Never: every column has what the schema says.
pub fn rows(first: i64, count: usize) -> Result<RecordBatch> {
    let mut random = Random(first.cast_unsigned().wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut numbers = |below: u64| -> Vec<i64> { (0..count).map(|_| random.below(below)).collect() };
    let index = || (first..).take(count);
    let (parts, suppliers) = (numbers(200_000), numbers(10_000));
    let quantities: Vec<_> = numbers(50).iter().map(|n| n + 1).collect();
    let prices: Vec<_> = quantities.iter().zip(&parts).map(|(q, part)| q * (90_000 + part % 110_000)).collect();
    let shipped: Vec<_> = numbers(2_526).into_iter().map(day).collect();
    let committed: Vec<_> = numbers(120).into_iter().zip(&shipped).map(|(n, ship)| ship - 60 + offset(n)).collect();
    let received: Vec<_> = numbers(30).into_iter().zip(&shipped).map(|(n, ship)| ship + 1 + offset(n)).collect();
    let flags = received.iter().map(|&d| {
        if d > day(1_263) {
            "N"
        } else if d % 2 == 0 {
            "R"
        } else {
            "A"
        }
    });
    let status = shipped.iter().map(|&d| if d > day(1_263) { "O" } else { "F" });
    let words = numbers(WORDS.len() as u64 * WORDS.len() as u64 * WORDS.len() as u64 * WORDS.len() as u64);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(index().map(|i| i / 4))),
        Arc::new(Int64Array::from(parts)),
        Arc::new(Int64Array::from(suppliers)),
        Arc::new(Int32Array::from_iter_values(index().map(|i| offset(i % 4) + 1))),
        decimals(quantities.iter().map(|q| q * 100))?,
        decimals(prices)?,
        decimals(numbers(11))?,
        decimals(numbers(9))?,
        Arc::new(StringArray::from_iter_values(flags)),
        Arc::new(StringArray::from_iter_values(status)),
        Arc::new(Date32Array::from(shipped.clone())),
        Arc::new(Date32Array::from(committed)),
        Arc::new(Date32Array::from(received.clone())),
        Arc::new(StringArray::from_iter_values(numbers(4).iter().map(|&n| pick(&INSTRUCTIONS, n)))),
        Arc::new(StringArray::from_iter_values(numbers(7).iter().map(|&n| pick(&MODES, n)))),
        Arc::new(StringArray::from_iter_values(words.into_iter().map(comment))),
    ];
    Ok(RecordBatch::try_new(schema_to_arrow(&parse_schema(SCHEMA)?)?, columns)?)
}

fn decimals(values: impl IntoIterator<Item = i64>) -> Result<ArrayRef> {
    let values = Decimal128Array::from_iter_values(values.into_iter().map(i128::from));
    Ok(Arc::new(values.with_precision_and_scale(15, 2)?))
}

fn day(number: i64) -> i32 {
    FIRST_DAY + offset(number)
}

fn offset(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(0)
}

fn pick<'a>(words: &[&'a str], number: i64) -> &'a str {
    usize::try_from(number).ok().and_then(|n| words.get(n % words.len())).copied().unwrap_or_default()
}

/// Two to four words.
fn comment(mut number: i64) -> String {
    let mut text = String::new();
    for _ in 0..2 + number % 3 {
        text.push_str(pick(&WORDS, number));
        text.push(' ');
        number /= 24;
    }
    text
}

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The upper bits are the better ones.
        ((self.0 >> 32) % bound).cast_signed()
    }
}
