//! Modules: the pieces that a file is encrypted in, each by itself and bound to its place.
//!
//! ```text
//! module   length u32 LE | nonce[12] | ciphertext | tag[16]        length counts what follows it
//! AAD      AAD prefix | aad_file_unique | kind u8 | row group i16 LE | column i16 LE | page i16 LE
//! ```
//!
//! The AAD ends with the kind for the footer, and with the column for what a column chunk has once. With
//! `AES_GCM_CTR_V1` the modules of pages, not those of their headers, are in counter mode and have no tag.
//!
//! See the Parquet format's [`Encryption.md`](https://github.com/apache/parquet-format/blob/master/Encryption.md).

use std::fmt;
use std::ops::Range;

use lakelock_crypto::{SecretKey, aes_ctr, aes_gcm};

use crate::thrift::Malformed;

/// The length before each module, in bytes.
pub(crate) const LENGTH_LENGTH: usize = 4;
const NONCE_LENGTH: usize = aes_gcm::NONCE_LENGTH;
/// How much longer a module is than its plaintext.
pub(crate) const OVERHEAD: usize = LENGTH_LENGTH + aes_gcm::OVERHEAD;

/// What a module holds, by its number in the AAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Footer = 0,
    DataPage = 2,
    DictionaryPage = 3,
    DataPageHeader = 4,
    DictionaryPageHeader = 5,
    ColumnIndex = 6,
    OffsetIndex = 7,
    BloomFilterHeader = 8,
    BloomFilterBitset = 9,
}

/// A module's place in its file. Footers and what a column chunk has once leave some numbers at 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    pub(crate) row_group: i16,
    pub(crate) column: i16,
    pub(crate) page: i16,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, row_group, column, page } = self;
        match kind {
            Kind::Footer => return f.write_str("the footer"),
            Kind::DataPage => write!(f, "page {page}"),
            Kind::DataPageHeader => write!(f, "the header of page {page}"),
            Kind::DictionaryPage => f.write_str("the dictionary"),
            Kind::DictionaryPageHeader => f.write_str("the header of the dictionary"),
            Kind::ColumnIndex => f.write_str("the column index"),
            Kind::OffsetIndex => f.write_str("the offset index"),
            Kind::BloomFilterHeader => f.write_str("the header of the bloom filter"),
            Kind::BloomFilterBitset => f.write_str("the bloom filter"),
        }?;
        write!(f, " of column {column} in row group {row_group}")
    }
}

/// What is wrong with a module; the file's name is still to be added.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    pub(crate) why: Why,
}

