//! Encrypts modules.

use lakelock_crypto::{SecretKey, aes_gcm};
use parquet::errors::ParquetError;

use crate::error::{Error, ErrorKind};
use crate::module::{Aad, LENGTH_LENGTH, OVERHEAD, Place};

/// Encrypts the modules of one file, all with one key, each under a fresh nonce.
#[derive(Debug)]
pub(crate) struct Sealer {
    cipher: aes_gcm::Cipher,
}

impl Sealer {
    pub(crate) fn new(key: &SecretKey) -> Result<Self, ParquetError> {
        let cipher = aes_gcm::Cipher::new(key);
        let cipher = cipher.map_err(|e| Error::new(ErrorKind::Internal, "cannot encrypt").with_source(e))?;
        Ok(Self { cipher })
    }

    /// Appends `plain` as a module.
    pub(crate) fn seal(
        &self,
        place: Place,
        aad: &mut Aad,
        plain: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), ParquetError> {
        let failed = || Error::new(ErrorKind::Internal, format!("{place} cannot be encrypted"));
        let length = u32::try_from(plain.len() + OVERHEAD - LENGTH_LENGTH).map_err(|e| failed().with_source(e))?;
        let start = out.len() + LENGTH_LENGTH;
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(&[0; aes_gcm::NONCE_LENGTH]);
        out.extend_from_slice(plain);
        out.extend_from_slice(&[0; aes_gcm::TAG_LENGTH]);
        let module = out.get_mut(start..).unwrap_or_default();
        self.cipher.seal_in_place(module, aad.of(place)).map_err(|e| failed().with_source(e))?;
        Ok(())
    }
}
