//! Columns that every table has without showing them: ids and places of rows.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use parquet::arrow::RowNumber;

/// Marks the Arrow field of a metadata column; its value is the column's name.
const METADATA_COLUMN_META_KEY: &str = "lakelock:metadata-column";

/// A column that a table has besides those of its schema.
///
/// `select *` leaves them out. [`crate::sql`] finds them by name; so does any query of a
/// [`crate::LakelockTableProvider`] made with [`with_metadata_columns`](crate::LakelockTableProvider::with_metadata_columns).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataColumn {
    /// `_row_id`: the row's id for life, null in tables without row lineage (before format version 3).
    RowId,
    /// `_last_updated_sequence_number`: of the commit that last changed the row, null in tables without row lineage.
    LastUpdatedSequenceNumber,
    /// `_file`: the location of the row's file.
    File,
    /// `_pos`: the row's position in its file, from 0.
    Position,
    /// `_spec_id`: the partition spec of the row's file.
    SpecId,
    /// `_partition`: the partition of the row's file, with the fields of all specs; null in tables that never had any.
    Partition,
}

impl MetadataColumn {
    /// All of them, in the order they have after a table's own columns. Positions are last, where the Parquet reader puts them.
    pub const ALL: [Self; 6] =
        [Self::RowId, Self::LastUpdatedSequenceNumber, Self::File, Self::SpecId, Self::Partition, Self::Position];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RowId => "_row_id",
            Self::LastUpdatedSequenceNumber => "_last_updated_sequence_number",
            Self::File => "_file",
            Self::Position => "_pos",
            Self::SpecId => "_spec_id",
            Self::Partition => "_partition",
        }
    }

    /// The field id that the specification reserves for it.
    #[must_use]
    pub fn field_id(self) -> i32 {
        match self {
            Self::RowId => 2_147_483_540,
            Self::LastUpdatedSequenceNumber => 2_147_483_539,
            Self::File => 2_147_483_646,
            Self::Position => 2_147_483_645,
            Self::SpecId => 2_147_483_643,
            Self::Partition => 2_147_483_642,
        }
    }

    /// The column of this name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|column| column.name() == name)
    }

    /// Its field in a table whose partitions have these fields.
    pub(crate) fn field(self, partition: &Fields) -> FieldRef {
        let (r#type, nullable) = match self {
            Self::RowId | Self::LastUpdatedSequenceNumber => (DataType::Int64, true),
            Self::File => (DataType::Utf8, false),
            Self::Position => (DataType::Int64, false),
            Self::SpecId => (DataType::Int32, false),
            Self::Partition => (DataType::Struct(partition.clone()), true),
        };
        let metadata = HashMap::from([(METADATA_COLUMN_META_KEY.to_owned(), self.name().to_owned())]);
        let field = Field::new(self.name(), r#type, nullable).with_metadata(metadata);
        // The Parquet reader makes the positions.
        Arc::new(if self == Self::Position { field.with_extension_type(RowNumber) } else { field })
    }

    /// The metadata column that a field made by [`field`](Self::field) stands for.
    pub(crate) fn of(field: &Field) -> Option<Self> {
        Self::by_name(field.metadata().get(METADATA_COLUMN_META_KEY)?)
    }
}
