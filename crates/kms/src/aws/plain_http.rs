//! No request to another machine without TLS, wherever its endpoint came from: the environment and the profile can name
//! one as well as a property.

use std::error::Error as StdError;
use std::fmt;

use aws_sdk_kms::config::SharedHttpClient;
use aws_sdk_kms::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_kms::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_kms::error::BoxError;
use aws_smithy_http_client::{Builder, Connector};
use url::Url;

use crate::endpoint::{KMS_ALLOW_HTTP, is_protected};

/// A client without TLS, and without the environment's proxy: it would see the keys, of a service on this machine too.
pub(super) fn direct_client() -> SharedHttpClient {
    Builder::new().build_with_connector_fn(|settings, components| {
        let mut connector = Connector::builder();
        connector.set_connector_settings(settings.cloned());
        connector.set_sleep_impl(components.and_then(RuntimeComponents::sleep_impl));
        connector.build_http()
    })
}

/// Looks at each request before it goes out.
#[derive(Debug)]
pub(super) struct RefusePlainHttp {
    /// Whether requests go to the service itself, through no proxy.
    pub(super) direct: bool,
}

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
            Ok(url) if is_protected(&url) && (self.direct || url.scheme() == "https" || !has_proxy()) => Ok(()),
            _ => Err(Unprotected { uri: uri.to_owned() }.into()),
        }
    }
}

/// Whether the environment names a proxy for requests without TLS. Which hosts it is not for is not looked at: an endpoint
/// in [`KMS_ENDPOINT`](crate::KMS_ENDPOINT) needs none.
fn has_proxy() -> bool {
    ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"].iter().any(|name| std::env::var_os(name).is_some())
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
