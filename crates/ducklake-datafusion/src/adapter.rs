//! Finds a table's columns in a data file: by the field id that a column keeps for life, whatever is done to it.

use std::{collections::HashMap, sync::Arc};

use arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::{
    common::{
        ScalarValue,
        tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion},
    },
    error::Result,
    physical_expr::{
        PhysicalExpr,
        expressions::{Column, Literal},
    },
    physical_expr_adapter::{PhysicalExprAdapter, PhysicalExprAdapterFactory},
};
use lakelock_datafusion::field_ids::{Conform, ConformExpr, InitialDefaults};

use crate::{columns::field_id_in, error::invalid};

/// Values by field id.
pub(crate) type Values = Arc<HashMap<i32, ScalarValue>>;

/// Makes the adapters of files that have some columns in their paths.
#[derive(Clone, Debug)]
pub(crate) struct AdapterFactory {
    pub(crate) defaults: Arc<InitialDefaults>,
    /// What the paths of the files say.
    pub(crate) constants: Values,
}

impl PhysicalExprAdapterFactory for AdapterFactory {
    fn create(&self, logical: SchemaRef, physical: SchemaRef) -> Result<Arc<dyn PhysicalExprAdapter>> {
        let by_id = physical.fields().iter().enumerate().filter_map(|(at, field)| Some((field_id_in(field)?, at)));
        let by_id = by_id.collect();
        Ok(Arc::new(Adapter { logical, physical, by_id, factory: self.clone() }))
    }
}

/// Rewrites expressions over a table's columns into expressions over a file's columns.
#[derive(Debug)]
struct Adapter {
    logical: SchemaRef,
    physical: SchemaRef,
    /// Positions in the file by field id.
    by_id: HashMap<i32, usize>,
    factory: AdapterFactory,
}

impl PhysicalExprAdapter for Adapter {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        let column = |expr: Arc<dyn PhysicalExpr>| match expr.downcast_ref::<Column>() {
            Some(column) => Ok(Transformed::new(self.column(column.name())?, true, TreeNodeRecursion::Jump)),
            None => Ok(Transformed::no(expr)),
        };
        expr.transform_down(column).data()
    }
}

impl Adapter {
    fn column(&self, name: &str) -> Result<Arc<dyn PhysicalExpr>> {
        let target = self.logical.field_with_name(name)?;
        let id = field_id_in(target).ok_or_else(|| invalid(format!("column {name} has no id")))?;
        if let Some(constant) = self.factory.constants.get(&id) {
            return Ok(literal(constant.clone(), target));
        }
        let Some(at) = self.by_id.get(&id) else {
            return Ok(literal(self.factory.defaults.missing(id, target)?, target));
        };
        let source = self.physical.field(*at);
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(source.name(), *at));
        Ok(match Conform::plan(source, target, &self.factory.defaults)? {
            Conform::Keep if has_trustworthy_bounds(target.data_type()) => column,
            // The engine prunes by what it understands, and this it does not.
            conform => Arc::new(ConformExpr::new(column, Arc::new(target.clone()), conform)),
        })
    }
}

/// Whether values are ordered in the bounds of files as they are in queries. Those of floating-point columns leave NaN out, which
/// the engine takes for greater than every number; those of bytes are not written alike by everybody.
pub(crate) fn has_trustworthy_bounds(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Date32
                | DataType::Decimal128(..)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
                | DataType::Utf8
        )
}

fn literal(value: ScalarValue, field: &Field) -> Arc<dyn PhysicalExpr> {
    Arc::new(Literal::new_with_metadata(value, Some(field.into())))
}
