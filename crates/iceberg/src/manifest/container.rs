//! Avro object container files: the frame around the records of manifests and manifest lists.
//!
//! `"Obj" 01 | metadata: map<bytes> | sync[16] | block*`, block = `count: long | length: long | bytes | sync[16]`, the
//! bytes compressed by the codec that the metadata names.
//! Format: <https://avro.apache.org/docs/1.12.0/specification/#object-container-files>.
//!
//! The frame is handled here, not by the Avro library, for three reasons. What a block may unpack to is limited, and no
//! buffer is sized by a number from the file. The schema in the header carries Iceberg's attributes, while the one that
//! decodes a record is reduced to what Avro's binary form needs. And what was unpacked holds keys: it is wiped.

use std::collections::BTreeMap;
use std::io::Read;

use serde::{Deserialize, Serialize};
use serde_avro_fast::Schema;
use serde_avro_fast::de::read::SliceRead;
use serde_avro_fast::de::{DeserializerConfig, DeserializerState};
use serde_avro_fast::ser::SerializerConfig;
use zeroize::Zeroizing;

use super::codec::Unpacker;
use super::{ByteBuf, Codec};
use crate::avro::Cursor;
use crate::{Error, ErrorKind, Result};

const MAGIC: [u8; 4] = *b"Obj\x01";
const SYNC_LENGTH: usize = 16;

/// Records are gathered up to about this many bytes before a block is closed, as Java does.
const BLOCK_LENGTH: usize = 64_000;

/// An object container file whose header is read and whose blocks are not yet.
#[derive(Debug)]
pub(super) struct Container<'a> {
    location: &'a str,
    metadata: BTreeMap<String, Vec<u8>>,
    codec: Codec,
    sync: [u8; SYNC_LENGTH],
    blocks: &'a [u8],
}

impl<'a> Container<'a> {
    /// Reads the header. `location` is named in every error.
    pub(super) fn open(bytes: &'a [u8], location: &'a str) -> Result<Self> {
        let damaged = |what: &str| damaged(location, what);
        let Some(rest) = bytes.strip_prefix(&MAGIC) else {
            return Err(damaged("it is no Avro file"));
        };
        let schema: Schema = r#"{"type":"map","values":"bytes"}"#
            .parse()
            .map_err(|e| Error::new(ErrorKind::Internal, "the schema of Avro headers is invalid").with_source(e))?;
        let mut config = DeserializerConfig::new(&schema);
        config.max_seq_size = rest.len();
        let mut state = DeserializerState::with_config(SliceRead::new(rest), config);
        let metadata = BTreeMap::<String, ByteBuf>::deserialize(state.deserializer())
            .map_err(|e| damaged("its Avro header is malformed").with_source(e))?;
        let mut reader = state.into_reader();
        let mut sync = [0; SYNC_LENGTH];
        reader.read_exact(&mut sync).map_err(|_| damaged("its Avro header is cut off"))?;
        let blocks = remaining(rest, &mut reader).ok_or_else(|| damaged("its Avro header is cut off"))?;
        let metadata: BTreeMap<_, _> = metadata.into_iter().map(|(key, value)| (key, value.0)).collect();
        let codec = metadata.get("avro.codec").map_or(&b"null"[..], Vec::as_slice);
        let codec = Codec::of_file(codec).ok_or_else(|| {
            let codec = String::from_utf8_lossy(codec);
            let message = format!("cannot read {location}: the Avro codec {codec:?} is not supported");
            Error::new(ErrorKind::Unsupported, message)
        })?;
        Ok(Self { location, metadata, codec, sync, blocks })
    }

