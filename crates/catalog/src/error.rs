//! What can go wrong in a catalog, by what the caller can do about it.

use std::error::Error as StdError;
use std::fmt;

/// Shorthand for this crate's results.
pub type Result<T, E = Error> = std::result::Result<T, E>;

type BoxError = Box<dyn StdError + Send + Sync>;

/// What the caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is one of that name already.
    AlreadyExists,
    /// Another writer was first, or is writing: reload the table and try again.
    Conflict,
    /// The catalog's database or metastore failed: see the source.
    Database,
    /// A key could not be wrapped, unwrapped or found: check the KMS and the table's key id.
    Encryption,
    /// Bug in this library: report it.
    Internal,
    /// A file of the table is missing, damaged, forged, or not what the catalog knows of it.
    InvalidData,
    /// The request cannot be met as it stands: fix it.
    InvalidInput,
    /// A namespace that is to go still holds something.
    NotEmpty,
    /// There is no such namespace or table.
    NotFound,
    /// The object store failed: see the source; trying again may help.
    Storage,
    /// It is not known whether a commit took place. Its files were left alone: reload the table and look.
    UnknownOutcome,
    /// Something that this version does not support.
    Unsupported,
}

/// An error of a catalog: a kind to act on, a message that names the object, and the cause as
/// [`source`](StdError::source).
///
/// `Display` prints the message alone; the cause is not repeated in it. No key material is ever part of it.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    repr: Repr,
}

#[derive(Debug)]
enum Repr {
    /// Of the layer below, as it is.
    Forwarded(BoxError),
    Own {
        message: String,
        source: Option<BoxError>,
    },
}

impl Error {
    /// An error without a cause.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, repr: Repr::Own { message: message.into(), source: None } }
    }

    /// Attaches the cause.
    #[must_use]
    pub fn with_source(mut self, cause: impl Into<BoxError>) -> Self {
        if let Repr::Own { source, .. } = &mut self.repr {
            *source = Some(cause.into());
        }
        self
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    fn forward(kind: ErrorKind, error: impl Into<BoxError>) -> Self {
        Self { kind, repr: Repr::Forwarded(error.into()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.repr {
            Repr::Forwarded(error) => error.fmt(f),
            Repr::Own { message, .. } => f.write_str(message),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.repr {
            Repr::Forwarded(error) => error.source(),
            Repr::Own { source, .. } => source.as_deref().map(|e| e as _),
        }
    }
}

impl From<lakelock_iceberg::Error> for Error {
    fn from(error: lakelock_iceberg::Error) -> Self {
        use lakelock_iceberg::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::Conflict => ErrorKind::Conflict,
            Kind::Encryption => ErrorKind::Encryption,
            // What the layers below do not find is a file.
            Kind::InvalidData | Kind::NotFound => ErrorKind::InvalidData,
            Kind::InvalidInput => ErrorKind::InvalidInput,
            Kind::Storage => ErrorKind::Storage,
            Kind::Unsupported => ErrorKind::Unsupported,
            _ => ErrorKind::Internal,
        };
        Self::forward(kind, error)
    }
}

impl From<lakelock_storage::Error> for Error {
    fn from(error: lakelock_storage::Error) -> Self {
        use lakelock_storage::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::AlreadyExists => ErrorKind::AlreadyExists,
            // What the layers below do not find is a file.
            Kind::InvalidData | Kind::NotFound => ErrorKind::InvalidData,
            Kind::InvalidInput => ErrorKind::InvalidInput,
            _ => ErrorKind::Storage,
        };
        Self::forward(kind, error)
    }
}
