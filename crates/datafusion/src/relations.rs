//! Names of tables in a parsed statement, made into what DataFusion can look up.
//!
//! DataFusion's names have up to three parts, catalog, schema and table, while `shop.orders.snapshots` is a metadata
//! table of `shop.orders`: it becomes `shop."orders$snapshots"`. Names with such suffixes get an alias, so that columns
//! can still be qualified with the name that was typed.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::TableReference;
use datafusion::error::Result;
use datafusion::execution::context::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Ident, ObjectName, ObjectNamePart, Statement as SqlStatement, TableAlias, TableFactor, Visit, VisitMut, Visitor,
    VisitorMut,
};
use lakelock_iceberg::metadata_table::MetadataTable;

use crate::table_name::TableName;

/// Rewrites the names of metadata tables, and gives aliases.
///
/// `a.b.files` is the metadata table of the table `a.b`, unless `a` is a catalog that has a table `b.files`, or there is
/// no table `a.b`.
///
/// # Errors
/// When a catalog cannot be asked.
pub(crate) async fn resolve(state: &SessionState, statement: &mut Statement) -> Result<()> {
    let lower_case = state.config_options().sql_parser.enable_ident_normalization;
    let Some(statement) = sql_statement(statement) else { return Ok(()) };
    let mut named = Named { lower_case, names: HashSet::new() };
    let _: ControlFlow<()> = Visit::visit(&*statement, &mut named);
    let mut tables = HashSet::new();
    for parts in named.names {
        let [first, second, last] = parts.each_ref().map(String::as_str);
        // Names that begin with no catalog cannot be tables.
        if state.catalog_list().catalog(first).is_some()
            && (exists(state, TableReference::full(first, second, last)).await?
                || !exists(state, TableReference::partial(first, second)).await?)
        {
            tables.insert(parts);
        }
    }
    let _: ControlFlow<()> = VisitMut::visit(statement, &mut Rewriter { lower_case, tables });
    Ok(())
}

async fn exists(state: &SessionState, table: TableReference) -> Result<bool> {
    let name = table.table().to_owned();
    match state.schema_for_ref(table) {
        Ok(schema) => Ok(schema.table(&name).await?.is_some()),
        Err(_) => Ok(false),
    }
}

fn sql_statement(statement: &mut Statement) -> Option<&mut SqlStatement> {
    match statement {
        Statement::Statement(statement) => Some(statement),
        Statement::Explain(explain) => sql_statement(&mut explain.statement),
        _ => None,
    }
}

/// Collects names of three parts that may be those of metadata tables.
struct Named {
    lower_case: bool,
    names: HashSet<[String; 3]>,
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let parts = parts(name, self.lower_case);
        if parts.last().is_some_and(|last| metadata_table(last).is_some())
            && let Ok(parts) = parts.try_into()
        {
            self.names.insert(parts);
        }
        ControlFlow::Continue(())
    }
}

struct Rewriter {
    lower_case: bool,
    /// What looks like a metadata table but is none.
    tables: HashSet<[String; 3]>,
}

impl VisitorMut for Rewriter {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, args: None, .. } = factor
            && let Some(typed) = self.rewrite(name)
            && alias.is_none()
        {
            let name = Ident::with_quote('"', typed);
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &mut ObjectName) -> ControlFlow<()> {
        self.rewrite(name);
        ControlFlow::Continue(())
    }
}

impl Rewriter {
    /// Brings a name into the form of [`TableName`], and returns what it was called if it is more than a table's name.
    fn rewrite(&self, name: &mut ObjectName) -> Option<String> {
        let parts = parts(name, self.lower_case);
        let [.., last] = parts.as_slice() else { return None };
        let meant = TableName::parse(last);
        if let [.., table, _] = parts.as_slice()
            && let Some((metadata_table, version)) = metadata_table(last)
            && parts.len() > 2
            && !<[String; 3]>::try_from(parts.clone()).is_ok_and(|parts| self.tables.contains(&parts))
        {
            let table = TableName { table: table.clone(), metadata_table: Some(metadata_table), version };
            name.0.truncate(parts.len() - 2);
            name.0.push(ObjectNamePart::Identifier(Ident::with_quote('"', table.to_string())));
            return Some(metadata_table.name().to_owned());
        }
        if meant.is_plain() {
            return None;
        }
        Some(meant.metadata_table.map_or(meant.table, |metadata_table| metadata_table.name().to_owned()))
    }
}

/// The metadata table, and its version, that the last part of a name is.
fn metadata_table(name: &str) -> Option<(MetadataTable, Option<lakelock_iceberg::TableVersion>)> {
    let name = TableName::parse(name);
    Some((MetadataTable::by_name(&name.table)?, name.version)).filter(|_| name.metadata_table.is_none())
}

/// The parts of a name; none if it is not made of identifiers alone.
fn parts(name: &ObjectName, lower_case: bool) -> Vec<String> {
    let part = |part: &ObjectNamePart| {
        let part = part.as_ident()?;
        Some(if part.quote_style.is_none() && lower_case {
            part.value.to_ascii_lowercase()
        } else {
            part.value.clone()
        })
    };
    name.0.iter().map(part).collect::<Option<_>>().unwrap_or_default()
}
