//! The encrypted footer.
//!
//! ```text
//! FileCryptoMetaData | module of FileMetaData | length of both u32 LE | "PARE"
//! ```

use bytes::Bytes;
use lakelock_crypto::StandardKeyMetadata;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader};

use crate::ReadOptions;
use crate::crypto_metadata::{Algorithm, FileCryptoMetaData};
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::file::FileName;
use crate::module::{Aad, Kind, Opener, Place};
use crate::thrift::Malformed;

/// The last bytes of a file with an encrypted footer.
pub(crate) const MAGIC: &[u8; 4] = b"PARE";
/// The length of the footer, and the magic.
pub(crate) const END_LENGTH: usize = 8;

pub(crate) const PLACE: Place = Place { kind: Kind::Footer, row_group: 0, column: 0, page: 0 };

/// Reads, from the last bytes of a file, where its footer begins.
pub(crate) fn footer_start(name: &FileName, end: &[u8], file_length: u64) -> Result<u64> {
    let Some((_, [length @ .., _, _, _, _])) = end.split_last_chunk::<END_LENGTH>() else {
        return Err(name.invalid("is too short for a Parquet file"));
    };
    if !end.ends_with(MAGIC) {
        return Err(name.invalid("has a key but is not encrypted, or was damaged"));
    }
    let length = u64::from(u32::from_le_bytes(*length)) + END_LENGTH as u64;
    let start = file_length.checked_sub(length).filter(|start| *start >= MAGIC.len() as u64);
    start.ok_or_else(|| name.invalid("gives its footer a length that it has no room for"))
}

/// An opened footer.
pub(crate) struct Footer {
    pub(crate) metadata: ParquetMetaData,
    pub(crate) opener: Opener,
    pub(crate) aad: Aad,
}

impl Footer {
    /// Opens a footer: all bytes from its start to the end of the file.
    pub(crate) fn open(
        name: &FileName,
        stored: &Bytes,
        key: &StandardKeyMetadata,
        options: &ReadOptions,
    ) -> Result<Self> {
        let cut = || name.invalid("is cut off in its footer");
        let stored = stored.get(..stored.len().saturating_sub(END_LENGTH)).ok_or_else(cut)?;
        let (crypto, module) = FileCryptoMetaData::read(stored)
            .map_err(|Malformed(why)| name.invalid(&format!("does not say how it is encrypted: {why}")))?;
        if crypto.algorithm == Algorithm::GcmCtrV1 && !options.accept_ctr {
            return Err(name.error(
                ErrorKind::Unsupported,
                "says that its pages are encrypted with AES_GCM_CTR_V1, which does not authenticate them: whoever can write to \
                 the storage can change rows, and can make a file that is authenticated say so; rewrite it with AES_GCM_V1",
            ));
        }
        let mut aad = aad(name, &crypto, key, options.dialect)?;
        let opener = Opener::new(key.encryption_key(), crypto.algorithm == Algorithm::GcmCtrV1)
            .map_err(|e| name.error(ErrorKind::Internal, "cannot be decrypted").with_source(e))?;
        let mut plain = module.to_vec();
        let module = opener.open(PLACE, &mut aad, &mut plain).map_err(|fault| name.fault(fault))?;
        if module.end != plain.len() {
            return Err(name.fault(PLACE.invalid("is shorter than its length says")));
        }
        let metadata = ParquetMetaDataReader::decode_metadata(plain.get(module.plain).unwrap_or_default())
            .and_then(|metadata| name.as_unencrypted(metadata, options.dialect))
            .map_err(|e| invalid_footer(name, e))?;
        Ok(Self { metadata, opener, aad })
    }
}

fn invalid_footer(name: &FileName, error: ParquetError) -> Error {
    Error::behind(error).unwrap_or_else(|error| name.invalid("has an invalid footer").with_source(error))
}

/// What binds the file's modules to their places.
fn aad(name: &FileName, crypto: &FileCryptoMetaData<'_>, key: &StandardKeyMetadata, dialect: Dialect) -> Result<Aad> {
    if dialect.binds_modules() {
        let unique = crypto.aad_file_unique.ok_or_else(|| {
            name.error(
                ErrorKind::Unsupported,
                "does not bind its modules to their places, as the standard wants (no aad_file_unique); DuckDB writes such files",
            )
        })?;
        Ok(Aad::new([aad_prefix(name, crypto, key)?, unique].concat()))
    } else if crypto.aad_file_unique.is_some() || crypto.aad_prefix.is_some() || crypto.supply_aad_prefix {
        Err(name.error(ErrorKind::Unsupported, "binds its modules to their places, as DuckDB's dialect does not"))
    } else {
        Ok(Aad::empty())
    }
}

/// The AAD prefix that the key metadata gives, or the one that the file stores. Both must agree.
fn aad_prefix<'a>(name: &FileName, crypto: &FileCryptoMetaData<'a>, key: &'a StandardKeyMetadata) -> Result<&'a [u8]> {
    match (key.aad_prefix(), crypto.aad_prefix) {
        ([], None) if crypto.supply_aad_prefix => {
            Err(name.invalid("is bound to an AAD prefix, but its key metadata gives none"))
        }
        ([], stored) => Ok(stored.unwrap_or_default()),
        (given, Some(stored)) if given != stored => {
            Err(name.invalid("stores another AAD prefix than its key metadata gives"))
        }
        (given, _) => Ok(given),
    }
}
