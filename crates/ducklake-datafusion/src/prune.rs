//! Which data files a query can leave out, by the bounds that the catalog keeps.

use std::{collections::HashSet, sync::Arc};

use arrow::{
    array::{ArrayRef, BooleanArray},
    datatypes::SchemaRef,
};
use datafusion::{
    catalog::Session,
    common::{Column as ColumnName, DFSchema, ScalarValue, pruning::PruningStatistics},
    logical_expr::{Expr, utils::conjunction},
    physical_optimizer::pruning::PruningPredicateBuilder,
};

use crate::{
    adapter::has_trustworthy_bounds,
    columns::Column,
    files::{Bounds, DataFile},
    values::{array_of, from_text, scalar},
};

/// Keeps the files that may have rows which meet the filters.
pub(crate) fn prune(
    session: &dyn Session,
    filters: &[Expr],
    schema: &SchemaRef,
    columns: &[Column],
    files: Vec<DataFile>,
) -> Vec<DataFile> {
    match kept(session, filters, schema, &Files { columns, files: &files }) {
        Some(kept) => files.into_iter().zip(kept).filter_map(|(file, kept)| kept.then_some(file)).collect(),
        None => files,
    }
}

/// Nothing, if the filters cannot be used.
fn kept(session: &dyn Session, filters: &[Expr], schema: &SchemaRef, files: &Files<'_>) -> Option<Vec<bool>> {
    let filter = conjunction(filters.iter().cloned())?;
    let of_table = DFSchema::try_from(Arc::clone(schema)).ok()?;
    let filter = session.create_physical_expr(filter, &of_table).ok()?;
    let predicate = PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema)).try_build(filter).ok()?;
    predicate.prune(files).ok().filter(|kept| kept.len() == files.files.len())
}

struct Files<'a> {
    columns: &'a [Column],
    files: &'a [DataFile],
}

impl Files<'_> {
    /// One bound of a column in each file, NULL where it is not known.
    fn bounds(&self, name: &str, of: impl Fn(&Bounds) -> Option<&str>) -> Option<ArrayRef> {
        let column = self.columns.iter().find(|column| column.name == name)?;
        if !has_trustworthy_bounds(&column.data_type()?) {
            return None;
        }
        let unknown = scalar(column, &crate::metadata::Cell::Null)?;
        let bound = |file: &DataFile| {
            let bounds = file.bounds.iter().find(|bounds| bounds.column == column.id);
            bounds.and_then(&of).and_then(|text| from_text(column, text)).unwrap_or_else(|| unknown.clone())
        };
        array_of(column, self.files.iter().map(bound).collect())
    }
}

impl PruningStatistics for Files<'_> {
    fn min_values(&self, column: &ColumnName) -> Option<ArrayRef> {
        self.bounds(&column.name, |bounds| bounds.min.as_deref())
    }

    fn max_values(&self, column: &ColumnName) -> Option<ArrayRef> {
        self.bounds(&column.name, |bounds| bounds.max.as_deref())
    }

    fn num_containers(&self) -> usize {
        self.files.len()
    }

    fn null_counts(&self, _: &ColumnName) -> Option<ArrayRef> {
        None
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        None
    }

    fn contained(&self, _: &ColumnName, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
