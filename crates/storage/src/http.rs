//! How stores are talked to: time-outs and retries by properties, and refusals told apart by what is to be done about them.

use std::{fmt, io, time::Duration};

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::{
    BackoffConfig, ClientOptions, HeaderValue, RetryConfig,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
        ReqwestConnector,
    },
};

use crate::{
    at_rest::AnswerHeaders,
    error::Result,
    properties::{Properties, invalid},
};

/// Time-outs and retries.
#[derive(Clone, Debug)]
pub(crate) struct HttpSettings {
    connect_timeout: Duration,
    timeout: Duration,
    pub(crate) retry: RetryConfig,
}

impl HttpSettings {
    /// `java` is what Java puts before the properties of its retries for this store, if it has some.
    pub(crate) fn from_properties(properties: Properties<'_>, java: &str) -> Result<Self> {
        let names = |name: &str| [format!("{java}.{name}"), format!("storage.{name}")];
        let milliseconds = |name: &str, default| {
            let names = names(name);
            properties.milliseconds(&[&names[0], &names[1]], default)
        };
        let retries = names("retry.num-retries");
        let retries = properties.number(&[&retries[0], &retries[1]], 10, 0..=100)?;
        let (first, longest) = (Duration::from_millis(200), Duration::from_secs(20));
        let backoff = BackoffConfig {
            init_backoff: milliseconds("retry.min-wait-ms", first)?,
            max_backoff: milliseconds("retry.max-wait-ms", longest)?,
            base: 2.0,
        };
        if backoff.max_backoff < backoff.init_backoff {
            return Err(invalid(&format!("{java}.retry.max-wait-ms"), "expected no less than the shortest wait"));
        }
        Ok(Self {
            connect_timeout: properties.milliseconds(&[CONNECT_TIMEOUT], Duration::from_secs(5))?,
            timeout: properties.milliseconds(&[TIMEOUT], Duration::from_mins(1))?,
            retry: RetryConfig {
                backoff,
                max_retries: usize::try_from(retries).unwrap_or(usize::MAX),
                retry_timeout: properties.milliseconds(&[RETRY_TIMEOUT], Duration::from_mins(2))?,
            },
        })
    }

    /// Without TLS only to an endpoint that the properties name so.
    pub(crate) fn client(&self, endpoint: Option<&str>) -> ClientOptions {
        ClientOptions::new()
            .with_user_agent(HeaderValue::from_static(USER_AGENT))
            .with_connect_timeout(self.connect_timeout)
            .with_timeout(self.timeout)
            .with_allow_http(endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")))
    }
}

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: &str = "storage.connect-timeout-ms";
/// How long one attempt of a request may take, with its body and that of the answer.
const TIMEOUT: &str = "storage.timeout-ms";
/// How long after the first attempt another one may begin.
const RETRY_TIMEOUT: &str = "storage.retry.total-timeout-ms";

const USER_AGENT: &str = concat!("lakelock/", env!("CARGO_PKG_VERSION"));

/// What a store answers instead of doing what it was asked for, when trying again would not help.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub(crate) what: Refused,
    /// The store's own word for it, or the status of the answer.
    code: String,
}

/// What is to be done about a [`Refusal`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The bucket has to be made, or another one named.
    Bucket,
    /// The store does not do what it was asked for, such as to write only when there is nothing.
    Condition,
    /// Other credentials are needed.
    Credentials,
    /// These credentials need more rights.
    Permission,
    /// The bucket is in another region: that one, if the store says which.
    Region(Option<String>),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store answers {}", self.code)
    }
}

impl std::error::Error for Refusal {}

/// Makes clients that report refusals as errors, so that nobody has to look for them in texts.
#[derive(Debug)]
pub(crate) struct Connector {
    /// Whether an upload of several parts is to be completed only where there is no object yet, on stores where a header says so.
    pub(crate) complete_new: bool,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(Service { client, complete_new: self.complete_new }))
    }
}

#[derive(Debug)]
struct Service {
    client: HttpClient,
    complete_new: bool,
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, mut request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let completes = request.method() == "POST" && request.uri().query().is_some_and(|q| q.starts_with("uploadId="));
        if completes && self.complete_new {
            request.headers_mut().insert(CONDITION, HeaderValue::from_static("*"));
        }
        let conditional = request.headers().contains_key(CONDITION);
        // The answer to this one is good, whatever has become of each of the objects.
        let deletes = request.method() == "POST" && request.uri().query() == Some("delete");
        let wanted = request.extensions().get::<AnswerHeaders>().cloned();
        let response = self.client.execute(request).await?;
        if let Some(wanted) = wanted {
            wanted.keep(response.headers());
        }
        let status = response.status().as_u16();
        let may_refuse = matches!(status, 301 | 307 | 400 | 401 | 403 | 404 | 501) || (deletes && status == 200);
        if !may_refuse {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = short(body).await?;
        let headers = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let answer = Answer {
            status,
            conditional,
            code: headers("x-ms-error-code").map(str::to_owned).or_else(|| element(&body, "Code")),
            region: headers("x-amz-bucket-region").map(str::to_owned).or_else(|| element(&body, "Region")),
        };
        match answer.refusal() {
            Some(refusal) => Err(HttpError::new(HttpErrorKind::Unknown, refusal)),
            None => Ok(HttpResponse::from_parts(parts, HttpResponseBody::from(body))),
        }
    }
}

