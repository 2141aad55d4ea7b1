//! The partitions that files are in.

use std::collections::HashMap;

use arrow::datatypes::{DataType, Field};

use super::cell::{Cell, Row, count};
use super::partition::UnifiedPartition;
use super::{instant, instant_cell, optional, required};
use crate::Result;
use crate::manifest::{FileContent, ManifestEntry, ManifestStatus};
use crate::spec::{PrimitiveLiteral, Snapshot, TableMetadata};

pub(super) fn fields(partition: &UnifiedPartition) -> Result<Vec<Field>> {
    let mut fields = Vec::new();
    if let Some(partition) = partition.field()? {
        fields = vec![partition, required("spec_id", DataType::Int32)];
    }
    fields.extend([
        required("record_count", DataType::Int64),
        required("file_count", DataType::Int32),
        required("total_data_file_size_in_bytes", DataType::Int64),
        required("position_delete_record_count", DataType::Int64),
        required("position_delete_file_count", DataType::Int32),
        required("equality_delete_record_count", DataType::Int64),
        required("equality_delete_file_count", DataType::Int32),
        optional("last_updated_at", instant()),
        optional("last_updated_snapshot_id", DataType::Int64),
    ]);
    Ok(fields)
}

/// Adds files up by their partitions.
pub(super) struct Partitions {
    unified: UnifiedPartition,
    places: HashMap<Key, usize>,
    /// In the order in which they are met.
    found: Vec<(Vec<Cell>, Totals)>,
}

/// How many fields the partition's spec has, and the values of all: a field that a spec does not have is not the same
/// as null.
type Key = (usize, Vec<Option<PrimitiveLiteral>>);

#[derive(Debug, Default)]
struct Totals {
    spec_id: i32,
    data: Count,
    data_bytes: u64,
    position_deletes: Count,
    equality_deletes: Count,
    last_updated: Option<(i64, i64)>,
}

#[derive(Debug, Default)]
struct Count {
    records: u64,
    files: i32,
}

impl Partitions {
    pub(super) fn new(metadata: &TableMetadata) -> Result<Self> {
        Ok(Self { unified: UnifiedPartition::new(metadata)?, places: HashMap::new(), found: Vec::new() })
    }

    pub(super) fn add(&mut self, metadata: &TableMetadata, entries: &[ManifestEntry]) -> Result<()> {
        for entry in entries.iter().filter(|entry| entry.status != ManifestStatus::Deleted) {
            let spec_id = entry.data_file.spec_id;
            let cells = self.unified.cells(spec_id, &entry.data_file.partition)?;
            let value = |cell: &Cell| if let Cell::Value(value) = cell { Some(value.clone()) } else { None };
            let key = (self.unified.fields_of(spec_id), cells.iter().map(value).collect());
            let at = *self.places.entry(key).or_insert_with(|| {
                self.found.push((cells, Totals::default()));
                self.found.len() - 1
            });
            let snapshot = entry.snapshot_id.and_then(|id| metadata.snapshot_by_id(id));
            if let Some((_, totals)) = self.found.get_mut(at) {
                totals.add(entry, snapshot.map(AsRef::as_ref));
            }
        }
        Ok(())
    }

    pub(super) fn into_rows(self) -> Vec<Row> {
        let partitioned = self.unified.field().is_ok_and(|field| field.is_some());
        let row = |(partition, totals): (Vec<Cell>, Totals)| {
            let mut row = Vec::new();
            if partitioned {
                row = vec![Cell::Struct(partition), totals.spec_id.into()];
            }
            let (at, snapshot_id) = totals.last_updated.unzip();
            row.extend([
                count(totals.data.records),
                totals.data.files.into(),
                count(totals.data_bytes),
                count(totals.position_deletes.records),
                totals.position_deletes.files.into(),
                count(totals.equality_deletes.records),
                totals.equality_deletes.files.into(),
                at.map_or(Cell::Null, instant_cell),
                snapshot_id.into(),
            ]);
            row
        };
        self.found.into_iter().map(row).collect()
    }
}

impl Totals {
    fn add(&mut self, entry: &ManifestEntry, snapshot: Option<&Snapshot>) {
        let file = &entry.data_file;
        if let Some(snapshot) = snapshot
            && self.last_updated.is_none_or(|(at, _)| snapshot.timestamp_ms() > at)
        {
            self.spec_id = file.spec_id;
            self.last_updated = Some((snapshot.timestamp_ms(), snapshot.snapshot_id()));
        }
        let count = match file.content {
            FileContent::Data => {
                self.data_bytes = self.data_bytes.saturating_add(file.file_size_in_bytes);
                &mut self.data
            }
            FileContent::PositionDeletes => &mut self.position_deletes,
            FileContent::EqualityDeletes => &mut self.equality_deletes,
        };
        count.records = count.records.saturating_add(file.record_count);
        count.files = count.files.saturating_add(1);
    }
}
