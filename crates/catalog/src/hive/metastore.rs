//! The methods of a metastore that a catalog needs.

use std::collections::HashMap;
use std::sync::Arc;

use super::client::{CallError, Client, Exception, Request};
use super::settings::Settings;
use super::table::HiveTable;
use super::thrift::{Struct, Value};
use crate::{Error, ErrorKind, Result};

/// The field of an answer that holds the result.
const SUCCESS: i16 = 0;

/// How many tables are asked for at once.
const TABLES_PER_CALL: usize = 100;

const READS: &[(i16, Exception)] = &[(2, Exception::NoSuchObject)];

/// A metastore. Cloning is cheap.
#[derive(Debug, Clone)]
pub(super) struct Metastore {
    client: Arc<Client>,
}

/// A lock as the metastore describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) id: i64,
    pub(super) state: LockState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    Acquired,
    Waiting,
    /// Given up by the metastore.
    Gone,
}

impl Metastore {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { client: Client::new(settings) }
    }

    pub(super) async fn databases(&self) -> Result<Vec<String>> {
        let answer = self.read("get_all_databases", Struct::default(), &[]).await.map_err(CallError::into_error)?;
        Ok(strings(&answer, SUCCESS))
    }

    pub(super) async fn database(&self, name: &str) -> Result<Option<Struct>> {
        // Its exceptions are in another order than those of tables.
        const EXCEPTIONS: &[(i16, Exception)] = &[(1, Exception::NoSuchObject)];
        match self.read("get_database", Struct::default().with(1, name), EXCEPTIONS).await {
            Ok(answer) => answer.structure(SUCCESS).cloned().map(Some).ok_or_else(|| no_result("get_database")),
            Err(error) if error.is(Exception::NoSuchObject) => Ok(None),
            Err(error) => Err(error.into_error()),
        }
    }

    pub(super) async fn create_database(&self, database: Struct) -> Result<(), CallError> {
        const EXCEPTIONS: &[(i16, Exception)] = &[(1, Exception::AlreadyExists), (2, Exception::InvalidObject)];
        self.change("create_database", Struct::default().with(1, database), EXCEPTIONS).await
    }

    /// Drops an empty database, and leaves its folder.
    pub(super) async fn drop_database(&self, name: &str) -> Result<(), CallError> {
        const EXCEPTIONS: &[(i16, Exception)] = &[(1, Exception::NoSuchObject), (2, Exception::InvalidOperation)];
        let (delete_data, cascade) = (false, false);
        let arguments = Struct::default().with(1, name).with(2, delete_data).with(3, cascade);
        self.change("drop_database", arguments, EXCEPTIONS).await
    }

    /// All tables of a database, whatever they are.
    pub(super) async fn tables(&self, database: &str) -> Result<Vec<HiveTable>> {
        let arguments = Struct::default().with(1, database);
        let answer = self.read("get_all_tables", arguments, &[]).await.map_err(CallError::into_error)?;
        let names = strings(&answer, SUCCESS);
        let mut tables = Vec::with_capacity(names.len());
        for names in names.chunks(TABLES_PER_CALL) {
            let names = || Value::list_of_strings(names.iter().map(String::as_str));
            let new = Struct::default().with(1, Struct::default().with(1, database).with(2, names()));
            let old = Struct::default().with(1, database).with(2, names());
            let methods = ["get_table_objects_by_name_req", "get_table_objects_by_name"];
            let (answer, is_new) = self.read_new_or_old(methods, new, old).await.map_err(CallError::into_error)?;
            let found = answer.list(if is_new { 1 } else { SUCCESS }).ok_or_else(|| no_result(methods[0]))?;
            tables.extend(found.iter().filter_map(Value::as_struct).cloned().map(HiveTable::from));
        }
        Ok(tables)
    }

    pub(super) async fn table(&self, database: &str, name: &str) -> Result<Option<HiveTable>> {
        let old = Struct::default().with(1, database).with(2, name);
        let new = Struct::default().with(1, old.clone());
        match self.read_new_or_old(["get_table_req", "get_table"], new, old).await {
            Ok((answer, is_new)) => {
                let table = answer.structure(if is_new { 1 } else { SUCCESS });
                table.cloned().map(|table| Some(HiveTable::from(table))).ok_or_else(|| no_result("get_table"))
            }
            Err(error) if error.is(Exception::NoSuchObject) => Ok(None),
            Err(error) => Err(error.into_error()),
        }
    }

    pub(super) async fn create_table(&self, table: HiveTable) -> Result<(), CallError> {
        const EXCEPTIONS: &[(i16, Exception)] =
            &[(1, Exception::AlreadyExists), (2, Exception::InvalidObject), (4, Exception::NoSuchObject)];
        self.change("create_table", Struct::default().with(1, Struct::from(table)), EXCEPTIONS).await
    }

    /// Replaces a table, if given only while a parameter of it has a value.
    pub(super) async fn alter_table(
        &self,
        database: &str,
        name: &str,
        table: HiveTable,
        expected: Option<(&str, &str)>,
    ) -> Result<(), CallError> {
        const EXCEPTIONS: &[(i16, Exception)] = &[(1, Exception::InvalidOperation)];
        let mut context = vec![("DO_NOT_UPDATE_STATS", "true")];
        if let Some((key, value)) = expected {
            context.extend([("expected_parameter_key", key), ("expected_parameter_value", value)]);
        }
        let context = Struct::default().with(1, Value::map(context));
        let arguments = Struct::default().with(1, database).with(2, name).with(3, Struct::from(table)).with(4, context);
        self.change("alter_table_with_environment_context", arguments, EXCEPTIONS).await
    }

    /// Takes a table out, and leaves its files.
    pub(super) async fn drop_table(&self, database: &str, name: &str) -> Result<(), CallError> {
        const EXCEPTIONS: &[(i16, Exception)] = &[(1, Exception::NoSuchObject)];
        let delete_data = false;
        let arguments = Struct::default().with(1, database).with(2, name).with(3, delete_data);
        self.change("drop_table", arguments, EXCEPTIONS).await
    }

    /// Asks for an exclusive lock of a table. `agent` tells this request from others in the list of locks.
    pub(super) async fn lock(&self, database: &str, table: &str, user: &str, agent: &str) -> Result<Lock, CallError> {
        const EXCLUSIVE: i32 = 3;
        const TABLE: i32 = 2;
        let component = Struct::default().with(1, EXCLUSIVE).with(2, TABLE).with(3, database).with(4, table);
        let request =
            Struct::default().with(1, Value::structs([component])).with(3, user).with(4, "lakelock").with(5, agent);
        let answer = self.call("lock", Struct::default().with(1, request), &[], false).await?;
        lock(&answer).ok_or_else(|| refused("lock"))
    }

    pub(super) async fn check_lock(&self, id: i64) -> Result<Lock, CallError> {
        let request = Struct::default().with(1, id);
        let answer = self.read("check_lock", Struct::default().with(1, request), &[(3, Exception::NoSuchLock)]).await?;
        lock(&answer).ok_or_else(|| refused("check_lock"))
    }

    pub(super) async fn heartbeat(&self, lock: i64) -> Result<(), CallError> {
        let request = Struct::default().with(1, lock);
        self.read("heartbeat", Struct::default().with(1, request), &[(1, Exception::NoSuchLock)]).await.map(drop)
    }

    pub(super) async fn unlock(&self, lock: i64) -> Result<(), CallError> {
        let request = Struct::default().with(1, lock);
        match self.read("unlock", Struct::default().with(1, request), &[(1, Exception::NoSuchLock)]).await {
            Err(error) if !error.is(Exception::NoSuchLock) => Err(error),
            _ => Ok(()),
        }
    }

    /// The ids of a table's locks that an agent asked for.
    pub(super) async fn locks_of(&self, database: &str, table: &str, agent: &str) -> Result<Vec<i64>, CallError> {
        let request = Struct::default().with(1, database).with(2, table);
        let answer = self.read("show_locks", Struct::default().with(1, request), &[]).await?;
        let locks = answer.structure(SUCCESS).and_then(|answer| answer.list(1)).unwrap_or_default();
        let ours = locks.iter().filter_map(Value::as_struct).filter(|lock| lock.string(13) == Some(agent));
        Ok(ours.filter_map(|lock| lock.i64(1)).collect())
    }

    /// Newer metastores no longer have the old methods, and older ones do not have the new ones yet. Returns the answer
    /// of the new method, with its inner struct taken out and `true`, or that of the old one.
    async fn read_new_or_old(
        &self,
        [new, old]: [&'static str; 2],
        new_arguments: Struct,
        old_arguments: Struct,
    ) -> Result<(Struct, bool), CallError> {
        match self.read(new, new_arguments, READS).await {
            Ok(answer) => answer.structure(SUCCESS).cloned().map(|inner| (inner, true)).ok_or_else(|| refused(new)),
            Err(error) if error.is(Exception::UnknownMethod) => {
                self.read(old, old_arguments, READS).await.map(|answer| (answer, false))
            }
            Err(error) => Err(error),
        }
    }

    async fn read(
        &self,
        method: &'static str,
        arguments: Struct,
        exceptions: &'static [(i16, Exception)],
    ) -> Result<Struct, CallError> {
        self.call(method, arguments, exceptions, true).await
    }

    async fn change(
        &self,
        method: &'static str,
        arguments: Struct,
        exceptions: &'static [(i16, Exception)],
    ) -> Result<(), CallError> {
        self.call(method, arguments, exceptions, false).await.map(drop)
    }

    async fn call(
        &self,
        method: &'static str,
        arguments: Struct,
        exceptions: &'static [(i16, Exception)],
        repeatable: bool,
    ) -> Result<Struct, CallError> {
        let request = Request { method, arguments, exceptions, repeatable };
        let client = self.client.clone();
        // A call that has begun goes on to its end, also when nobody waits for it any more.
        tokio::task::spawn_blocking(move || client.call(&request)).await.unwrap_or_else(|_| Err(refused(method)))
    }
}

