//! Thrift's compact protocol, as much of it as a Parquet footer's encryption header needs.
//!
//! Input is untrusted: lengths are checked against what is there, and nesting has a limit.

/// Structures may nest this deeply.
const MAX_DEPTH: usize = 16;

/// Why bytes are no Thrift structure.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// Reads from the front of a buffer.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
}

/// A value; what is of no interest is skipped while reading.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Bool(bool),
    Binary(&'a [u8]),
    Struct(Vec<(i16, Value<'a>)>),
    Other,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Reads a structure's fields.
    pub(super) fn structure(&mut self) -> Result<Vec<(i16, Value<'a>)>, Malformed> {
        self.fields(0)
    }

    fn fields(&mut self, depth: usize) -> Result<Vec<(i16, Value<'a>)>, Malformed> {
        if depth > MAX_DEPTH {
            return Err(Malformed);
        }
        let mut fields = Vec::new();
        let mut id = 0_i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Ok(fields);
            }
            let delta = i16::from(header >> 4);
            id = if delta == 0 {
                i16::try_from(unzigzag(self.varint()?)).map_err(|_| Malformed)?
            } else {
                id.checked_add(delta).ok_or(Malformed)?
            };
            fields.push((id, self.value(header & 0x0f, depth)?));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value<'a>, Malformed> {
        Ok(match kind {
            1 => Value::Bool(true),
            2 => Value::Bool(false),
            3 => {
                self.byte()?;
                Value::Other
            }
            4..=6 => {
                self.varint()?;
                Value::Other
            }
            7 => {
                self.take(8)?;
                Value::Other
            }
            8 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Value::Binary(self.take(length)?)
            }
            9 | 10 => {
                let header = self.byte()?;
                let count = if header >> 4 == 15 { self.varint()? } else { u64::from(header >> 4) };
                for _ in 0..count {
                    // Each element takes at least a byte, but for booleans, which are one here.
                    match header & 0x0f {
                        1 | 2 => drop(self.byte()?),
                        element => drop(self.value(element, depth + 1)?),
                    }
                }
                Value::Other
            }
            12 => Value::Struct(self.fields(depth + 1)?),
            _ => return Err(Malformed),
        })
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Malformed)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_crypto_metadata_that_iceberg_writes() {
        // FileCryptoMetaData { 1: EncryptionAlgorithm { 1: AesGcmV1 { 2: aad_file_unique, 3: true } } }
        let bytes = [0x1c, 0x1c, 0x28, 2, 0xaa, 0xbb, 0x11, 0, 0, 0, 0x99];
        let mut reader = Reader::new(&bytes);
        let gcm = Value::Struct(vec![(2, Value::Binary(&[0xaa, 0xbb])), (3, Value::Bool(true))]);
        assert_eq!(reader.structure(), Ok(vec![(1, Value::Struct(vec![(1, gcm)]))]));
        assert_eq!(reader.left(), 1);
    }

    #[test]
    fn cuts_and_endless_nesting_are_errors() {
        let bytes = [0x1c, 0x1c, 0x28, 2, 0xaa, 0xbb, 0x11, 0, 0, 0];
        for length in 0..bytes.len() {
            assert_eq!(Reader::new(&bytes[..length]).structure(), Err(Malformed), "{length}");
        }
        assert_eq!(Reader::new(&[0x1c; 1000]).structure(), Err(Malformed));
        // A list that claims 2^63 structures.
        assert_eq!(
            Reader::new(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).structure(),
            Err(Malformed)
        );
    }
}
