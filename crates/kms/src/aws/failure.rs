//! What the SDK tells of a failed call, as errors of this crate.

use std::error::Error as StdError;
use std::fmt;
use std::iter::successors;

use aws_sdk_kms::config::http::HttpResponse;
use aws_sdk_kms::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_kms::operation::RequestId as _;
use aws_sdk_kms::types::EncryptionAlgorithmSpec;
use lakelock_cloud::aws::credentials_failure;

use super::plain_http::Unprotected;
use crate::call::kind_of_credentials;
use crate::{Error, ErrorKind, Operation};

/// The call that failed.
pub(super) struct Place<'a> {
    pub(super) operation: Operation,
    pub(super) key_id: &'a str,
    pub(super) region: &'a str,
    pub(super) endpoint: Option<&'a str>,
    pub(super) algorithm: &'a EncryptionAlgorithmSpec,
}

impl Place<'_> {
    /// The error of a call.
    pub(super) fn error<E>(&self, error: &SdkError<E, HttpResponse>) -> Error
    where
        E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    {
        if let Some(failure) = credentials_failure(error) {
            return self.on_key(kind_of_credentials(&failure), failure.to_string()).with_source(Innermost::of(error));
        }
        let mut causes = successors(Some(error as &(dyn StdError + 'static)), |cause| StdError::source(*cause));
        if let Some(refused) = causes.find_map(|cause| cause.downcast_ref::<Unprotected>()) {
            return self.on_key(ErrorKind::InvalidInput, refused);
        }
        match error {
            SdkError::ServiceError(answer)
                if answer.err().code().is_some() || answer.raw().status().as_u16() >= 400 =>
            {
                let answer = Answer {
                    status: answer.raw().status().as_u16(),
                    code: answer.err().code().map(ToOwned::to_owned),
                    message: answer.err().message().map(ToOwned::to_owned),
                    request_id: error.request_id().map(ToOwned::to_owned),
                };
                let kind = answer.kind();
                self.on_key(kind, self.advice(kind, answer.code())).with_source(answer)
            }
            SdkError::ServiceError(_) | SdkError::ResponseError(_) => {
                let detail = format!("the answer of {} is broken off or no answer of AWS KMS", self.service());
                self.on_key(ErrorKind::Unreachable, detail).with_source(Innermost::of(error))
            }
            SdkError::TimeoutError(_) | SdkError::DispatchFailure(_) => {
                let detail = format!("{} cannot be reached", self.service());
                self.on_key(ErrorKind::Unreachable, detail).with_source(Innermost::of(error))
            }
            _ => self
                .on_key(ErrorKind::InvalidInput, "the request cannot be made; check the region and kms.endpoint")
                .with_source(Innermost::of(error)),
        }
    }

    /// The error of an answer without one of its members.
    pub(super) fn incomplete(&self, member: &str) -> Error {
        self.on_key(ErrorKind::Damaged, format!("the answer of {} has no {member}", self.service()))
    }

    fn on_key(&self, kind: ErrorKind, detail: impl fmt::Display) -> Error {
        Error::on_key(kind, self.operation, self.key_id, detail)
    }

    fn service(&self) -> String {
        match self.endpoint {
            Some(endpoint) => format!("AWS KMS at {}", endpoint.trim_end_matches('/')),
            None => format!("AWS KMS in {}", self.region),
        }
    }

    /// What it means, and what to do about it.
    fn advice(&self, kind: ErrorKind, code: &str) -> String {
        let (service, call) = (self.service(), self.call());
        match kind {
            ErrorKind::AccessDenied => {
                format!("{service} denies it; allow kms:{call} in the key's policy or to this identity")
            }
            ErrorKind::Credentials => format!(
                "{service} does not accept the credentials; check that they are whole, not expired, and that this \
                 machine's clock is right"
            ),
            ErrorKind::Disabled => format!(
                "the key is disabled, about to be deleted or not ready; enable it, or cancel its deletion, in {service}"
            ),
            ErrorKind::NotFound => format!("{service} has no such key; check the id, the account and the region"),
            ErrorKind::Throttled => format!("{service} asks to slow down"),
            ErrorKind::WrongKey => {
                "it was wrapped with another master key, or its bytes were changed, or the key material is gone"
                    .to_owned()
            }
            ErrorKind::InvalidInput if code == "InvalidKeyUsageException" => format!(
                "the key is of another type; it must be one to encrypt and decrypt with {} (kms.encryption-algorithm-spec)",
                self.algorithm
            ),
            ErrorKind::InvalidInput => format!("{service} does not take the request"),
            _ => format!("{service} failed; try again later"),
        }
    }

    fn call(&self) -> &'static str {
        match self.operation {
            Operation::Generate => "GenerateDataKey",
            Operation::Unwrap => "Decrypt",
            Operation::Wrap => "Encrypt",
        }
    }
}

/// An error as AWS answers it.
#[derive(Debug)]
struct Answer {
    status: u16,
    code: Option<String>,
    message: Option<String>,
    request_id: Option<String>,
}

impl Answer {
    fn code(&self) -> &str {
        self.code.as_deref().unwrap_or_default()
    }

    /// By AWS's code; by the status of HTTP for those that are not known here.
    fn kind(&self) -> ErrorKind {
        match self.code() {
            "AccessDenied" | "AccessDeniedException" | "NotAuthorized" => ErrorKind::AccessDenied,
            "ExpiredToken"
            | "ExpiredTokenException"
            | "IncompleteSignature"
            | "IncompleteSignatureException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "RequestExpired"
            | "SignatureDoesNotMatch"
            | "UnrecognizedClientException" => ErrorKind::Credentials,
            "DisabledException" | "KMSInvalidStateException" => ErrorKind::Disabled,
            "NotFoundException" => ErrorKind::NotFound,
            "LimitExceededException"
            | "RequestLimitExceeded"
            | "Throttling"
            | "ThrottlingException"
            | "TooManyRequestsException" => ErrorKind::Throttled,
            "IncorrectKeyException" | "InvalidCiphertextException" => ErrorKind::WrongKey,
            "InvalidArnException"
            | "InvalidGrantTokenException"
            | "InvalidKeyUsageException"
            | "ValidationException" => ErrorKind::InvalidInput,
            "DependencyTimeoutException" | "KMSInternalException" | "KeyUnavailableException" => ErrorKind::Unreachable,
            _ => match self.status {
                401 | 403 => ErrorKind::AccessDenied,
                429 => ErrorKind::Throttled,
                500.. => ErrorKind::Unreachable,
                _ => ErrorKind::InvalidInput,
            },
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Enough for every message of AWS; another's may have no end.
        const LONGEST: usize = 500;
        match &self.code {
            Some(code) => f.write_str(code)?,
            None => write!(f, "HTTP status {}", self.status)?,
        }
        if let Some(message) = self.message.as_ref().filter(|message| !message.is_empty()) {
            write!(f, ": {}", message.chars().take(LONGEST).collect::<String>())?;
        }
        if let Some(id) = &self.request_id {
            write!(f, " (request {id})")?;
        }
        Ok(())
    }
}

impl StdError for Answer {}

/// What the last cause of an error of the SDK says: those between repeat each other. The error itself is not kept, as it
/// has the whole answer, and there may be a key in it.
#[derive(Debug)]
struct Innermost(String);

impl Innermost {
    fn of(error: &(dyn StdError + 'static)) -> Self {
        let mut last = error;
        while let Some(source) = last.source() {
            last = source;
        }
        Self(last.to_string())
    }
}

impl fmt::Display for Innermost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl StdError for Innermost {}
