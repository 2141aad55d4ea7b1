//! How the clients that hold master keys themselves wrap a key.
//!
//! `wrapped = nonce[12] | AES-GCM(master key, key) | tag[16]`, without additional authenticated data: the layout of the
//! clients that Iceberg's Java tests use, so that an imported key opens what those wrapped. A 16-byte key wraps to 44
//! bytes.

use lakelock_crypto::{SecretKey, aes_gcm};

use crate::{Error, ErrorKind, Operation, Result};

pub(crate) fn wrap(master: &SecretKey, key: &SecretKey, key_id: &str) -> Result<Vec<u8>> {
    aes_gcm::seal(master, key.expose_secret(), &[]).map_err(|source| {
        Error::on_key(ErrorKind::Internal, Operation::Wrap, key_id, "encryption failed").with_source(source)
    })
}

pub(crate) fn unwrap(master: &SecretKey, wrapped: &[u8], key_id: &str) -> Result<SecretKey> {
    let opened = aes_gcm::open(master, wrapped, &[]).map_err(|source| {
        let detail = "it was wrapped with another key, or its bytes were changed";
        Error::on_key(ErrorKind::WrongKey, Operation::Unwrap, key_id, detail).with_source(source)
    })?;
    SecretKey::new(&opened).map_err(|source| {
        let detail = format!("it holds {} bytes, and a key has 16, 24 or 32", opened.len());
        Error::on_key(ErrorKind::Damaged, Operation::Unwrap, key_id, detail).with_source(source)
    })
}
