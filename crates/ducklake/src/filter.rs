//! Which rows a scan reads.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::{
    keys::{self, ENDED, LIVE, RowPlace},
    table::TableDef,
};

/// What is asked of the rows of a scan.
///
/// A scan yields every row that meets all its filters, and may yield more: filters only save reading, as far as rows are kept
/// together by [`TableDef::cluster_column`] and [`TableDef::end_snapshot_column`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Filter {
    /// A BIGINT column has this value.
    Equal {
        /// Which column.
        column: usize,
        /// Its value.
        value: i64,
    },
    /// A BIGINT column has one of these values.
    In {
        /// Which column.
        column: usize,
        /// Its values.
        values: Vec<i64>,
    },
    /// A BIGINT column has a value in this range.
    Between {
        /// Which column.
        column: usize,
        /// Its values.
        values: RangeInclusive<i64>,
    },
    /// The row is not ended: its `end_snapshot` is NULL.
    Live,
    /// The row is not ended yet in this snapshot: its `end_snapshot` is NULL or greater.
    LiveAt {
        /// The snapshot.
        snapshot: i64,
    },
}

/// The keys to read for some filters.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Which clusters, in ascending order; all, if that is not said.
    clusters: Option<Vec<RangeInclusive<i64>>>,
    live: bool,
    /// Which ended rows, by the snapshot that ended them.
    ended: Option<RangeInclusive<i64>>,
}

impl Plan {
    pub(crate) fn new(table: &TableDef, filters: &[Filter]) -> Self {
        let mut plan = Self { clusters: None, live: true, ended: table.end_snapshot_column().map(|_| EVERYTHING) };
        for filter in filters {
            plan.restrict(table, filter);
        }
        plan
    }

    fn restrict(&mut self, table: &TableDef, filter: &Filter) {
        let (column, values) = match filter {
            Filter::Equal { column, value } => (*column, vec![*value..=*value]),
            Filter::In { column, values } => {
                let mut values: Vec<_> = values.iter().map(|value| *value..=*value).collect();
                values.sort_unstable_by_key(|value| *value.start());
                values.dedup();
                (*column, values)
            }
            Filter::Between { column, values } => (*column, vec![values.clone()]),
            Filter::Live => {
                self.ended = None;
                return;
            }
            Filter::LiveAt { snapshot } => {
                let after = snapshot.checked_add(1).map(|after| after..=i64::MAX);
                self.ended = self.ended.take().zip(after).map(|(ended, after)| intersection(&ended, &after));
                return;
            }
        };
        if table.cluster_column() == Some(column) {
            let before = self.clusters.take().unwrap_or_else(|| vec![EVERYTHING]);
            let pairs = before.iter().flat_map(|one| values.iter().map(|other| intersection(one, other)));
            self.clusters = Some(pairs.filter(|range| !range.is_empty()).collect());
        } else if table.end_snapshot_column() == Some(column) {
            self.live = false;
            let bounds = values.first().zip(values.last()).map(|(first, last)| *first.start()..=*last.end());
            self.ended = self.ended.take().zip(bounds).map(|(ended, bounds)| intersection(&ended, &bounds));
        }
    }

    /// The keys to read, each from the first to just before the second.
    pub(crate) fn key_ranges(&self, table: &TableDef) -> Vec<(Bytes, Bytes)> {
        let mut ranges = Vec::new();
        if self.live {
            match &self.clusters {
                None => ranges.push(keys::all(LIVE, table.id())),
                Some(clusters) if clusters.len() > MAX_RANGES => {
                    let bounds = clusters.first().zip(clusters.last());
                    ranges.extend(
                        bounds.map(|(first, last)| keys::range(LIVE, table.id(), &(*first.start()..=*last.end()))),
                    );
                }
                Some(clusters) => ranges.extend(clusters.iter().map(|range| keys::range(LIVE, table.id(), range))),
            }
        }
        if let Some(ended) = self.ended.as_ref().filter(|ended| !ended.is_empty()) {
            ranges.push(keys::range(ENDED, table.id(), ended));
        }
        ranges
    }

    /// Whether a row at `place` is one to yield.
    pub(crate) fn admits(&self, place: RowPlace) -> bool {
        let here = |clusters: &Vec<RangeInclusive<i64>>| {
            let at = clusters.partition_point(|range| *range.end() < place.cluster);
            clusters.get(at).is_some_and(|range| range.contains(&place.cluster))
        };
        let alive = match place.end_snapshot {
            None => self.live,
            Some(end_snapshot) => self.ended.as_ref().is_some_and(|ended| ended.contains(&end_snapshot)),
        };
        alive && self.clusters.as_ref().is_none_or(here)
    }
}

fn intersection(one: &RangeInclusive<i64>, other: &RangeInclusive<i64>) -> RangeInclusive<i64> {
    *one.start().max(other.start())..=*one.end().min(other.end())
}

/// Above this many, the keys between the ranges are read as well: to begin at a key costs more than to pass over some.
const MAX_RANGES: usize = 64;

const EVERYTHING: RangeInclusive<i64> = i64::MIN..=i64::MAX;
