//! What manifests say of the files to read, for DataFusion's optimizer.

use std::collections::BTreeMap;

use datafusion::arrow::datatypes::Schema as ArrowSchema;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use lakelock_iceberg::arrow_schema::field_id;
use lakelock_iceberg::manifest::DataFile;
use lakelock_iceberg::opaque::OpaqueType;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_iceberg::spec::{Datum, PrimitiveType, Schema, Type};

use crate::columns::scalar;

type Bounds = BTreeMap<i32, Vec<u8>>;

/// Statistics of the rows in the files, for the columns of `arrow`.
///
/// The number of rows is exact, as the specification wants it of every writer, unless there are deletes that do not say
/// how many rows they delete. All else is a hint, since bounds may be cut and their order is not always the engine's.
pub(crate) fn statistics(tasks: &[FileScanTask], schema: &Schema, arrow: &ArrowSchema) -> Statistics {
    let mut statistics = Statistics::new_unknown(arrow);
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let total = |of: fn(&FileScanTask) -> u64| tasks.iter().map(of).fold(0_u64, u64::saturating_add);
    let live = tasks.iter().map(FileScanTask::live_record_count).try_fold(0_u64, |all, rows| all.checked_add(rows?));
    statistics.num_rows = match live {
        Some(rows) => Precision::Exact(size(rows)),
        None => Precision::Inexact(size(total(FileScanTask::record_count))),
    };
    statistics.total_byte_size = Precision::Inexact(size(total(|task| task.data_file().file_size_in_bytes)));
    for (column, field) in statistics.column_statistics.iter_mut().zip(arrow.fields()) {
        let Some(field) = field_id(field).and_then(|id| schema.field_by_id(id)) else { continue };
        let Type::Primitive(r#type) = field.field_type.as_ref() else { continue };
        if OpaqueType::of(r#type).is_some() {
            continue;
        }
        let nulls = tasks.iter().try_fold(0_u64, |sum, task| {
            let counts = task.data_file().null_value_counts.as_ref();
            sum.checked_add(u64::try_from(*counts?.get(&field.id)?).ok()?)
        });
        let bounds = |of: fn(&DataFile) -> Option<&Bounds>| {
            // Bounds leave NaN out, which the engine takes for greater than every number.
            if matches!(r#type, PrimitiveType::Float | PrimitiveType::Double) {
                return None;
            }
            let arrow = arrow.field_with_name(&field.name).ok()?.data_type();
            let bound = |task: &FileScanTask| {
                let bytes = of(task.data_file())?.get(&field.id)?;
                scalar(Datum::try_from_bytes(bytes, r#type.clone()).ok()?.literal().clone(), arrow)
            };
            tasks.iter().map(bound).collect::<Option<Vec<ScalarValue>>>()
        };
        *column = ColumnStatistics {
            null_count: nulls.map_or(Precision::Absent, |nulls| Precision::Inexact(size(nulls))),
            min_value: extreme(bounds(|file| file.lower_bounds.as_ref()), |a, b| a < b),
            max_value: extreme(bounds(|file| file.upper_bounds.as_ref()), |a, b| a > b),
            ..ColumnStatistics::new_unknown()
        };
    }
    statistics
}

fn extreme(bounds: Option<Vec<ScalarValue>>, better: fn(&ScalarValue, &ScalarValue) -> bool) -> Precision<ScalarValue> {
    let extreme = bounds.and_then(|bounds| bounds.into_iter().reduce(|a, b| if better(&b, &a) { b } else { a }));
    extreme.map_or(Precision::Absent, Precision::Inexact)
}
