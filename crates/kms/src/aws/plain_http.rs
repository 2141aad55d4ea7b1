//! No request to another machine without TLS, wherever its endpoint came from: the environment and the profile can name
//! one as well as a property.

use std::error::Error as StdError;
use std::fmt;

use aws_sdk_kms::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_kms::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_kms::error::BoxError;
use url::Url;

use crate::endpoint::{KMS_ALLOW_HTTP, is_protected};

/// Looks at each request before it goes out.
#[derive(Debug)]
pub(super) struct RefusePlainHttp;

impl Intercept for RefusePlainHttp {
    fn name(&self) -> &'static str {
        "RefusePlainHttp"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let uri = context.request().uri();
        match Url::parse(uri) {
            Ok(url) if is_protected(&url) => Ok(()),
            _ => Err(Unprotected { uri: uri.to_owned() }.into()),
        }
    }
}

/// A request that did not go out.
#[derive(Debug)]
pub(super) struct Unprotected {
    uri: String,
}

impl fmt::Display for Unprotected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uri = &self.uri;
        write!(f, "keys would cross the network to {uri} unprotected; use https, or set {KMS_ALLOW_HTTP}=true in tests")
    }
}

impl StdError for Unprotected {}