impl CallError {
    pub(super) fn is(&self, wanted: Exception) -> bool {
        matches!(self, Self::Refused { exception, .. } if *exception == wanted)
    }

    /// The error of a catalog that says no more than this.
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Lost { host, source } => {
                let message = format!("the Hive metastore at {host} did not say whether a change took place");
                Error::new(ErrorKind::UnknownOutcome, message).with_source(source)
            }
            Self::Refused { message, .. } => {
                Error::new(ErrorKind::Database, format!("the Hive metastore refused: {message}"))
            }
            Self::Unreachable { hosts, source } => {
                let message =
                    format!("no Hive metastore answers at {hosts}: check `uri`, and that it wants no TLS or Kerberos");
                Error::new(ErrorKind::Database, message).with_source(source)
            }
        }
    }
}

fn refused(method: &str) -> CallError {
    CallError::Refused { exception: Exception::Other, message: format!("{method} has no result") }
}

fn no_result(method: &str) -> Error {
    refused(method).into_error()
}

fn strings(answer: &Struct, id: i16) -> Vec<String> {
    let values = answer.list(id).unwrap_or_default();
    values.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn lock(answer: &Struct) -> Option<Lock> {
    let lock = answer.structure(SUCCESS)?;
    let state = match lock.i32(2)? {
        1 => LockState::Acquired,
        2 => LockState::Waiting,
        _ => LockState::Gone,
    };
    Some(Lock { id: lock.i64(1)?, state })
}

/// What a database is made with, as a namespace's properties have it.
pub(super) mod database {
    use super::{HashMap, Struct, Value};

    const OWNER: &str = "hive.metastore.database.owner";
    const OWNER_TYPE: &str = "hive.metastore.database.owner-type";
    const OWNER_TYPES: [(&str, i32); 3] = [("USER", 1), ("ROLE", 2), ("GROUP", 3)];

    /// A database from a namespace's properties.
    pub(in super::super) fn from_properties(
        name: &str,
        location: Option<String>,
        user: &str,
        properties: &HashMap<String, String>,
    ) -> Struct {
        let mut database = Struct::default().with(1, name);
        if let Some(comment) = properties.get("comment") {
            database.set(2, comment.as_str());
        }
        if let Some(location) = properties.get("location").cloned().or(location) {
            database.set(3, location);
        }
        let known = ["comment", "location", OWNER, OWNER_TYPE];
        let others = properties.iter().filter(|(key, _)| !known.contains(&key.as_str()));
        database.set(4, Value::map(others.map(|(key, value)| (key.as_str(), value.as_str()))));
        let owner_type = properties.get(OWNER_TYPE).map_or("USER", String::as_str);
        let owner_type = OWNER_TYPES.iter().find(|(name, _)| *name == owner_type).map_or(1, |(_, number)| *number);
        database.with(6, properties.get(OWNER).map_or(user, String::as_str)).with(7, owner_type)
    }

    /// A namespace's properties from a database.
    pub(in super::super) fn properties(database: &Struct) -> HashMap<String, String> {
        let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let mut properties: HashMap<_, _> = database.strings(4).map(own).collect();
        for (key, id) in [("comment", 2), ("location", 3), (OWNER, 6)] {
            if let Some(value) = database.string(id) {
                properties.insert(key.to_owned(), value.to_owned());
            }
        }
        let owner_type = database.i32(7).and_then(|n| OWNER_TYPES.iter().find(|(_, number)| *number == n));
        if let Some((name, _)) = owner_type {
            properties.insert(OWNER_TYPE.to_owned(), (*name).to_owned());
        }
        properties
    }
}
