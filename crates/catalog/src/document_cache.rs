//! Metadata that was read or written a moment ago.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lakelock_iceberg::metadata::TableDocument;

const MAX_ENTRIES: usize = 64;
const MAX_BYTES: usize = 64 << 20;

/// The latest documents, each known by where it is and what its bytes hash to: a file that was changed since is never
/// taken for the one in here, nor the other way round.
///
/// It saves a commit from parsing what the one before it wrote.
#[derive(Debug, Default)]
pub(crate) struct DocumentCache {
    entries: Mutex<VecDeque<Entry>>,
}

#[derive(Debug)]
struct Entry {
    location: String,
    sha256: String,
    length: usize,
    document: Arc<TableDocument>,
}

impl DocumentCache {
    pub(crate) fn get(&self, location: &str, sha256: &str) -> Option<Arc<TableDocument>> {
        let mut entries = self.lock();
        let at = entries.iter().position(|e| e.location == location && e.sha256 == sha256)?;
        let entry = entries.remove(at)?;
        let document = entry.document.clone();
        entries.push_back(entry);
        Some(document)
    }

    pub(crate) fn insert(&self, location: &str, sha256: &str, document: &Arc<TableDocument>) {
        let length = document.json_length();
        if length > MAX_BYTES {
            return;
        }
        let mut entries = self.lock();
        entries.retain(|e| e.location != location);
        entries.push_back(Entry {
            location: location.to_owned(),
            sha256: sha256.to_owned(),
            length,
            document: document.clone(),
        });
        while entries.len() > MAX_ENTRIES || entries.iter().map(|e| e.length).sum::<usize>() > MAX_BYTES {
            entries.pop_front();
        }
    }

    /// Forgets a document that is of no more use.
    pub(crate) fn remove(&self, location: &str) {
        self.lock().retain(|e| e.location != location);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
