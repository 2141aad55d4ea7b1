//! How metadata files are compressed, and how that shows in their names.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::properties::invalid;
use crate::{Error, ErrorKind, Result};

/// The table property that chooses.
const CODEC_PROPERTY: &str = "write.metadata.compression-codec";

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// What a metadata file may grow to when decompressed: some hundred thousand snapshots.
const MAX_LENGTH: u64 = 512 << 20;

/// The compression of a metadata file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetadataCompression {
    /// RFC 1952.
    Gzip,
    /// Plain JSON, the default.
    None,
}

impl MetadataCompression {
    /// The choice of a table with these properties.
    pub(crate) fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        match properties.get(CODEC_PROPERTY) {
            None => Ok(Self::None),
            Some(name) if name.eq_ignore_ascii_case("none") => Ok(Self::None),
            Some(name) if name.eq_ignore_ascii_case("gzip") => Ok(Self::Gzip),
            Some(name) => Err(invalid(CODEC_PROPERTY, name, "none or gzip")),
        }
    }

    /// The end of the names of such files.
    #[must_use]
    pub fn file_extension(self) -> &'static str {
        match self {
            Self::Gzip => ".gz.metadata.json",
            Self::None => ".metadata.json",
        }
    }

    pub(super) fn compress(self, json: Vec<u8>) -> Result<Vec<u8>> {
        if self == Self::None {
            return Ok(json);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder
            .write_all(&json)
            .and_then(|()| encoder.finish())
            .map_err(|e| Error::new(ErrorKind::Internal, "cannot compress table metadata").with_source(e))
    }
}

/// The JSON of a metadata file, whatever its compression.
pub(super) fn decompress<'a>(bytes: &'a [u8], location: &str) -> Result<Cow<'a, [u8]>> {
    let invalid = |problem| Error::new(ErrorKind::InvalidData, format!("{location} {problem}"));
    if !bytes.starts_with(&GZIP_MAGIC) {
        if is_gzip_name(location) {
            return Err(invalid("has the name of a gzip file, but is none"));
        }
        return Ok(Cow::Borrowed(bytes));
    }
    let mut json = Vec::new();
    MultiGzDecoder::new(bytes)
        .take(MAX_LENGTH + 1)
        .read_to_end(&mut json)
        .map_err(|e| invalid("is a damaged gzip file").with_source(e))?;
    if json.len() as u64 > MAX_LENGTH {
        return Err(invalid("is larger than table metadata may be when decompressed"));
    }
    Ok(Cow::Owned(json))
}

fn is_gzip_name(location: &str) -> bool {
    location.ends_with(".gz.metadata.json") || location.ends_with(".metadata.json.gz")
}
