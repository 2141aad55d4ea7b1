//! What somebody may have meant whose statement names what is not there.

use datafusion::catalog::CatalogProvider;
use datafusion::catalog::information_schema::INFORMATION_SCHEMA;
use datafusion::common::{Column, SchemaError, TableReference};
use datafusion::execution::context::SessionContext;
use lakelock_datafusion::TableName;
use lakelock_ducklake_datafusion::DuckLakeCatalog;
use lakelock_iceberg::metadata_table::MetadataTable;

use crate::failure::Failure;
use crate::names;

/// Adds a hint to a mistake in a statement that names what is not there: often a name differs in its case alone, as
/// unquoted names are in lower case in SQL.
pub(super) fn add(failure: Failure, session: &SessionContext, statement: &str) -> Failure {
    let hint = match failure.find::<SchemaError>() {
        Some(SchemaError::FieldNotFound { field, valid_fields }) => column(field, valid_fields),
        Some(_) => None,
        None => tables_of(session, statement).iter().find_map(|table| table_hint(session, table)),
    };
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn tables_of(session: &SessionContext, statement: &str) -> Vec<TableReference> {
    let statement = lakelock_datafusion::parse(session, statement);
    let tables = statement.and_then(|statement| session.state().resolve_table_references(&statement));
    tables.unwrap_or_default().into_iter().map(|table| own_table(session, table)).collect()
}

/// The table that a version or a metadata table is one of.
fn own_table(session: &SessionContext, table: TableReference) -> TableReference {
    let name = TableName::parse(table.table()).table;
    match table {
        TableReference::Full { catalog, schema, .. }
            if MetadataTable::by_name(&name).is_some() && session.catalog(&catalog).is_none() =>
        {
            TableReference::partial(catalog, schema)
        }
        TableReference::Full { catalog, schema, .. } => TableReference::full(catalog, schema, name),
        TableReference::Partial { schema, .. } => TableReference::partial(schema, name),
        TableReference::Bare { .. } => TableReference::bare(name),
    }
}

/// What to write instead of a table's name, unless there is a table of that name.
fn table_hint(session: &SessionContext, table: &TableReference) -> Option<String> {
    let state = session.state();
    let defaults = &state.config_options().catalog;
    let wanted = table.clone().resolve(&defaults.default_catalog, &defaults.default_schema);
    if &*wanted.schema == INFORMATION_SCHEMA {
        return None;
    }
    let Some(catalog) = session.catalog(&wanted.catalog) else {
        let namespace = format!("{}.{}", wanted.catalog, wanted.schema);
        let catalog = session.catalog(&defaults.default_catalog)?;
        return Some(if catalog.schema_names().contains(&namespace) {
            let written = format!("{}.{}", names::in_sql(&namespace), names::in_sql(&wanted.table));
            format!("a namespace of several levels is quoted: write {written}")
        } else {
            format!("if {} is another catalog, --catalog {0} opens that one", wanted.catalog)
        });
    };
    let (mut other_case, mut other_schema) = (None, None);
    for schema in catalog.schema_names() {
        let tables = catalog.schema(&schema).map(|schema| schema.table_names()).unwrap_or_default();
        for found in tables.into_iter().filter(|found| found.eq_ignore_ascii_case(&wanted.table)) {
            let written = format!("{}.{}", names::in_sql(&schema), names::in_sql(&found));
            if schema == *wanted.schema && found == *wanted.table {
                return None;
            }
            if schema.eq_ignore_ascii_case(&wanted.schema) {
                other_case = Some(written);
            } else if table.schema().is_none() {
                other_schema = Some(written);
            }
        }
    }
    Some(match (other_case, other_schema) {
        (Some(written), _) => in_other_case(&written),
        (None, Some(written)) => format!("a table's name has its namespace before it: write {written}"),
        (None, None) if <dyn CatalogProvider>::is::<DuckLakeCatalog>(&*catalog) => {
            "`show tables` shows the tables there are".to_owned()
        }
        (None, None) => "`lakelock table list` shows the tables there are".to_owned(),
    })
}

fn in_other_case(written: &str) -> String {
    format!("unquoted names are in lower case: write {written}")
}

fn column(wanted: &Column, known: &[Column]) -> Option<String> {
    let like = known.iter().find(|known| known.name.eq_ignore_ascii_case(&wanted.name) && known.name != wanted.name)?;
    Some(in_other_case(&names::in_sql(&like.name)))
}
