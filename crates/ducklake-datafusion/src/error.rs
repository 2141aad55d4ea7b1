//! What can go wrong with a lake, by what the caller can do about it.

use std::{error::Error as StdError, fmt};

use datafusion::error::DataFusionError;

/// The result of an operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error: a [kind](Error::kind) to act on, a message that names the table, column or file, and the cause.
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
    /// What the catalog or a file says makes no sense: restore it.
    InvalidData,
    /// An argument is not acceptable: fix the call.
    InvalidInput,
    /// There is no such catalog, snapshot, table or file.
    NotFound,
    /// The catalog or the storage failed.
    Storage,
    /// Not offered here, or written by a newer version of `DuckLake`.
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

/// What the catalog says makes no sense.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, message)
}

pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

pub(crate) fn not_found(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::NotFound, message)
}

impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}

impl From<lakelock_ducklake::Error> for Error {
    fn from(error: lakelock_ducklake::Error) -> Self {
        use lakelock_ducklake::ErrorKind as Lake;
        let kind = match error.kind() {
            Lake::Corrupt => ErrorKind::InvalidData,
            Lake::InvalidInput => ErrorKind::InvalidInput,
            Lake::NotFound => ErrorKind::NotFound,
            Lake::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Storage,
        };
        Self::new(kind, "cannot read the catalog").with_source(error)
    }
}

impl From<lakelock_storage::Error> for Error {
    fn from(error: lakelock_storage::Error) -> Self {
        use lakelock_storage::ErrorKind as Storage;
        let kind = match error.kind() {
            Storage::InvalidInput => ErrorKind::InvalidInput,
            Storage::NotFound => ErrorKind::NotFound,
            Storage::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Storage,
        };
        Self::new(kind, format!("cannot reach {}", error.location())).with_source(error)
    }
}
