//! As much of Thrift's [compact protocol] as the structs of encryption need.
//!
//! What is not known is passed over or copied as it is. Lengths and counts are those of whoever wrote the bytes: none
//! decides what is allocated.
//!
//! [compact protocol]: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md

/// The bytes are not what they should be, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

type Result<T> = std::result::Result<T, Malformed>;

/// How deep structs may lie in one another.
const MAX_DEPTH: u8 = 32;
/// The bytes of the longest varint, of 64 bits.
const MAX_VARINT: usize = 10;

/// The type of a field or element, by its number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    True = 1,
    False = 2,
    Byte = 3,
    I16 = 4,
    I32 = 5,
    I64 = 6,
    Double = 7,
    Binary = 8,
    List = 9,
    Set = 10,
    Map = 11,
    Struct = 12,
    Uuid = 13,
}

impl Wire {
    fn new(number: u8) -> Result<Self> {
        Ok(match number {
            1 => Self::True,
            2 => Self::False,
            3 => Self::Byte,
            4 => Self::I16,
            5 => Self::I32,
            6 => Self::I64,
            7 => Self::Double,
            8 => Self::Binary,
            9 => Self::List,
            10 => Self::Set,
            11 => Self::Map,
            12 => Self::Struct,
            13 => Self::Uuid,
            _ => return Err(Malformed("a field has no such type")),
        })
    }
}

/// The beginning of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) id: i16,
    pub(crate) wire: Wire,
}

impl Field {
    /// The value of a boolean, which is in the type.
    pub(crate) fn bool(self) -> Result<bool> {
        match self.wire {
            Wire::True => Ok(true),
            Wire::False => Ok(false),
            _ => Err(Malformed("a field is of another type")),
        }
    }

    /// Makes sure that a struct follows, whose fields are read next.
    pub(crate) fn begin_struct(self) -> Result<()> {
        self.expect(Wire::Struct)
    }

    fn expect(self, wire: Wire) -> Result<()> {
        if self.wire == wire { Ok(()) } else { Err(Malformed("a field is of another type")) }
    }
}

/// Reads values one after the other.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// What has not been read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next field of a struct, or `None` at its end. `last` is the field before; the first has none.
    pub(crate) fn field(&mut self, last: Option<Field>) -> Result<Option<Field>> {
        let head = self.byte()?;
        if head == 0 {
            return Ok(None);
        }
        let id = match head >> 4 {
            0 => i16::try_from(self.signed()?).map_err(|_| Malformed("a field's number is too large"))?,
            delta => {
                last.map_or(0, |field| field.id).checked_add(i16::from(delta)).ok_or(Malformed("too many fields"))?
            }
        };
        Ok(Some(Field { id, wire: Wire::new(head & 0x0f)? }))
    }

    pub(crate) fn i32(&mut self, field: Field) -> Result<i32> {
        field.expect(Wire::I32)?;
        i32::try_from(self.signed()?).map_err(|_| Malformed("a number does not fit its type"))
    }

    pub(crate) fn i64(&mut self, field: Field) -> Result<i64> {
        field.expect(Wire::I64)?;
        self.signed()
    }

    pub(crate) fn binary(&mut self, field: Field) -> Result<&'a [u8]> {
        field.expect(Wire::Binary)?;
        let length = self.length()?;
        self.take(length)
    }

    /// The number of structs that follow. Each takes at least a byte, so there are no more than there are bytes.
    pub(crate) fn begin_structs(&mut self, field: Field) -> Result<usize> {
        field.expect(Wire::List)?;
        match self.list()? {
            (_, 0) => Ok(0),
            (Some(Wire::Struct), count) if count <= self.rest.len() => Ok(count),
            _ => Err(Malformed("a list is not of as many structs as it says")),
        }
    }

    /// Passes over the value of `field`.
    pub(crate) fn skip(&mut self, field: Field) -> Result<()> {
        match field.wire {
            Wire::True | Wire::False => Ok(()),
            wire => self.skip_value(wire, MAX_DEPTH),
        }
    }

    fn skip_value(&mut self, wire: Wire, depth: u8) -> Result<()> {
        let Some(depth) = depth.checked_sub(1) else { return Err(Malformed("structs lie too deep in one another")) };
        match wire {
            // In a list or map a boolean is a byte.
            Wire::True | Wire::False | Wire::Byte => self.take(1).map(drop),
            Wire::I16 | Wire::I32 | Wire::I64 => self.varint().map(drop),
            Wire::Double => self.take(8).map(drop),
            Wire::Uuid => self.take(16).map(drop),
            Wire::Binary => {
                let length = self.length()?;
                self.take(length).map(drop)
            }
            Wire::Struct => {
                let mut last = None;
                while let Some(field) = self.field(last)? {
                    match field.wire {
                        Wire::True | Wire::False => {}
                        wire => self.skip_value(wire, depth)?,
                    }
                    last = Some(field);
                }
                Ok(())
            }
            Wire::List | Wire::Set => {
                let (wire, count) = self.list()?;
                let Some(wire) = wire else { return Ok(()) };
                (0..count).try_for_each(|_| self.skip_value(wire, depth))
            }
            Wire::Map => {
                let count = self.length()?;
                if count == 0 {
                    return Ok(());
                }
                let types = self.byte()?;
                let (key, value) = (Wire::new(types >> 4)?, Wire::new(types & 0x0f)?);
                (0..count).try_for_each(|_| {
                    self.skip_value(key, depth)?;
                    self.skip_value(value, depth)
                })
            }
        }
    }

    /// The type of a list's elements, if it says, and their number. Every element takes at least a byte.
    fn list(&mut self) -> Result<(Option<Wire>, usize)> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.length()?,
            count => usize::from(count),
        };
        let wire = if count == 0 { None } else { Some(Wire::new(head & 0x0f)?) };
        Ok((wire, count))
    }

    fn length(&mut self) -> Result<usize> {
        usize::try_from(self.varint()?).map_err(|_| Malformed("a length is too large"))
    }

    fn signed(&mut self) -> Result<i64> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0;
        for at in 0..MAX_VARINT {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed("a number is too long"))
    }

    fn byte(&mut self) -> Result<u8> {
        let (&byte, rest) = self.rest.split_first().ok_or(Malformed("it is cut off"))?;
        self.rest = rest;
        Ok(byte)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Malformed("it is cut off"))?;
        self.rest = rest;
        Ok(taken)
    }
}

