//! Entries of many manifests, which are read side by side.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tokio::task::{JoinError, JoinHandle, spawn, spawn_blocking};

use crate::manifest::{EntryFilter, ManifestEntry, ManifestFile, Selected, select_entries};
use crate::{Error, ErrorKind, Result, Table};

/// Manifests read at a time.
pub(super) const CONCURRENCY: usize = 16;

/// What is decoded on the thread that has read it: it takes about as long as a change of threads.
const INLINE_LENGTH: usize = 4 << 10;

/// Finds entries in manifests, and makes of them what is needed, in the order of the manifests.
///
/// Each manifest is a task of the runtime's, so that several threads decrypt and decode them. Once the future is dropped, no
/// other manifest is begun.
///
/// # Errors
/// As [`select_entries`].
pub(super) async fn select_all<T: Send + 'static>(
    table: &Table,
    manifests: Vec<ManifestFile>,
    filter: impl EntryFilter + Send + Sync + 'static,
    make: impl Fn(ManifestEntry) -> Result<T> + Send + Sync + 'static,
) -> Result<Selected<T>> {
    let search = Arc::new(Search { table: table.clone(), filter, make });
    let searches = stream::iter(manifests).map(|manifest| {
        let location = manifest.manifest_path.clone();
        let running = Running(spawn(Arc::clone(&search).of(manifest)));
        running.map(move |ended| ended.unwrap_or_else(|e| Err(interrupted(&location, e))))
    });
    let parts: Vec<Selected<T>> = searches.buffered(CONCURRENCY).try_collect().await?;
    let mut all = Selected { found: Vec::with_capacity(parts.iter().map(|part| part.found.len()).sum()), pruned: 0 };
    for mut part in parts {
        all.found.append(&mut part.found);
        all.pruned += part.pruned;
    }
    Ok(all)
}

struct Search<F, M> {
    table: Table,
    filter: F,
    make: M,
}

impl<F, M> Search<F, M> {
    async fn of<T>(self: Arc<Self>, manifest: ManifestFile) -> Result<Selected<T>>
    where
        F: EntryFilter + Send + Sync + 'static,
        M: Fn(ManifestEntry) -> Result<T> + Send + Sync + 'static,
        T: Send + 'static,
    {
        let bytes = self.table.io().read_manifest(&manifest.manifest_path, manifest.key_metadata.as_ref()).await?;
        if bytes.len() <= INLINE_LENGTH {
            return select_entries(&bytes, self.table.metadata(), &manifest, &self.filter, &self.make);
        }
        let location = manifest.manifest_path.clone();
        let decode = move || select_entries(&bytes, self.table.metadata(), &manifest, &self.filter, &self.make);
        Running(spawn_blocking(decode)).await.unwrap_or_else(|e| Err(interrupted(&location, e)))
    }
}

fn interrupted(location: &str, error: JoinError) -> Error {
    Error::new(ErrorKind::Internal, format!("reading {location} did not come to its end")).with_source(error)
}

/// A task that is called off when nobody waits for it any more.
struct Running<T>(JoinHandle<T>);

impl<T> Future for Running<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_unpin(context)
    }
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
