//! Requests to the services that speak HTTP: where they go, how much is read, and what went wrong on the way.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use reqwest::header::{HeaderName, HeaderValue, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Method, StatusCode, Url};
use tokio::sync::OnceCell;
use zeroize::Zeroizing;

use crate::call::{Call, property, quoted};
use crate::{ErrorKind, Result};

/// Property, for `azure` and `gcp`: the authorities to trust instead of the system's, in PEM.
#[cfg(any(feature = "azure", feature = "gcp"))]
pub const KMS_CA_FILE: &str = "kms.ca-file";

/// The address of what path segments name below a base. Each is encoded, so none leaves its place.
pub(crate) fn at<'a>(base: &Url, segments: impl IntoIterator<Item = &'a str>) -> Url {
    let mut url = base.clone();
    url.set_query(None);
    url.set_fragment(None);
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// A base address, as messages name it.
pub(crate) fn shown(base: &Url) -> &str {
    base.as_str().trim_end_matches('/')
}

/// A client for one service. It connects when it is first used.
#[derive(Debug)]
pub(crate) struct Http {
    /// Trust these certificate authorities instead of the system's.
    ca_file: Option<PathBuf>,
    /// The property that `ca_file` came from.
    ca_property: &'static str,
    /// Over TLS, through the system's proxy if there is one.
    client: OnceCell<Client>,
    /// Without TLS, and so without a proxy: it would see the keys, of a service on this machine too.
    direct: OnceCell<Client>,
}

/// A request; its body may hold a key.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<Zeroizing<Vec<u8>>>,
}

/// The whole answer; its body may hold a key.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Zeroizing<Vec<u8>>,
}

impl Answer {
    /// How it is told in an error: its status, and what the service says of itself, if it does.
    pub(crate) fn said(&self, code: &str, message: &str) -> String {
        let [code, message] = [quoted(code), quoted(message)];
        let code = if code.is_empty() { code } else { format!(" {code}") };
        let message = if message.is_empty() { message } else { format!(", {message:?}") };
        format!("answered with status {}{code}{message}", self.status.as_u16())
    }
}

impl Http {
    /// A client which trusts the authorities in the file that the property names, or the system's.
    pub(crate) fn new(ca_property: &'static str, properties: &HashMap<String, String>) -> Self {
        let ca_file = property(properties, ca_property).map(PathBuf::from);
        Self { ca_file, ca_property, client: OnceCell::new(), direct: OnceCell::new() }
    }

    #[cfg(feature = "vault")]
    pub(crate) fn or_ca_file(mut self, ca_file: Option<String>) -> Self {
        self.ca_file = self.ca_file.or(ca_file.map(PathBuf::from));
        self
    }

    /// Asks once.
    ///
    /// Redirects are not followed: they would take the token and the key to another server.
    pub(crate) async fn send(&self, call: Call<'_>, request: Request) -> Result<Answer> {
        let is_protected = request.url.scheme() == "https";
        let client = if is_protected { &self.client } else { &self.direct };
        let client = client.get_or_try_init(|| self.connect(call, is_protected)).await?;
        let origin = request.url.origin().ascii_serialization();
        let mut builder = client.request(request.method, request.url);
        for (name, mut value) in request.headers {
            value.set_sensitive(true);
            builder = builder.header(name, value);
        }
        if let Some(body) = request.body {
            builder = builder
                .header(reqwest::header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
                .body(Bytes::from_owner(body));
        }
        let mut response = builder.send().await.map_err(|error| {
            let detail = if error.is_connect() {
                format!("no connection to {origin}: check the address, the network and the certificates")
            } else {
                format!("{origin} gave no answer")
            };
            call.error(ErrorKind::Unreachable, detail).with_source(error.without_url())
        })?;
        let status = response.status();
        if status.is_redirection() {
            let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok()).unwrap_or("nowhere");
            let detail = format!("{origin} redirects to {}, which is not followed: set that address", quoted(target));
            return Err(call.error(ErrorKind::InvalidInput, detail));
        }
        let mut body = Zeroizing::new(Vec::with_capacity(MAX_ANSWER_LENGTH));
        while let Some(chunk) = response.chunk().await.map_err(|error| {
            let detail = format!("the answer of {origin} was cut off");
            call.error(ErrorKind::Unreachable, detail).with_source(error.without_url())
        })? {
            if chunk.len() > MAX_ANSWER_LENGTH - body.len() {
                let detail = format!("the answer of {origin} is longer than {MAX_ANSWER_LENGTH} bytes");
                return Err(call.error(ErrorKind::Damaged, detail));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Answer { status, body })
    }

    async fn connect(&self, call: Call<'_>, is_protected: bool) -> Result<Client> {
        let invalid = |file: &Path| {
            let detail = format!("{} names {}, which holds no certificates", self.ca_property, file.display());
            call.error(ErrorKind::InvalidInput, detail)
        };
        let mut builder = Client::builder().redirect(Policy::none());
        if !is_protected {
            builder = builder.no_proxy();
        }
        if let Some(file) = &self.ca_file {
            let pem = tokio::fs::read(file).await.map_err(|source| invalid(file).with_source(source))?;
            let certificates =
                Certificate::from_pem_bundle(&pem).map_err(|source| invalid(file).with_source(source))?;
            if certificates.is_empty() {
                return Err(invalid(file));
            }
            builder = builder.tls_built_in_root_certs(false);
            for certificate in certificates {
                builder = builder.add_root_certificate(certificate);
            }
        }
        builder.build().map_err(|source| {
            call.error(ErrorKind::InvalidInput, "no client for TLS: check the system's certificates")
                .with_source(source)
        })
    }
}

/// What a status says, where a service says no more.
pub(crate) fn kind_of(status: StatusCode) -> ErrorKind {
    match status.as_u16() {
        401 => ErrorKind::Credentials,
        403 => ErrorKind::AccessDenied,
        404 => ErrorKind::NotFound,
        408 | 412 | 500.. => ErrorKind::Unreachable,
        429 => ErrorKind::Throttled,
        _ => ErrorKind::InvalidInput,
    }
}

/// The value of a header that holds a token.
pub(crate) fn header(call: Call<'_>, what: &str, text: &str) -> Result<HeaderValue> {
    // The cause is left out: it might quote the token.
    HeaderValue::from_str(text)
        .map_err(|_| call.error(ErrorKind::Credentials, format!("{what} has characters that no token has")))
}

const MAX_ANSWER_LENGTH: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_place_in_the_path() {
        for base in ["https://example.com/base/", "https://example.com/base?x#y"] {
            let url = at(&Url::parse(base).unwrap(), ["v1", "a/b?c#d", "é"]);
            assert_eq!(url.as_str(), "https://example.com/base/v1/a%2Fb%3Fc%23d/%C3%A9");
        }
    }
}
