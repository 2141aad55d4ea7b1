//! Errors, as handles that the caller frees.

use std::{error::Error as _, panic::AssertUnwindSafe, ptr};

use lakelock_ducklake::{Error, ErrorKind};

use crate::bytes::LakelockBytes;

/// An error: its kind and its message with all causes.
pub struct LakelockError(Failure);

/// What a call failed with.
pub(crate) struct Failure {
    kind: LakelockErrorKind,
    message: String,
}

/// What a caller can do about an error.
#[repr(C)]
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "they are the kinds of lakelock-ducklake and documented there")]
pub enum LakelockErrorKind {
    NotFound = 1,
    AlreadyExists = 2,
    Conflict = 3,
    Fenced = 4,
    ReadOnly = 5,
    Corrupt = 6,
    Unsupported = 7,
    Invalid = 8,
    Storage = 9,
    Constraint = 10,
    /// A bug.
    Internal = 11,
}

impl Failure {
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self { kind: LakelockErrorKind::Internal, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            ErrorKind::AlreadyExists => LakelockErrorKind::AlreadyExists,
            ErrorKind::Conflict => LakelockErrorKind::Conflict,
            ErrorKind::Constraint => LakelockErrorKind::Constraint,
            ErrorKind::Corrupt => LakelockErrorKind::Corrupt,
            ErrorKind::Fenced => LakelockErrorKind::Fenced,
            ErrorKind::InvalidInput => LakelockErrorKind::Invalid,
            ErrorKind::NotFound => LakelockErrorKind::NotFound,
            ErrorKind::ReadOnly => LakelockErrorKind::ReadOnly,
            ErrorKind::Unsupported => LakelockErrorKind::Unsupported,
            _ => LakelockErrorKind::Storage,
        };
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            message.push_str(": ");
            message.push_str(&error.to_string());
            cause = error.source();
        }
        Self { kind, message }
    }
}

/// Runs what a function of the ABI does. No panic leaves it.
pub(crate) fn answer(call: impl FnOnce() -> Result<(), Failure>) -> *mut LakelockError {
    let result = std::panic::catch_unwind(AssertUnwindSafe(call));
    match result.unwrap_or_else(|_| Err(Failure::internal("lakelock has failed by a bug: please report it"))) {
        Ok(()) => ptr::null_mut(),
        Err(failure) => Box::into_raw(Box::new(LakelockError(failure))),
    }
}

/// What to do about the error.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_error_kind(error: *const LakelockError) -> LakelockErrorKind {
    // SAFETY: it is a handle.
    unsafe { &*error }.0.kind
}

/// What went wrong.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_error_message(error: *const LakelockError) -> LakelockBytes {
    // SAFETY: it is a handle.
    LakelockBytes::of(unsafe { &*error }.0.message.as_bytes())
}

/// Gives the handle back.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_error_free(error: *mut LakelockError) {
    // SAFETY: it is a handle, given back once.
    drop(unsafe { Box::from_raw(error) });
}
