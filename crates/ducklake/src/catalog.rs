//! Which schemas and tables there are.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use crate::{
    error::{Error, ErrorKind, Result, corrupt, not_found},
    keys,
    table::{TableDef, TableId},
    view::View,
};

/// The schema that is always there.
pub(crate) const MAIN: &str = "main";

/// The schemas and tables of a moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    /// By name in lower case.
    schemas: BTreeMap<String, String>,
    by_name: BTreeMap<(String, String), Arc<TableDef>>,
    by_id: HashMap<TableId, Arc<TableDef>>,
}

impl Catalog {
    pub(crate) async fn load(view: &View) -> Result<Self> {
        let mut catalog = Self::default();
        let mut schemas = view.scan_prefix(keys::SCHEMAS).await?;
        while let Some((_, name)) = schemas.next().await? {
            let name = String::from_utf8(name.into()).map_err(|_| corrupt("the name of a schema is not UTF-8"))?;
            catalog.put_schema(name);
        }
        let mut tables = view.scan_prefix(keys::TABLES).await?;
        while let Some((key, definition)) = tables.next().await? {
            let id = keys::parse_table(keys::TABLES, &key)?;
            catalog.put_table(Arc::new(TableDef::from_json(id, &definition)?));
        }
        Ok(catalog)
    }

    pub(crate) fn schemas(&self) -> impl Iterator<Item = &str> {
        self.schemas.values().map(String::as_str)
    }

    /// The schema of this name, as it was written when it was made.
    pub(crate) fn schema(&self, name: &str) -> Result<&str> {
        let found = self.schemas.get(&name.to_ascii_lowercase());
        found.map(String::as_str).ok_or_else(|| not_found(format!("there is no schema \"{name}\"")))
    }

    pub(crate) fn put_schema(&mut self, name: String) {
        self.schemas.insert(name.to_ascii_lowercase(), name);
    }

    pub(crate) fn remove_schema(&mut self, name: &str) {
        self.schemas.remove(&name.to_ascii_lowercase());
    }

    pub(crate) fn tables(&self, schema: &str) -> impl Iterator<Item = &Arc<TableDef>> {
        let schema = schema.to_ascii_lowercase();
        let from = (schema.clone(), String::new());
        self.by_name.range(from..).take_while(move |((found, _), _)| *found == schema).map(|(_, table)| table)
    }

    pub(crate) fn table(&self, schema: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.by_name.get(&folded(schema, name))
    }

    pub(crate) fn table_by_id(&self, id: TableId) -> Result<&Arc<TableDef>> {
        self.by_id.get(&id).ok_or_else(|| not_found(format!("there is no table number {} any more", id.0)))
    }

    /// Refuses a name that is taken.
    pub(crate) fn check_free(&self, schema: &str, name: &str) -> Result<()> {
        match self.table(schema, name) {
            None => Ok(()),
            Some(table) => Err(Error::new(ErrorKind::AlreadyExists, format!("{table} exists already"))),
        }
    }

    /// Adds a table, or puts it in place of the one with its number.
    pub(crate) fn put_table(&mut self, table: Arc<TableDef>) {
        self.remove_table(table.id());
        self.by_name.insert(folded(table.schema(), table.name()), Arc::clone(&table));
        self.by_id.insert(table.id(), table);
    }

    pub(crate) fn remove_table(&mut self, id: TableId) {
        if let Some(table) = self.by_id.remove(&id) {
            self.by_name.remove(&folded(table.schema(), table.name()));
        }
    }
}

/// A table's name, in the form in which names are compared.
pub(crate) fn folded(schema: &str, name: &str) -> (String, String) {
    (schema.to_ascii_lowercase(), name.to_ascii_lowercase())
}
