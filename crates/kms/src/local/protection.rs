//! What opens a keystore: a passphrase (through Argon2id, RFC 9106) or a key file.

use std::path::{Path, PathBuf};

use argon2::{Algorithm, Argon2, Params, Version};
use lakelock_crypto::{KeyLength, SecretKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::document::damaged;
use super::{base64_bytes, file};
use crate::{Error, ErrorKind, Result, SecretString};

const KEY_FILE: &str = "key file";
const KEY_FILE_LIMIT: u64 = 1024;

/// What a person or a service has to open a keystore with.
#[derive(Clone, Debug)]
pub enum Protection {
    /// A passphrase, stretched with Argon2id.
    Passphrase(SecretString),
    /// The path of a file that holds a 256-bit key as 64 hexadecimal digits, readable by its owner only.
    KeyFile(PathBuf),
}

impl Protection {
    /// Writes a new random key file and returns the protection by it. Parent folders are made.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is a file of that name; [`ErrorKind::Io`].
    pub fn create_key_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let key = SecretKey::generate(KeyLength::Aes256).map_err(super::no_randomness)?;
        let mut text = Zeroizing::new(vec![b'\n'; 65]);
        hex::encode_to_slice(key.expose_secret(), &mut text[..64])
            .map_err(|_| Error::new(ErrorKind::Internal, "a 256-bit key has 64 hexadecimal digits"))?;
        file::create_parent(path, KEY_FILE)?;
        file::write_new(path, KEY_FILE, &text)?;
        Ok(Self::KeyFile(path.to_owned()))
    }

    /// How a new keystore records this protection.
    pub(super) fn to_stored(&self, cost: Argon2Cost) -> Result<StoredProtection> {
        match self {
            Self::Passphrase(_) => {
                // A salt is drawn as a key is: 16 bytes of system randomness.
                let salt = SecretKey::generate(KeyLength::Aes128).map_err(super::no_randomness)?;
                let Argon2Cost { memory_kib, iterations, lanes } = cost;
                let argon2id = StoredArgon2id { memory_kib, iterations, lanes, salt: salt.expose_secret().to_vec() };
                Ok(StoredProtection::Passphrase { argon2id })
            }
            Self::KeyFile(_) => Ok(StoredProtection::KeyFile {}),
        }
    }

    /// The key that seals the store key of `keystore`. For a passphrase this is slow on purpose.
    pub(super) fn sealing_key(&self, stored: &StoredProtection, keystore: &Path) -> Result<SecretKey> {
        match (self, stored) {
            (Self::Passphrase(passphrase), StoredProtection::Passphrase { argon2id }) => {
                argon2id.derive(passphrase, keystore)
            }
            (Self::KeyFile(path), StoredProtection::KeyFile {}) => read_key_file(path),
            (_, StoredProtection::Passphrase { .. }) => Err(mismatch(keystore, "a passphrase, not a key file")),
            (_, StoredProtection::KeyFile {}) => Err(mismatch(keystore, "a key file, not a passphrase")),
        }
    }

    /// What the error about a keystore that does not open says.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Passphrase(_) => "passphrase",
            Self::KeyFile(_) => "key file",
        }
    }
}

/// The protection of a keystore as its file records it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum StoredProtection {
    Passphrase { argon2id: StoredArgon2id },
    // Braces, so that unknown fields are refused here too.
    KeyFile {},
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct StoredArgon2id {
    memory_kib: u32,
    iterations: u32,
    lanes: u32,
    #[serde(with = "base64_bytes")]
    salt: Vec<u8>,
}

/// How much work a guess at the passphrase costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argon2Cost {
    pub(super) memory_kib: u32,
    pub(super) iterations: u32,
    pub(super) lanes: u32,
}

impl Argon2Cost {
    /// RFC 9106, section 4, second recommended option: 64 MiB, 3 passes, 4 lanes.
    pub(super) const RECOMMENDED: Self = Self { memory_kib: 64 * 1024, iterations: 3, lanes: 4 };

    /// What a file may ask for at most: its numbers are not to be trusted with all memory, or with hours.
    const LIMIT: Self = Self { memory_kib: 256 * 1024, iterations: 16, lanes: 16 };
}

impl StoredArgon2id {
    fn derive(&self, passphrase: &SecretString, keystore: &Path) -> Result<SecretKey> {
        if passphrase.expose_secret().is_empty() {
            let message = format!("the passphrase of keystore {} is empty", keystore.display());
            return Err(Error::new(ErrorKind::Credentials, message));
        }
        let params = self.params().ok_or_else(|| damaged(keystore, "its Argon2id parameters are out of range"))?;
        let mut derived = Zeroizing::new([0; 32]);
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
            .hash_password_into(passphrase.expose_secret().as_bytes(), &self.salt, &mut *derived)
            .map_err(|source| damaged(keystore, &format!("Argon2id refuses its parameters: {source}")))?;
        SecretKey::new(&*derived)
            .map_err(|source| Error::new(ErrorKind::Internal, "a derived key has 32 bytes").with_source(source))
    }

    /// `None` when the file asks for more than the limit, or for less than Argon2id has.
    fn params(&self) -> Option<Params> {
        let limit = Argon2Cost::LIMIT;
        let bounded = self.memory_kib <= limit.memory_kib
            && self.iterations <= limit.iterations
            && self.lanes <= limit.lanes
            && (8..=64).contains(&self.salt.len());
        if bounded { Params::new(self.memory_kib, self.iterations, self.lanes, None).ok() } else { None }
    }
}

fn read_key_file(path: &Path) -> Result<SecretKey> {
    let text = file::read(path, KEY_FILE, KEY_FILE_LIMIT)?;
    let digits = text.strip_suffix(b"\n").unwrap_or(&text);
    let mut key = Zeroizing::new([0; 32]);
    // The cause is left out: a hexadecimal error quotes characters of the key.
    hex::decode_to_slice(digits, &mut *key).ok().and_then(|()| SecretKey::new(&*key).ok()).ok_or_else(|| {
        let message = format!("key file {}: expected one line of 64 hexadecimal digits", path.display());
        Error::new(ErrorKind::Damaged, message)
    })
}

fn mismatch(keystore: &Path, expected: &str) -> Error {
    Error::new(ErrorKind::Credentials, format!("keystore {} is protected by {expected}", keystore.display()))
}
