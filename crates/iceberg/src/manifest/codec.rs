//! How the blocks of Avro files are compressed.

use std::collections::HashMap;
use std::io::{self, Read, Write};

use libdeflater::{DecompressionError, Decompressor};
use zeroize::Zeroizing;

use crate::Result;
use crate::properties::{self as table_properties, number};

const CODEC_PROPERTY: &str = "write.manifest.compression-codec";
const LEVEL_PROPERTY: &str = "write.manifest.compression-level";

/// What one block may unpack to. Writers close a block near 64 KB, or after one record; some write a whole manifest
/// list as one block.
const MAX_BLOCK_LENGTH: usize = 256 << 20;

/// The first block is unpacked into this many bytes at least.
const MIN_BUFFER_LENGTH: usize = 4096;

/// How blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// DEFLATE (RFC 1951), Java's default: `gzip` in table properties, `deflate` in files.
    Deflate {
        /// 0 to 9.
        level: u32,
    },
    /// Not compressed.
    Null,
    /// Snappy with a CRC-32 of the plain bytes.
    Snappy,
    /// Zstandard.
    Zstandard {
        /// 1 to 22.
        level: i32,
    },
}

impl Codec {
    /// What manifest lists are always written with, and manifests by default.
    pub const DEFAULT: Self = Self::Deflate { level: 6 };

    /// The codec that table properties ask for: `write.manifest.compression-codec` and `write.manifest.compression-level`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an unknown codec or level.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let codec = properties.get(CODEC_PROPERTY).map_or("gzip", String::as_str);
        match codec.to_ascii_lowercase().as_str() {
            "gzip" => Ok(Self::Deflate { level: number(properties, LEVEL_PROPERTY, 6, 0..=9)? }),
            "snappy" => Ok(Self::Snappy),
            "uncompressed" => Ok(Self::Null),
            "zstd" => Ok(Self::Zstandard { level: number(properties, LEVEL_PROPERTY, 1, 1..=22)? }),
            _ => Err(table_properties::invalid(CODEC_PROPERTY, codec, "one of gzip, snappy, zstd, uncompressed")),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Deflate { .. } => "deflate",
            Self::Null => "null",
            Self::Snappy => "snappy",
            Self::Zstandard { .. } => "zstandard",
        }
    }

    /// Packs a block.
    pub(crate) fn compress(self, plain: &[u8], out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Deflate { level } => {
                let mut encoder = flate2::write::DeflateEncoder::new(out, flate2::Compression::new(level));
                encoder.write_all(plain)?;
                encoder.finish().map(drop)
            }
            Self::Null => out.write_all(plain),
            Self::Snappy => {
                let packed = snap::raw::Encoder::new().compress_vec(plain)?;
                out.write_all(&packed)?;
                out.write_all(&crc32fast::hash(plain).to_be_bytes())
            }
            Self::Zstandard { level } => {
                let mut encoder = zstd::stream::write::Encoder::new(out, level)?;
                encoder.write_all(plain)?;
                encoder.finish().map(drop)
            }
        }
    }

    /// The codec of this name in the header of a file, with a level for writing.
    pub(crate) fn of_file(name: &[u8]) -> Option<Self> {
        match name {
            b"deflate" => Some(Self::DEFAULT),
            b"null" => Some(Self::Null),
            b"snappy" => Some(Self::Snappy),
            b"zstandard" => Some(Self::Zstandard { level: 1 }),
            _ => None,
        }
    }

    /// Unpacks one block, which may be of anybody's making.
    pub(crate) fn decompress(self, packed: &[u8]) -> io::Result<Zeroizing<Vec<u8>>> {
        let mut unpacker = Unpacker::new(self);
        let Some(length) = unpacker.fill(packed)? else { return Ok(Zeroizing::new(packed.to_vec())) };
        unpacker.plain.truncate(length);
        Ok(unpacker.plain)
    }
}

/// Unpacks the blocks of a file, which may be of anybody's making, one after the other into the same memory. It is wiped
/// in the end, as keys may have been in it.
pub(crate) struct Unpacker {
    codec: Codec,
    /// As long as the longest block so far needed; what is in it beyond the last one is of earlier ones.
    plain: Zeroizing<Vec<u8>>,
    inflater: Option<Decompressor>,
}

