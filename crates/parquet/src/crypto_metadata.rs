//! `FileCryptoMetaData`: how a file is encrypted, in plaintext before its footer.

use crate::thrift::{Field, Malformed, Reader};

/// The ciphers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    /// All modules are authenticated.
    GcmV1,
    /// All but pages, which are in counter mode.
    GcmCtrV1,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileCryptoMetaData<'a> {
    pub(crate) algorithm: Algorithm,
    /// The AAD prefix, if the file stores it.
    pub(crate) aad_prefix: Option<&'a [u8]>,
    /// What tells the file apart from others; the standard wants it.
    pub(crate) aad_file_unique: Option<&'a [u8]>,
    /// Whether readers must know the AAD prefix.
    pub(crate) supply_aad_prefix: bool,
}

impl<'a> FileCryptoMetaData<'a> {
    /// Reads what `bytes` begin with, and returns what follows it. The key's metadata is passed over: it is known.
    pub(crate) fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), Malformed> {
        let mut reader = Reader::new(bytes);
        let (mut last, mut found) = (None, None);
        while let Some(field) = reader.field(last)? {
            match field.id {
                1 => found = Some(Self::read_algorithm(&mut reader, field)?),
                _ => reader.skip(field)?,
            }
            last = Some(field);
        }
        Ok((found.ok_or(Malformed("no encryption algorithm is given"))?, reader.rest()))
    }

    /// The bytes for a file in which everything is authenticated, and whose AAD prefix is not stored.
    pub(crate) fn authenticated(aad_file_unique: [u8; 8], supply_aad_prefix: bool) -> Vec<u8> {
        let algorithm: &[u8] = if supply_aad_prefix { b"\x11\0" } else { b"\0" };
        [&b"\x1c\x1c\x28\x08"[..], &aad_file_unique, algorithm, b"\0\0"].concat()
    }

    /// A union of the algorithms.
    fn read_algorithm(reader: &mut Reader<'a>, field: Field) -> Result<Self, Malformed> {
        field.begin_struct()?;
        let unknown = Malformed("its encryption algorithm is not known");
        let Some(choice) = reader.field(None)? else { return Err(unknown) };
        let algorithm = match choice.id {
            1 => Algorithm::GcmV1,
            2 => Algorithm::GcmCtrV1,
            _ => return Err(unknown),
        };
        choice.begin_struct()?;
        let (mut aad_prefix, mut aad_file_unique, mut supply_aad_prefix) = (None, None, false);
        let mut last = None;
        while let Some(field) = reader.field(last)? {
            match field.id {
                1 => aad_prefix = Some(reader.binary(field)?),
                2 => aad_file_unique = Some(reader.binary(field)?),
                3 => supply_aad_prefix = field.bool()?,
                _ => reader.skip(field)?,
            }
            last = Some(field);
        }
        if reader.field(Some(choice))?.is_some() {
            return Err(Malformed("several encryption algorithms are given"));
        }
        Ok(Self { algorithm, aad_prefix, aad_file_unique, supply_aad_prefix })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_java_writes_is_read() {
        let bytes = *b"\x1c\x1c\x28\x08uniqueAB\x11\0\0\0footer";
        let expected = FileCryptoMetaData {
            algorithm: Algorithm::GcmV1,
            aad_prefix: None,
            aad_file_unique: Some(b"uniqueAB"),
            supply_aad_prefix: true,
        };
        assert_eq!(FileCryptoMetaData::read(&bytes).unwrap(), (expected, &b"footer"[..]));
        assert_eq!(FileCryptoMetaData::authenticated(*b"uniqueAB", true), bytes[..bytes.len() - 6]);
        let end = bytes.len() - b"footer".len();
        for cut in 0..end {
            assert!(FileCryptoMetaData::read(&bytes[..cut]).is_err(), "cut to {cut} bytes");
        }
    }

    #[test]
    fn what_duckdb_writes_is_read() {
        let (read, rest) = FileCryptoMetaData::read(b"\x1c\x1c\0\0\0footer").unwrap();
        let expected = FileCryptoMetaData {
            algorithm: Algorithm::GcmV1,
            aad_prefix: None,
            aad_file_unique: None,
            supply_aad_prefix: false,
        };
        assert_eq!((read, rest), (expected, &b"footer"[..]));
    }

    #[test]
    fn all_fields_are_read() {
        let bytes = *b"\x1c\x2c\x18\x01p\x18\x01u\x12\0\0\x18\x02km\0";
        let (read, rest) = FileCryptoMetaData::read(&bytes).unwrap();
        assert_eq!(
            (read.algorithm, read.aad_prefix, read.supply_aad_prefix),
            (Algorithm::GcmCtrV1, Some(&b"p"[..]), false)
        );
        assert!(rest.is_empty());
    }
}
