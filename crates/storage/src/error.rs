//! What can go wrong with a file, by what the caller can do about it.

use std::{borrow::Cow, fmt};

/// The result of an operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error about one location: a [kind](Error::kind) to act on, a message and the cause.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    location: String,
    message: Cow<'static, str>,
    source: Option<Cause>,
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A new file was to be made where there is one already.
    AlreadyExists,
    /// The key or the AAD prefix is wrong, or the file was altered: which of these cannot be told.
    Authentication,
    /// The file is not what it should be: damaged, cut off or of another format.
    InvalidData,
    /// An argument is not acceptable: fix the call.
    InvalidInput,
    /// There is no such file.
    NotFound,
    /// The store refuses access.
    PermissionDenied,
    /// The store failed or cannot be reached: trying again may help.
    Unavailable,
    /// There is no store for such a location here, or the store cannot do this.
    Unsupported,
}

impl Error {
    /// What to do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The file or folder that it is about.
    #[must_use]
    pub fn location(&self) -> &str {
        &self.location
    }

    pub(crate) fn new(kind: ErrorKind, location: &str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, location: location.to_owned(), message: message.into(), source: None }
    }

    pub(crate) fn with_source(self, source: impl Into<Cause>) -> Self {
        Self { source: Some(source.into()), ..self }
    }

    /// What a store answered when it was asked to `action` the file.
    pub(crate) fn from_store(error: object_store::Error, location: &str, action: &str) -> Self {
        use object_store::Error as Store;
        let (kind, message) = match &error {
            Store::NotFound { .. } => (ErrorKind::NotFound, "there is no such file".into()),
            Store::AlreadyExists { .. } => (ErrorKind::AlreadyExists, "there is a file already".into()),
            Store::InvalidPath { .. } => (ErrorKind::InvalidInput, "not a path that a store can have".into()),
            Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
                (ErrorKind::PermissionDenied, format!("no permission to {action} it").into())
            }
            Store::NotSupported { .. } | Store::NotImplemented { .. } => {
                (ErrorKind::Unsupported, format!("the store cannot {action} it").into())
            }
            _ => (ErrorKind::Unavailable, format!("cannot {action} it").into()),
        };
        Self { kind, location: location.to_owned(), message, source: Some(error.into()) }
    }

    /// What the cryptography says about the file while it is asked to `action` it.
    pub(crate) fn from_crypto(error: lakelock_crypto::Error, location: &str, action: &str) -> Self {
        use lakelock_crypto::ErrorKind as Crypto;
        let kind = match error.kind() {
            Crypto::Authentication => ErrorKind::Authentication,
            Crypto::InvalidData => ErrorKind::InvalidData,
            Crypto::InvalidInput => ErrorKind::InvalidInput,
            _ => ErrorKind::Unavailable,
        };
        Self::new(kind, location, format!("cannot {action} it")).with_source(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

type Cause = Box<dyn std::error::Error + Send + Sync>;
