//! What can go wrong with a catalog, by what the caller can do about it.

use std::{error::Error as StdError, fmt};

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error: a [kind](Error::kind) to act on, a message and the cause.
///
/// `DuckLake` decides by the words of a message whether a commit is tried again. [`ErrorKind::Conflict`] and
/// [`ErrorKind::Constraint`] have those words; no other kind has them of its own.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is one already: take another name.
    AlreadyExists,
    /// Another transaction was first: begin again with what it left.
    Conflict,
    /// A row that the table's constraints do not allow: its primary key is taken, or a column that must have a value has none.
    Constraint,
    /// What is stored is not what this program writes: restore it.
    Corrupt,
    /// Another process writes to this catalog now: open it again to take over.
    Fenced,
    /// An argument is not acceptable: fix the call.
    InvalidInput,
    /// There is no such catalog, schema, table or row.
    NotFound,
    /// The catalog was opened to be read only.
    ReadOnly,
    /// The store failed. Whether a commit that was under way took place is not known: open the catalog again and look.
    Storage,
    /// Not offered here, or written by a newer version of this program.
    Unsupported,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub(crate) fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// What to do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

pub(crate) fn conflict(message: impl fmt::Display) -> Error {
    Error::new(ErrorKind::Conflict, format!("Conflict: {message} (transaction conflict); begin again"))
}

pub(crate) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

pub(crate) fn not_found(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::NotFound, message)
}

/// What `SlateDB` says to a reader of the catalog at `location`, which is not told when objects go that it needs.
pub(crate) fn from_reader(error: slatedb::Error, location: &str) -> Error {
    type Cause = std::sync::Arc<object_store_slatedb::Error>;
    let cause = error.source().and_then(|cause| cause.downcast_ref::<Cause>()).map(AsRef::as_ref);
    if !matches!(cause, Some(object_store_slatedb::Error::NotFound { .. })) {
        return from_slatedb(error, location, "read");
    }
    let message = format!(
        "the catalog {location} no longer has what this transaction reads: it began too long ago. Begin another one; to read \
         for longer, open a checkpoint"
    );
    Error::new(ErrorKind::Storage, message).with_source(error)
}

/// What `SlateDB` says of the catalog at `location` while `doing` something. Who commits says more about being fenced: by whom.
pub(crate) fn from_slatedb(error: slatedb::Error, location: &str, doing: &str) -> Error {
    let kind = match error.kind() {
        slatedb::ErrorKind::Closed(slatedb::CloseReason::Fenced) => {
            let message = format!(
                "cannot {doing} the catalog {location}: another writer has taken it over, and nothing of this transaction was \
                 committed. To go on from here, detach the catalog and attach it again"
            );
            return Error::new(ErrorKind::Fenced, message).with_source(error);
        }
        slatedb::ErrorKind::Data => ErrorKind::Corrupt,
        _ => ErrorKind::Storage,
    };
    Error::new(kind, format!("cannot {doing} the catalog {location}")).with_source(error)
}

impl From<lakelock_storage::Error> for Error {
    fn from(error: lakelock_storage::Error) -> Self {
        use lakelock_storage::ErrorKind as Storage;
        let kind = match error.kind() {
            Storage::InvalidInput => ErrorKind::InvalidInput,
            Storage::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Storage,
        };
        Self { kind, message: format!("cannot reach {}", error.location()), source: Some(Box::new(error)) }
    }
}
