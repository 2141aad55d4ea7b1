//! A catalog that lives as long as the process.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};
use lakelock_kms::KmsRegistry;

use crate::loaded::Loaded;
use crate::pointers::{Pointer, PointerStore, Swap, has_children, implies};
use crate::tables::{HasTables, Tables, already_exists, not_found};
use crate::{Error, ErrorKind, Result};

/// A catalog in memory, for tests and what need not last. Its tables are in a memory store of its own unless the property
/// `warehouse` says otherwise.
#[derive(Debug)]
pub struct MemoryCatalog {
    tables: Tables,
}

impl MemoryCatalog {
    /// An empty catalog.
    ///
    /// # Errors
    /// When a property has an impossible value, or the KMS client cannot be set up.
    pub fn new(name: &str, properties: &HashMap<String, String>) -> Result<Self> {
        Self::with_registry(name, properties, &KmsRegistry::with_builtins())
    }

    /// As [`new`](Self::new), with KMS clients of your own.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_registry(name: &str, properties: &HashMap<String, String>, registry: &KmsRegistry) -> Result<Self> {
        let warehouse = properties.get("warehouse").map_or("memory://warehouse", String::as_str);
        let pointers = Box::<MemoryPointers>::default();
        Ok(Self { tables: Tables::new(name, Some(warehouse), properties, registry, pointers)? })
    }
}

impl HasTables for MemoryCatalog {
    fn tables(&self) -> &Tables {
        &self.tables
    }
}

#[derive(Debug, Default)]
struct MemoryPointers {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    namespaces: BTreeMap<NamespaceIdent, HashMap<String, String>>,
    tables: BTreeMap<TableIdent, Pointer>,
}

impl State {
    fn known(&self) -> Vec<NamespaceIdent> {
        self.namespaces.keys().chain(self.tables.keys().map(TableIdent::namespace)).cloned().collect()
    }
}

impl MemoryPointers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl PointerStore for MemoryPointers {
    async fn namespaces(&self) -> Result<Vec<NamespaceIdent>> {
        Ok(self.state().known())
    }

    async fn create_namespace(&self, namespace: &NamespaceIdent, properties: &HashMap<String, String>) -> Result<()> {
        let mut state = self.state();
        if implies(&state.known(), namespace) {
            return Err(already_exists("namespace", namespace));
        }
        state.namespaces.insert(namespace.clone(), properties.clone());
        Ok(())
    }

    async fn drop_namespace(&self, namespace: &NamespaceIdent) -> Result<()> {
        let mut state = self.state();
        let known = state.known();
        if !implies(&known, namespace) {
            return Err(not_found("namespace", namespace));
        }
        if has_children(&known, namespace) || state.tables.keys().any(|t| t.namespace() == namespace) {
            return Err(Error::new(ErrorKind::NotEmpty, format!("namespace {namespace} is not empty")));
        }
        state.namespaces.remove(namespace);
        Ok(())
    }

    async fn namespace_properties(&self, namespace: &NamespaceIdent) -> Result<HashMap<String, String>> {
        Ok(self.state().namespaces.get(namespace).cloned().unwrap_or_default())
    }

    async fn tables(&self, namespace: &NamespaceIdent) -> Result<Vec<String>> {
        let state = self.state();
        Ok(state.tables.keys().filter(|t| t.namespace() == namespace).map(|t| t.name().to_owned()).collect())
    }

    async fn namespace_exists(&self, namespace: &NamespaceIdent) -> Result<bool> {
        Ok(implies(&self.state().known(), namespace))
    }

    async fn get(&self, table: &TableIdent) -> Result<Option<Pointer>> {
        Ok(self.state().tables.get(table).cloned())
    }

    async fn insert(&self, table: &TableIdent, written: &Loaded) -> Result<()> {
        let mut state = self.state();
        if state.tables.contains_key(table) {
            return Err(already_exists("table", table));
        }
        if !implies(&state.known(), table.namespace()) {
            return Err(not_found("namespace", table.namespace()));
        }
        state.tables.insert(table.clone(), written.pointer());
        Ok(())
    }

    async fn swap(&self, table: &TableIdent, base: &Loaded, written: &Loaded) -> Result<Swap> {
        match self.state().tables.get_mut(table) {
            Some(current) if current.metadata_location == base.location => {
                *current = written.pointer();
                Ok(Swap::Done)
            }
            _ => Ok(Swap::Lost),
        }
    }

    async fn learn(&self, table: &TableIdent, loaded: &Loaded) -> Result<()> {
        if let Some(pointer) = self.state().tables.get_mut(table)
            && pointer.metadata_location == loaded.location
            && pointer.pinned().is_none()
        {
            *pointer = loaded.pointer();
        }
        Ok(())
    }

    async fn remove(&self, table: &TableIdent, expected: Option<&str>) -> Result<Swap> {
        let mut state = self.state();
        match state.tables.get(table) {
            Some(pointer) if expected.is_none_or(|e| e == pointer.metadata_location) => {
                state.tables.remove(table);
                Ok(Swap::Done)
            }
            _ => Ok(Swap::Lost),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Catalog, catalog_from_properties, conformance};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn does_what_every_catalog_does() {
        let properties = conformance::kms_properties().map(|(k, v)| (k.to_owned(), v.to_owned())).into();
        conformance::check(Arc::new(MemoryCatalog::new("lake", &properties).unwrap())).await;
    }

    #[tokio::test]
    async fn an_encrypted_table_without_a_kms_can_be_described_but_not_written() {
        let catalog = MemoryCatalog::new("lake", &HashMap::new()).unwrap();
        catalog.create_namespace(&conformance::namespace(&["db"]), HashMap::new()).await.unwrap();
        let key_id = [("encryption.key-id", "keyA")];
        let table = catalog.create_table(conformance::creation(&["db", "t"], &key_id)).await.unwrap();
        let loaded = catalog.load_table(table.identifier()).await.unwrap();
        assert_eq!(loaded.metadata().current_schema().as_struct().fields().len(), 2);
        assert!(loaded.io().manager().is_encrypting());
        let error = loaded.io().manager().new_file_key().unwrap_err();
        assert_eq!(error.kind(), lakelock_iceberg::ErrorKind::Encryption);
    }

    #[tokio::test]
    async fn unknown_types_are_refused_with_those_there_are() {
        for properties in [HashMap::from([("type".to_owned(), "file".to_owned())]), HashMap::new()] {
            let error = catalog_from_properties("lake", &properties).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput);
            assert!(error.to_string().contains("sql, hive or memory"), "{error}");
        }
    }
}
