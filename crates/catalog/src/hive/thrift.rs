//! Thrift's binary protocol, as trees of values.
//!
//! A message is `0x8001_0000 | kind` as an i32, the method's name, a sequence number and a struct. A struct is a run of fields,
//! each a type byte, an i16 id and the value, ended by a zero byte. All numbers are big-endian; strings, lists and maps begin
//! with their length as an i32. The metastore speaks it without frames.
//!
//! Values stay trees, without structs of their own, so that what a newer metastore puts into a table and this version does
//! not know goes back to it unchanged.

use std::io::{self, ErrorKind, Read, Write};

const VERSION: u32 = 0x8001_0000;
const VERSION_MASK: u32 = 0xffff_0000;

/// How deep values may be nested: those of the metastore reach a fifth of it.
const MAX_DEPTH: u32 = 32;

/// What an answer may take in memory: some ten thousand tables.
const MAX_MEMORY: usize = 256 << 20;

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    Call,
    Exception,
    Reply,
}

/// A call, or the answer to one.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    pub(super) kind: MessageKind,
    pub(super) method: String,
    pub(super) sequence: i32,
    pub(super) body: Struct,
}

/// Fields by id, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Struct(Vec<(i16, Value)>);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Byte(i8),
    Double(f64),
    I16(i16),
    I32(i32),
    I64(i64),
    List(List),
    Map(Map),
    Set(List),
    String(Vec<u8>),
    Struct(Struct),
}

/// Elements of one type, which is kept for when there are none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct List {
    element: u8,
    elements: Vec<Value>,
}

/// As [`List`].
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Map {
    key: u8,
    value: u8,
    entries: Vec<(Value, Value)>,
}

impl Struct {
    pub(super) fn get(&self, id: i16) -> Option<&Value> {
        self.0.iter().find(|(field, _)| *field == id).map(|(_, value)| value)
    }

    /// Sets a field in its place, or as the last one.
    pub(super) fn set(&mut self, id: i16, value: impl Into<Value>) {
        let value = value.into();
        match self.0.iter_mut().find(|(field, _)| *field == id) {
            Some((_, old)) => *old = value,
            None => self.0.push((id, value)),
        }
    }

    /// With a field more.
    pub(super) fn with(mut self, id: i16, value: impl Into<Value>) -> Self {
        self.set(id, value);
        self
    }

    /// The first field of some ids, and its id.
    pub(super) fn first_other_than(&self, id: i16) -> Option<(i16, &Value)> {
        self.0.iter().find(|(field, _)| *field != id).map(|(field, value)| (*field, value))
    }

    pub(super) fn string(&self, id: i16) -> Option<&str> {
        self.get(id)?.as_str()
    }

