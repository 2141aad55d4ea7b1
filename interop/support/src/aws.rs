//! AWS KMS in a [`Moto`], set up and counted by plain requests.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::servers::Moto;

/// What the server takes in place of a request's signature: it says which service and region are meant.
const SIGNATURE: &str = "AWS4-HMAC-SHA256 Credential=testing/20260101/eu-west-1/kms/aws4_request";

impl Moto {
    /// The region of the keys made here.
    pub const REGION: &str = "eu-west-1";

    /// Makes a master key with an alias, and returns its ARN.
    ///
    /// # Panics
    /// If it fails.
    #[must_use]
    pub fn create_key(&self, alias: &str) -> String {
        let key = self.kms("CreateKey", &json!({}));
        let arn = key["KeyMetadata"]["Arn"].as_str().expect("an ARN").to_owned();
        self.kms("CreateAlias", &json!({"AliasName": alias, "TargetKeyId": arn}));
        arn
    }

    /// Calls an operation of KMS.
    ///
    /// # Panics
    /// If it fails.
    #[expect(clippy::must_use_candidate, reason = "some operations are called for what they do")]
    pub fn kms(&self, operation: &str, body: &Value) -> Value {
        let target = format!("TrentService.{operation}");
        let headers = [("X-Amz-Target", target.as_str()), ("Authorization", SIGNATURE)];
        let answer = self.post("/", &headers, &body.to_string());
        serde_json::from_str(&answer).unwrap_or_default()
    }

    /// Runs something, and tells how often the server was asked for what meanwhile: by operation of KMS.
    ///
    /// # Panics
    /// If the server does not count.
    pub async fn count<T>(&self, work: impl Future<Output = T>) -> (T, BTreeMap<String, usize>) {
        self.post("/moto-api/recorder/reset-recording", &[], "");
        self.post("/moto-api/recorder/start-recording", &[], "");
        let outcome = work.await;
        self.post("/moto-api/recorder/stop-recording", &[], "");
        let recorded = self.ask("GET", "/moto-api/recorder/download-recording", &[], "");
        let mut counts = BTreeMap::new();
        for line in recorded.lines() {
            let request: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
            let headers = request["headers"].as_object().expect("headers");
            let target = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-amz-target"));
            let operation = target.and_then(|(_, target)| target.as_str()?.strip_prefix("TrentService."));
            *counts.entry(operation.unwrap_or("other").to_owned()).or_default() += 1;
        }
        (outcome, counts)
    }

    fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        self.ask("POST", path, headers, body)
    }

    fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let host = self.url().trim_start_matches("http://");
        let headers: String = headers.iter().flat_map(|(name, value)| [name, ": ", value, "\r\n"]).collect();
        let length = body.len();
        let request = format!("{method} {path} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {length}\r\n{headers}");
        let mut stream = TcpStream::connect(host).unwrap_or_else(|e| panic!("{host}: {e}"));
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).expect("the server takes requests");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the server answers");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{method} {path}: {answer}"));
        assert_eq!(head.split(' ').nth(1), Some("200"), "{method} {path}: {answer}");
        body.to_owned()
    }
}