    /// A text of the header.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>> {
        self.metadata.get(key).map(|value| std::str::from_utf8(value)).transpose().map_err(|e| {
            let message = format!("the Avro header entry {key:?} is not UTF-8");
            damaged(self.location, &message).with_source(e)
        })
    }

    /// A text of the header that must be there.
    pub(super) fn required_text(&self, key: &str) -> Result<&str> {
        self.text(key)?.ok_or_else(|| damaged(self.location, &format!("its Avro header has no {key:?}")))
    }

    /// Decodes all records; `schema` must describe the bytes of the one in the header.
    pub(super) fn records<T: for<'de> Deserialize<'de>>(&self, schema: &Schema) -> Result<Vec<T>> {
        let mut records = Vec::new();
        self.for_each_block::<Error>(|count, plain| {
            let mut config = DeserializerConfig::new(schema);
            // Each element that we read takes a byte or more.
            config.max_seq_size = plain.len();
            let mut state = DeserializerState::with_config(SliceRead::new(plain), config);
            for _ in 0..count {
                records.push(T::deserialize(state.deserializer()).map_err(|e| {
                    let message = format!("its record {} is malformed", records.len());
                    damaged(self.location, &message).with_source(e)
                })?);
            }
            let mut reader = state.into_reader();
            if remaining(plain, &mut reader).is_none_or(|left| !left.is_empty()) {
                return Err(damaged(self.location, "a block holds more than its records"));
            }
            Ok(())
        })?;
        Ok(records)
    }

    /// Hands out the number of records of each block and their bytes, unpacked.
    pub(super) fn for_each_block<E: From<Error>>(
        &self,
        mut read: impl FnMut(u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut unpacker = Unpacker::new(self.codec);
        let mut rest = self.blocks;
        while !rest.is_empty() {
            let (count, packed);
            (count, packed, rest) = self.block(rest)?;
            let plain = unpacker
                .unpack(packed)
                .map_err(|e| damaged(self.location, "a block cannot be unpacked").with_source(e))?;
            read(count, plain)?;
        }
        Ok(())
    }

    /// The records' bytes.
    #[cfg(test)]
    pub(super) fn plain_blocks(&self) -> Result<Vec<u8>> {
        let mut all = Vec::new();
        self.for_each_block::<Error>(|_, plain| {
            all.extend_from_slice(plain);
            Ok(())
        })?;
        Ok(all)
    }

    /// The record count and the packed bytes of the first block, and what follows it.
    fn block(&self, bytes: &'a [u8]) -> Result<(u64, &'a [u8], &'a [u8])> {
        let cut = |e| damaged(self.location, "a block is cut off").with_source(e);
        let mut cursor = Cursor::new(bytes);
        let count = cursor.long().map_err(cut)?;
        let packed = cursor.bytes().map_err(cut)?;
        let sync = cursor.array::<SYNC_LENGTH>().map_err(cut)?;
        let count = u64::try_from(count).map_err(|_| damaged(self.location, "a block has a negative record count"))?;
        if sync != self.sync {
            return Err(damaged(self.location, "a block does not end with the sync marker"));
        }
        Ok((count, packed, cursor.rest()))
    }
}

/// Builds an object container file in memory.
pub(super) struct ContainerWriter {
    file: Vec<u8>,
    codec: Codec,
    sync: [u8; SYNC_LENGTH],
    block: Zeroizing<Vec<u8>>,
    count: u64,
}

impl ContainerWriter {
    /// Starts a file with `avro.schema`, `avro.codec` and the given entries in its header.
    pub(super) fn new(schema: &str, codec: Codec, metadata: &[(&str, String)]) -> Self {
        // Random, to tell blocks from what they hold; not a secret.
        let sync = *uuid::Uuid::new_v4().as_bytes();
        let mut file = Vec::with_capacity(BLOCK_LENGTH);
        file.extend_from_slice(&MAGIC);
        put_long(&mut file, metadata.len() as u64 + 2);
        let fixed = [("avro.schema", schema), ("avro.codec", codec.name())];
        let given = metadata.iter().map(|(key, value)| (*key, value.as_str()));
        for (key, value) in fixed.into_iter().chain(given) {
            put_bytes(&mut file, key.as_bytes());
            put_bytes(&mut file, value.as_bytes());
        }
        put_long(&mut file, 0);
        file.extend_from_slice(&sync);
        Self { file, codec, sync, block: Zeroizing::new(Vec::with_capacity(BLOCK_LENGTH * 2)), count: 0 }
    }

    /// Appends a record.
    pub(super) fn write(&mut self, record: &impl Serialize, config: &mut SerializerConfig<'_>) -> Result<()> {
        let before = self.block.len();
        if let Err(e) = serde_avro_fast::to_datum(record, &mut *self.block, config) {
            self.block.truncate(before);
            return Err(Error::new(ErrorKind::Internal, "an Avro record does not fit its schema").with_source(e));
        }
        self.count += 1;
        if self.block.len() >= BLOCK_LENGTH { self.close_block() } else { Ok(()) }
    }

    /// Bytes of the file so far, without the open block.
    pub(super) fn length(&self) -> u64 {
        self.file.len() as u64
    }

    /// The finished file.
    pub(super) fn finish(mut self) -> Result<Vec<u8>> {
        self.close_block()?;
        Ok(self.file)
    }

    fn close_block(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let mut packed = Vec::with_capacity(self.block.len() / 2);
        self.codec
            .compress(&self.block, &mut packed)
            .map_err(|e| Error::new(ErrorKind::Internal, "a block of records cannot be compressed").with_source(e))?;
        put_long(&mut self.file, self.count);
        put_bytes(&mut self.file, &packed);
        self.file.extend_from_slice(&self.sync);
        zeroize::Zeroize::zeroize(&mut *self.block);
        self.count = 0;
        Ok(())
    }
}

pub(super) fn damaged(location: &str, what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("cannot read {location}: {what}"))
}

/// The end of `whole` that a reader over it has not taken yet.
fn remaining<'a>(whole: &'a [u8], reader: &mut SliceRead<'_>) -> Option<&'a [u8]> {
    use std::io::BufRead;
    let left = reader.fill_buf().ok()?.len();
    whole.len().checked_sub(left).map(|taken| &whole[taken..])
}

/// A length or count as a zigzag varint.
pub(super) fn put_long(out: &mut Vec<u8>, value: u64) {
    let mut rest = value << 1;
    loop {
        let low = rest.to_le_bytes()[0] & 0x7f;
        rest >>= 7;
        if rest == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_long(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
