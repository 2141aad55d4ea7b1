//! Locks of the metastore, as Java's catalog takes them: whoever changes a table holds an exclusive one meanwhile.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use lakelock_iceberg::spec::TableIdent;
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::{self, Instant, sleep};
use tracing::warn;
use uuid::Uuid;

use super::client::CallError;
use super::metastore::{Lock, LockState, Metastore};
use super::settings::LockSettings;
use crate::{Error, ErrorKind, Result};

/// The locks of one catalog.
#[derive(Debug)]
pub(super) struct Locks {
    metastore: Metastore,
    settings: LockSettings,
    user: String,
    /// Writers of this process wait here for each other, instead of asking the metastore again and again.
    queues: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
}

/// A lock that is held. It is given back when this is dropped, at the latest.
#[derive(Debug)]
pub(super) struct TableLock {
    metastore: Metastore,
    table: String,
    id: i64,
    heartbeat: JoinHandle<()>,
    lost: Arc<AtomicBool>,
    released: bool,
    _turn: OwnedMutexGuard<()>,
}

impl Locks {
    pub(super) fn new(metastore: Metastore, settings: LockSettings, user: String) -> Self {
        Self { metastore, settings, user, queues: Mutex::default() }
    }

    /// Waits for the lock of a table.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when others held it all the time; [`ErrorKind::Database`] when there is none to be had.
    pub(super) async fn acquire(&self, table: &TableIdent, database: &str) -> Result<TableLock> {
        let turn = self.queue(table).lock_owned().await;
        let agent = format!("lakelock-{}", Uuid::new_v4());
        let asked = self.metastore.lock(database, table.name(), &self.user, &agent).await;
        let lock = match asked {
            Ok(lock) => lock,
            Err(error) => {
                if matches!(error, CallError::Lost { .. }) {
                    self.forget(table, database, &agent).await;
                }
                return Err(no_lock(table, error));
            }
        };
        // From here on it is given back, whatever happens.
        let lost = Arc::new(AtomicBool::new(false));
        let held = TableLock {
            metastore: self.metastore.clone(),
            table: table.to_string(),
            id: lock.id,
            heartbeat: tokio::spawn(beat(self.metastore.clone(), lock.id, self.settings.clone(), lost.clone())),
            lost,
            released: false,
            _turn: turn,
        };
        match self.wait(table, lock).await {
            Ok(()) => Ok(held),
            Err(error) => {
                held.release().await;
                Err(error)
            }
        }
    }

    async fn wait(&self, table: &TableIdent, mut lock: Lock) -> Result<()> {
        let started = Instant::now();
        let mut wait = self.settings.min_wait;
        loop {
            match lock.state {
                LockState::Acquired => return Ok(()),
                LockState::Gone => {
                    let message = format!("the Hive metastore gave up the lock of table {table}");
                    return Err(Error::new(ErrorKind::Conflict, message));
                }
                LockState::Waiting if started.elapsed() + wait > self.settings.timeout => {
                    let message = format!(
                        "table {table} is locked by others in the Hive metastore, for {} ms now",
                        started.elapsed().as_millis()
                    );
                    return Err(Error::new(ErrorKind::Conflict, message));
                }
                LockState::Waiting => {}
            }
            sleep(wait).await;
            wait = wait.mul_f64(1.5).min(self.settings.max_wait);
            lock = self.metastore.check_lock(lock.id).await.map_err(|e| no_lock(table, e))?;
        }
    }

    /// Gives back a lock of which it is not known whether there is one.
    async fn forget(&self, table: &TableIdent, database: &str, agent: &str) {
        let Ok(ids) = self.metastore.locks_of(database, table.name(), agent).await else { return };
        for id in ids {
            unlock(&self.metastore, &table.to_string(), id).await;
        }
    }

    fn queue(&self, table: &TableIdent) -> Arc<tokio::sync::Mutex<()>> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|_, queue| queue.strong_count() > 0);
        // The metastore does not tell upper from lower case.
        let name = table.to_string().to_lowercase();
        if let Some(queue) = queues.get(&name).and_then(Weak::upgrade) {
            return queue;
        }
        let queue = Arc::default();
        queues.insert(name, Arc::downgrade(&queue));
        queue
    }
}

impl TableLock {
    /// Whether the lock is still ours, as far as the last heartbeat could tell.
    pub(super) fn ensure_held(&self) -> Result<()> {
        if self.lost.load(Ordering::Acquire) {
            let message = format!("the lock of table {} in the Hive metastore was lost", self.table);
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        Ok(())
    }

    /// Gives the lock back. A failure is no more than a delay to others: the metastore drops it when no heartbeat comes.
    pub(super) async fn release(mut self) {
        self.heartbeat.abort();
        self.released = true;
        unlock(&self.metastore, &self.table, self.id).await;
    }
}

impl Drop for TableLock {
    fn drop(&mut self) {
        self.heartbeat.abort();
        if !self.released
            && let Ok(runtime) = Handle::try_current()
        {
            let (metastore, table, id) = (self.metastore.clone(), self.table.clone(), self.id);
            runtime.spawn(async move { unlock(&metastore, &table, id).await });
        }
    }
}

async fn unlock(metastore: &Metastore, table: &str, id: i64) {
    if let Err(error) = metastore.unlock(id).await {
        warn!(table, error = %error.into_error(), "a lock in the Hive metastore could not be given back");
    }
}

async fn beat(metastore: Metastore, lock: i64, settings: LockSettings, lost: Arc<AtomicBool>) {
    let interval = settings.heartbeat_interval;
    let mut beats = time::interval_at(Instant::now() + interval / 2, interval);
    loop {
        beats.tick().await;
        if let Err(error) = metastore.heartbeat(lock).await {
            warn!(lock, error = %error.into_error(), "a lock in the Hive metastore could not be kept");
            lost.store(true, Ordering::Release);
            return;
        }
    }
}

fn no_lock(table: &TableIdent, error: CallError) -> Error {
    let message = format!(
        "table {table} cannot be locked in the Hive metastore; one without lock tables needs \
         iceberg.engine.hive.lock-enabled=false, for all its writers"
    );
    Error::new(ErrorKind::Database, message).with_source(error.into_error())
}
