//! How long objects stay that nothing refers to any more.
//!
//! Readers leave no trace in the store, so that they need no right to write. What they read stays for a while after the newest
//! state has done without it; `SlateDB` counts the age of an object from its making, which says nothing about that.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use object_store_slatedb::path::Path;
use slatedb::{GcFilter, ObjectMetadata};
use tokio::time::Instant;

/// Since when objects have been found to be garbage, by this process.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    since: Mutex<HashMap<Path, Instant>>,
}

/// Keeps the objects of a folder until they have been garbage for some time.
pub(crate) struct Grace {
    folder: Path,
    seen: Arc<Seen>,
    min_age: Duration,
}

impl Grace {
    pub(crate) fn new(folder: Path, seen: Arc<Seen>, min_age: Duration) -> Self {
        Self { folder, seen, min_age }
    }
}

#[async_trait]
impl GcFilter for Grace {
    async fn filter(&self, candidates: HashSet<ObjectMetadata>) -> HashSet<ObjectMetadata> {
        let now = Instant::now();
        let mut seen = self.seen.since.lock().unwrap_or_else(PoisonError::into_inner);
        let mut old = |candidate: &ObjectMetadata| {
            if !candidate.location.prefix_matches(&self.folder) {
                return true;
            }
            let since = *seen.entry(candidate.location.clone()).or_insert(now);
            let old = now.duration_since(since) >= self.min_age;
            if old {
                seen.remove(&candidate.location);
            }
            old
        };
        candidates.into_iter().filter(&mut old).collect()
    }
}
