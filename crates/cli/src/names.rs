//! Names of tables and namespaces as people type them: levels separated by dots.

use lakelock_catalog::Catalog;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};

use crate::failure::{Failure, Result};

/// Parses `namespace.table`.
pub(crate) fn table(text: &str) -> Result<TableIdent> {
    let levels: Vec<String> = text.split('.').map(|level| level.trim().to_owned()).collect();
    match levels.split_last() {
        Some((name, namespace)) if !namespace.is_empty() && levels.iter().all(|level| !level.is_empty()) => {
            let namespace = NamespaceIdent::from_vec(namespace.to_vec())
                .map_err(|_| Failure::usage(format!("{text:?} is not the name of a table")))?;
            Ok(TableIdent::new(namespace, name.clone()))
        }
        _ => Err(Failure::usage(format!("{text:?} is not the name of a table"))
            .hint("a table's name has its namespace before it: NAMESPACE.TABLE")),
    }
}

/// Parses a namespace.
pub(crate) fn namespace(text: &str) -> Result<NamespaceIdent> {
    let levels: Vec<String> = text.split('.').map(|level| level.trim().to_owned()).collect();
    let wrong = || Failure::usage(format!("{text:?} is not the name of a namespace"));
    if levels.iter().any(String::is_empty) {
        return Err(wrong());
    }
    NamespaceIdent::from_vec(levels).map_err(|_| wrong())
}

/// A table's name as it is typed.
pub(crate) fn show(ident: &TableIdent) -> String {
    format!("{}.{}", show_namespace(ident.namespace()), ident.name())
}

/// A namespace as it is typed.
pub(crate) fn show_namespace(namespace: &NamespaceIdent) -> String {
    namespace.as_ref().join(".")
}

/// A name, or the levels of a namespace, as SQL takes it: in quotes unless it is plain and in lower case. In SQL a
/// namespace of several levels is one name.
pub(crate) fn in_sql(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.chars().all(is_plain) && !name.starts_with(|c: char| c.is_ascii_digit()) && !name.is_empty() {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// All namespaces, those within others after them.
pub(crate) async fn all_namespaces(catalog: &dyn Catalog) -> Result<Vec<NamespaceIdent>> {
    let mut open = catalog.list_namespaces(None).await?;
    let mut all = Vec::new();
    while let Some(namespace) = open.pop() {
        open.extend(catalog.list_namespaces(Some(&namespace)).await?);
        all.push(namespace);
    }
    all.sort_by_key(show_namespace);
    all.dedup();
    Ok(all)
}

/// All tables.
pub(crate) async fn all_tables(catalog: &dyn Catalog) -> Result<Vec<TableIdent>> {
    let mut all = Vec::new();
    for namespace in all_namespaces(catalog).await? {
        all.extend(catalog.list_tables(&namespace).await?);
    }
    all.sort_by_key(show);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Fault;

    #[test]
    fn names_need_a_namespace() {
        assert_eq!(show(&table("a.b.c").unwrap()), "a.b.c");
        for wrong in ["", "t", "a.", ".t", "a..t"] {
            assert!(table(wrong).unwrap_err().fault() == Fault::Usage, "{wrong}");
        }
        assert!(namespace("a..b").is_err());
    }

    #[test]
    fn sql_has_quotes_around_what_is_not_plain() {
        for (name, expected) in [
            ("orders_2", "orders_2"),
            ("Orders", "\"Orders\""),
            ("2024", "\"2024\""),
            ("a.b", "\"a.b\""),
            ("a\"b", "\"a\"\"b\""),
        ] {
            assert_eq!(in_sql(name), expected);
        }
    }
}
