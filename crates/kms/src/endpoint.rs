//! Where a service is told to be, by a property.

use std::collections::HashMap;

use url::{Host, Url};

use crate::{Error, ErrorKind, Result};

/// Property: where AWS KMS is, if not where the region says; or Google Cloud KMS.
pub const KMS_ENDPOINT: &str = "kms.endpoint";
/// Property: `true` lets keys go over plain HTTP to other machines too.
pub const KMS_ALLOW_HTTP: &str = "kms.allow-http";

/// The URL in a property, if it is set and may be used: HTTPS, or plain HTTP on this machine, where keys go to nobody else.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for another.
pub(crate) fn from_property(name: &str, properties: &HashMap<String, String>) -> Result<Option<Url>> {
    let Some(value) = properties.get(name).filter(|value| !value.is_empty()) else { return Ok(None) };
    let bad = |detail: &str| {
        // Of what is no URL it is not known which part would be a password.
        let shown = if value.contains('@') { String::new() } else { format!(" is {value:?}") };
        Error::new(ErrorKind::InvalidInput, format!("{name}{shown}: {detail}"))
    };
    let url = Url::parse(value).map_err(|source| bad("expected a URL").with_source(source))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::new(ErrorKind::InvalidInput, format!("{name}: a URL holds no user name or password here")));
    }
    match url.scheme() {
        "https" | "http" if url.host().is_none() => Err(bad("expected a URL with a host")),
        "https" => Ok(Some(url)),
        "http" if is_protected(&url) || allows_http(properties) => Ok(Some(url)),
        "http" => Err(bad(&format!(
            "keys would cross the network unprotected; use https, or set {KMS_ALLOW_HTTP}=true in a test environment"
        ))),
        _ => Err(bad("expected https")),
    }
}

/// Whether keys on their way there can be read by nobody else: they go by TLS, or do not leave this machine.
pub(crate) fn is_protected(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    url.scheme() == "https" || url.scheme() == "http" && is_here
}

/// Whether the properties let keys go elsewhere without TLS.
pub(crate) fn allows_http(properties: &HashMap<String, String>) -> bool {
    properties.get(KMS_ALLOW_HTTP).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_leave_the_machine_by_https_only() {
        let parse = |value: &str, allow: &str| {
            let properties = HashMap::from([
                ("x.endpoint".to_owned(), value.to_owned()),
                (KMS_ALLOW_HTTP.to_owned(), allow.to_owned()),
            ]);
            from_property("x.endpoint", &properties)
        };
        for value in [
            "https://kms.example.com",
            "https://10.0.0.1:8200/v1",
            "http://localhost:5000",
            "http://127.0.0.1:5000",
            "http://[::1]:5000",
        ] {
            assert!(parse(value, "false").unwrap().is_some(), "{value}");
        }
        for value in [
            "http://kms.example.com",
            "http://10.0.0.1",
            "http://localhost.example.com",
            "ftp://localhost",
            "localhost:5000",
            "kms",
            "https://user:hush@kms.example.com",
            "https://user:hush/word@kms.example.com",
        ] {
            let error = parse(value, "false").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{value}");
            assert!(error.to_string().contains("x.endpoint") && !format!("{error:?}").contains("hush"), "{error}");
        }
        assert!(parse("http://kms.example.com", "true").unwrap().is_some());
        assert!(parse("", "false").unwrap().is_none());
        assert!(from_property("x.endpoint", &HashMap::new()).unwrap().is_none());
    }
}
