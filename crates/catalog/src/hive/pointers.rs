//! Pointers and pins as parameters of the metastore's tables.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};

use super::client::{CallError, Exception};
use super::lock::{Locks, TableLock};
use super::metastore::{Metastore, database};
use super::settings::Settings;
use super::table::{HiveTable, METADATA_LOCATION};
use crate::loaded::Loaded;
use crate::pointers::{Pointer, PointerStore, Swap};
use crate::tables::{already_exists, not_found, off_async_threads};
use crate::{Error, ErrorKind, Result};

/// What the metastore says when a parameter has not the expected value.
const MODIFIED: &str = "The table has been modified";

/// The tables of a metastore.
#[derive(Debug)]
pub(super) struct HivePointers {
    metastore: Metastore,
    locks: Locks,
    settings: Arc<Settings>,
    user: String,
    warehouse: Option<String>,
}

impl HivePointers {
    pub(super) fn new(settings: Settings, user: String, warehouse: Option<String>) -> Self {
        let metastore = Metastore::new(&settings);
        let locks = Locks::new(metastore.clone(), settings.lock.clone(), user.clone());
        Self { metastore, locks, settings: Arc::new(settings), user, warehouse }
    }

    async fn table(&self, table: &TableIdent) -> Result<Option<HiveTable>> {
        let Some(database) = database_of(table.namespace()) else { return Ok(None) };
        Ok(self.metastore.table(database, table.name()).await?.filter(HiveTable::is_iceberg))
    }

    /// Points to `written`, holding a lock or leaving the comparison to the metastore.
    async fn alter(
        &self,
        table: &TableIdent,
        base: &Loaded,
        written: &Loaded,
        lock: Option<&TableLock>,
    ) -> Result<Swap> {
        let Some(database) = database_of(table.namespace()) else { return Ok(Swap::Lost) };
        let Some(current) = self.table(table).await? else { return Ok(Swap::Lost) };
        if current.metadata_location() != Some(base.location.as_str()) {
            return Ok(Swap::Lost);
        }
        let altered = {
            let (base, written, settings) = (base.clone(), written.clone(), self.settings.clone());
            let mut altered = current;
            off_async_threads(written.document.json_length(), move || {
                altered.update(Some(&base), &written, &settings)?;
                Ok(altered)
            })
            .await?
        };
        lock.map_or(Ok(()), TableLock::ensure_held)?;
        let expected = lock.is_none().then_some((METADATA_LOCATION, base.location.as_str()));
        match self.metastore.alter_table(database, table.name(), altered, expected).await {
            Ok(()) => match lock.map_or(Ok(()), TableLock::ensure_held) {
                Ok(()) => Ok(Swap::Done),
                // Another writer may have held the lock meanwhile, and not have seen this change.
                Err(error) => Err(unknown(table).with_source(error)),
            },
            Err(error @ CallError::Refused { .. }) => self.refused(table, base, written, error).await,
            Err(error @ CallError::Unreachable { .. }) => Err(error.into_error()),
            Err(error @ CallError::Lost { .. }) => Err(unknown(table).with_source(error.into_error())),
        }
    }

    /// What a refusal means: the metastore tries again by itself, and may have refused what it did the first time.
    async fn refused(&self, table: &TableIdent, base: &Loaded, written: &Loaded, error: CallError) -> Result<Swap> {
        let modified = matches!(&error, CallError::Refused { message, .. } if message.contains(MODIFIED));
        let current = match self.table(table).await {
            Ok(current) => current,
            Err(e) => return Err(unknown(table).with_source(e)),
        };
        match current.as_ref().and_then(HiveTable::metadata_location) {
            Some(location) if location == written.location => Ok(Swap::Done),
            Some(location) if location == base.location && !modified => Err(error.into_error()),
            None => Ok(Swap::Lost),
            Some(_) => Ok(Swap::LostOrFollowed),
        }
    }
}

#[async_trait]
impl PointerStore for HivePointers {
    async fn namespaces(&self) -> Result<Vec<NamespaceIdent>> {
        Ok(self.metastore.databases().await?.into_iter().map(NamespaceIdent::new).collect())
    }

    async fn create_namespace(&self, namespace: &NamespaceIdent, properties: &HashMap<String, String>) -> Result<()> {
        let name = database_of(namespace).ok_or_else(|| {
            let message = format!("namespace {namespace} cannot be in a Hive metastore: databases have one level");
            Error::new(ErrorKind::InvalidInput, message)
        })?;
        let location = self.warehouse.as_ref().map(|warehouse| format!("{warehouse}/{name}.db"));
        let database = database::from_properties(name, location, &self.user, properties);
        self.metastore.create_database(database).await.map_err(|error| match error {
            error if error.is(Exception::AlreadyExists) => already_exists("namespace", namespace),
            error if error.is(Exception::InvalidObject) => {
                let message = format!("the Hive metastore does not take the namespace {namespace}");
                Error::new(ErrorKind::InvalidInput, message).with_source(error.into_error())
            }
            error => error.into_error(),
        })
    }

