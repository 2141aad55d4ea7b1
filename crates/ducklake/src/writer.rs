//! The one writer of a catalog in this process: it makes commits last, one after the other.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize};
use slatedb::{CloseReason, Db, DbStatus, WriteBatch, config::FlushOptions, config::FlushType};
use tokio::{runtime::Handle, sync::watch};

use crate::{
    catalog::{Catalog, MAIN},
    error::{Error, ErrorKind, Result, corrupt, from_slatedb},
    format::Format,
    history::{Begun, Change, History},
    keys,
    moment::Moment,
    place::Place,
    stage::{CatalogChange, Changes},
    table::{RowId, TableId},
    view::View,
};

/// A writer. It is alone, until another process opens the catalog to write.
pub(crate) struct Writer {
    db: Db,
    status: watch::Receiver<DbStatus>,
    place: Place,
    format: Format,
    runtime: Handle,
    state: Mutex<State>,
    /// Held while a commit is checked, written and flushed. How many were, since the last that went to a sorted table.
    committing: tokio::sync::Mutex<u32>,
    next_row: AtomicI64,
    next_table: AtomicU32,
    /// Set once a commit has failed in a way that leaves its outcome open, or the store was closed.
    closed: AtomicBool,
}

struct State {
    /// What transactions begin with.
    now: Moment,
    history: History,
}

/// Who writes, for those who were fenced.
#[derive(Serialize, Deserialize)]
struct Owner {
    host: String,
    process: u32,
    /// In seconds since 1970.
    since: u64,
}

impl Writer {
    /// Takes the catalog over from whoever writes to it. If there is none, it is made, if `create`.
    pub(crate) async fn open(place: Place, create: bool, encrypted: Option<bool>) -> Result<Arc<Self>> {
        // Nobody is fenced before it is clear that the catalog is one to open.
        let existing = place.at(&place.mark().await?).await?;
        match &existing {
            Some((_, format)) => format.check_encrypted(encrypted, place.location())?,
            None if create => {}
            None => return Err(place.missing()),
        }
        drop(existing);
        let db = place.open_db().await?;
        let view = place.snapshot(&db)?;
        let existing = Format::read(&view, place.location()).await?;
        let format = existing.clone().unwrap_or_else(|| Format::new(encrypted));
        if existing.is_none() {
            if view.scan(vec![0].into(), vec![0xff].into()).await?.next().await?.is_some() {
                return Err(corrupt(format!("the catalog {} has entries and no format row", place.location())));
            }
            let mut batch = WriteBatch::new();
            batch.put(keys::FORMAT, format.to_json()?);
            batch.put(keys::schema(MAIN), MAIN);
            write(&db, &place, batch).await?;
        }
        let mut batch = WriteBatch::new();
        batch.put(keys::WRITER, Owner::this_process().to_json()?);
        write(&db, &place, batch).await?;

        let view = place.snapshot(&db)?;
        let next_row = i64::from_be_bytes(counter(&view, keys::NEXT_ROW).await?.unwrap_or_default());
        let next_table = u32::from_be_bytes(counter(&view, keys::NEXT_TABLE).await?.unwrap_or_default());
        Ok(Arc::new(Self {
            status: db.subscribe(),
            db,
            place,
            format,
            runtime: Handle::current(),
            state: Mutex::new(State { now: Moment::load(view).await?, history: History::default() }),
            committing: tokio::sync::Mutex::new(0),
            next_row: next_row.into(),
            next_table: next_table.into(),
            closed: AtomicBool::new(false),
        }))
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    pub(crate) fn db(&self) -> &Db {
        &self.db
    }

    /// Whether the lake's data files are encrypted, if that was said when the catalog was made.
    pub(crate) fn encrypted(&self) -> Option<bool> {
        self.format.encrypted
    }

    pub(crate) fn check_encrypted(&self, encrypted: Option<bool>) -> Result<()> {
        self.format.check_encrypted(encrypted, self.place.location())
    }

    /// Whether it can still commit, as far as is known.
    pub(crate) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire) && self.close_reason().is_none()
    }

    /// What a transaction that begins now sees, and the guard to hold until it ends.
    pub(crate) async fn begin(self: &Arc<Self>) -> Result<(Moment, Active)> {
        if !self.is_open() {
            return Err(self.closed_error().await);
        }
        let mut state = self.state();
        let begun = state.history.begin();
        let active = Active { writer: Arc::clone(self), begun };
        Ok((state.now.clone(), active))
    }

    pub(crate) fn new_row(&self) -> RowId {
        RowId(self.next_row.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn new_table(&self) -> TableId {
        TableId(self.next_table.fetch_add(1, Ordering::Relaxed))
    }

    /// Makes changes last, all or none.
    ///
    /// It runs to its end, also if nobody waits for it any more.
    pub(crate) async fn commit(self: &Arc<Self>, began: u64, changes: Changes) -> Result<()> {
        let this = Arc::clone(self);
        let commit = self.runtime.spawn(async move { this.commit_now(began, changes).await });
        commit.await.unwrap_or_else(|error| {
            self.closed.store(true, Ordering::Release);
            Err(Error::new(ErrorKind::Storage, "the commit was broken off").with_source(error))
        })
    }

    async fn commit_now(self: &Arc<Self>, began: u64, changes: Changes) -> Result<()> {
        let mut commits = self.committing.lock().await;
        if !self.is_open() {
            return Err(self.closed_error().await);
        }
        let Changes { mut batch, catalog, counts: row_counts, footprint } = changes;
        let mut counts = {
            let state = self.state();
            state.history.check(began, &footprint)?;
            Arc::clone(&state.now.counts)
        };
        if !row_counts.is_empty() {
            Arc::make_mut(&mut counts).apply(&row_counts, &mut batch);
        }
        batch.put(keys::NEXT_ROW, self.next_row.load(Ordering::Relaxed).to_be_bytes());
        batch.put(keys::NEXT_TABLE, self.next_table.load(Ordering::Relaxed).to_be_bytes());
        let written = async {
            write(&self.db, &self.place, batch).await?;
            self.place.snapshot(&self.db)
        };
        let view = match written.await {
            Ok(view) => view,
            Err(error) => {
                self.closed.store(true, Ordering::Release);
                return Err(if error.kind() == ErrorKind::Fenced { self.closed_error().await } else { error });
            }
        };
        {
            let mut state = self.state();
            state.now.view = view;
            state.now.counts = counts;
            state.history.record(footprint);
            if !catalog.is_empty() {
                apply(Arc::make_mut(&mut state.now.catalog), catalog);
            }
        }
        *commits += 1;
        if *commits >= COMMITS_PER_TABLE {
            *commits = 0;
            self.flush_in_background();
        }
        Ok(())
    }

    /// Puts what the log has into a sorted table, so that whoever opens the catalog need not read a long log.
    fn flush_in_background(self: &Arc<Self>) {
        let db = self.db.clone();
        self.runtime.spawn(async move {
            if let Err(error) = db.flush_with_options(FlushOptions { flush_type: FlushType::MemTable }).await {
                tracing::warn!(%error, "a flush to a sorted table failed: the log grows until one succeeds");
            }
        });
    }

    /// Closes the store in good order. Everything that was committed is there without that, too.
    pub(crate) async fn close(&self) -> Result<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        match self.db.close().await {
            Err(error) if error.kind() != slatedb::ErrorKind::Closed(CloseReason::Fenced) => {
                Err(from_slatedb(error, self.place.location(), "close"))
            }
            _ => Ok(()),
        }
    }

    /// Why it cannot be used any more.
    async fn closed_error(&self) -> Error {
        let location = self.place.location();
        if self.close_reason() != Some(CloseReason::Fenced) {
            let message = format!(
                "the catalog {location} is closed after a failure of its store: detach it and attach it again, and look \
                 whether the last commit took place"
            );
            return Error::new(ErrorKind::Storage, message);
        }
        let owner = Owner::current(&self.place).await;
        let who = owner.map_or_else(String::new, |owner| format!(": {owner}"));
        let message = format!(
            "another writer has taken over the catalog {location}{who}. Nothing of this transaction was committed. To write \
             from here again, end the other writer, then detach the catalog and attach it again; to read only, attach it \
             read-only"
        );
        Error::new(ErrorKind::Fenced, message)
    }

    /// Why the store is closed, if it is.
    fn close_reason(&self) -> Option<CloseReason> {
        self.status.borrow().close_reason
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Writer {
    /// Ends the store's own tasks.
    fn drop(&mut self) {
        if self.close_reason().is_none() {
            let db = self.db.clone();
            self.runtime.spawn(async move {
                if let Err(error) = db.close().await {
                    tracing::debug!(%error, "the store was not closed");
                }
            });
        }
    }
}

/// A transaction under way: what later commits change is remembered until it ends.
pub(crate) struct Active {
    pub(crate) writer: Arc<Writer>,
    begun: Begun,
}

impl Active {
    /// The number of the newest commit that it sees.
    pub(crate) fn began(&self) -> u64 {
        self.begun.after
    }

    /// Claims rows of the store for a change until the transaction ends.
    pub(crate) fn claim(&mut self, change: Change, rows: &[RowId]) -> Result<()> {
        self.writer.state().history.claim(&mut self.begun, change, rows)
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        self.writer.state().history.end(&self.begun);
    }
}

impl Owner {
    fn this_process() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        Self { host: host(), process: std::process::id(), since }
    }

    fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| corrupt("the writer's row cannot be written").with_source(error))
    }

    /// As far as that can be read.
    async fn current(place: &Place) -> Option<Self> {
        let (view, _) = place.at(&place.mark().await.ok()?).await.ok()??;
        serde_json::from_slice(&view.get(keys::WRITER).await.ok()??).ok()
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { host, process, since } = self;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        write!(f, "process {process} on {host}, which opened it {} s ago", now.saturating_sub(*since))
    }
}

