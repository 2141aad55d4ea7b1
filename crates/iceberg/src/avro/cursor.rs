//! Avro's binary form: <https://avro.apache.org/docs/1.12.0/specification/#binary-encoding>.

use std::fmt;

/// What is wrong with some bytes; the file and the place are added by who knows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

pub(crate) type Decoded<T> = Result<T, Malformed>;

/// The value ends after the bytes do.
pub(crate) const CUT_OFF: Malformed = Malformed("a value is cut off");

/// Takes values off the front of some bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Bytes that are left.
    pub(crate) fn left(&self) -> usize {
        self.0.len()
    }

    /// The bytes that are left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    #[inline]
    pub(crate) fn take(&mut self, length: usize) -> Decoded<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(CUT_OFF)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn boolean(&mut self) -> Decoded<bool> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed("a boolean is neither 0 nor 1")),
        }
    }

    #[inline]
    pub(crate) fn int(&mut self) -> Decoded<i32> {
        i32::try_from(self.long()?).map_err(|_| Malformed("an int has more than 32 bits"))
    }

    #[inline]
    pub(crate) fn long(&mut self) -> Decoded<i64> {
        // Most are of one byte, and nearly all of less than nine.
        let Some(next) = self.0.first_chunk().map(|next| u64::from_le_bytes(*next)) else { return self.long_at_end() };
        if next & 0x80 == 0 {
            self.0 = &self.0[1..];
            return Ok(unzigzag(next & 0x7f));
        }
        let ends = !next & 0x8080_8080_8080_8080;
        if ends == 0 {
            return self.long_at_end();
        }
        self.0 = &self.0[ends.trailing_zeros() as usize / 8 + 1..];
        // The bytes up to the first without the highest bit: seven bits of each move together.
        let bits = next & (ends ^ (ends - 1)) & 0x7f7f_7f7f_7f7f_7f7f;
        let bits = (bits & 0x007f_007f_007f_007f) | ((bits & 0x7f00_7f00_7f00_7f00) >> 1);
        let bits = (bits & 0x0000_3fff_0000_3fff) | ((bits & 0x3fff_0000_3fff_0000) >> 2);
        let bits = (bits & 0x0fff_ffff) | ((bits & 0x0fff_ffff_0000_0000) >> 4);
        Ok(unzigzag(bits))
    }

    /// Takes a number off and tells only whether it is negative.
    #[inline]
    pub(crate) fn pass_long(&mut self) -> Decoded<bool> {
        let next = self.0.first_chunk().map_or(0x8080_8080_8080_8080, |next| u64::from_le_bytes(*next));
        let ends = !next & 0x8080_8080_8080_8080;
        if ends == 0 {
            return self.long_at_end().map(|number| number < 0);
        }
        self.0 = &self.0[ends.trailing_zeros() as usize / 8 + 1..];
        Ok(next & 1 == 1)
    }

    /// Byte by byte, as there are few left, or many in the number.
    #[cold]
    fn long_at_end(&mut self) -> Decoded<i64> {
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
    #[inline]
    pub(crate) fn length(&mut self) -> Decoded<usize> {
        usize::try_from(self.long()?).map_err(|_| Malformed("a length is negative or beyond memory"))
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> Decoded<&'a [u8]> {
        let length = self.length()?;
        self.take(length)
    }

    /// The head of a block of an array or map: how many items it has, and of how many bytes if it says; `None` at the end.
    #[inline]
    pub(crate) fn items(&mut self) -> Decoded<Option<(u64, Option<usize>)>> {
        match self.long()? {
            0 => Ok(None),
            count @ 1.. => Ok(Some((count.unsigned_abs(), None))),
            count => Ok(Some((count.unsigned_abs(), Some(self.length()?)))),
        }
    }
}

/// Ten bytes of seven bits hold 64.
pub(crate) const MAX_VARINT_LENGTH: usize = 10;

const TOO_LONG: Malformed = Malformed("a number has more than 64 bits");

fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_whatever_follows() {
        for number in (0..63).flat_map(|bit| [1_i64 << bit, (1 << bit) - 1, -1 << bit, i64::MIN, i64::MAX]) {
            let (mut bytes, mut rest) = (Vec::new(), (number << 1 ^ number >> 63).cast_unsigned());
            while rest >= 0x80 {
                bytes.push(rest.to_le_bytes()[0] | 0x80);
                rest >>= 7;
            }
            bytes.push(rest.to_le_bytes()[0]);
            for follows in [&[][..], &[0; 9], &[0xff; 9]] {
                let all = [&bytes, follows].concat();
                let mut cursor = Cursor::new(&all);
                assert_eq!((cursor.long(), cursor.rest()), (Ok(number), follows), "{all:x?}");
                let mut cursor = Cursor::new(&all);
                assert_eq!((cursor.pass_long(), cursor.rest()), (Ok(number < 0), follows), "{all:x?}");
            }
        }
    }

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
