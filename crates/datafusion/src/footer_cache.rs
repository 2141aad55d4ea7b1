//! Parquet footers kept across scans.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lakelock_crypto::StandardKeyMetadata;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_parquet::EncryptedFile;
use parquet::file::metadata::ParquetMetaData;

/// Decrypted Parquet footers of recently read files, within a budget of memory. Data files never change, so an entry
/// stays right for as long as it is kept.
///
/// A footer holds what decrypts its file, so an entry is served only for the very key it was opened with.
pub struct FooterCache {
    budget: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    entries: HashMap<String, Entry>,
    used: usize,
    clock: u64,
}

/// The footer of a file, and what decrypts the rest if it is encrypted.
#[derive(Clone)]
pub(crate) struct Footer {
    pub(crate) metadata: Arc<ParquetMetaData>,
    pub(crate) encrypted: Option<Arc<EncryptedFile>>,
}

struct Entry {
    footer: Footer,
    key: Option<StandardKeyMetadata>,
    file_size: u64,
    memory: usize,
    last_used: u64,
}

impl FooterCache {
    /// A cache that keeps up to `budget` bytes; with 0 it keeps nothing.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { budget, state: Mutex::default() }
    }

    pub(crate) fn get(&self, task: &FileScanTask) -> Option<Footer> {
        let mut state = self.state();
        state.clock += 1;
        let now = state.clock;
        let entry = state.entries.get_mut(task.location())?;
        if entry.file_size != task.data_file().file_size_in_bytes || !same_key(entry.key.as_ref(), task.key()) {
            return None;
        }
        entry.last_used = now;
        Some(entry.footer.clone())
    }

    pub(crate) fn insert(&self, task: &FileScanTask, footer: &Footer) {
        let encrypted = footer.encrypted.as_ref().map_or(0, |file| file.memory_size());
        let memory = footer.metadata.memory_size() + encrypted + task.location().len();
        if memory > self.budget {
            return;
        }
        let mut state = self.state();
        state.clock += 1;
        let entry = Entry {
            footer: footer.clone(),
            key: task.key().cloned(),
            file_size: task.data_file().file_size_in_bytes,
            memory,
            last_used: state.clock,
        };
        if let Some(old) = state.entries.insert(task.location().to_owned(), entry) {
            state.used -= old.memory;
        }
        state.used += memory;
        while state.used > self.budget {
            let oldest = state.entries.iter().min_by_key(|(_, entry)| entry.last_used).map(|(name, _)| name.clone());
            let Some(evicted) = oldest.and_then(|name| state.entries.remove(&name)) else { break };
            state.used -= evicted.memory;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change leaves the state whole, so that a panic elsewhere cannot have broken it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for FooterCache {
    /// A cache of 64 MiB.
    fn default() -> Self {
        Self::new(64 << 20)
    }
}

impl std::fmt::Debug for FooterCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FooterCache").field("budget", &self.budget).finish_non_exhaustive()
    }
}

fn same_key(a: Option<&StandardKeyMetadata>, b: Option<&StandardKeyMetadata>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.encryption_key() == b.encryption_key() && a.aad_prefix() == b.aad_prefix(),
        _ => false,
    }
}
