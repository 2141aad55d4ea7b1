//! Files, and the manifest entries that hold them.

use std::collections::BTreeMap;

use arrow::datatypes::{DataType, Field};

use super::cell::{Cell, Row, count};
use super::partition::UnifiedPartition;
use super::readable_metrics::ReadableMetrics;
use super::{list_of, map_of, optional, redacted, required};
use crate::Result;
use crate::manifest::{DataFile, FileFormat, ManifestEntry};
use crate::spec::TableMetadata;

/// Makes rows of a table's files.
#[derive(Debug)]
pub(super) struct FileColumns {
    partition: UnifiedPartition,
    metrics: ReadableMetrics,
}

impl FileColumns {
    pub(super) fn new(metadata: &TableMetadata) -> Result<Self> {
        let partition = UnifiedPartition::new(metadata)?;
        Ok(Self { partition, metrics: ReadableMetrics::new(metadata.current_schema()) })
    }

    /// The columns of `files` and its like.
    pub(super) fn file_fields(&self) -> Result<Vec<Field>> {
        let mut fields = self.data_file_fields()?;
        fields.push(self.metrics.field()?);
        Ok(fields)
    }

    /// The columns of `entries`.
    pub(super) fn entry_fields(&self) -> Result<Vec<Field>> {
        Ok(vec![
            required("status", DataType::Int32),
            optional("snapshot_id", DataType::Int64),
            optional("sequence_number", DataType::Int64),
            optional("file_sequence_number", DataType::Int64),
            required("data_file", DataType::Struct(self.data_file_fields()?.into())),
            self.metrics.field()?,
        ])
    }

    fn data_file_fields(&self) -> Result<Vec<Field>> {
        let counts = || map_of(DataType::Int32, DataType::Int64);
        let bounds = || map_of(DataType::Int32, DataType::Binary);
        let mut fields = vec![
            optional("content", DataType::Int32),
            required("file_path", DataType::Utf8),
            required("file_format", DataType::Utf8),
            optional("spec_id", DataType::Int32),
        ];
        fields.extend(self.partition.field()?);
        fields.extend([
            required("record_count", DataType::Int64),
            required("file_size_in_bytes", DataType::Int64),
            optional("column_sizes", counts()),
            optional("value_counts", counts()),
            optional("null_value_counts", counts()),
            optional("nan_value_counts", counts()),
            optional("lower_bounds", bounds()),
            optional("upper_bounds", bounds()),
            optional("key_metadata", DataType::Binary),
            optional("split_offsets", list_of(DataType::Int64)),
            optional("equality_ids", list_of(DataType::Int32)),
            optional("sort_order_id", DataType::Int32),
            optional("first_row_id", DataType::Int64),
            optional("referenced_data_file", DataType::Utf8),
            optional("content_offset", DataType::Int64),
            optional("content_size_in_bytes", DataType::Int64),
        ]);
        Ok(fields)
    }

    pub(super) fn file(&self, file: &DataFile) -> Result<Row> {
        let mut row = self.data_file(file)?;
        row.push(self.metrics.cell(file));
        Ok(row)
    }

    pub(super) fn entry(&self, entry: &ManifestEntry) -> Result<Row> {
        Ok(vec![
            (entry.status as i32).into(),
            entry.snapshot_id.into(),
            entry.sequence_number.into(),
            entry.file_sequence_number.into(),
            Cell::Struct(self.data_file(&entry.data_file)?),
            self.metrics.cell(&entry.data_file),
        ])
    }

    fn data_file(&self, file: &DataFile) -> Result<Row> {
        let format = match file.file_format {
            FileFormat::Avro => "AVRO",
            FileFormat::Orc => "ORC",
            FileFormat::Parquet => "PARQUET",
            FileFormat::Puffin => "PUFFIN",
        };
        let mut row =
            vec![(file.content as i32).into(), file.file_path.as_str().into(), format.into(), file.spec_id.into()];
        if self.partition.field()?.is_some() {
            row.push(Cell::Struct(self.partition.cells(file.spec_id, &file.partition)?));
        }
        row.extend([
            count(file.record_count),
            count(file.file_size_in_bytes),
            map(file.column_sizes.as_ref()),
            map(file.value_counts.as_ref()),
            map(file.null_value_counts.as_ref()),
            map(file.nan_value_counts.as_ref()),
            map(file.lower_bounds.as_ref()),
            map(file.upper_bounds.as_ref()),
            redacted(file.key_metadata.as_ref()),
            list(file.split_offsets.as_ref()),
            list(file.equality_ids.as_ref()),
            file.sort_order_id.into(),
            file.first_row_id.into(),
            file.referenced_data_file.as_deref().into(),
            file.content_offset.into(),
            file.content_size_in_bytes.into(),
        ]);
        Ok(row)
    }
}

fn map<T: Clone + Into<Cell>>(values: Option<&BTreeMap<i32, T>>) -> Cell {
    let cell = |values: &BTreeMap<i32, T>| {
        Cell::Map(values.iter().map(|(id, value)| ((*id).into(), value.clone().into())).collect())
    };
    values.map_or(Cell::Null, cell)
}

fn list<T: Clone + Into<Cell>>(values: Option<&Vec<T>>) -> Cell {
    values.map_or(Cell::Null, |values| Cell::List(values.iter().cloned().map(Into::into).collect()))
}
