//! One operation with one master key: what errors of the service clients name.

use std::collections::HashMap;
use std::fmt;

use lakelock_crypto::SecretKey;

use crate::{Error, ErrorKind, Operation, Result};

/// An operation with a master key, while it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) operation: Operation,
    pub(crate) key_id: &'a str,
}

impl<'a> Call<'a> {
    pub(crate) fn new(operation: Operation, key_id: &'a str) -> Self {
        Self { operation, key_id }
    }

    pub(crate) fn error(&self, kind: ErrorKind, detail: impl fmt::Display) -> Error {
        Error::on_key(kind, self.operation, self.key_id, detail)
    }

    /// What a platform's credentials did not do.
    #[cfg(any(feature = "azure", feature = "gcp"))]
    pub(crate) fn credentials_error(&self, source: lakelock_cloud::Error) -> Error {
        self.error(kind_of_credentials(&source), "no access token").with_source(source)
    }

    /// The key that a service answered with.
    pub(crate) fn secret_key(&self, bytes: &[u8]) -> Result<SecretKey> {
        SecretKey::new(bytes).map_err(|source| {
            let detail = format!("the answer holds {} bytes, and a key has 16, 24 or 32", bytes.len());
            self.error(ErrorKind::Damaged, detail).with_source(source)
        })
    }

    /// Wrapped keys are short. What is longer than any service makes is not sent to one.
    pub(crate) fn check_wrapped(&self, wrapped: &[u8]) -> Result<()> {
        if wrapped.is_empty() || wrapped.len() > MAX_WRAPPED_LENGTH {
            let detail = format!("a wrapped key has 1 to {MAX_WRAPPED_LENGTH} bytes, and this one {}", wrapped.len());
            return Err(self.error(ErrorKind::Damaged, detail));
        }
        Ok(())
    }
}

/// What an error of a platform's credentials is to the caller of a KMS.
#[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
pub(crate) fn kind_of_credentials(error: &lakelock_cloud::Error) -> ErrorKind {
    match error.kind() {
        lakelock_cloud::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
        lakelock_cloud::ErrorKind::Unreachable => ErrorKind::Unreachable,
        lakelock_cloud::ErrorKind::Unsupported => ErrorKind::Unsupported,
        _ => ErrorKind::Credentials,
    }
}

/// What a server or a program says of itself, fit for one line of an error: without control characters, and not long.
pub(crate) fn quoted(text: &str) -> String {
    let words: Vec<&str> =
        text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}

/// A property's value, where an empty one counts as none.
pub(crate) fn property<'a>(properties: &'a HashMap<String, String>, name: &str) -> Option<&'a str> {
    properties.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

const MAX_QUOTED_CHARS: usize = 400;
const MAX_WRAPPED_LENGTH: usize = 16 * 1024;
