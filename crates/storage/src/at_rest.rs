//! What object stores say that they encrypt objects with by themselves, on top of what is written to them.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use object_store::{GetOptions, HeaderMap};

use crate::{
    error::{Error, ErrorKind, Result},
    location::{Location, Place},
    storage::Storage,
};

/// How a store encrypts an object, or the new objects of a bucket: `x-amz-server-side-encryption` and what goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSideEncryption {
    /// The store's name for it: `AES256` is under a key of the store, `aws:kms` and `aws:kms:dsse` under one of a KMS.
    pub algorithm: String,
    /// The key in the KMS, as the store writes it: Amazon's as its ARN. None for `AES256`, and for the default key in a
    /// bucket's configuration.
    pub key: Option<String>,
}

impl ServerSideEncryption {
    fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Some(Self { algorithm: text("x-amz-server-side-encryption")?, key: text(KEY_HEADER) })
    }

    /// Whether it is under this key of a KMS, which may be given by its ARN or by its id alone.
    #[must_use]
    pub fn is_under(&self, key: &str) -> bool {
        let id = |key: &str| key.rsplit_once('/').map_or(key, |(_, id)| id).to_owned();
        let is_arn = |key: &str| key.starts_with("arn:");
        self.algorithm.starts_with("aws:kms")
            && self.key.as_deref().is_some_and(|found| {
                // Equal ids in two accounts are two keys.
                found == key || (is_arn(found) != is_arn(key) && id(found) == id(key))
            })
    }
}

/// Where the headers of an answer are left that the store's client does not hand on. It goes with the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerHeaders(Arc<Mutex<Option<ServerSideEncryption>>>);

impl AnswerHeaders {
    pub(crate) fn keep(&self, headers: &HeaderMap) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = ServerSideEncryption::from_headers(headers);
    }

    fn encryption(&self) -> Option<ServerSideEncryption> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

const KEY_HEADER: &str = "x-amz-server-side-encryption-aws-kms-key-id";

impl fmt::Display for ServerSideEncryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "{} under {key}", self.algorithm),
            None => f.write_str(&self.algorithm),
        }
    }
}

impl Storage {
    /// What the store itself encrypts a file with, by the headers of the object; `None` if it does not say that it does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for a location that is not in S3 or a store that speaks its protocol, and those of
    /// [`length`](Self::length).
    pub async fn encryption_at_rest(&self, location: &str) -> Result<Option<ServerSideEncryption>> {
        s3_bucket(location)?;
        let (store, path) = self.resolve(location)?;
        let answer = AnswerHeaders::default();
        let mut options = GetOptions { head: true, ..GetOptions::default() };
        options.extensions.insert(answer.clone());
        store.get_opts(&path, options).await.map_err(|error| Error::from_store(error, location, "look at"))?;
        Ok(answer.encryption())
    }

    /// What the store encrypts new objects of a location's bucket with, if they do not ask for anything else; `None` if the
    /// bucket has no such configuration.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for a location that is not in S3 or a store that speaks its protocol; whatever the store
    /// answers: to be told takes `s3:GetEncryptionConfiguration`.
    pub async fn default_encryption_at_rest(&self, location: &str) -> Result<Option<ServerSideEncryption>> {
        self.bucket_encryption(&s3_bucket(location)?).await
    }
}

/// The bucket that a location is in.
fn s3_bucket(location: &str) -> Result<String> {
    let Place::S3 { bucket } = Location::parse(location)?.place else {
        let message = "only S3 is asked what it encrypts objects with, and this is not in S3";
        return Err(Error::new(ErrorKind::Unsupported, location, message));
    };
    Ok(bucket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_known_by_its_arn_and_by_its_id() {
        const ARN: &str = "arn:aws:kms:eu-west-1:111122223333:key/1234abcd";
        let cases = [
            ("aws:kms", Some(ARN), ARN, true),
            ("aws:kms:dsse", Some(ARN), "1234abcd", true),
            ("aws:kms", Some("1234abcd"), ARN, true),
            ("aws:kms", Some("1234abcd"), "1234abcd", true),
            ("aws:kms", Some("arn:aws:kms:eu-west-1:444455556666:key/1234abcd"), ARN, false),
            ("aws:kms", Some(ARN), "234abcd", false),
            ("aws:kms", Some(ARN), "", false),
            ("aws:kms", None, ARN, false),
            ("AES256", Some(ARN), ARN, false),
        ];
        for (algorithm, found, key, expected) in cases {
            let encryption = ServerSideEncryption { algorithm: algorithm.to_owned(), key: found.map(str::to_owned) };
            assert_eq!(encryption.is_under(key), expected, "{encryption} {key}");
        }
    }
}
