//! Uploads of several parts that are either completed or leave nothing behind.

use std::fmt;

use async_trait::async_trait;
use object_store::{Error, MultipartUpload, PutPayload, PutResult, Result, UploadPart, path::Path};
use tokio::{runtime::Handle, sync::mpsc};
use uuid::Uuid;

use crate::remote::{RemoteStore, Written, already_exists};

/// An upload to a bucket, which is aborted when it is dropped without having been completed: parts of it would be kept, and
/// paid for, otherwise.
pub(crate) struct GuardedUpload {
    /// Nothing, once it is over.
    upload: Option<Box<dyn MultipartUpload>>,
    store: RemoteStore,
    path: Path,
    number: Uuid,
    conditional: bool,
    /// Held by each part on its way: a part that arrives after the upload was aborted would stay.
    on_the_way: mpsc::Sender<()>,
    all_arrived: mpsc::Receiver<()>,
}

impl GuardedUpload {
    pub(crate) fn new(
        upload: Box<dyn MultipartUpload>,
        store: RemoteStore,
        path: Path,
        number: Uuid,
        conditional: bool,
    ) -> Self {
        let (on_the_way, all_arrived) = mpsc::channel(1);
        Self { upload: Some(upload), store, path, number, conditional, on_the_way, all_arrived }
    }

    /// What there is left to do to abort it.
    fn aborting(&mut self) -> impl Future<Output = Result<()>> + Send + use<> {
        let upload = self.upload.take();
        let (on_the_way, mut all_arrived) = mpsc::channel(1);
        // None is sent: the channel ends when the last part's end of it is dropped.
        drop(std::mem::replace(&mut self.on_the_way, on_the_way));
        std::mem::swap(&mut self.all_arrived, &mut all_arrived);
        async move {
            let Some(mut upload) = upload else { return Ok(()) };
            while all_arrived.recv().await.is_some() {}
            upload.abort().await
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl MultipartUpload for GuardedUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let Some(upload) = &mut self.upload else {
            return Box::pin(async { Err(over()) });
        };
        let (part, arrived) = (upload.put_part(data), self.on_the_way.clone());
        let explained = self.store.explained(&self.path, "write");
        // A task of its own, which goes on when nobody waits for the part any more: the store may take it all the same.
        let part = tokio::spawn(async move {
            let part = part.await.map_err(explained);
            drop(arrived);
            part
        });
        Box::pin(async move { part.await? })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let upload = self.upload.as_mut().ok_or_else(over)?;
        // Where the store cannot refuse to replace an object, it is looked at as late as can be.
        if !self.conditional && !matches!(self.store.written_as(&self.path, &self.number).await?, Written::Not) {
            return Err(already_exists(&self.path));
        }
        let completed = match upload.complete().await {
            Ok(result) => Ok(result),
            Err(error) => match self.store.written_as(&self.path, &self.number).await {
                // Only the answer was lost.
                Ok(Written::ByUs(result)) => Ok(result),
                _ if matches!(error, Error::Precondition { .. }) => Err(already_exists(&self.path)),
                _ => Err(self.store.explained(&self.path, "write")(error)),
            },
        };
        if completed.is_ok() {
            self.upload = None;
        }
        completed
    }

    async fn abort(&mut self) -> Result<()> {
        self.aborting().await.map_err(self.store.explained(&self.path, "abort the upload of"))
    }
}

impl Drop for GuardedUpload {
    fn drop(&mut self) {
        if self.upload.is_none() {
            return;
        }
        let (aborting, location) = (self.aborting(), format!("{}{}", self.store, self.path));
        let Ok(runtime) = Handle::try_current() else {
            tracing::warn!(location, "an unfinished upload was left behind");
            return;
        };
        runtime.spawn(async move {
            if let Err(error) = aborting.await {
                tracing::warn!(location, %error, "an unfinished upload could not be aborted");
            }
        });
    }
}

impl fmt::Debug for GuardedUpload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedUpload").field("store", &self.store).field("path", &self.path).finish_non_exhaustive()
    }
}

fn over() -> Error {
    Error::Generic { store: "object store", source: "the upload is already complete or aborted".into() }
}
