//! What can go wrong with a file, by what the caller can do about it.

use std::error::Error as StdError;
use std::fmt;

use parquet::errors::ParquetError;

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error about one file: a [kind](Error::kind) to act on, a message that names the file and the part of it, the cause.
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
    /// The key or the AAD prefix is wrong, or the file was altered: which of these cannot be told.
    Authentication,
    /// A cryptographic library failed.
    Internal,
    /// The file is not what it should be: damaged, cut off or of another format.
    InvalidData,
    /// The file is encrypted in a way that cannot be read here.
    Unsupported,
}

impl Error {
    /// What to do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The error behind an error of the Parquet library, if it comes from here; or that error again.
    ///
    /// # Errors
    /// Every other error.
    pub fn behind(error: ParquetError) -> std::result::Result<Self, ParquetError> {
        match error {
            ParquetError::External(inner) => inner.downcast().map(|error| *error).map_err(ParquetError::External),
            error => Err(error),
        }
    }

    /// The cause, for errors that say the same in another layer.
    #[must_use]
    pub fn into_source(self) -> Option<Box<dyn StdError + Send + Sync>> {
        self.source
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub(crate) fn with_source(self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self { source: Some(source.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

impl From<Error> for ParquetError {
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}
