//! Metadata that was read or written a moment ago.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Result;
use crate::loaded::Loaded;
use crate::pointers::MetadataHash;

const MAX_ENTRIES: usize = 64;
const MAX_BYTES: usize = 64 << 20;

/// The latest documents, each known by where it is and what its bytes hash to: a file that was changed since is never
/// taken for the one in here, nor the other way round.
///
/// It saves a commit from parsing what the one before it wrote.
#[derive(Debug, Default)]
pub(crate) struct DocumentCache {
    entries: Mutex<VecDeque<Loaded>>,
}

impl DocumentCache {
    /// The document at a location, if it has the hash.
    pub(crate) fn get(&self, location: &str, hash: &MetadataHash) -> Result<Option<Loaded>> {
        let known = self.lock().iter().find(|e| e.location == location).cloned();
        let Some(known) = known else { return Ok(None) };
        if !known.has_hash(hash)? {
            return Ok(None);
        }
        // It was of use: keep it longer than others.
        self.insert(&known);
        Ok(Some(known))
    }

    pub(crate) fn insert(&self, loaded: &Loaded) {
        if length(loaded) > MAX_BYTES {
            return;
        }
        let mut entries = self.lock();
        entries.retain(|e| e.location != loaded.location);
        entries.push_back(loaded.clone());
        while entries.len() > MAX_ENTRIES || entries.iter().map(length).sum::<usize>() > MAX_BYTES {
            entries.pop_front();
        }
    }

    /// Forgets a document that is of no more use.
    pub(crate) fn remove(&self, location: &str) {
        self.lock().retain(|e| e.location != location);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Loaded>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn length(loaded: &Loaded) -> usize {
    loaded.document.json_length()
}
