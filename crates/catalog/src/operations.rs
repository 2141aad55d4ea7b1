//! What a caller asks of a catalog, whatever keeps its pointers.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use lakelock_iceberg::Table;
use lakelock_iceberg::commit::TableCommit;
use lakelock_iceberg::metadata::TableDocument;
use lakelock_iceberg::spec::{self, NamespaceIdent, TableIdent};

use crate::pointers::{Swap, implies};
use crate::tables::{Check, HasTables, already_exists, conflict, describe, not_found, off_async_threads};
use crate::{Catalog, Error, ErrorKind, Result, TableCreation, names, purge};

const FORMAT_VERSION: &str = "format-version";

/// A table's default that Java writes into its metadata, so that every writer agrees.
const PARQUET_CODEC: (&str, &str) = ("write.parquet.compression-codec", "zstd");

#[async_trait]
impl<C: HasTables + fmt::Debug + Send + Sync> Catalog for C {
    fn name(&self) -> &str {
        &self.tables().name
    }

    async fn create_namespace(&self, namespace: &NamespaceIdent, properties: HashMap<String, String>) -> Result<()> {
        names::check_namespace(namespace)?;
        self.tables().pointers.create_namespace(namespace, &properties).await
    }

    async fn drop_namespace(&self, namespace: &NamespaceIdent) -> Result<()> {
        self.tables().pointers.drop_namespace(namespace).await
    }

    async fn list_namespaces(&self, parent: Option<&NamespaceIdent>) -> Result<Vec<NamespaceIdent>> {
        let known = self.tables().pointers.namespaces().await?;
        if let Some(parent) = parent
            && !implies(&known, parent)
        {
            return Err(not_found("namespace", parent));
        }
        let parent: &[String] = parent.map_or(&[], |p| p.as_ref());
        let children: BTreeSet<&[String]> = known
            .iter()
            .map(|namespace| namespace.as_ref().as_slice())
            .filter(|levels| levels.starts_with(parent))
            .filter_map(|levels| levels.get(..=parent.len()))
            .collect();
        Ok(children.into_iter().filter_map(|levels| NamespaceIdent::from_vec(levels.to_vec()).ok()).collect())
    }

    async fn namespace_exists(&self, namespace: &NamespaceIdent) -> Result<bool> {
        self.tables().pointers.namespace_exists(namespace).await
    }

    async fn namespace_properties(&self, namespace: &NamespaceIdent) -> Result<HashMap<String, String>> {
        if !self.namespace_exists(namespace).await? {
            return Err(not_found("namespace", namespace));
        }
        self.tables().pointers.namespace_properties(namespace).await
    }

    async fn create_table(&self, mut creation: TableCreation) -> Result<Table> {
        let tables = self.tables();
        let table = creation.identifier.clone();
        names::check_table(&table)?;
        if !self.namespace_exists(table.namespace()).await? {
            return Err(not_found("namespace", table.namespace()));
        }
        if self.table_exists(&table).await? {
            return Err(already_exists("table", &table));
        }
        let location = tables.location_of(&table, creation.location.take().as_deref()).await?;
        let document = TableDocument::create(into_spec(creation, location)?)?;
        let written = tables.write(document, None).await?;
        // Whatever can fail for the table itself must do so before it is there.
        let created = match tables.table(&table, &written) {
            Ok(created) => created,
            Err(error) => {
                tables.discard(&written).await;
                return Err(error);
            }
        };
        if let Err(error) = tables.pointers.insert(&table, &written).await {
            tables.outcome(&table, &written, error).await?;
        }
        Ok(created)
    }

    async fn register_table(&self, table: &TableIdent, metadata_location: &str, key_id: Option<&str>) -> Result<Table> {
        let tables = self.tables();
        names::check_table(table)?;
        if !self.namespace_exists(table.namespace()).await? {
            return Err(not_found("namespace", table.namespace()));
        }
        if self.table_exists(table).await? {
            return Err(already_exists("table", table));
        }
        let invalid = |message: String| Error::new(ErrorKind::InvalidInput, message);
        let file = tables.read_file(metadata_location).await;
        let file = file.map_err(|e| invalid(format!("table {table} cannot be registered")).with_source(e))?;
        let loaded = tables.parse(file).await?;
        let found = loaded.key_id();
        if found != key_id {
            let (found, expected) = (describe(found), describe(key_id));
            return Err(invalid(format!("{metadata_location} has {found}, and {expected} was expected")));
        }
        let registered = tables.table(table, &loaded)?;
        tables.pointers.insert(table, &loaded).await?;
        Ok(registered)
    }

