//! What went wrong in a PKCS#11 module, before it is known of which call.

use cryptoki::error::{Error as TokenError, RvError};

use crate::call::Call;
use crate::{Error, ErrorKind};

/// Why a token did not do something.
#[derive(Debug)]
pub(super) enum Failure {
    /// What we found out.
    Ours(ErrorKind, String),
    /// What the module said.
    Theirs(TokenError),
}

impl Failure {
    pub(super) fn of(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self::Ours(kind, detail.into())
    }

    /// Whether the session is gone, so that a new one may do.
    pub(super) fn is_lost_session(&self) -> bool {
        matches!(
            self,
            Self::Theirs(TokenError::Pkcs11(
                RvError::CryptokiNotInitialized
                    | RvError::DeviceError
                    | RvError::DeviceRemoved
                    | RvError::KeyHandleInvalid
                    | RvError::ObjectHandleInvalid
                    | RvError::OperationActive
                    | RvError::SessionClosed
                    | RvError::SessionHandleInvalid
                    | RvError::TokenNotPresent
                    | RvError::UserNotLoggedIn,
                _
            ))
        )
    }

    pub(super) fn on(self, call: Call<'_>) -> Error {
        match self {
            Self::Ours(kind, detail) => call.error(kind, detail),
            Self::Theirs(error) => {
                let (kind, detail) = explain(&error);
                call.error(kind, detail).with_source(error)
            }
        }
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        Self::Theirs(error)
    }
}

fn explain(error: &TokenError) -> (ErrorKind, &'static str) {
    let TokenError::Pkcs11(code, _) = error else {
        return match error {
            TokenError::LibraryLoading(_) | TokenError::MissingSymbol(_) => {
                (ErrorKind::InvalidInput, "the module does not load: check pkcs11.module")
            }
            TokenError::NotSupported | TokenError::NullFunctionPointer => {
                (ErrorKind::Unsupported, "the module lacks a function that is needed")
            }
            _ => (ErrorKind::Internal, "the module was called wrongly, or answered so"),
        };
    };
    match code {
        RvError::PinIncorrect | RvError::PinInvalid | RvError::PinLenRange => {
            (ErrorKind::Credentials, "the token does not accept the PIN: check pkcs11.pin-env or pkcs11.pin-file")
        }
        RvError::PinExpired | RvError::PinLocked | RvError::UserPinNotInitialized => {
            (ErrorKind::Credentials, "the token's user PIN is locked, has expired or was never set")
        }
        RvError::UserNotLoggedIn | RvError::UserAnotherAlreadyLoggedIn => {
            (ErrorKind::Credentials, "the token does not let its user log in")
        }
        RvError::ActionProhibited | RvError::FunctionRejected | RvError::KeyFunctionNotPermitted => (
            ErrorKind::AccessDenied,
            "the key may not be used for this: it needs CKA_ENCRYPT to wrap and CKA_DECRYPT to unwrap",
        ),
        RvError::KeySizeRange | RvError::KeyTypeInconsistent => {
            (ErrorKind::InvalidInput, "the key is not one for AES-GCM")
        }
        RvError::FunctionNotSupported | RvError::MechanismInvalid | RvError::MechanismParamInvalid => {
            (ErrorKind::Unsupported, "the token does not do CKM_AES_GCM with an IV of 12 bytes and a tag of 16")
        }
        RvError::DataInvalid
        | RvError::DataLenRange
        | RvError::EncryptedDataInvalid
        | RvError::EncryptedDataLenRange => {
            (ErrorKind::WrongKey, "it was wrapped with another key, or its bytes were changed")
        }
        RvError::SlotIdInvalid => (ErrorKind::NotFound, "there is no such slot: check pkcs11.slot-id"),
        RvError::TokenNotPresent | RvError::TokenNotRecognized => {
            (ErrorKind::Unreachable, "the token is not there, or not recognised")
        }
        _ => (ErrorKind::Unreachable, "the token failed: try again, or check it with its own tools"),
    }
}
