//! What the crate promises, tried on each store.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod encrypted;
mod stores;

use lakelock_storage::Storage;
use tempfile::TempDir;

/// A store to test and a folder in it.
struct Place {
    storage: Storage,
    folder: String,
    local: Option<TempDir>,
}

impl Place {
    fn all() -> [Self; 2] {
        [Self::local(), Self::memory()]
    }

    fn local() -> Self {
        let local = tempfile::tempdir().unwrap();
        let folder = local.path().to_str().unwrap().to_owned();
        Self { storage: Storage::local(), folder, local: Some(local) }
    }

    fn memory() -> Self {
        Self { storage: Storage::in_memory(), folder: "memory://folder".to_owned(), local: None }
    }

    fn at(&self, name: &str) -> String {
        format!("{}/{name}", self.folder)
    }

    /// How many files there are, those in the making included.
    async fn file_count(&self) -> usize {
        match &self.local {
            Some(folder) => std::fs::read_dir(folder.path()).unwrap().count(),
            None => self.storage.list(&self.folder).await.unwrap().len(),
        }
    }
}