/// Appends the fields of one struct, in the order of their numbers.
#[derive(Debug)]
pub(crate) struct StructWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    last: i16,
}

impl<'a> StructWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { start: out.len(), out, last: 0 }
    }

    pub(crate) fn i32(&mut self, id: i16, value: i32) {
        self.head(id, Wire::I32);
        self.signed(i64::from(value));
    }

    /// A field as it was read: its value are those bytes.
    pub(crate) fn copied(&mut self, field: Field, value: &[u8]) {
        self.head(field.id, field.wire);
        self.out.extend_from_slice(value);
    }

    pub(crate) fn end(self) {
        self.out.push(0);
    }

    /// Ends the struct so that it takes `length` bytes: the rest goes into a field that readers do not know and pass over.
    ///
    /// `None` if it is longer already.
    pub(crate) fn end_padded(self, length: usize) -> Option<()> {
        /// The largest step from one field's number to the next that fits into a byte with its type.
        const UNKNOWN: u8 = 15 << 4;
        let padding = length.checked_sub(self.out.len() - self.start + 1)?;
        match padding {
            0 => {}
            1 => self.out.push(UNKNOWN | Wire::True as u8),
            _ => {
                self.out.push(UNKNOWN | Wire::Binary as u8);
                let mut width = 1;
                while (padding - 1 - width) >> (7 * width) != 0 {
                    width += 1;
                }
                let content = padding - 1 - width;
                for at in 0..width {
                    let more = if at + 1 < width { 0x80 } else { 0 };
                    let [low, ..] = (content >> (7 * at)).to_le_bytes();
                    self.out.push(low & 0x7f | more);
                }
                self.out.resize(self.out.len() + content, 0);
            }
        }
        self.out.push(0);
        Some(())
    }

    fn head(&mut self, id: i16, wire: Wire) {
        if let Ok(delta @ 1..=15) = u8::try_from(i32::from(id) - i32::from(self.last)) {
            self.out.push(delta << 4 | wire as u8);
        } else {
            self.out.push(wire as u8);
            self.signed(i64::from(id));
        }
        self.last = id;
    }

    fn signed(&mut self, value: i64) {
        let mut zigzag = ((value << 1) ^ (value >> 63)).cast_unsigned();
        while zigzag >= 0x80 {
            let [low, ..] = zigzag.to_le_bytes();
            self.out.push(low | 0x80);
            zigzag >>= 7;
        }
        let [low, ..] = zigzag.to_le_bytes();
        self.out.push(low);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// Reads every field of a struct and writes it anew.
    fn copy(bytes: &[u8], length: usize) -> Result<Option<Vec<u8>>> {
        let (mut reader, mut out, mut last) = (Reader::new(bytes), vec![0xaa; 3], None);
        let mut writer = StructWriter::new(&mut out);
        while let Some(field) = reader.field(last)? {
            let before = reader.rest();
            reader.skip(field)?;
            writer.copied(field, &before[..before.len() - reader.rest().len()]);
            last = Some(field);
        }
        Ok(writer.end_padded(length).map(|()| out.split_off(3)))
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..200)) {
            let _ = copy(&bytes, 300);
        }

        #[test]
        fn structs_are_padded_to_any_length(value: i32, id in 1..100_i16, length in 0..40_000_usize) {
            let mut plain = Vec::new();
            let mut writer = StructWriter::new(&mut plain);
            writer.i32(id, value);
            let bare = plain.len() + 1;
            plain.push(0);
            let padded = copy(&plain, length).unwrap();
            prop_assert_eq!(padded.is_some(), length >= bare);
            let Some(padded) = padded else { return Ok(()) };
            prop_assert_eq!(padded.len(), length);
            let mut reader = Reader::new(&padded);
            let field = reader.field(None).unwrap().unwrap();
            prop_assert_eq!((field.id, reader.i32(field).unwrap()), (id, value));
            if let Some(padding) = reader.field(Some(field)).unwrap() {
                reader.skip(padding).unwrap();
                prop_assert_eq!(reader.field(Some(padding)).unwrap(), None);
            }
            prop_assert!(reader.rest().is_empty());
        }
    }

    #[test]
    fn what_has_no_end_or_no_room_is_refused() {
        let nested = [&[0x1c; 40][..], &[0; 41]].concat();
        let cases: [(&[u8], &str); 6] = [
            (&[0x18, 0xff, 0xff, 0xff, 0xff, 0x0f], "it is cut off"),
            (&[0x15, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], "a number is too long"),
            (&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f], "it is cut off"),
            (&[0x1e], "a field has no such type"),
            (&[0x15, 0x02], "it is cut off"),
            (&nested, "structs lie too deep in one another"),
        ];
        for (bytes, why) in cases {
            assert_eq!(copy(bytes, 100), Err(Malformed(why)), "{bytes:x?}");
        }
    }
}
