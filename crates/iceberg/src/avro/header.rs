//! The head of an object container file, before its blocks:
//! <https://avro.apache.org/docs/1.12.0/specification/#object-container-files>.

use super::cursor::{CUT_OFF, Cursor, Decoded, Malformed};
use super::schema::Node;
use crate::manifest::Codec;
use crate::{Error, ErrorKind, Result};

const MAGIC: [u8; 4] = *b"Obj\x01";

pub(super) const SYNC_LENGTH: usize = 16;

/// What a file says of its blocks.
#[derive(Debug, Clone)]
pub(super) struct Header {
    pub(super) schema: Node,
    pub(super) codec: Codec,
    /// What each block ends with.
    pub(super) sync: [u8; SYNC_LENGTH],
    /// Where the first block starts.
    pub(super) length: u64,
}

impl Header {
    /// Reads it from the first bytes of a file; `None` if these are not enough.
    pub(super) fn read(bytes: &[u8], location: &str) -> Result<Option<Self>> {
        let damaged = |what: &str| Error::new(ErrorKind::InvalidData, format!("cannot read {location}: {what}"));
        let Raw { schema, codec, sync, length } = match Raw::read(bytes) {
            Ok(raw) => raw,
            Err(CUT_OFF) => return Ok(None),
            Err(e) => return Err(damaged("its Avro header is malformed").with_source(e)),
        };
        let schema = schema.ok_or_else(|| damaged("its Avro header has no schema"))?;
        let schema = std::str::from_utf8(schema).map_err(|e| damaged("its schema is not UTF-8").with_source(e))?;
        let schema = Node::parse(schema).map_err(|what| damaged(&format!("its schema cannot be used: {what}")))?;
        if !matches!(schema, Node::Record(_)) {
            return Err(damaged("its schema is not that of a record"));
        }
        let codec = codec.unwrap_or(b"null");
        let codec = Codec::of_file(codec).ok_or_else(|| {
            let codec = String::from_utf8_lossy(codec);
            let message = format!("cannot read {location}: the Avro codec {codec:?} is not supported");
            Error::new(ErrorKind::Unsupported, message)
        })?;
        Ok(Some(Self { schema, codec, sync, length: length as u64 }))
    }
}

struct Raw<'a> {
    schema: Option<&'a [u8]>,
    codec: Option<&'a [u8]>,
    sync: [u8; SYNC_LENGTH],
    length: usize,
}

impl<'a> Raw<'a> {
    fn read(bytes: &'a [u8]) -> Decoded<Self> {
        let mut from = Cursor::new(bytes);
        if from.array()? != MAGIC {
            return Err(Malformed("it does not begin as Avro files do"));
        }
        let (mut schema, mut codec) = (None, None);
        while let Some((entries, _)) = from.items()? {
            for _ in 0..entries {
                let (name, value) = (from.bytes()?, from.bytes()?);
                match name {
                    b"avro.schema" => schema = Some(value),
                    b"avro.codec" => codec = Some(value),
                    _ => {}
                }
            }
        }
        let sync = from.array()?;
        Ok(Self { schema, codec, sync, length: bytes.len() - from.left() })
    }
}
