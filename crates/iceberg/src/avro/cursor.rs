//! Avro's binary form: <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>.

use std::fmt;

/// What is wrong with some bytes; the file and the place are added by who knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

pub(super) type Decoded<T> = Result<T, Malformed>;

/// The value ends after the bytes do.
pub(super) const CUT_OFF: Malformed = Malformed("a value is cut off");

/// Takes values off the front of some bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.0.len()
    }

    pub(super) fn take(&mut self, length: usize) -> Decoded<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn boolean(&mut self) -> Decoded<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed("a boolean is neither 0 nor 1")),
        }
    }

    pub(super) fn int(&mut self) -> Decoded<i32> {
        i32::try_from(self.long()?).map_err(|_| Malformed("an int has more than 32 bits"))
    }

    pub(super) fn long(&mut self) -> Decoded<i64> {
        // Most are of one byte.
        if let [first, rest @ ..] = self.0
            && first & 0x80 == 0
        {
            self.0 = rest;
            return Ok(unzigzag(u64::from(*first)));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Decoded<i64> {
        let mut value = 0_u64;
        for (at, byte) in self.0.iter().take(MAX_VARINT_LENGTH).enumerate() {
            let bits = u64::from(byte & 0x7f);
            if at == MAX_VARINT_LENGTH - 1 && bits > 1 {
                return Err(TOO_LONG);
            }
            value |= bits << (7 * at);
            if byte & 0x80 == 0 {
                self.0 = &self.0[at + 1..];
                return Ok(unzigzag(value));
            }
        }
        Err(if self.0.len() < MAX_VARINT_LENGTH { CUT_OFF } else { TOO_LONG })
    }

    /// A length, or an index.
    pub(super) fn length(&mut self) -> Decoded<usize> {
        usize::try_from(self.long()?).map_err(|_| Malformed("a length is negative or beyond memory"))
    }

    pub(super) fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// The head of a block of an array or map: how many items it has, and of how many bytes if it says; `None` at the end.
    pub(super) fn items(&mut self) -> Decoded<Option<(u64, Option<usize>)>> {
        match self.long()? {
            0 => Ok(None),
            count @ 1.. => Ok(Some((count.unsigned_abs(), None))),
            count => Ok(Some((count.unsigned_abs(), Some(self.length()?)))),
        }
    }
}

/// Ten bytes of seven bits hold 64.
pub(super) const MAX_VARINT_LENGTH: usize = 10;

const TOO_LONG: Malformed = Malformed("a number has more than 64 bits");

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_up_to_their_limits() {
        let cases: [(&[u8], Decoded<i64>); 9] = [
            (&[0x00], Ok(0)),
            (&[0x01], Ok(-1)),
            (&[0x80, 0x01], Ok(64)),
            (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Ok(i64::MAX)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Ok(i64::MIN)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x03], Err(TOO_LONG)),
            (&[0x80; 11], Err(TOO_LONG)),
            (&[0x80; 3], Err(CUT_OFF)),
            (&[], Err(CUT_OFF)),
        ];
        for (bytes, expected) in cases {
            assert_eq!(Cursor::new(bytes).long(), expected, "{bytes:x?}");
        }
        assert_eq!(Cursor::new(&[0x80, 0x80, 0x80, 0x80, 0x10]).int(), Err(Malformed("an int has more than 32 bits")));
    }
}
