//! What can go wrong with a table, by what the caller can do about it.

use std::error::Error as StdError;
use std::fmt;

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type BoxError = Box<dyn StdError + Send + Sync>;

/// What the caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Another writer was first: reload the table and try again.
    Conflict,
    /// A key could not be wrapped, unwrapped or found: check the KMS and the table's key id.
    Encryption,
    /// Bug in this library: report it.
    Internal,
    /// A file of the table is damaged, cut off or forged.
    InvalidData,
    /// The request cannot be met as it stands: fix it.
    InvalidInput,
    /// A file, snapshot or column that does not exist.
    NotFound,
    /// The object store failed: see the source; trying again may help.
    Storage,
    /// The table uses something this version does not support.
    Unsupported,
}

/// An error of the table layer: a kind to act on, a message that names the object, and the cause as
/// [`source`](StdError::source).
///
/// `Display` prints the message alone; the cause is not repeated in it. No key material is ever part of it.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<BoxError>,
}

impl Error {
    /// An error without a cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// Attaches the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<BoxError>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What the caller can do about it.
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
        self.source.as_deref().map(|e| e as _)
    }
}