impl Unpacker {
    pub(crate) fn new(codec: Codec) -> Self {
        let inflater = matches!(codec, Codec::Deflate { .. }).then(Decompressor::new);
        Self { codec, plain: Zeroizing::default(), inflater }
    }

    /// The plain bytes of a block.
    pub(crate) fn unpack<'a>(&'a mut self, packed: &'a [u8]) -> io::Result<&'a [u8]> {
        Ok(match self.fill(packed)? {
            Some(length) => &self.plain[..length],
            None => packed,
        })
    }

    /// Unpacks into `plain` and returns how many bytes that were; `None` if the block is plain as it is.
    fn fill(&mut self, packed: &[u8]) -> io::Result<Option<usize>> {
        if self.plain.is_empty() && self.codec != Codec::Null {
            self.plain = zeros(packed.len().saturating_mul(4).clamp(MIN_BUFFER_LENGTH, MAX_BLOCK_LENGTH));
        }
        match (self.codec, &mut self.inflater) {
            (Codec::Null, _) => Ok(None),
            (Codec::Snappy, _) => self.unsnap(packed).map(Some),
            (Codec::Zstandard { .. }, _) => self.read(zstd::stream::read::Decoder::with_buffer(packed)?).map(Some),
            (Codec::Deflate { .. }, Some(inflater)) => inflate(inflater, packed, &mut self.plain).map(Some),
            (Codec::Deflate { .. }, None) => Err(invalid("a block without its decompressor")),
        }
    }

    fn unsnap(&mut self, packed: &[u8]) -> io::Result<usize> {
        let Some((packed, crc)) = packed.split_last_chunk::<4>() else {
            return Err(invalid("a snappy block without its checksum"));
        };
        // The length is the attacker's; Snappy cannot pack more than about 21 to 1.
        let length = snap::raw::decompress_len(packed)?;
        if length > packed.len().saturating_mul(32) || length > MAX_BLOCK_LENGTH {
            return Err(invalid("a snappy block with an impossible length"));
        }
        if length > self.plain.len() {
            self.plain = zeros(length);
        }
        let plain = &mut self.plain[..length];
        snap::raw::Decoder::new().decompress(packed, plain)?;
        if crc32fast::hash(plain).to_be_bytes() != *crc {
            return Err(invalid("a snappy block with a wrong checksum"));
        }
        Ok(length)
    }

    /// Reads what a decompressor yields, growing with what was really there.
    fn read(&mut self, mut decoder: impl Read) -> io::Result<usize> {
        let mut length = 0;
        loop {
            if length == self.plain.len() {
                let mut longer = longer(&self.plain)?;
                longer[..length].copy_from_slice(&self.plain);
                self.plain = longer;
            }
            match decoder.read(&mut self.plain[length..])? {
                0 => return Ok(length),
                read => length += read,
            }
        }
    }
}

/// Unpacks a block at one go, which is quickest. Memory that turns out too short is made longer and filled anew.
fn inflate(inflater: &mut Decompressor, packed: &[u8], plain: &mut Zeroizing<Vec<u8>>) -> io::Result<usize> {
    loop {
        match inflater.deflate_decompress(packed, plain) {
            Ok(length) => return Ok(length),
            Err(DecompressionError::InsufficientSpace) => *plain = longer(plain)?,
            Err(DecompressionError::BadData) => {
                return Err(invalid("a block whose compressed bytes are damaged or cut off"));
            }
        }
    }
}

/// Memory of twice the length. What was in the shorter is wiped with it: growing in place would leave a copy behind.
fn longer(plain: &[u8]) -> io::Result<Zeroizing<Vec<u8>>> {
    let length = plain.len().saturating_mul(2).min(MAX_BLOCK_LENGTH);
    if length > plain.len() { Ok(zeros(length)) } else { Err(invalid("a block that unpacks to more than 256 MiB")) }
}

fn zeros(length: usize) -> Zeroizing<Vec<u8>> {
    Zeroizing::new(vec![0; length])
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