    async fn load_table(&self, table: &TableIdent) -> Result<Table> {
        let loaded = self.tables().load(table, Check::File).await?;
        self.tables().table(table, &loaded)
    }

    async fn drop_table(&self, table: &TableIdent, purge: bool) -> Result<()> {
        let tables = self.tables();
        if !purge {
            if !self.table_exists(table).await? {
                return Err(not_found("table", table));
            }
            return match tables.pointers.remove(table, None).await? {
                Swap::Done => Ok(()),
                Swap::Lost | Swap::LostOrFollowed => Err(not_found("table", table)),
            };
        }
        let loaded = self.load_table(table).await?;
        if let Some(other) = purge::sharer(&*tables.pointers, &loaded).await? {
            let message = format!("the files of table {table} are those of table {other} too: they cannot be purged");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        let files = purge::files(&loaded).await?;
        match tables.pointers.remove(table, Some(loaded.metadata_location())).await? {
            Swap::Done => purge::delete(table, &tables.storage, files).await,
            Swap::Lost | Swap::LostOrFollowed => Err(conflict(table)),
        }
    }

    async fn list_tables(&self, namespace: &NamespaceIdent) -> Result<Vec<TableIdent>> {
        if !self.namespace_exists(namespace).await? {
            return Err(not_found("namespace", namespace));
        }
        let mut names = self.tables().pointers.tables(namespace).await?;
        names.sort_unstable();
        Ok(names.into_iter().map(|name| TableIdent::new(namespace.clone(), name)).collect())
    }

    async fn table_exists(&self, table: &TableIdent) -> Result<bool> {
        Ok(self.tables().pointer(table).await?.is_some())
    }

    async fn update_table(&self, commit: TableCommit) -> Result<Table> {
        let tables = self.tables();
        let table = &commit.identifier;
        let base = tables.load(table, Check::Pin).await?;
        for requirement in &commit.requirements {
            requirement.check(Some(base.document.metadata())).map_err(|e| conflict(table).with_source(e))?;
        }
        let document = {
            let (document, location, updates) = (base.document.clone(), base.location.clone(), commit.updates);
            off_async_threads(document.json_length(), move || Ok(document.apply(&updates, &location)?)).await?
        };
        if Arc::ptr_eq(document.metadata(), base.document.metadata()) {
            return tables.table(table, &base);
        }
        let written = tables.write(document, Some(&base.location)).await?;
        let updated = match tables.table(table, &written) {
            Ok(updated) => updated,
            Err(error) => {
                tables.discard(&written).await;
                return Err(error);
            }
        };
        let lost = match tables.pointers.swap(table, &base, &written).await {
            Ok(Swap::Done) => false,
            Ok(Swap::Lost) => true,
            Ok(Swap::LostOrFollowed) => !tables.has_taken_place(table, &written).await?,
            Err(error) => {
                tables.outcome(table, &written, error).await?;
                false
            }
        };
        if lost {
            tables.discard(&written).await;
            return Err(conflict(table));
        }
        tables.documents.remove(&base.location);
        Ok(updated)
    }
}

fn into_spec(creation: TableCreation, location: String) -> Result<spec::TableCreation> {
    let TableCreation { identifier, schema, location: _, partition_spec, sort_order, mut properties, format_version } =
        creation;
    let format_version = match properties.remove(FORMAT_VERSION).as_deref() {
        None => format_version,
        Some("1") => spec::FormatVersion::V1,
        Some("2") => spec::FormatVersion::V2,
        Some("3") => spec::FormatVersion::V3,
        Some(other) => {
            let message = format!("{FORMAT_VERSION} of table {identifier} is {other}: expected 1, 2 or 3");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
    };
    properties.entry(PARQUET_CODEC.0.to_owned()).or_insert_with(|| PARQUET_CODEC.1.to_owned());
    Ok(spec::TableCreation {
        name: identifier.to_string(),
        location: Some(location),
        schema,
        partition_spec,
        sort_order,
        properties,
        format_version,
    })
}
