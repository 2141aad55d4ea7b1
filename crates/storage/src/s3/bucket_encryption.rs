//! What a bucket's configuration says that new objects are encrypted with, which the store's client does not ask for.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketEncryption.html>

use std::io;

use object_store::{
    aws::AwsAuthorizer,
    client::{HttpConnector, HttpErrorKind, HttpRequest, HttpRequestBody},
};

use super::S3Settings;
use crate::{
    at_rest::ServerSideEncryption,
    error::{Error, ErrorKind, Result},
    http::{Connector, element, short},
    repeats::Repeats,
};

impl S3Settings {
    /// The rule of a bucket, of which there is one at most.
    pub(crate) async fn bucket_encryption(&self, bucket: &str) -> Result<Option<ServerSideEncryption>> {
        let location = format!("s3://{bucket}/");
        let failed = |error| Error::from_store(error, &location, DOING);
        let (endpoint, in_host) = self.bucket_endpoint(bucket);
        let (region, credentials) = self.identity(endpoint.is_some(), &location).await?;
        let client = Connector { complete_new: false }.connect(&self.http.client(endpoint.as_deref()));
        let client = client.map_err(failed)?;
        let amazons = || {
            let in_bucket = if in_host { format!("{bucket}.") } else { String::new() };
            format!("https://{in_bucket}s3.{region}.amazonaws.com")
        };
        let root = endpoint.unwrap_or_else(amazons);
        let address = if in_host { format!("{root}/?encryption") } else { format!("{root}/{bucket}?encryption") };

        let mut repeats = Repeats::new(&self.http.retry);
        loop {
            let mut request = HttpRequest::new(HttpRequestBody::empty());
            *request.uri_mut() = address.parse().map_err(|_| invalid(&location, "the bucket has no address"))?;
            let credential = credentials.get_credential().await.map_err(failed)?;
            AwsAuthorizer::new(&credential, "s3", &region).authorize(&mut request, None);
            let answer = match client.execute(request).await {
                Ok(answer) => answer,
                Err(error) if error.kind() != HttpErrorKind::Unknown && repeats.next().await => continue,
                Err(error) => return Err(failed(generic(error))),
            };
            let status = answer.status();
            if (status.is_server_error() || status.as_u16() == 429) && repeats.next().await {
                continue;
            }
            let body = short(answer.into_body()).await.map_err(|error| failed(generic(error)))?;
            return match status.as_u16() {
                200 => rule(&body).map(Some).ok_or_else(|| invalid(&location, "the store's answer names no algorithm")),
                404 if element(&body, "Code").as_deref() == Some(NONE) => Ok(None),
                _ => Err(failed(generic(io::Error::other(format!("the store answers HTTP status {status}"))))),
            };
        }
    }
}

/// What a store answers where a bucket has no such configuration.
const NONE: &str = "ServerSideEncryptionConfigurationNotFoundError";

/// As errors say it.
const DOING: &str = "see the default encryption of";

fn rule(xml: &[u8]) -> Option<ServerSideEncryption> {
    let algorithm = element(xml, "SSEAlgorithm")?;
    Some(ServerSideEncryption { algorithm, key: element(xml, "KMSMasterKeyID").filter(|key| !key.is_empty()) })
}

fn generic(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> object_store::Error {
    object_store::Error::Generic { store: "S3", source: source.into() }
}

fn invalid(location: &str, message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidData, location, message)
}