    pub(super) fn i32(&self, id: i16) -> Option<i32> {
        match self.get(id)? {
            Value::I32(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn i64(&self, id: i16) -> Option<i64> {
        match self.get(id)? {
            Value::I64(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn structure(&self, id: i16) -> Option<&Struct> {
        self.get(id)?.as_struct()
    }

    pub(super) fn list(&self, id: i16) -> Option<&[Value]> {
        match self.get(id)? {
            Value::List(list) => Some(&list.elements),
            _ => None,
        }
    }

    /// The pairs of strings of a map; others are left out.
    pub(super) fn strings(&self, id: i16) -> impl Iterator<Item = (&str, &str)> {
        let entries = match self.get(id) {
            Some(Value::Map(map)) => map.entries.as_slice(),
            _ => &[],
        };
        entries.iter().filter_map(|(key, value)| Some((key.as_str()?, value.as_str()?)))
    }
}

impl Value {
    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub(super) fn as_struct(&self) -> Option<&Struct> {
        match self {
            Self::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// A map of strings, in the order of their keys.
    pub(super) fn map<K: Into<Self>, V: Into<Self>>(entries: impl IntoIterator<Item = (K, V)>) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self::Map(Map { key: wire::STRING, value: wire::STRING, entries })
    }

    /// A list of structs.
    pub(super) fn structs(elements: impl IntoIterator<Item = Struct>) -> Self {
        Self::List(List { element: wire::STRUCT, elements: elements.into_iter().map(Self::Struct).collect() })
    }

    /// A list of strings.
    pub(super) fn list_of_strings<'a>(elements: impl IntoIterator<Item = &'a str>) -> Self {
        Self::List(List { element: wire::STRING, elements: elements.into_iter().map(Self::from).collect() })
    }

    fn wire_type(&self) -> u8 {
        match self {
            Self::Bool(_) => wire::BOOL,
            Self::Byte(_) => wire::BYTE,
            Self::Double(_) => wire::DOUBLE,
            Self::I16(_) => wire::I16,
            Self::I32(_) => wire::I32,
            Self::I64(_) => wire::I64,
            Self::List(_) => wire::LIST,
            Self::Map(_) => wire::MAP,
            Self::Set(_) => wire::SET,
            Self::String(_) => wire::STRING,
            Self::Struct(_) => wire::STRUCT,
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::I32(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::I64(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.as_bytes().to_vec())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value.into_bytes())
    }
}

impl From<Struct> for Value {
    fn from(value: Struct) -> Self {
        Self::Struct(value)
    }
}

/// The numbers of types.
mod wire {
    pub(super) const STOP: u8 = 0;
    pub(super) const BOOL: u8 = 2;
    pub(super) const BYTE: u8 = 3;
    pub(super) const DOUBLE: u8 = 4;
    pub(super) const I16: u8 = 6;
    pub(super) const I32: u8 = 8;
    pub(super) const I64: u8 = 10;
    pub(super) const STRING: u8 = 11;
    pub(super) const STRUCT: u8 = 12;
    pub(super) const MAP: u8 = 13;
    pub(super) const SET: u8 = 14;
    pub(super) const LIST: u8 = 15;
}

impl Message {
    /// Writes the message and flushes.
    pub(super) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let kind = match self.kind {
            MessageKind::Call => 1,
            MessageKind::Reply => 2,
            MessageKind::Exception => 3,
        };
        let mut bytes = (VERSION | kind).to_be_bytes().to_vec();
        write_bytes(&mut bytes, self.method.as_bytes())?;
        bytes.extend(self.sequence.to_be_bytes());
        write_struct(&mut bytes, &self.body)?;
        out.write_all(&bytes)?;
        out.flush()
    }

    /// Reads a message from bytes that need not be one.
    pub(super) fn read(input: &mut impl Read) -> io::Result<Self> {
        let mut reader = Reader { input, memory: MAX_MEMORY };
        let version = u32::from_be_bytes(reader.array()?);
        if version & VERSION_MASK != VERSION {
            return Err(malformed("not a message of Thrift's binary protocol"));
        }
        let kind = match version & 0xff {
            1 => MessageKind::Call,
            2 => MessageKind::Reply,
            3 => MessageKind::Exception,
            _ => return Err(malformed("a message of unknown kind")),
        };
        let method = String::from_utf8(reader.bytes()?).map_err(|_| malformed("a method's name is not UTF-8"))?;
        Ok(Self { kind, method, sequence: i32::from_be_bytes(reader.array()?), body: reader.structure(MAX_DEPTH)? })
    }
}

fn write_struct(out: &mut Vec<u8>, fields: &Struct) -> io::Result<()> {
    for (id, value) in &fields.0 {
        out.push(value.wire_type());
        out.extend(id.to_be_bytes());
        write_value(out, value)?;
    }
    out.push(wire::STOP);
    Ok(())
}

fn write_value(out: &mut Vec<u8>, value: &Value) -> io::Result<()> {
    match value {
        Value::Bool(value) => out.push(u8::from(*value)),
        Value::Byte(value) => out.extend(value.to_be_bytes()),
        Value::Double(value) => out.extend(value.to_be_bytes()),
        Value::I16(value) => out.extend(value.to_be_bytes()),
        Value::I32(value) => out.extend(value.to_be_bytes()),
        Value::I64(value) => out.extend(value.to_be_bytes()),
        Value::String(bytes) => write_bytes(out, bytes)?,
        Value::Struct(fields) => write_struct(out, fields)?,
        Value::List(list) | Value::Set(list) => {
            out.push(list.element);
            write_length(out, list.elements.len())?;
            list.elements.iter().try_for_each(|element| write_value(out, element))?;
        }
        Value::Map(map) => {
            out.extend([map.key, map.value]);
            write_length(out, map.entries.len())?;
            for (key, value) in &map.entries {
                write_value(out, key)?;
                write_value(out, value)?;
            }
        }
    }
    Ok(())
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    write_length(out, bytes.len())?;
    out.extend(bytes);
    Ok(())
}

fn write_length(out: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let length = i32::try_from(length).map_err(|_| io::Error::new(ErrorKind::InvalidInput, "a value is too long"))?;
    out.extend(length.to_be_bytes());
    Ok(())
}

/// Reads values, and counts what they take.
struct Reader<'a, R> {
    input: &'a mut R,
    memory: usize,
}

impl<R: Read> Reader<'_, R> {
    fn structure(&mut self, depth: u32) -> io::Result<Struct> {
        let mut fields = Vec::new();
        loop {
            let [wire_type] = self.array()?;
            if wire_type == wire::STOP {
                return Ok(Struct(fields));
            }
            let id = i16::from_be_bytes(self.array()?);
            fields.push((id, self.value(wire_type, depth)?));
        }
    }

    fn value(&mut self, wire_type: u8, depth: u32) -> io::Result<Value> {
        let depth = depth.checked_sub(1).ok_or_else(|| malformed("values are nested too deeply"))?;
        self.take(size_of::<(Value, Value)>())?;
        Ok(match wire_type {
            wire::BOOL => Value::Bool(self.array::<1>()? != [0]),
            wire::BYTE => Value::Byte(i8::from_be_bytes(self.array()?)),
            wire::DOUBLE => Value::Double(f64::from_be_bytes(self.array()?)),
            wire::I16 => Value::I16(i16::from_be_bytes(self.array()?)),
            wire::I32 => Value::I32(i32::from_be_bytes(self.array()?)),
            wire::I64 => Value::I64(i64::from_be_bytes(self.array()?)),
            wire::STRING => Value::String(self.bytes()?),
            wire::STRUCT => Value::Struct(self.structure(depth)?),
            wire::LIST => Value::List(self.list(depth)?),
            wire::SET => Value::Set(self.list(depth)?),
            wire::MAP => Value::Map(self.map(depth)?),
            _ => return Err(malformed("a value of unknown type")),
        })
    }

    fn list(&mut self, depth: u32) -> io::Result<List> {
        let [element] = self.array()?;
        let mut elements = Vec::new();
        for _ in 0..self.length()? {
            elements.push(self.value(element, depth)?);
        }
        Ok(List { element, elements })
    }

    fn map(&mut self, depth: u32) -> io::Result<Map> {
        let [key, value] = self.array()?;
        let mut entries = Vec::new();
        for _ in 0..self.length()? {
            entries.push((self.value(key, depth)?, self.value(value, depth)?));
        }
        Ok(Map { key, value, entries })
    }

    fn bytes(&mut self) -> io::Result<Vec<u8>> {
        let length = self.length()?;
        self.take(length)?;
        // Grows with what comes, not by what is announced.
        let mut bytes = Vec::new();
        let read = (&mut *self.input).take(length as u64).read_to_end(&mut bytes)?;
        if read < length { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }

    fn length(&mut self) -> io::Result<usize> {
        usize::try_from(i32::from_be_bytes(self.array()?)).map_err(|_| malformed("a negative length"))
    }

    fn array<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn take(&mut self, memory: usize) -> io::Result<()> {
        self.memory = self.memory.checked_sub(memory).ok_or_else(|| malformed("an answer is too large"))?;
        Ok(())
    }
}

fn malformed(problem: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<i8>().prop_map(Value::Byte),
            any::<i16>().prop_map(Value::I16),
            any::<i32>().prop_map(Value::I32),
            any::<i64>().prop_map(Value::I64),
            (-1e9..1e9).prop_map(Value::Double),
            vec(any::<u8>(), 0..9).prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                vec((any::<i16>(), inner.clone()), 0..4).prop_map(|fields| Value::Struct(Struct(fields))),
                vec("[a-z]{0,4}", 0..4).prop_map(|s| Value::list_of_strings(s.iter().map(String::as_str))),
                vec(("[a-z]{0,4}", "[a-z]{0,4}"), 0..4).prop_map(Value::map),
                vec(vec((any::<i16>(), inner), 0..3).prop_map(Struct), 0..3).prop_map(|structs| {
                    match Value::structs(structs) {
                        Value::List(list) => Value::Set(list),
                        other => other,
                    }
                }),
            ]
        })
    }

    fn message() -> impl Strategy<Value = Message> {
        let kind = prop_oneof![Just(MessageKind::Call), Just(MessageKind::Reply), Just(MessageKind::Exception)];
        (kind, "[a-z_]{0,9}", any::<i32>(), vec((any::<i16>(), value()), 0..5))
            .prop_map(|(kind, method, sequence, fields)| Message { kind, method, sequence, body: Struct(fields) })
    }

    proptest! {
        #[test]
        fn messages_come_back_as_they_went(message in message()) {
            let mut bytes = Vec::new();
            message.write(&mut bytes).unwrap();
            prop_assert_eq!(Message::read(&mut &bytes[..]).unwrap(), message);
            for cut in 0..bytes.len() {
                prop_assert!(Message::read(&mut &bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_a_message_or_an_error(mut bytes in vec(any::<u8>(), 0..200), kind in 1_u8..4) {
            drop(Message::read(&mut &bytes[..]));
            bytes.splice(0..0, [0x80, 1, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0]);
            drop(Message::read(&mut &bytes[..]));
        }
    }

    #[test]
    fn announced_sizes_are_not_believed() {
        let head = [0x80, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0];
        let read = |body: &[u8]| Message::read(&mut &[&head[..], body].concat()[..]).unwrap_err().kind();
        // A string of 2 GB, a list of as many structs, and a string of negative length.
        assert_eq!(read(&[11, 0, 1, 0x7f, 0xff, 0xff, 0xff, 1]), ErrorKind::InvalidData);
        assert_eq!(read(&[15, 0, 1, 12, 0x7f, 0xff, 0xff, 0xff]), ErrorKind::UnexpectedEof);
        assert_eq!(read(&[11, 0, 1, 0xff, 0xff, 0xff, 0xff]), ErrorKind::InvalidData);
        // Structs in structs without end.
        assert_eq!(read(&[12, 0, 1].repeat(100)), ErrorKind::InvalidData);
        // Elements that take no bytes but memory cannot be told from others: each takes at least one.
        let many = [&[15, 0, 1, 2, 0x7f, 0xff, 0xff, 0xff][..], &vec![1; 4 << 20]].concat();
        assert_eq!(read(&many), ErrorKind::InvalidData);
    }
}
