//! Failed calls that failed for want of credentials.

use std::error::Error as StdError;
use std::iter::successors;

use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::error::ErrorMetadata;

use crate::{Error, ErrorKind};

/// What is wrong with the credentials, if that is why a call failed: the SDK tells of it somewhere among the causes.
#[must_use]
pub fn credentials_failure(error: &(dyn StdError + 'static)) -> Option<Error> {
    let causes: Vec<_> =
        successors(Some(error), |error: &&'_ (dyn StdError + 'static)| StdError::source(*error)).collect();
    let at = causes.iter().position(|cause| cause.is::<CredentialsError>())?;
    let (failure, causes) = (causes[at].downcast_ref::<CredentialsError>()?, &causes[at + 1..]);
    let because = causes.last().map(|cause| format!(": {}", own_text(*cause))).unwrap_or_default();
    Some(match failure {
        CredentialsError::CredentialsNotLoaded(_) => Error::new(
            ErrorKind::Credentials,
            "there are no AWS credentials in the environment (AWS_ACCESS_KEY_ID), in a profile (AWS_PROFILE, ~/.aws), \
             from web identity, the container or the instance",
        ),
        CredentialsError::InvalidConfiguration(_) => {
            Error::new(ErrorKind::Credentials, format!("the AWS credentials are not configured well{because}"))
        }
        CredentialsError::ProviderTimedOut(_) => {
            Error::new(ErrorKind::Unreachable, "who gives out the AWS credentials did not answer in time")
        }
        _ if causes.iter().any(|cause| cause.is::<ConnectorError>()) => {
            Error::new(ErrorKind::Unreachable, format!("who gives out the AWS credentials cannot be reached{because}"))
        }
        _ => Error::new(ErrorKind::Credentials, format!("the AWS credentials cannot be got{because}")),
    })
}

/// What an error says, without the form in which the SDK shows an answer.
fn own_text(error: &(dyn StdError + 'static)) -> String {
    match error.downcast_ref::<ErrorMetadata>() {
        Some(answer) => {
            format!("{}: {}", answer.code().unwrap_or("an error"), answer.message().unwrap_or("no details"))
        }
        None => error.to_string(),
    }
}
