//! What can go wrong with a file, by what the caller can do about it.

use std::{borrow::Cow, error::Error as StdError, fmt};

use object_store::{
    client::{HttpError, HttpErrorKind},
    path::Path,
};

use crate::{
    http::{Refusal, Refused},
    location::{Location, Place},
};

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
    /// There are no credentials for the store, or it does not accept them.
    Credentials,
    /// The file is not what it should be: damaged, cut off or of another format.
    InvalidData,
    /// An argument is not acceptable: fix the call.
    InvalidInput,
    /// There is no such bucket or container.
    MissingBucket,
    /// There is no such file.
    NotFound,
    /// The store refuses access.
    PermissionDenied,
    /// The store failed or cannot be reached: trying again may help.
    Unavailable,
    /// There is no store for such a location here, or the store cannot do this.
    Unsupported,
    /// The bucket is in another region than the properties say.
    WrongRegion,
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
        let error = match Location::parse(location) {
            Ok(Location { place, path, .. }) => explained(error, &place, &path, action),
            Err(_) => error,
        };
        let error = match error {
            Store::Generic { store, source } => match source.downcast::<Self>() {
                Ok(error) => return Self { location: location.to_owned(), ..*error },
                Err(source) => Store::Generic { store, source },
            },
            error => error,
        };
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

    /// What the platform says when it is asked who we are.
    pub(crate) fn from_cloud(error: lakelock_cloud::Error, location: &str) -> Self {
        let (kind, message) = match error.kind() {
            lakelock_cloud::ErrorKind::InvalidInput => (ErrorKind::InvalidInput, "a property is not right"),
            lakelock_cloud::ErrorKind::Unreachable => (ErrorKind::Unavailable, "no credentials could be got for it"),
            lakelock_cloud::ErrorKind::Unsupported => (ErrorKind::Unsupported, "a property is not supported"),
            _ => (ErrorKind::Credentials, "there are no credentials for it"),
        };
        Self::new(kind, location, message).with_source(error)
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

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

type Cause = Box<dyn StdError + Send + Sync>;

/// An error of ours as one of a store, from which [`Error::from_store`] takes it out again.
pub(crate) fn into_store(error: Error) -> object_store::Error {
    object_store::Error::Generic { store: "object store", source: Box::new(error) }
}

/// What the platform says when it is asked who we are, as an error of a store.
pub(crate) fn without_credentials(error: lakelock_cloud::Error) -> object_store::Error {
    object_store::Error::Unauthenticated { path: String::new(), source: Box::new(error) }
}

/// Whether the store has answered that it will not, so that it certainly has not.
pub(crate) fn is_refusal(error: &object_store::Error) -> bool {
    find::<Refusal>(error).is_some() || find::<Error>(error).is_some()
}

/// What a store says of a path that it was asked to do something with, in words that help. What callers tell apart stays as it is.
pub(crate) fn explained(error: object_store::Error, place: &Place, path: &Path, doing: &str) -> object_store::Error {
    if matches!(place, Place::File | Place::Memory) || find::<Error>(&error).is_some() {
        return error;
    }
    let location = format!("{place}{path}");
    if let Some(refusal) = find::<Refusal>(&error) {
        let (kind, message) = refused(&refusal.what, place, doing);
        return into_store(Error::new(kind, &location, message).with_source(refusal.clone()));
    }
    let error = match error {
        object_store::Error::Unauthenticated { path, source } => match source.downcast::<lakelock_cloud::Error>() {
            Ok(error) => return into_store(Error::from_cloud(*error, &location)),
            Err(source) => object_store::Error::Unauthenticated { path, source },
        },
        error => error,
    };
    let (kind, message) = match find::<HttpError>(&error).map(HttpError::kind) {
        Some(HttpErrorKind::Connect) => {
            let message = format!("the store cannot be reached: check {} and the network", place.endpoint_property());
            (ErrorKind::Unavailable, message)
        }
        Some(HttpErrorKind::Timeout) => {
            (ErrorKind::Unavailable, format!("the store did not answer in time when it was asked to {doing} it"))
        }
        _ => match error {
            object_store::Error::PermissionDenied { .. } => refused(&Refused::Permission, place, doing),
            object_store::Error::Unauthenticated { .. } => refused(&Refused::Credentials, place, doing),
            error => return error,
        },
    };
    into_store(Error::new(kind, &location, message).with_source(error))
}

fn refused(what: &Refused, place: &Place, doing: &str) -> (ErrorKind, String) {
    let name = match place {
        Place::Azure { container, .. } => format!("container {container}"),
        Place::S3 { bucket } | Place::Gcs { bucket } => format!("bucket {bucket}"),
        Place::File | Place::Memory => String::new(),
    };
    match what {
        Refused::Bucket => (ErrorKind::MissingBucket, format!("there is no {name}: make it, or correct the location")),
        Refused::Condition => {
            let message = "the store cannot write a file only where there is none: \
                           s3.conditional-writes = false does without, if nobody else writes the same files";
            (ErrorKind::Unsupported, message.to_owned())
        }
        Refused::Credentials => {
            let check = place.credential_properties();
            (ErrorKind::Credentials, format!("the store does not accept the credentials: check {check}, and the clock"))
        }
        Refused::Permission => {
            let right = place.right_to(doing);
            (ErrorKind::PermissionDenied, format!("no permission to {doing} it: the credentials need {right}"))
        }
        Refused::Region(region) => {
            let region =
                region.as_ref().map_or_else(|| "another region".to_owned(), |region| format!("region {region}"));
            (ErrorKind::WrongRegion, format!("the {name} is in {region}: set client.region to that"))
        }
    }
}

impl Place {
    fn endpoint_property(&self) -> String {
        match self {
            Self::S3 { .. } => "s3.endpoint, client.region".to_owned(),
            Self::Gcs { .. } => "gcs.service.host".to_owned(),
            Self::Azure { host, .. } => format!("adls.connection-string.{host}, the name of the account"),
            Self::File | Self::Memory => String::new(),
        }
    }

    fn credential_properties(&self) -> String {
        match self {
            Self::S3 { .. } => {
                "s3.access-key-id, s3.secret-access-key and s3.session-token, or those of the environment".to_owned()
            }
            Self::Gcs { .. } => "gcs.oauth2.token, or those of the environment".to_owned(),
            Self::Azure { host, .. } => {
                format!(
                    "adls.sas-token.{host}, adls.auth.shared-key.account.key or adls.token, or those of the environment"
                )
            }
            Self::File | Self::Memory => String::new(),
        }
    }

    /// What somebody needs who is to do this.
    fn right_to(&self, doing: &str) -> &'static str {
        let rights = match self {
            Self::S3 { .. } => &["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"],
            Self::Gcs { .. } => {
                &["storage.objects.get", "storage.objects.create", "storage.objects.delete", "storage.objects.list"]
            }
            _ => &[
                "the role Storage Blob Data Reader",
                "the role Storage Blob Data Contributor",
                "the role Storage Blob Data Contributor",
                "the role Storage Blob Data Reader",
            ],
        };
        match doing {
            "see the default encryption of" => "s3:GetEncryptionConfiguration",
            "read" | "look at" => rights[0],
            "delete" | "delete from" => rights[2],
            "list" => rights[3],
            _ => rights[1],
        }
    }
}

/// The first error of a type among an error's causes.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
