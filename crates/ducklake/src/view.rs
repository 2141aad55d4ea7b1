//! What a transaction reads: the store as it was when the transaction began.

use std::sync::Arc;

use bytes::Bytes;
use slatedb::{
    DbIterator, DbReader, DbSnapshot, IterationOrder,
    config::{ReadOptions, ScanOptions},
};
use tokio::runtime::Handle;

use crate::error::{Error, Result, from_reader, from_slatedb};

/// An unchanging state of the store. A clone is the same one.
#[derive(Clone)]
pub(crate) struct View {
    source: Source,
    location: Arc<str>,
}

#[derive(Clone)]
enum Source {
    /// Of this process's writer.
    Snapshot(Arc<DbSnapshot>),
    /// Of whoever writes. It does not look for what is new.
    Reader(Arc<Reader>),
}

struct Reader {
    reader: Arc<DbReader>,
    runtime: Handle,
}

impl Drop for Reader {
    /// Ends the reader's own task.
    fn drop(&mut self) {
        let reader = Arc::clone(&self.reader);
        self.runtime.spawn(async move {
            if let Err(error) = reader.close().await {
                tracing::debug!(%error, "a reader was not closed");
            }
        });
    }
}

impl View {
    pub(crate) fn of_snapshot(snapshot: Arc<DbSnapshot>, location: Arc<str>) -> Self {
        Self { source: Source::Snapshot(snapshot), location }
    }

    /// `reader` must be one that never refreshes.
    pub(crate) fn of_reader(reader: DbReader, location: Arc<str>) -> Self {
        let reader = Reader { reader: Arc::new(reader), runtime: Handle::current() };
        Self { source: Source::Reader(Arc::new(reader)), location }
    }

    /// The value under a key.
    pub(crate) async fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        let options = ReadOptions::default();
        let found = match &self.source {
            Source::Snapshot(snapshot) => snapshot.get_with_options(key, &options).await,
            Source::Reader(reader) => reader.reader.get_with_options(key, &options).await,
        };
        found.map_err(|error| self.failed(error))
    }

    /// What is stored from a key to just before another one, in order.
    pub(crate) async fn scan(&self, from: Bytes, to: Bytes) -> Result<Entries> {
        let options = ScanOptions::default()
            .with_cache_blocks(true)
            .with_read_ahead_bytes(READ_AHEAD)
            .with_max_fetch_tasks(FETCH_TASKS);
        self.entries(from, to, &options).await
    }

    async fn entries(&self, from: Bytes, to: Bytes, options: &ScanOptions) -> Result<Entries> {
        let found = match &self.source {
            Source::Snapshot(snapshot) => snapshot.scan_with_options(from..to, options).await,
            Source::Reader(reader) => reader.reader.scan_with_options(from..to, options).await,
        };
        let entries = found.map_err(|error| self.failed(error))?;
        Ok(Entries { entries, view: self.clone() })
    }

    fn failed(&self, error: slatedb::Error) -> Error {
        match self.source {
            Source::Snapshot(_) => from_slatedb(error, &self.location, "read"),
            Source::Reader(_) => from_reader(error, &self.location),
        }
    }

    /// The first entry in this order from a key to just before another one.
    pub(crate) async fn first(&self, from: Bytes, to: Bytes, order: IterationOrder) -> Result<Option<(Bytes, Bytes)>> {
        let options = ScanOptions::default().with_cache_blocks(true).with_order(order);
        self.entries(from, to, &options).await?.next().await
    }

    /// What is stored under the keys that begin with `prefix`, whose last byte is none of 0xff.
    pub(crate) async fn scan_prefix(&self, prefix: &[u8]) -> Result<Entries> {
        let mut end = prefix.to_vec();
        if let Some(last) = end.last_mut() {
            *last = last.saturating_add(1);
        }
        self.scan(Bytes::copy_from_slice(prefix), end.into()).await
    }
}

/// The entries of a scan.
pub(crate) struct Entries {
    entries: DbIterator,
    view: View,
}

impl Entries {
    /// The next key and its value.
    pub(crate) async fn next(&mut self) -> Result<Option<(Bytes, Bytes)>> {
        match self.entries.next().await {
            Ok(entry) => Ok(entry.map(|entry| (entry.key, entry.value))),
            Err(error) => Err(self.view.failed(error)),
        }
    }
}

/// How much of a table is fetched ahead of a scan.
const READ_AHEAD: usize = 1 << 20;
/// How many requests fetch it.
const FETCH_TASKS: usize = 4;