/// Writes a batch and waits until it lasts. The flush is asked for: the store's own timer would take its time, and only the
/// flush tells whether this writer is still the one.
async fn write(db: &Db, place: &Place, batch: WriteBatch) -> Result<()> {
    let written = async {
        db.write(batch).await?;
        db.flush().await
    };
    written.await.map_err(|error| from_slatedb(error, place.location(), "write to"))
}

fn apply(catalog: &mut Catalog, changes: Vec<CatalogChange>) {
    for change in changes {
        match change {
            CatalogChange::PutSchema(name) => catalog.put_schema(name),
            CatalogChange::DropSchema(name) => catalog.remove_schema(&name),
            CatalogChange::PutTable(table) => catalog.put_table(table),
            CatalogChange::DropTable(table) => catalog.remove_table(table.id()),
        }
    }
}

async fn counter<const N: usize>(view: &View, key: &[u8]) -> Result<Option<[u8; N]>> {
    let stored = view.get(key).await?;
    let number = stored.map(|value| value.as_ref().try_into().map_err(|_| corrupt("a counter is not a number")));
    number.transpose()
}

/// The name of this computer, as far as it is told.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.or_else(|| std::env::var("HOSTNAME").ok()).or_else(|| std::env::var("COMPUTERNAME").ok());
    name.map_or_else(|| "an unknown host".to_owned(), |name| name.trim().to_owned())
}

/// After so many commits what the log has goes to a sorted table.
const COMMITS_PER_TABLE: u32 = 64;

#[cfg(test)]
mod tests;
