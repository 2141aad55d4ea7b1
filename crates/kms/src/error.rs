//! What can go wrong with a master key, sorted by what the caller should do about it.

use std::error::Error as StdError;
use std::fmt;

/// The result of every fallible call of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong, coarse enough to act on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The KMS knows the caller and refuses the operation: get access.
    AccessDenied,
    /// Something of that name exists and is not overwritten.
    AlreadyExists,
    /// There are no credentials, or wrong ones (a passphrase, a key file, a cloud identity).
    Credentials,
    /// A stored file or a reply is not what it must be: treat it as damaged or forged.
    Damaged,
    /// The key exists but is disabled or about to be deleted.
    Disabled,
    /// A defect of this crate.
    Internal,
    /// A property, a key id or another argument is wrong: fix the request.
    InvalidInput,
    /// A local file could not be read or written.
    Io,
    /// There is no key, or no keystore, of that name.
    NotFound,
    /// The KMS asks to slow down: try again later.
    Throttled,
    /// The KMS did not answer, or only that it failed: try again later.
    Unreachable,
    /// The feature or KMS is not part of this build.
    Unsupported,
    /// The wrapped key does not open with this master key: another key wrapped it, or its bytes were changed.
    WrongKey,
}

impl ErrorKind {
    /// Whether the same call may succeed later without any change.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Throttled | Self::Unreachable)
    }
}

/// What was asked of a master key; part of error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// Making a new key together with its wrapped form.
    Generate,
    /// Decrypting a wrapped key.
    Unwrap,
    /// Encrypting a key.
    Wrap,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Generate => "generate",
            Self::Unwrap => "unwrap",
            Self::Wrap => "wrap",
        })
    }
}

/// An error with its kind, a message that names the object, and its cause.
///
/// `Display` leaves the cause to [`source`](StdError::source). No message ever holds key bytes or a passphrase.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error that is not about one operation with one key.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// An error of `operation` with the master key `key_id`; `detail` says what happened.
    pub fn on_key(kind: ErrorKind, operation: Operation, key_id: &str, detail: impl fmt::Display) -> Self {
        Self::new(kind, format!("cannot {operation} a key with master key {key_id:?}: {detail}"))
    }

    /// Keeps `source` as the cause. It must hold no secret either.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds to the message, in brackets.
    #[must_use]
    pub(crate) fn with_note(mut self, note: impl fmt::Display) -> Self {
        self.message = format!("{} ({note})", self.message);
        self
    }

    /// What went wrong, to act on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Error");
        out.field("kind", &self.kind).field("message", &self.message);
        if let Some(source) = &self.source {
            out.field("source", source);
        }
        out.finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn StdError + 'static))
    }
}
