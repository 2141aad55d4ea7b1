//! The keystore file, version 1.
//!
//! ```json
//! {
//!   "format": "lakelock-keystore",
//!   "version": 1,
//!   "protection": {
//!     "kind": "passphrase",
//!     "argon2id": { "memory-kib": 65536, "iterations": 3, "lanes": 4, "salt": "<base64>" }
//!   },
//!   "store-key": "<base64>",
//!   "keys": [ { "id": "orders", "sealed": "<base64>" } ]
//! }
//! ```
//!
//! - `protection` is as above, or `{ "kind": "key-file" }`. It gives the *sealing key*: Argon2id (version 0x13, 32 bytes)
//!   of the passphrase, or the content of the key file.
//! - `store-key` is a random 256-bit key sealed with the sealing key; a changed passphrase rewrites only this.
//! - `sealed` is a master key of 16, 24 or 32 bytes sealed with the store key. Entries are sorted by `id`.
//! - sealed = nonce\[12\] | AES-256-GCM ciphertext | tag\[16\], base64 with padding. The additional authenticated data
//!   is `lakelock-keystore/1/store-key`, or `lakelock-keystore/1/key/` followed by the id in UTF-8: an entry opens
//!   under no other id, in no other role and in no other version of the format.
//!
//! Reading is strict: an unknown field, a duplicate id or a wrong length is an error, since a rewrite would lose what
//! it does not know. Removing an entry, or putting back an older file, cannot be noticed from the file alone.

use std::collections::BTreeMap;
use std::path::Path;

use lakelock_crypto::{KeyLength, SecretKey, aes_gcm};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::protection::StoredProtection;
use super::{base64_bytes, check_key_id};
use crate::{Error, ErrorKind, Result};

/// A keystore file is read up to this size; a hundred thousand keys are far below it.
pub(super) const SIZE_LIMIT: u64 = 16 * 1024 * 1024;

const FORMAT: &str = "lakelock-keystore";
const VERSION: u32 = 1;
const SEAL_OVERHEAD: usize = 12 + 16;

/// What a keystore file holds; every key in it is sealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Document {
    pub(super) protection: StoredProtection,
    pub(super) store_key: Vec<u8>,
    pub(super) keys: BTreeMap<String, Vec<u8>>,
}

#[derive(Deserialize)]
struct Header {
    format: String,
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct StoredDocument {
    format: String,
    version: u32,
    protection: StoredProtection,
    #[serde(with = "base64_bytes")]
    store_key: Vec<u8>,
    keys: Vec<StoredKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredKey {
    id: String,
    #[serde(with = "base64_bytes")]
    sealed: Vec<u8>,
}

impl Document {
    /// Reads the file's content; `path` is for errors.
    pub(super) fn parse(bytes: &[u8], path: &Path) -> Result<Self> {
        let header: Header = serde_json::from_slice(bytes).map_err(|source| not_json(source, path))?;
        if header.format != FORMAT {
            return Err(damaged(path, "not a keystore: its format is another"));
        }
        if header.version != VERSION {
            let detail = format!("keystore {}: version {} is not supported", path.display(), header.version);
            return Err(Error::new(ErrorKind::Unsupported, detail));
        }
        let stored: StoredDocument = serde_json::from_slice(bytes).map_err(|source| not_json(source, path))?;
        if stored.store_key.len() != SEAL_OVERHEAD + KeyLength::Aes256.bytes() {
            return Err(damaged(path, "the store key has a wrong length"));
        }
        let mut keys = BTreeMap::new();
        for StoredKey { id, sealed } in stored.keys {
            check_key_id(&id).map_err(|source| damaged(path, "an entry has a bad id").with_source(source))?;
            if key_length(&sealed).is_none() {
                return Err(damaged(path, &format!("key {id:?} has a wrong length")));
            }
            if keys.contains_key(&id) {
                return Err(damaged(path, &format!("key {id:?} is there twice")));
            }
            keys.insert(id, sealed);
        }
        Ok(Self { protection: stored.protection, store_key: stored.store_key, keys })
    }

    pub(super) fn to_json(&self) -> Result<Vec<u8>> {
        let keys = self.keys.iter().map(|(id, sealed)| StoredKey { id: id.clone(), sealed: sealed.clone() }).collect();
        let stored = StoredDocument {
            format: FORMAT.to_owned(),
            version: VERSION,
            protection: self.protection.clone(),
            store_key: self.store_key.clone(),
            keys,
        };
        let mut json = serde_json::to_vec_pretty(&stored)
            .map_err(|source| Error::new(ErrorKind::Internal, "cannot write a keystore as JSON").with_source(source))?;
        json.push(b'\n');
        Ok(json)
    }
}

/// What a sealed key is: the role is authenticated with it.
#[derive(Clone, Copy)]
pub(super) enum Role<'a> {
    StoreKey,
    MasterKey { id: &'a str },
}

impl Role<'_> {
    fn aad(self) -> Vec<u8> {
        match self {
            Self::StoreKey => format!("{FORMAT}/{VERSION}/store-key"),
            Self::MasterKey { id } => format!("{FORMAT}/{VERSION}/key/{id}"),
        }
        .into_bytes()
    }
}

pub(super) fn seal(sealing_key: &SecretKey, key: &SecretKey, role: Role<'_>) -> Result<Vec<u8>> {
    aes_gcm::seal(sealing_key, key.expose_secret(), &role.aad())
        .map_err(|source| Error::new(ErrorKind::Internal, "cannot seal a key").with_source(source))
}

/// `None` when it does not open: another sealing key, another role, or changed bytes.
pub(super) fn open(sealing_key: &SecretKey, sealed: &[u8], role: Role<'_>) -> Option<SecretKey> {
    let opened: Zeroizing<Vec<u8>> = aes_gcm::open(sealing_key, sealed, &role.aad()).ok()?;
    SecretKey::new(&opened).ok()
}

pub(super) fn key_length(sealed: &[u8]) -> Option<KeyLength> {
    sealed.len().checked_sub(SEAL_OVERHEAD).and_then(|length| KeyLength::try_from(length).ok())
}

pub(super) fn damaged(path: &Path, detail: &str) -> Error {
    Error::new(ErrorKind::Damaged, format!("keystore {} is damaged: {detail}", path.display()))
}

fn not_json(source: serde_json::Error, path: &Path) -> Error {
    damaged(path, "it is not the JSON of a keystore").with_source(source)
}
