//! What is said to and by a vault.

use reqwest::StatusCode;
use serde::{Deserialize, Serialize};

use super::KeyName;
use crate::call::Call;
use crate::http::{Answer, kind_of};
use crate::key_bytes::{KeyBytes, UrlSafe, from_json};
use crate::{Error, ErrorKind, Operation};

#[derive(Serialize)]
pub(super) struct KeyOperation {
    pub(super) alg: &'static str,
    pub(super) value: KeyBytes<UrlSafe>,
}

#[derive(Deserialize)]
pub(super) struct KeyResult {
    pub(super) kid: String,
    pub(super) value: KeyBytes<UrlSafe>,
}

impl KeyResult {
    /// Whether it is that of the key that was named: `https://VAULT/keys/NAME/VERSION`.
    pub(super) fn is_of(&self, key: KeyName<'_>) -> bool {
        let mut parts = self.kid.rsplit('/');
        let (version, name) = (parts.next(), parts.next());
        // The service takes names in any case.
        name.is_some_and(|name| name.eq_ignore_ascii_case(key.name))
            && key.version.is_none_or(|wanted| version.is_some_and(|version| version.eq_ignore_ascii_case(wanted)))
    }
}

#[derive(Deserialize)]
pub(super) struct Versions {
    value: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    kid: String,
    attributes: Attributes,
}

#[derive(Deserialize)]
struct Attributes {
    enabled: bool,
    #[serde(default)]
    created: i64,
}

impl Versions {
    pub(super) fn enabled(mut self, most: usize) -> Vec<String> {
        self.value.retain(|version| version.attributes.enabled);
        self.value.sort_by_key(|version| std::cmp::Reverse(version.attributes.created));
        // Only letters and digits: what a service answers leads to no other path.
        let version = |version: &Version| {
            let id = version.kid.rsplit('/').next().unwrap_or_default();
            (!id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric())).then(|| id.to_owned())
        };
        self.value.iter().filter_map(version).take(most).collect()
    }
}

#[derive(Default, Deserialize)]
struct Fault {
    #[serde(default)]
    error: Detail,
}

#[derive(Default, Deserialize)]
struct Detail {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    innererror: Option<Inner>,
}

#[derive(Deserialize)]
struct Inner {
    #[serde(default)]
    code: String,
}

/// Why a vault did not do what it was asked for.
pub(super) fn refused(call: Call<'_>, vault: &str, answer: &Answer) -> Error {
    let Fault { error } = from_json(&answer.body).unwrap_or_default();
    let inner = error.innererror.map(|inner| inner.code).unwrap_or_default();
    let codes = [inner.as_str(), error.code.as_str()];
    let kind = match answer.status {
        _ if codes.iter().any(|code| DISABLED.contains(code)) => ErrorKind::Disabled,
        // All that is wrong with the bytes has this status; with an algorithm that the key does not have, too.
        StatusCode::BAD_REQUEST if call.operation == Operation::Unwrap => ErrorKind::WrongKey,
        status => kind_of(status),
    };
    let remedy = match kind {
        ErrorKind::AccessDenied => {
            ": give the identity the role Key Vault Crypto Service Encryption User, or the permissions wrapKey and \
             unwrapKey, and let the vault's firewall pass it"
        }
        ErrorKind::Credentials => ": the token is not one for this vault; check the tenant and the credentials",
        ErrorKind::Disabled => ": enable or recover the key",
        ErrorKind::NotFound => ": check the name, the version and azure.keyvault.url",
        _ => "",
    };
    let code = codes.into_iter().find(|code| !code.is_empty()).unwrap_or_default();
    call.error(kind, format!("{vault} {}{remedy}", answer.said(code, &error.message)))
}

const DISABLED: [&str; 6] = [
    "KeyDisabled",
    "KeyExpired",
    "KeyNotYetValid",
    "ObjectIsBeingDeleted",
    "ObjectIsBeingRecovered",
    "ObjectIsDeletedButRecoverable",
];