    async fn drop_namespace(&self, namespace: &NamespaceIdent) -> Result<()> {
        let name = database_of(namespace).ok_or_else(|| not_found("namespace", namespace))?;
        match self.metastore.drop_database(name).await {
            Ok(()) => Ok(()),
            Err(error) if error.is(Exception::InvalidOperation) => {
                let message = format!("namespace {namespace} is not empty");
                Err(Error::new(ErrorKind::NotEmpty, message).with_source(error.into_error()))
            }
            // Some metastores fail in another way when there is no such database.
            Err(CallError::Refused { .. }) if !self.namespace_exists(namespace).await? => {
                Err(not_found("namespace", namespace))
            }
            Err(error) => Err(error.into_error()),
        }
    }

    async fn namespace_properties(&self, namespace: &NamespaceIdent) -> Result<HashMap<String, String>> {
        let Some(name) = database_of(namespace) else { return Ok(HashMap::new()) };
        Ok(self.metastore.database(name).await?.map(|found| database::properties(&found)).unwrap_or_default())
    }

    async fn namespace_exists(&self, namespace: &NamespaceIdent) -> Result<bool> {
        let Some(name) = database_of(namespace) else { return Ok(false) };
        Ok(self.metastore.database(name).await?.is_some())
    }

    async fn tables(&self, namespace: &NamespaceIdent) -> Result<Vec<String>> {
        let Some(name) = database_of(namespace) else { return Ok(vec![]) };
        let tables = self.metastore.tables(name).await?;
        Ok(tables
            .iter()
            .filter(|table| table.is_iceberg())
            .filter_map(|table| Some(table.name()?.to_owned()))
            .collect())
    }

    async fn get(&self, table: &TableIdent) -> Result<Option<Pointer>> {
        self.table(table).await?.map(|found| found.pointer(table)).transpose()
    }

    async fn insert(&self, table: &TableIdent, written: &Loaded) -> Result<()> {
        if database_of(table.namespace()).is_none() {
            return Err(not_found("namespace", table.namespace()));
        }
        let new = {
            let (table, user) = (table.clone(), self.user.clone());
            let (written, settings) = (written.clone(), self.settings.clone());
            off_async_threads(written.document.json_length(), move || {
                HiveTable::new(&table, &user, &written, &settings)
            })
            .await?
        };
        let error = match self.metastore.create_table(new).await {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if error.is(Exception::AlreadyExists) {
            // The metastore may have made it at a first try of its own.
            let current = self.table(table).await;
            let current = current.map_err(|e| unknown(table).with_source(e))?;
            if current.as_ref().and_then(HiveTable::metadata_location) == Some(written.location.as_str()) {
                return Ok(());
            }
            return Err(already_exists("table or view", table));
        }
        if error.is(Exception::NoSuchObject) || error.is(Exception::InvalidObject) {
            if !self.namespace_exists(table.namespace()).await? {
                return Err(not_found("namespace", table.namespace()));
            }
            let message = format!("the Hive metastore does not take the table {table}");
            return Err(Error::new(ErrorKind::InvalidInput, message).with_source(error.into_error()));
        }
        Err(error.into_error())
    }

    async fn swap(&self, table: &TableIdent, base: &Loaded, written: &Loaded) -> Result<Swap> {
        // As Java: by the table's properties before the change, so that writers agree.
        if !self.settings.locks(base.document.metadata().properties()) {
            return self.alter(table, base, written, None).await;
        }
        let Some(database) = database_of(table.namespace()) else { return Ok(Swap::Lost) };
        let lock = self.locks.acquire(table, database).await?;
        let swapped = self.alter(table, base, written, Some(&lock)).await;
        lock.release().await;
        swapped
    }

    async fn learn(&self, _table: &TableIdent, _loaded: &Loaded) -> Result<()> {
        // What the metastore has is the pin, also where it has nothing.
        Ok(())
    }

    async fn remove(&self, table: &TableIdent, expected: Option<&str>) -> Result<Swap> {
        let Some(database) = database_of(table.namespace()) else { return Ok(Swap::Lost) };
        let Some(current) = self.table(table).await? else { return Ok(Swap::Lost) };
        let is_expected = |current: &HiveTable| expected.is_none_or(|e| current.metadata_location() == Some(e));
        if !is_expected(&current) {
            return Ok(Swap::Lost);
        }
        // The metastore compares nothing when it drops: where it matters, and locks are kept, others are locked out.
        let lock = match expected {
            Some(_) if self.settings.locks(&current.parameters()) => Some(self.locks.acquire(table, database).await?),
            _ => None,
        };
        let dropped = match &lock {
            Some(_) if !self.table(table).await?.is_some_and(|current| is_expected(&current)) => Ok(Swap::Lost),
            _ => match self.metastore.drop_table(database, table.name()).await {
                Ok(()) => Ok(Swap::Done),
                Err(error) if error.is(Exception::NoSuchObject) => Ok(Swap::Lost),
                Err(error) => Err(error.into_error()),
            },
        };
        if let Some(lock) = lock {
            lock.release().await;
        }
        dropped
    }
}

/// The database of a namespace, which has one level.
fn database_of(namespace: &NamespaceIdent) -> Option<&str> {
    match namespace.as_ref().as_slice() {
        [name] => Some(name),
        _ => None,
    }
}

fn unknown(table: &TableIdent) -> Error {
    let message = format!("the Hive metastore did not say whether the change of table {table} took place");
    Error::new(ErrorKind::UnknownOutcome, message)
}