const CONDITION: &str = "if-none-match";

/// What is looked at of an answer.
struct Answer {
    status: u16,
    conditional: bool,
    code: Option<String>,
    region: Option<String>,
}

impl Answer {
    fn refusal(self) -> Option<Refusal> {
        let code = self.code.filter(|code| is_word(code));
        let known = code.as_deref().and_then(|code| CODES.iter().find(|(_, codes)| codes.contains(&code)));
        let what = match (self.status, known) {
            (_, Some((what, _))) => match what {
                Refused::Region(_) => Refused::Region(self.region.filter(|region| is_word(region))),
                what => what.clone(),
            },
            // Answers to HEAD have no body that says more.
            (301 | 307 | 400, None) if self.region.is_some() && code.is_none() => {
                Refused::Region(self.region.filter(|region| is_word(region)))
            }
            (401, None) => Refused::Credentials,
            (403, None) => Refused::Permission,
            (501, None) if self.conditional => Refused::Condition,
            _ => return None,
        };
        Some(Refusal { what, code: code.unwrap_or_else(|| format!("HTTP status {}", self.status)) })
    }
}

/// The words of stores that say more than the status does: of S3, of Azure, and of Google Cloud Storage, which has those of S3.
const CODES: &[(Refused, &[&str])] = &[
    (Refused::Bucket, &["NoSuchBucket", "ContainerNotFound", "FilesystemNotFound"]),
    (
        Refused::Credentials,
        &[
            "AuthenticationFailed",
            "AuthenticationRequired",
            "ExpiredToken",
            "InvalidAccessKeyId",
            "InvalidAuthenticationInfo",
            "InvalidSecurity",
            "InvalidToken",
            "NoAuthenticationInformation",
            "RequestTimeTooSkewed",
            "SignatureDoesNotMatch",
            "TokenRefreshRequired",
        ],
    ),
    (Refused::Permission, &["AccessDenied"]),
    (
        Refused::Region(None),
        &[
            "AuthorizationHeaderMalformed",
            "IllegalLocationConstraintException",
            "PermanentRedirect",
            "TemporaryRedirect",
        ],
    ),
];

fn is_word(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The text of an element without others in it. The answers that this is for are short and flat.
pub(crate) fn element(xml: &[u8], name: &str) -> Option<String> {
    let text = std::str::from_utf8(xml).ok()?;
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    Some(rest.split_once("</")?.0.to_owned())
}

/// The body of an answer that has no file in it.
pub(crate) async fn short(body: HttpResponseBody) -> std::result::Result<Bytes, HttpError> {
    let mut found = BytesMut::new();
    let mut parts = body.bytes_stream();
    while let Some(part) = parts.next().await {
        found.extend_from_slice(&part?);
        if found.len() > MAX_LENGTH {
            return Err(HttpError::new(HttpErrorKind::Decode, io::Error::other("the answer is too long for an error")));
        }
    }
    Ok(found.freeze())
}

/// More than it takes to say of 1,000 objects what has become of them.
const MAX_LENGTH: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart_by_what_helps() {
        let region = |region: &str| Some(Refused::Region(Some(region.to_owned())));
        let cases = [
            (404, "<Error><Code>NoSuchBucket</Code></Error>", None, Some(Refused::Bucket)),
            (404, "<Error><Code>NoSuchKey</Code></Error>", None, None),
            (404, "", None, None),
            (403, "<Error><Code>AccessDenied</Code></Error>", None, Some(Refused::Permission)),
            (
                200,
                "<DeleteResult><Error><Code>AccessDenied</Code></Error></DeleteResult>",
                None,
                Some(Refused::Permission),
            ),
            (200, "<DeleteResult><Error><Code>InternalError</Code></Error></DeleteResult>", None, None),
            (403, "", Some("eu-west-1"), Some(Refused::Permission)),
            (403, "<Code>SignatureDoesNotMatch</Code>", None, Some(Refused::Credentials)),
            (400, "<Code>ExpiredToken</Code>", None, Some(Refused::Credentials)),
            (401, "not XML", None, Some(Refused::Credentials)),
            (301, "", Some("eu-west-1"), region("eu-west-1")),
            (400, "", Some("eu-west-1"), region("eu-west-1")),
            (400, "<Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region>", None, region("eu-west-1")),
            (301, "<Code>PermanentRedirect</Code>", None, Some(Refused::Region(None))),
            (301, "<Code>PermanentRedirect</Code>", Some("<b>"), Some(Refused::Region(None))),
            (400, "<Code>EntityTooSmall</Code>", Some("eu-west-1"), None),
            (501, "<Code>NotImplemented</Code>", None, Some(Refused::Condition)),
        ];
        for (status, body, header, expected) in cases {
            let answer = Answer {
                status,
                conditional: true,
                code: element(body.as_bytes(), "Code"),
                region: header.map(str::to_owned).or_else(|| element(body.as_bytes(), "Region")),
            };
            assert_eq!(answer.refusal().map(|refusal| refusal.what), expected, "{status} {body} {header:?}");
        }
    }
}
