//! Key metadata as it lies in manifests and manifest lists.

use std::fmt;

use lakelock_crypto::StandardKeyMetadata;
use zeroize::Zeroizing;

use crate::{Error, ErrorKind, Result};

/// The bytes of a `key_metadata` field. They hold a data encryption key in the clear, so they are wiped on drop and
/// never printed.
#[derive(Clone)]
pub struct EncodedKeyMetadata(Zeroizing<Vec<u8>>);

impl EncodedKeyMetadata {
    /// Takes over bytes read from a manifest or manifest list.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The raw bytes, for writing them into an encrypted parent.
    #[must_use]
    pub fn expose_secret(&self) -> &[u8] {
        &self.0
    }

    /// Parses the bytes; `location` is the file they belong to, named in the error.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] when they are no `StandardKeyMetadata`.
    pub fn decode(&self, location: &str) -> Result<StandardKeyMetadata> {
        StandardKeyMetadata::decode(&self.0).map_err(|e| {
            Error::new(ErrorKind::InvalidData, format!("invalid key metadata of {location}")).with_source(e)
        })
    }
}

impl From<&StandardKeyMetadata> for EncodedKeyMetadata {
    fn from(metadata: &StandardKeyMetadata) -> Self {
        Self(metadata.encode())
    }
}

impl fmt::Debug for EncodedKeyMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
