//! A set of positions in a data file.

use std::ops::Range;

use roaring::RoaringTreemap;

/// The positions of the deleted rows of one data file, from 0.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DeletedRows(RoaringTreemap);

impl DeletedRows {
    pub(super) fn new(positions: RoaringTreemap) -> Self {
        Self(positions)
    }

    /// Adds one.
    pub fn insert(&mut self, position: u64) {
        self.0.insert(position);
    }

    /// Adds all of another set.
    pub fn merge(&mut self, other: &Self) {
        self.0 |= &other.0;
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The greatest.
    #[must_use]
    pub fn last(&self) -> Option<u64> {
        self.0.max()
    }

    /// What is left of a file with so many rows: ranges in ascending order that do not touch.
    #[must_use]
    pub fn live_ranges(&self, rows: u64) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut start = 0;
        for deleted in self.0.iter().take_while(|position| *position < rows).chain([rows]) {
            if start < deleted {
                ranges.push(start..deleted);
            }
            start = deleted.saturating_add(1);
        }
        ranges
    }
}

impl FromIterator<u64> for DeletedRows {
    fn from_iter<I: IntoIterator<Item = u64>>(positions: I) -> Self {
        Self(positions.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn live_ranges_are_the_rows_that_are_not_deleted(
            deleted in proptest::collection::btree_set(0_u64..40, 0..30),
            rows in 0_u64..40,
        ) {
            let ranges = deleted.iter().copied().collect::<DeletedRows>().live_ranges(rows);
            let live: Vec<u64> = ranges.iter().cloned().flatten().collect();
            let expected: BTreeSet<u64> = (0..rows).filter(|row| !deleted.contains(row)).collect();
            prop_assert_eq!(live, expected.into_iter().collect::<Vec<_>>());
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
        }
    }
}