#[derive(Debug)]
pub(crate) enum Why {
    Cipher(lakelock_crypto::Error),
    Invalid(&'static str),
    Unauthentic,
    Unsupported(&'static str),
}

impl Place {
    pub(crate) fn invalid(self, why: &'static str) -> Fault {
        Fault { place: self, why: Why::Invalid(why) }
    }

    pub(crate) fn unsupported(self, why: &'static str) -> Fault {
        Fault { place: self, why: Why::Unsupported(why) }
    }

    pub(crate) fn malformed(self, Malformed(why): Malformed) -> Fault {
        self.invalid(why)
    }
}

/// Builds the AAD of one module after the other, in the same memory.
#[derive(Debug, Clone)]
pub(crate) struct Aad {
    bytes: Vec<u8>,
    of_file: usize,
    /// Whether modules have an AAD at all.
    binds_modules: bool,
}

impl Aad {
    /// `of_file` is what all modules of a file share.
    pub(crate) fn new(of_file: Vec<u8>) -> Self {
        Self { of_file: of_file.len(), bytes: of_file, binds_modules: true }
    }

    /// That of files whose modules have none.
    pub(crate) fn empty() -> Self {
        Self { bytes: Vec::new(), of_file: 0, binds_modules: false }
    }

    pub(crate) fn of(&mut self, place: Place) -> &[u8] {
        if !self.binds_modules {
            return &[];
        }
        let Place { kind, row_group, column, page } = place;
        self.bytes.truncate(self.of_file);
        self.bytes.push(kind as u8);
        if kind != Kind::Footer {
            self.bytes.extend_from_slice(&row_group.to_le_bytes());
            self.bytes.extend_from_slice(&column.to_le_bytes());
        }
        if matches!(kind, Kind::DataPage | Kind::DataPageHeader) {
            self.bytes.extend_from_slice(&page.to_le_bytes());
        }
        &self.bytes
    }

    /// What it occupies, for caches.
    pub(crate) fn memory_size(&self) -> usize {
        self.bytes.capacity()
    }
}

/// How long a module is, as it says itself.
#[derive(Debug)]
pub(crate) struct Sizes {
    /// All of the module.
    pub(crate) stored: usize,
    /// Its plaintext.
    pub(crate) plain: usize,
}

/// Where an opened module was, counted from its beginning.
#[derive(Debug)]
pub(crate) struct Opened {
    /// The plaintext, where the ciphertext was.
    pub(crate) plain: Range<usize>,
    /// All of the module.
    pub(crate) end: usize,
}

/// Opens the modules of one file, all encrypted with one key.
#[derive(Debug)]
pub(crate) struct Opener {
    gcm: aes_gcm::Cipher,
    /// For pages, if the file has them in counter mode.
    ctr: Option<aes_ctr::Cipher>,
}

impl Opener {
    pub(crate) fn new(key: &SecretKey, pages_in_counter_mode: bool) -> lakelock_crypto::Result<Self> {
        let ctr = pages_in_counter_mode.then(|| aes_ctr::Cipher::new(key)).transpose()?;
        Ok(Self { gcm: aes_gcm::Cipher::new(key)?, ctr })
    }

    /// How long the module is that `bytes` begin with. Nobody has made sure of it until it is opened.
    pub(crate) fn sizes(&self, place: Place, bytes: &[u8]) -> Result<Sizes, Fault> {
        let stored = length(place, bytes)?;
        let overhead = if self.in_counter_mode(place) { LENGTH_LENGTH + NONCE_LENGTH } else { OVERHEAD };
        let plain = stored.checked_sub(overhead).ok_or(place.invalid("it is too short for what it should hold"))?;
        Ok(Sizes { stored, plain })
    }

    fn in_counter_mode(&self, place: Place) -> bool {
        self.ctr.is_some() && matches!(place.kind, Kind::DataPage | Kind::DictionaryPage)
    }

    /// Decrypts, where it lies, the module that `bytes` begin with.
    pub(crate) fn open(&self, place: Place, aad: &mut Aad, bytes: &mut [u8]) -> Result<Opened, Fault> {
        let end = length(place, bytes)?;
        let module = bytes.get_mut(LENGTH_LENGTH..end).ok_or(place.invalid("it is cut off"))?;
        let begin = LENGTH_LENGTH + NONCE_LENGTH;
        let length = match &self.ctr {
            Some(cipher) if self.in_counter_mode(place) => {
                let (nonce, text) =
                    module.split_first_chunk_mut().ok_or(place.invalid("it is too short for what it should hold"))?;
                cipher.decrypt_in_place(first_counter(*nonce), text).map_err(|e| cipher_fault(place, e))?;
                text.len()
            }
            _ => self.gcm.open_where_it_lies(module, aad.of(place)).map_err(|e| cipher_fault(place, e))?.len(),
        };
        Ok(Opened { plain: begin..begin + length, end })
    }
}

/// The length of the module that `bytes` begin with, all in all. They may hold less.
fn length(place: Place, bytes: &[u8]) -> Result<usize, Fault> {
    let length = bytes.first_chunk().ok_or(place.invalid("it is cut off"))?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok().and_then(|length| length.checked_add(LENGTH_LENGTH));
    length.ok_or(place.invalid("it is cut off"))
}

/// Parquet counts blocks from 1 on.
fn first_counter(nonce: [u8; NONCE_LENGTH]) -> [u8; aes_ctr::COUNTER_LENGTH] {
    let mut counter = [0; aes_ctr::COUNTER_LENGTH];
    counter[..NONCE_LENGTH].copy_from_slice(&nonce);
    counter[aes_ctr::COUNTER_LENGTH - 1] = 1;
    counter
}

fn cipher_fault(place: Place, error: lakelock_crypto::Error) -> Fault {
    let why = match error.kind() {
        lakelock_crypto::ErrorKind::Authentication => Why::Unauthentic,
        lakelock_crypto::ErrorKind::InvalidData => Why::Invalid("it is too short for what it should hold"),
        _ => Why::Cipher(error),
    };
    Fault { place, why }
}
