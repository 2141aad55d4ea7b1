//! Opening a catalog.

use std::{fmt, sync::Arc, time::Duration};

use lakelock_storage::Storage;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::{
    error::{Error, ErrorKind, Result},
    maintenance,
    mark::Mark,
    moment::Moment,
    place::{MIN_AGE, Place},
    registry,
    transaction::Transaction,
    writer::Writer,
};

/// How a catalog is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// To read: nothing is written to the store, and whoever writes goes on.
    #[default]
    ReadOnly,
    /// To read and write. Another process that writes to the catalog is fenced by that: its next commit fails.
    ReadWrite,
}

/// How to open a catalog.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// To read only, or to write.
    pub access: Access,
    /// Whether to make the catalog if there is none. Only for [`Access::ReadWrite`].
    pub create: bool,
    /// Whether the lake's data files are encrypted. A new catalog is marked so for good; one that was marked otherwise is not
    /// opened.
    pub encrypted: Option<bool>,
    /// The checkpoint to read, instead of the newest state. Only for [`Access::ReadOnly`].
    pub checkpoint: Option<Uuid>,
}

/// An opened catalog. A clone is the same one.
///
/// All of a process that open a catalog at one location to write share one writer.
#[derive(Clone)]
pub struct Lake {
    shared: Arc<Shared>,
}

struct Shared {
    place: Place,
    mode: Mode,
}

enum Mode {
    Read(Reading),
    Write(Arc<Writer>),
}

/// What was read last.
#[derive(Default)]
struct Reading {
    checkpoint: Option<Uuid>,
    known: Mutex<Option<Known>>,
}

struct Known {
    mark: Mark,
    moment: Moment,
}

/// A state of the catalog that is kept until it is deleted or expires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its number.
    pub id: Uuid,
    /// Its name, if it was given one.
    pub name: Option<String>,
}

impl Lake {
    /// Opens the catalog at a location, a folder of its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], if there is none and none is to be made; [`ErrorKind::InvalidInput`], if it was made for a lake
    /// that is encrypted otherwise, or for options that contradict each other; [`ErrorKind::Unsupported`] for a newer format;
    /// [`ErrorKind::Corrupt`]; [`ErrorKind::Storage`].
    pub async fn open(storage: &Storage, location: &str, options: OpenOptions) -> Result<Self> {
        let OpenOptions { access, create, encrypted, checkpoint } = options;
        let place = Place::new(storage, location)?;
        if access == Access::ReadWrite {
            if checkpoint.is_some() {
                return Err(Error::new(ErrorKind::InvalidInput, "a checkpoint can only be opened to be read"));
            }
            let writer = registry::writer(place.clone(), create, encrypted).await?;
            return Ok(Self { shared: Arc::new(Shared { place, mode: Mode::Write(writer) }) });
        }
        let reading = Reading { checkpoint, ..Reading::default() };
        reading.newest(&place, encrypted).await?;
        Ok(Self { shared: Arc::new(Shared { place, mode: Mode::Read(reading) }) })
    }

    /// Begins a transaction on the newest state.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Fenced`], if another process is known to have taken the catalog over; [`ErrorKind::Storage`].
    pub async fn begin(&self) -> Result<Transaction> {
        match &self.shared.mode {
            Mode::Write(writer) => {
                let (moment, active) = writer.begin().await?;
                Ok(Transaction::new(moment, Some(active)))
            }
            Mode::Read(reading) => {
                let moment = reading.newest(&self.shared.place, None).await?;
                Ok(Transaction::new(moment, None))
            }
        }
    }

    /// Where it is.
    #[must_use]
    pub fn location(&self) -> &str {
        self.shared.place.location()
    }

    /// Keeps the newest state, for `lifetime` or until it is deleted: it can be opened later as it is now.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ReadOnly`]; [`ErrorKind::Fenced`]; [`ErrorKind::Storage`].
    pub async fn checkpoint(&self, name: Option<String>, lifetime: Option<Duration>) -> Result<Checkpoint> {
        maintenance::checkpoint(self.writer()?, name, lifetime).await
    }

    /// The checkpoints that there are.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`].
    pub async fn checkpoints(&self) -> Result<Vec<Checkpoint>> {
        maintenance::checkpoints(&self.shared.place).await
    }

    /// Deletes a checkpoint.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ReadOnly`]; [`ErrorKind::Storage`].
    pub async fn delete_checkpoint(&self, id: Uuid) -> Result<()> {
        self.writer()?;
        maintenance::delete_checkpoint(&self.shared.place, id).await
    }

    /// Removes the rows of dropped tables, and the objects that nothing refers to any more and has not for `min_age`, by
    /// default 15 minutes: for so long a transaction of another process can go on reading what was there when it began.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::ReadOnly`]; [`ErrorKind::Fenced`]; [`ErrorKind::Storage`].
    pub async fn collect_garbage(&self, min_age: Option<Duration>) -> Result<()> {
        maintenance::collect_garbage(self.writer()?, min_age.unwrap_or(MIN_AGE)).await
    }

    /// Closes the catalog, if this is the last clone and nobody else of this process has it open.
    ///
    /// Nothing is lost without that; the next one to open the catalog has a little less to read.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Storage`].
    pub async fn close(self) -> Result<()> {
        match Arc::into_inner(self.shared) {
            Some(Shared { mode: Mode::Write(writer), .. }) => registry::release(writer).await,
            _ => Ok(()),
        }
    }

    fn writer(&self) -> Result<&Arc<Writer>> {
        match &self.shared.mode {
            Mode::Write(writer) => Ok(writer),
            Mode::Read(_) => {
                let message = format!("the catalog {} is attached read-only", self.location());
                Err(Error::new(ErrorKind::ReadOnly, message))
            }
        }
    }
}

impl Reading {
    /// The newest state, or that of the checkpoint. What was read before is taken if nothing is newer.
    async fn newest(&self, place: &Place, encrypted: Option<bool>) -> Result<Moment> {
        let mut known = self.known.lock().await;
        let mark = match (&*known, self.checkpoint) {
            (Some(_), Some(_)) => None,
            (Some(known), None) => place.newer(&known.mark).await?,
            (None, _) => Some(place.mark().await?),
        };
        let mark = match (&*known, mark) {
            (Some(known), None) => return Ok(known.moment.clone()),
            (_, Some(mark)) if !mark.is_empty() => mark,
            _ => return Err(place.missing()),
        };
        let found = match self.checkpoint {
            Some(checkpoint) => place.at_checkpoint(checkpoint).await?,
            None => place.at(&mark).await?,
        };
        let (view, format) = found.ok_or_else(|| place.missing())?;
        format.check_encrypted(encrypted, place.location())?;
        let moment = Moment::load(view).await?;
        *known = Some(Known { mark, moment: moment.clone() });
        Ok(moment)
    }
}

impl fmt::Debug for Lake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lake").field("location", &self.location()).finish_non_exhaustive()
    }
}
