//! The keystore: named master keys, sealed in one private file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lakelock_crypto::{KeyLength, SecretKey};

use super::document::{self, Document, Role, damaged};
use super::file::{self, Lock};
use super::protection::{Argon2Cost, Protection};
use super::{check_key_id, no_randomness};
use crate::{Error, ErrorKind, Operation, Result};

const KEYSTORE: &str = "keystore";

/// Master keys in one file, for tables whose keys live on this machine.
///
/// The file is private (mode 0600; one that others may read is refused), is replaced atomically at each change, and is
/// read anew by each call: a key that another process adds is there at once, and writers at the same time lose nothing
/// of each other's. A key is never overwritten and never leaves this crate.
///
/// All calls block: they read and write files, and opening by passphrase takes a tenth of a second on purpose.
///
/// ```
/// use lakelock_crypto::KeyLength;
/// use lakelock_kms::{Keystore, Protection};
///
/// # let folder = tempfile::tempdir()?;
/// let protection = Protection::create_key_file(folder.path().join("keystore.key"))?;
/// let keystore = Keystore::create(folder.path().join("keystore.json"), &protection)?;
/// keystore.create_key("orders", KeyLength::Aes256)?;
/// assert_eq!(keystore.list()?[0].id, "orders");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Keystore {
    path: PathBuf,
    store_key: SecretKey,
    /// The store key as it was in the file when this was opened: says whether the file is still that keystore.
    sealed_store_key: Vec<u8>,
}

/// What is shown of a master key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyInfo {
    /// Its key id.
    pub id: String,
    /// Its length.
    pub length: KeyLength,
}

impl Keystore {
    /// Makes a new, empty keystore. Parent folders are made.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is a file at `path`; [`ErrorKind::Credentials`] for an empty passphrase;
    /// the errors of reading a key file; [`ErrorKind::Io`].
    pub fn create(path: impl AsRef<Path>, protection: &Protection) -> Result<Self> {
        Self::create_with_cost(path.as_ref(), protection, Argon2Cost::RECOMMENDED)
    }

    pub(super) fn create_with_cost(path: &Path, protection: &Protection, cost: Argon2Cost) -> Result<Self> {
        let stored_protection = protection.to_stored(cost)?;
        let sealing_key = protection.sealing_key(&stored_protection, path)?;
        let store_key = SecretKey::generate(KeyLength::Aes256).map_err(no_randomness)?;
        let sealed_store_key = document::seal(&sealing_key, &store_key, Role::StoreKey)?;
        let document =
            Document { protection: stored_protection, store_key: sealed_store_key.clone(), keys: BTreeMap::new() };

        file::create_parent(path, KEYSTORE)?;
        let lock = Lock::acquire(path, KEYSTORE)?;
        if path.try_exists().map_err(|source| file::io_error(source, "create", KEYSTORE, path))? {
            let message = format!("keystore {} exists already", path.display());
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        file::replace(path, KEYSTORE, &document.to_json()?, &lock)?;
        Ok(Self { path: canonical(path)?, store_key, sealed_store_key })
    }

    /// Opens a keystore.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none; [`ErrorKind::Credentials`] for a wrong passphrase or key file, or for
    /// the other of the two; [`ErrorKind::InvalidInput`] if other users may read it; [`ErrorKind::Damaged`];
    /// [`ErrorKind::Unsupported`] for a newer version of the format; [`ErrorKind::Io`].
    pub fn open(path: impl AsRef<Path>, protection: &Protection) -> Result<Self> {
        // A symbolic link is followed once, here: a change must replace the file, not the link.
        let path = canonical(path.as_ref())?;
        let document = read(&path)?;
        let sealing_key = protection.sealing_key(&document.protection, &path)?;
        let Some(store_key) = document::open(&sealing_key, &document.store_key, Role::StoreKey) else {
            let message =
                format!("wrong {} for keystore {}, or its store key is damaged", protection.name(), path.display());
            return Err(Error::new(ErrorKind::Credentials, message));
        };
        Ok(Self { path, store_key, sealed_store_key: document.store_key })
    }

    /// Makes a new random master key.
    ///
    /// # Errors
    /// As [`import_key`](Self::import_key).
    pub fn create_key(&self, id: &str, length: KeyLength) -> Result<()> {
        self.import_key(id, &SecretKey::generate(length).map_err(no_randomness)?)
    }

    /// Adds a master key that was made elsewhere. Durable when it returns.
    ///
    /// # Errors
    /// [`ErrorKind::AlreadyExists`] if there is a key of that id, be it the same; [`ErrorKind::InvalidInput`] for an id
    /// that is empty, over 1024 bytes, or has control characters or space at an end; the errors of
    /// [`list`](Self::list); [`ErrorKind::Io`].
    pub fn import_key(&self, id: &str, key: &SecretKey) -> Result<()> {
        check_key_id(id)?;
        let sealed = document::seal(&self.store_key, key, Role::MasterKey { id })?;
        let lock = Lock::acquire(&self.path, KEYSTORE)?;
        let mut document = self.document()?;
        if document.keys.contains_key(id) {
            let message = format!("keystore {} has a key {id:?} already", self.path.display());
            return Err(Error::new(ErrorKind::AlreadyExists, message));
        }
        document.keys.insert(id.to_owned(), sealed);
        file::replace(&self.path, KEYSTORE, &document.to_json()?, &lock)
    }

    /// The master keys, sorted by id, without their bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Credentials`] if the file was replaced by another keystore since it was opened; otherwise as
    /// [`open`](Self::open).
    pub fn list(&self) -> Result<Vec<KeyInfo>> {
        let keys = self.document()?.keys;
        keys.into_iter()
            .map(|(id, sealed)| match document::key_length(&sealed) {
                Some(length) => Ok(KeyInfo { id, length }),
                None => Err(damaged(&self.path, &format!("key {id:?} has a wrong length"))),
            })
            .collect()
    }

    /// Where the keystore is, with symbolic links resolved.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A master key itself.
    pub(super) fn master_key(&self, id: &str, operation: Operation) -> Result<SecretKey> {
        let document = self.document().map_err(|source| {
            Error::on_key(source.kind(), operation, id, "the keystore cannot be read").with_source(source)
        })?;
        let Some(sealed) = document.keys.get(id) else {
            let detail = format!("keystore {} has no key of that id", self.path.display());
            return Err(Error::on_key(ErrorKind::NotFound, operation, id, detail));
        };
        document::open(&self.store_key, sealed, Role::MasterKey { id }).ok_or_else(|| {
            let detail = format!("its entry in keystore {} is damaged", self.path.display());
            Error::on_key(ErrorKind::Damaged, operation, id, detail)
        })
    }

    fn document(&self) -> Result<Document> {
        let document = read(&self.path)?;
        if document.store_key != self.sealed_store_key {
            let path = self.path.display();
            let message =
                format!("keystore {path} was replaced, or protected anew, since it was opened: open it again");
            return Err(Error::new(ErrorKind::Credentials, message));
        }
        Ok(document)
    }
}

fn read(path: &Path) -> Result<Document> {
    Document::parse(&file::read(path, KEYSTORE, document::SIZE_LIMIT)?, path)
}

fn canonical(path: &Path) -> Result<PathBuf> {
    fs::canonicalize(path).map_err(|source| file::io_error(source, "read", KEYSTORE, path))
}
