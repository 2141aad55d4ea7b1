//! Values that several readers of a scan share.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::error::Result;
use tokio::sync::OnceCell;

/// Values that are loaded when the first asks for them, and then shared. A failure is not kept.
#[derive(Debug)]
pub(crate) struct Loaded<K, V>(Mutex<HashMap<K, Arc<OnceCell<Arc<V>>>>>);

impl<K: Eq + Hash, V> Loaded<K, V> {
    pub(crate) async fn get(&self, key: K, load: impl Future<Output = Result<V>>) -> Result<Arc<V>> {
        let cell = {
            // Every change leaves the map whole, so that a panic elsewhere cannot have broken it.
            let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(cells.entry(key).or_default())
        };
        let value = cell.get_or_try_init(|| async { load.await.map(Arc::new) }).await?;
        Ok(Arc::clone(value))
    }
}

impl<K, V> Default for Loaded<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
