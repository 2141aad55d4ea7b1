//! The keys under which everything is stored, in `SlateDB`'s order of bytes.
//!
//! ```text
//! 'C' | counter                                          the next number, of tables ('t') or rows ('r')
//! 'D' | table                                            a dropped table whose rows are still there
//! 'E' | table | end_snapshot | cluster | row             an ended row
//! 'F'                                                    the format
//! 'L' | table | cluster | row                            a live row
//! 'N' | table                                            how many rows it has
//! 'P' | table | values of the primary key                the row that has them
//! 'S' | name in lower case                               a schema
//! 'T' | table                                            the definition of a table
//! 'W'                                                    who writes
//! ```
//!
//! Numbers are big-endian: a table has 4 bytes, the others 8, with the sign bit flipped so that they sort.

use std::ops::RangeInclusive;

use bytes::{BufMut, Bytes, BytesMut};

use crate::{
    error::{Result, corrupt},
    table::{RowFacts, RowId, TableId},
};

pub(crate) const FORMAT: &[u8] = b"F";
pub(crate) const WRITER: &[u8] = b"W";
pub(crate) const NEXT_TABLE: &[u8] = b"Ct";
pub(crate) const NEXT_ROW: &[u8] = b"Cr";
pub(crate) const SCHEMAS: &[u8] = b"S";
pub(crate) const TABLES: &[u8] = b"T";
pub(crate) const DROPPED: &[u8] = b"D";
pub(crate) const ROWS: &[u8] = b"N";
pub(crate) const LIVE: u8 = b'L';
pub(crate) const ENDED: u8 = b'E';
pub(crate) const PRIMARY: u8 = b'P';

/// Where a row is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowPlace {
    pub(crate) cluster: i64,
    /// The snapshot that ended it; none, if it is live.
    pub(crate) end_snapshot: Option<i64>,
}

impl From<&RowFacts> for RowPlace {
    fn from(facts: &RowFacts) -> Self {
        Self { cluster: facts.cluster, end_snapshot: facts.end_snapshot }
    }
}

impl RowPlace {
    /// The key of a row that is here.
    pub(crate) fn key(self, table: TableId, row: RowId) -> Bytes {
        let mut key = start(if self.end_snapshot.is_some() { ENDED } else { LIVE }, table);
        if let Some(end_snapshot) = self.end_snapshot {
            key.put_u64(sorted(end_snapshot));
        }
        key.put_u64(sorted(self.cluster));
        key.put_u64(sorted(row.0));
        key.freeze()
    }

    /// The place and the row of a key that [`key`](Self::key) made.
    pub(crate) fn parse(key: &[u8]) -> Result<(Self, RowId)> {
        let malformed = || corrupt("a row is stored under a key that is none");
        let (&tag, rest) = key.split_first().ok_or_else(malformed)?;
        let mut numbers = rest.get(4..).ok_or_else(malformed)?;
        let mut number = || -> Result<i64> {
            let (number, rest) = numbers.split_first_chunk::<8>().ok_or_else(malformed)?;
            numbers = rest;
            Ok(unsorted(u64::from_be_bytes(*number)))
        };
        let end_snapshot = if tag == ENDED { Some(number()?) } else { None };
        let place = Self { end_snapshot, cluster: number()? };
        Ok((place, RowId(number()?)))
    }
}

/// The key of a primary key.
pub(crate) fn primary(table: TableId, values: &[u8]) -> Bytes {
    let mut key = start(PRIMARY, table);
    key.put_slice(values);
    key.freeze()
}

/// The key of a table's definition, of the number of its rows, or of the note that it was dropped.
pub(crate) fn table(prefix: &[u8], table: TableId) -> Bytes {
    let mut key = BytesMut::from(prefix);
    key.put_u32(table.0);
    key.freeze()
}

/// The table of a key that [`table`] made.
pub(crate) fn parse_table(prefix: &[u8], key: &[u8]) -> Result<TableId> {
    let number = key.strip_prefix(prefix).and_then(|number| number.try_into().ok());
    number.map(|number| TableId(u32::from_be_bytes(number))).ok_or_else(|| corrupt("a table with a key that is none"))
}

/// The key of a schema.
pub(crate) fn schema(name: &str) -> Bytes {
    [SCHEMAS, name.to_ascii_lowercase().as_bytes()].concat().into()
}

/// The keys of a table's entries of one kind whose first number is in `numbers`, from the first to just before the second.
pub(crate) fn range(tag: u8, table: TableId, numbers: &RangeInclusive<i64>) -> (Bytes, Bytes) {
    let mut first = start(tag, table);
    first.put_u64(sorted(*numbers.start()));
    let end = match sorted(*numbers.end()).checked_add(1) {
        Some(end) => {
            let mut key = start(tag, table);
            key.put_u64(end);
            key.freeze()
        }
        None => after(tag, table),
    };
    (first.freeze(), end)
}

/// All keys of a table's entries of one kind.
pub(crate) fn all(tag: u8, table: TableId) -> (Bytes, Bytes) {
    (start(tag, table).freeze(), after(tag, table))
}

/// The first key behind a table's entries of one kind.
fn after(tag: u8, table: TableId) -> Bytes {
    match table.0.checked_add(1) {
        Some(next) => start(tag, TableId(next)).freeze(),
        None => vec![tag + 1].into(),
    }
}

fn start(tag: u8, table: TableId) -> BytesMut {
    let mut key = BytesMut::with_capacity(29);
    key.put_u8(tag);
    key.put_u32(table.0);
    key
}

/// A number that sorts as unsigned big-endian bytes.
fn sorted(number: i64) -> u64 {
    number.cast_unsigned() ^ SIGN
}

fn unsorted(number: u64) -> i64 {
    (number ^ SIGN).cast_signed()
}

const SIGN: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn place() -> impl Strategy<Value = (RowPlace, RowId)> {
        (any::<i64>(), any::<Option<i64>>(), any::<i64>())
            .prop_map(|(cluster, end_snapshot, row)| (RowPlace { cluster, end_snapshot }, RowId(row)))
    }

    proptest! {
        #[test]
        fn keys_are_read_back_and_sort_as_their_numbers((one, other) in (place(), place()), table in any::<u32>()) {
            let table = TableId(table);
            let keys = [one, other].map(|(place, row)| place.key(table, row));
            for (key, (place, row)) in keys.iter().zip([one, other]) {
                prop_assert_eq!(RowPlace::parse(key).unwrap(), (place, row));
                let (tag, first) = place.end_snapshot.map_or((LIVE, place.cluster), |end| (ENDED, end));
                for (from, to) in [all(tag, table), range(tag, table, &(first..=first))] {
                    prop_assert!(from <= *key && *key < to);
                }
                for (from, to) in [range(tag, table, &(first..=i64::MAX)), range(tag, table, &(i64::MIN..=first))] {
                    prop_assert!(from <= *key && *key < to);
                }
            }
            let numbers = |(place, row): (RowPlace, RowId)| (place.end_snapshot, place.cluster, row);
            if one.0.end_snapshot.is_some() == other.0.end_snapshot.is_some() {
                prop_assert_eq!(keys[0].cmp(&keys[1]), numbers(one).cmp(&numbers(other)));
            }
            for cut in 0..keys[0].len() {
                prop_assert!(RowPlace::parse(&keys[0][..cut]).is_err());
            }
        }
    }
}
