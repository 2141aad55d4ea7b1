//! Which numbers table metadata may hold.
//!
//! They are looked at before the parser, which adds to some of them and subtracts others without asking whether the
//! result fits; and a table whose next number does not fit could never be written again.

use std::ops::RangeInclusive;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::raw::RawDocument;
use crate::spec::{Snapshot, TableMetadata};
use crate::{Error, ErrorKind, Result};

type Range = RangeInclusive<i64>;

/// What counts up, by one or by the rows of a snapshot: what is left is more than any table will need.
const COUNT: Range = 0..=i64::MAX / 2;
/// What counts up and is an `int` in Java.
const ID: Range = 0..=(i32::MAX / 2) as i64;
/// From 1970 to the end of the year 9999.
const TIME_MS: Range = 0..=253_402_300_799_999;

const LAST_SEQUENCE_NUMBER: &str = "last-sequence-number";
const LAST_UPDATED_MS: &str = "last-updated-ms";
const LAST_COLUMN_ID: &str = "last-column-id";
const LAST_PARTITION_ID: &str = "last-partition-id";
const NEXT_ROW_ID: &str = "next-row-id";

/// The numbers at the top of the document.
const TOP: [(&str, Range); 5] = [
    (LAST_SEQUENCE_NUMBER, COUNT),
    (LAST_UPDATED_MS, TIME_MS),
    (LAST_COLUMN_ID, ID),
    (LAST_PARTITION_ID, ID),
    (NEXT_ROW_ID, COUNT),
];

/// The lists with numbers in their elements.
const LISTS: [&str; 6] = ["schemas", "partition-specs", "sort-orders", "snapshots", "snapshot-log", "metadata-log"];

/// The numbers of an element of whichever list; null where it has none.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct Element {
    schema_id: Value,
    spec_id: Value,
    order_id: Value,
    sequence_number: Value,
    timestamp_ms: Value,
    first_row_id: Value,
    added_rows: Value,
}

impl Element {
    fn check(&self) -> Result<(), String> {
        for (name, value, range) in [
            ("schema-id", &self.schema_id, ID),
            ("spec-id", &self.spec_id, ID),
            ("order-id", &self.order_id, ID),
            ("sequence-number", &self.sequence_number, COUNT),
            ("timestamp-ms", &self.timestamp_ms, TIME_MS),
            ("first-row-id", &self.first_row_id, COUNT),
            ("added-rows", &self.added_rows, COUNT),
        ] {
            check_value(name, value, &range)?;
        }
        Ok(())
    }
}

/// Checks the numbers of a document that is not parsed yet.
pub(super) fn check_raw(raw: &RawDocument, location: &str) -> Result<()> {
    let invalid = |problem| Error::new(ErrorKind::InvalidData, format!("{location}: {problem}"));
    for (name, range) in TOP {
        if let Some(value) = read::<Value>(raw, name, location)? {
            check_value(name, &value, &range).map_err(invalid)?;
        }
    }
    for list in LISTS {
        let elements = read::<Option<Vec<Element>>>(raw, list, location)?.flatten().unwrap_or_default();
        for (i, element) in elements.iter().enumerate() {
            element.check().map_err(|problem| invalid(format!("{list}[{i}]: {problem}")))?;
        }
    }
    // The only schema of old version 1 metadata.
    let schema = read::<Option<Element>>(raw, "schema", location)?.flatten().unwrap_or_default();
    schema.check().map_err(|problem| invalid(format!("schema: {problem}")))
}

/// Checks what parsed metadata counts, and that no snapshot has row ids that are still to be given out.
pub(super) fn check(metadata: &TableMetadata) -> Result<(), String> {
    let next_row_id = i64::try_from(metadata.next_row_id()).unwrap_or(i64::MAX);
    let top = [
        metadata.last_sequence_number(),
        metadata.last_updated_ms(),
        metadata.last_column_id().into(),
        metadata.last_partition_id().into(),
        next_row_id,
    ];
    for ((name, range), value) in TOP.into_iter().zip(top) {
        check_number(name, value, &range)?;
    }
    let schemas = metadata.schemas_iter().map(|schema| ("schema-id", schema.schema_id().into()));
    let specs = metadata.partition_specs_iter().map(|spec| ("spec-id", spec.spec_id().into()));
    let orders = metadata.sort_orders_iter().map(|order| ("order-id", order.order_id));
    schemas.chain(specs).chain(orders).try_for_each(|(name, id)| check_number(name, id, &ID))?;
    for snapshot in metadata.snapshots() {
        if let Some((first, rows)) = snapshot.row_range()
            && first.checked_add(rows).is_none_or(|end| end > metadata.next_row_id())
        {
            let id = snapshot.snapshot_id();
            return Err(format!(
                "snapshot {id} has {rows} rows from first-row-id {first} on, beyond {NEXT_ROW_ID} {next_row_id}"
            ));
        }
    }
    Ok(())
}

/// Checks a snapshot that is to be added.
pub(super) fn check_snapshot(snapshot: &Snapshot) -> Result<(), String> {
    check_number("sequence-number", snapshot.sequence_number(), &COUNT)?;
    check_number("timestamp-ms", snapshot.timestamp_ms(), &TIME_MS)
}

fn read<T: DeserializeOwned>(raw: &RawDocument, name: &str, location: &str) -> Result<Option<T>> {
    let invalid = |e| Error::new(ErrorKind::InvalidData, format!("{location}: {name} is malformed")).with_source(e);
    raw.get(name).map(serde_json::from_str).transpose().map_err(invalid)
}

/// What is no number is left to the parser, which knows whether there may be something else.
fn check_value(name: &str, value: &Value, range: &Range) -> Result<(), String> {
    match value {
        Value::Number(number) => match number.as_i64() {
            Some(number) => check_number(name, number, range),
            None => Err(out_of_range(name, number, range)),
        },
        _ => Ok(()),
    }
}

fn check_number(name: &str, number: i64, range: &Range) -> Result<(), String> {
    if range.contains(&number) { Ok(()) } else { Err(out_of_range(name, number, range)) }
}

fn out_of_range(name: &str, number: impl std::fmt::Display, range: &Range) -> String {
    format!("{name} is {number}, expected {} to {}", range.start(), range.end())
}
