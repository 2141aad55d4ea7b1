//! Statistics of a data file, as Java keeps them in manifests.

mod bounds;
mod floats;
mod mode;

use std::collections::BTreeMap;

use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::statistics::Statistics;

use bounds::Value;
pub(super) use floats::FloatMetrics;
pub(super) use mode::{MetricsConfig, MetricsMode};

use crate::spec::{PrimitiveType, Schema, Type};

/// What a manifest says of a file's columns. Map keys are field ids.
#[derive(Debug, Default)]
pub(super) struct FileMetrics {
    pub(super) column_sizes: BTreeMap<i32, i64>,
    pub(super) value_counts: BTreeMap<i32, i64>,
    pub(super) null_value_counts: BTreeMap<i32, i64>,
    pub(super) nan_value_counts: BTreeMap<i32, i64>,
    pub(super) lower_bounds: BTreeMap<i32, Vec<u8>>,
    pub(super) upper_bounds: BTreeMap<i32, Vec<u8>>,
    pub(super) split_offsets: Vec<i64>,
}

impl FileMetrics {
    /// From the footer of a file just written. Leaves inside lists and maps have sizes only.
    pub(super) fn new(
        schema: &Schema,
        config: &MetricsConfig,
        footer: &ParquetMetaData,
        floats: &FloatMetrics,
    ) -> Self {
        let row_groups = footer.row_groups();
        let mut metrics =
            Self { split_offsets: row_groups.iter().filter_map(row_group_start).collect(), ..Self::default() };
        for (index, column) in footer.file_metadata().schema_descr().columns().iter().enumerate() {
            let chunks = row_groups.iter().map(|row_group| row_group.column(index));
            let id = column.self_type().get_basic_info().id();
            let mode = config.mode(id);
            let Some(Type::Primitive(primitive)) = schema.field_by_id(id).map(|field| &*field.field_type) else {
                continue;
            };
            if mode == MetricsMode::None {
                continue;
            }
            metrics.column_sizes.insert(id, chunks.clone().map(ColumnChunkMetaData::compressed_size).sum());
            if column.max_rep_level() == 0 {
                metrics.add_column(id, primitive, mode, chunks, floats);
            }
        }
        metrics
    }

    fn add_column<'a>(
        &mut self,
        id: i32,
        primitive: &PrimitiveType,
        mode: MetricsMode,
        chunks: impl Iterator<Item = &'a ColumnChunkMetaData> + Clone,
        floats: &FloatMetrics,
    ) {
        let nulls = chunks.clone().map(|chunk| chunk.statistics().and_then(Statistics::null_count_opt));
        let Some(nulls) = nulls.sum::<Option<u64>>() else { return };
        self.value_counts.insert(id, chunks.clone().map(ColumnChunkMetaData::num_values).sum());
        self.null_value_counts.insert(id, i64::try_from(nulls).unwrap_or(i64::MAX));
        let float = floats.column(id);
        if let Some(float) = float {
            self.nan_value_counts.insert(id, float.nan_count);
        }
        if mode == MetricsMode::Counts {
            return;
        }
        let (lower, upper) = match float {
            Some(float) => float.bounds().unzip(),
            None => match chunks_range(chunks, primitive) {
                Some((least, greatest)) => (least.lower_bound(primitive, mode), greatest.upper_bound(primitive, mode)),
                None => (None, None),
            },
        };
        self.lower_bounds.extend(lower.map(|lower| (id, lower)));
        self.upper_bounds.extend(upper.map(|upper| (id, upper)));
    }
}

/// The least and the greatest value over all chunks of a column. Chunks of nulls alone do not count; one whose
/// statistics are missing makes the range unknown.
fn chunks_range<'a>(
    chunks: impl Iterator<Item = &'a ColumnChunkMetaData>,
    primitive: &PrimitiveType,
) -> Option<(Value, Value)> {
    let mut range: Option<(Value, Value)> = None;
    for chunk in chunks {
        let statistics = chunk.statistics()?;
        let only_nulls =
            statistics.null_count_opt().and_then(|nulls| i64::try_from(nulls).ok()) == Some(chunk.num_values());
        if only_nulls {
            continue;
        }
        let (least, greatest) = bounds::of_chunk(statistics, primitive)?;
        range = Some(match range {
            Some((a, b)) => (a.min(least), b.max(greatest)),
            None => (least, greatest),
        });
    }
    range
}

/// Where a row group starts: at the dictionary of its first column, or else at that column's first page.
fn row_group_start(row_group: &RowGroupMetaData) -> Option<i64> {
    let first = row_group.columns().first()?;
    let data = first.data_page_offset();
    Some(first.dictionary_page_offset().filter(|dictionary| (1..data).contains(dictionary)).unwrap_or(data))
}
