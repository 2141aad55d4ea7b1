//! A new file on its way to the store, in parts of bounded size.

use std::fmt;
use std::io;
use std::mem;
use std::sync::Arc;

use bytes::Bytes;
use lakelock_storage::Storage;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload, WriteMultipart};

use crate::{Error, ErrorKind, Result};

/// The size of a part. A file of less goes up in one request.
pub(super) const PART_LENGTH: usize = 8 * 1024 * 1024;
/// Parts on their way at once.
const CONCURRENCY: usize = 4;

/// An upload. The file appears whole when it is finished; dropped or aborted, it leaves none.
pub(super) struct Upload {
    store: Arc<dyn ObjectStore>,
    path: Path,
    location: String,
    state: State,
}

enum State {
    /// Less than a part so far.
    Waiting(Vec<Bytes>, usize),
    Sending(WriteMultipart),
}

impl Upload {
    pub(super) fn new(storage: &Storage, location: &str) -> Result<Self> {
        let (store, path) = storage
            .resolve(location)
            .map_err(|e| Error::new(ErrorKind::Storage, format!("there is no store for {location}")).with_source(e))?;
        Ok(Self { store, path, location: location.to_owned(), state: State::Waiting(Vec::new(), 0) })
    }

    pub(super) async fn put(&mut self, bytes: Bytes) -> Result<()> {
        self.try_put(bytes).await.map_err(|e| cannot_write(&self.location, e))
    }

    async fn try_put(&mut self, bytes: Bytes) -> object_store::Result<()> {
        match &mut self.state {
            State::Sending(upload) => {
                upload.wait_for_capacity(CONCURRENCY).await?;
                upload.put(bytes);
            }
            State::Waiting(waiting, length) => {
                *length += bytes.len();
                waiting.push(bytes);
                if *length >= PART_LENGTH {
                    let upload = self.store.put_multipart(&self.path).await?;
                    let mut upload = WriteMultipart::new_with_chunk_size(upload, PART_LENGTH);
                    for bytes in mem::take(waiting) {
                        upload.put(bytes);
                    }
                    self.state = State::Sending(upload);
                }
            }
        }
        Ok(())
    }

    /// Bytes held in memory.
    pub(super) fn memory(&self) -> usize {
        match &self.state {
            State::Waiting(_, length) => *length,
            State::Sending(_) => PART_LENGTH,
        }
    }

    pub(super) async fn finish(self) -> Result<()> {
        let finished = match self.state {
            State::Waiting(waiting, _) => {
                self.store.put(&self.path, waiting.into_iter().collect::<PutPayload>()).await.map(|_| ())
            }
            State::Sending(upload) => upload.finish().await.map(|_| ()),
        };
        finished.map_err(|e| cannot_write(&self.location, e))
    }

    /// Leaves nothing behind in the store, as far as it can be reached.
    pub(super) async fn abort(self) {
        if let State::Sending(upload) = self.state
            && let Err(error) = upload.abort().await
        {
            tracing::warn!("could not abort the upload of {}: {error}", self.location);
        }
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upload").field("location", &self.location).finish_non_exhaustive()
    }
}

fn cannot_write(location: &str, source: object_store::Error) -> Error {
    Error::new(ErrorKind::Storage, format!("cannot write {location}")).with_source(source)
}

/// Collects what a synchronous writer writes, in pieces of one part.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    full: Vec<Bytes>,
    last: Vec<u8>,
}

impl Outbox {
    /// Everything written since.
    pub(super) fn take(&mut self) -> Vec<Bytes> {
        let mut pieces = mem::take(&mut self.full);
        if !self.last.is_empty() {
            pieces.push(mem::take(&mut self.last).into());
        }
        pieces
    }
}

impl io::Write for Outbox {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.last.extend_from_slice(bytes);
        if self.last.len() >= PART_LENGTH {
            self.full.push(mem::take(&mut self.last).into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
