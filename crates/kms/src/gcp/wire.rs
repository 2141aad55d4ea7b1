//! What is said to and by Cloud KMS.

use std::fmt;

use reqwest::StatusCode;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::crc32c;
use crate::call::Call;
use crate::http::{Answer, kind_of};
use crate::key_bytes::{KeyBytes, from_json};
use crate::{Error, ErrorKind, Operation};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EncryptRequest {
    pub(super) plaintext: KeyBytes,
    pub(super) plaintext_crc32c: Checksum,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EncryptResponse {
    pub(super) name: String,
    pub(super) ciphertext: KeyBytes,
    pub(super) ciphertext_crc32c: Checksum,
    #[serde(default)]
    pub(super) verified_plaintext_crc32c: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DecryptRequest {
    pub(super) ciphertext: KeyBytes,
    pub(super) ciphertext_crc32c: Checksum,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DecryptResponse {
    pub(super) plaintext: KeyBytes,
    pub(super) plaintext_crc32c: Checksum,
}

/// A CRC-32C, which this JSON has as text, as any 64-bit number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checksum(u32);

impl Checksum {
    pub(super) fn fits(self, bytes: &[u8]) -> bool {
        crc32c(bytes) == self.0
    }
}

impl From<u32> for Checksum {
    fn from(sum: u32) -> Self {
        Self(sum)
    }
}

impl Serialize for Checksum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Checksum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Checksum;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a CRC-32C")
            }

            fn visit_u64<E: de::Error>(self, sum: u64) -> Result<Checksum, E> {
                u32::try_from(sum).map(Checksum).map_err(E::custom)
            }

            fn visit_str<E: de::Error>(self, sum: &str) -> Result<Checksum, E> {
                sum.parse().map(Checksum).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Visitor)
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
    message: String,
    #[serde(default)]
    status: String,
}

/// Why the service did not do what it was asked for.
pub(super) fn refused(call: Call<'_>, endpoint: &str, answer: &Answer) -> Error {
    let Fault { error } = from_json(&answer.body).unwrap_or_default();
    let kind = match (error.status.as_str(), call.operation) {
        ("FAILED_PRECONDITION", _) => ErrorKind::Disabled,
        ("INVALID_ARGUMENT", Operation::Unwrap) if answer.status == StatusCode::BAD_REQUEST => ErrorKind::WrongKey,
        ("RESOURCE_EXHAUSTED", _) => ErrorKind::Throttled,
        _ => kind_of(answer.status),
    };
    let remedy = match kind {
        ErrorKind::AccessDenied => ": give the identity the role roles/cloudkms.cryptoKeyEncrypterDecrypter on the key",
        ErrorKind::Credentials => ": the access token ended, or is not one for Google Cloud",
        ErrorKind::Disabled => ": enable the key's version, or restore it if it is to be destroyed",
        ErrorKind::NotFound => ": check the key's name, with its project and location",
        _ => "",
    };
    call.error(kind, format!("{endpoint} {}{remedy}", answer.said(&error.status, &error.message)))
}
