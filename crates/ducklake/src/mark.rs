//! How far a state of the store goes.
//!
//! `SlateDB` numbers the objects of its log and its manifests without gaps, and never changes one. So the last of each name a
//! state, and whether there is a newer one shows by whether the next number is there.

use std::sync::Arc;

use futures::{TryStreamExt, try_join};
use object_store_slatedb::{Error, ObjectStore, ObjectStoreExt, Result, path::Path};

/// The last objects of a state.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    log: Last,
    manifests: Last,
}

/// The last object of a folder, if it has any.
#[derive(Clone, Debug)]
struct Last {
    folder: Path,
    object: Option<Path>,
}

impl Mark {
    /// The newest state of the store at `path`.
    pub(crate) async fn newest(store: &Arc<dyn ObjectStore>, path: &Path) -> Result<Self> {
        let [log, manifests] = ["wal", "manifest"].map(|name| Last { folder: path.clone().join(name), object: None });
        let (log, manifests) = try_join!(log.moved(store), manifests.moved(store))?;
        Ok(Self { log, manifests })
    }

    /// The newest state, if it is newer than this one.
    pub(crate) async fn newer(&self, store: &Arc<dyn ObjectStore>) -> Result<Option<Self>> {
        let (log, manifests) = try_join!(self.log.has_next(store), self.manifests.has_next(store))?;
        if !log && !manifests {
            return Ok(None);
        }
        let (log, manifests) = try_join!(self.log.moved(store), self.manifests.moved(store))?;
        Ok(Some(Self { log, manifests }))
    }

    /// Whether there is no store yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.manifests.object.is_none()
    }

    /// Whether an object is newer than this state.
    pub(crate) fn hides(&self, object: &Path) -> bool {
        self.log.is_before(object) || self.manifests.is_before(object)
    }
}

impl Last {
    fn is_before(&self, object: &Path) -> bool {
        object.prefix_matches(&self.folder) && self.object.as_ref().is_none_or(|last| last < object)
    }

    async fn has_next(&self, store: &Arc<dyn ObjectStore>) -> Result<bool> {
        let Some(next) = self.next() else { return Ok(true) };
        match store.head(&next).await {
            Ok(_) => Ok(true),
            Err(Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The object after the last, `NUMBER.EXTENSION` with leading zeros.
    fn next(&self) -> Option<Path> {
        let (number, extension) = self.object.as_ref()?.filename()?.split_once('.')?;
        let (width, next) = (number.len(), number.parse::<u64>().ok()?.checked_add(1)?);
        Some(self.folder.clone().join(format!("{next:0width$}.{extension}")))
    }

    /// The last object that there is now.
    async fn moved(&self, store: &Arc<dyn ObjectStore>) -> Result<Self> {
        let listed = match &self.object {
            Some(object) => store.list_with_offset(Some(&self.folder), object),
            None => store.list(Some(&self.folder)),
        };
        let later =
            |last: Option<Path>, found: object_store_slatedb::ObjectMeta| async { Ok(last.max(Some(found.location))) };
        let object = listed.try_fold(self.object.clone(), later).await?;
        Ok(Self { folder: self.folder.clone(), object })
    }
}
