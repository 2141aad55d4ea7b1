//! How the values of a type are laid out in a row, by the type's text.
//!
//! A row is its columns in the order of their definition, each a value:
//!
//! ```text
//! value  := 0x00                       NULL
//!         | 0x01 payload
//! payload of a fixed-width type        its bytes, little-endian
//!         of VARCHAR, BLOB, BIT, ...   length as an unsigned LEB128, then the bytes
//!         of STRUCT, UNION, VARIANT    each child as a value
//!         of LIST, MAP                 number of elements as an unsigned LEB128, then each as a value
//!         of ARRAY                     each element as a value
//! ```
//!
//! These are DuckDB's physical types. Columns that a row ends before are NULL: they were added later.

use crate::error::{Error, ErrorKind, Result, corrupt};

/// How the values of a type are laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// So many bytes.
    Fixed(u8),
    /// A length and so many bytes.
    Bytes,
    /// Each child.
    Struct(Vec<Layout>),
    /// A number and so many elements.
    List(Box<Layout>),
    /// So many elements.
    Array(Box<Layout>, u32),
}

impl Layout {
    /// The layout of a type as DuckDB writes it, if it is known here.
    pub(crate) fn of_type(text: &str) -> Option<Self> {
        Self::parse(text, 0)
    }

    fn parse(text: &str, depth: usize) -> Option<Self> {
        let text = text.trim();
        if depth > MAX_DEPTH {
            return None;
        }
        if let Some(inner) = text.strip_suffix(']') {
            let (element, size) = inner.rsplit_once('[')?;
            let element = Box::new(Self::parse(element, depth + 1)?);
            return match size {
                "" => Some(Self::List(element)),
                size => Some(Self::Array(element, size.parse().ok()?)),
            };
        }
        let (name, arguments) = match text.split_once('(') {
            Some((name, rest)) => (name.trim(), Some(split(rest.strip_suffix(')')?)?)),
            None => (text, None),
        };
        let name = name.to_ascii_uppercase();
        match (name.as_str(), arguments) {
            ("STRUCT", Some(fields)) => {
                let fields = fields.into_iter().map(|field| Self::parse(field_type(field)?, depth + 1));
                fields.collect::<Option<_>>().map(Self::Struct)
            }
            ("UNION", Some(members)) => {
                let members = members.into_iter().map(|member| Self::parse(field_type(member)?, depth + 1));
                let tag = std::iter::once(Some(Self::Fixed(1)));
                tag.chain(members).collect::<Option<_>>().map(Self::Struct)
            }
            ("MAP", Some(types)) => {
                let [key, value] = types.as_slice() else { return None };
                let entry = vec![Self::parse(key, depth + 1)?, Self::parse(value, depth + 1)?];
                Some(Self::List(Box::new(Self::Struct(entry))))
            }
            ("ENUM", Some(values)) => Some(Self::Fixed(match values.len() {
                0..=0xff => 1,
                0x100..=0xffff => 2,
                _ => 4,
            })),
            ("DECIMAL" | "NUMERIC", None) => Some(Self::Fixed(8)),
            ("DECIMAL" | "NUMERIC", Some(arguments)) => {
                Some(Self::Fixed(match arguments.first()?.trim().parse().ok()? {
                    1..=4u8 => 2,
                    5..=9 => 4,
                    10..=18 => 8,
                    19..=38 => 16,
                    _ => return None,
                }))
            }
            ("VARCHAR" | "CHAR" | "GEOMETRY", _) => Some(Self::Bytes),
            (name, None) => Self::of_name(name),
            _ => None,
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "BOOLEAN" | "TINYINT" | "UTINYINT" => Self::Fixed(1),
            "SMALLINT" | "USMALLINT" => Self::Fixed(2),
            "INTEGER" | "UINTEGER" | "DATE" | "FLOAT" | "\"NULL\"" | "NULL" => Self::Fixed(4),
            "BIGINT"
            | "UBIGINT"
            | "DOUBLE"
            | "TIME"
            | "TIME_NS"
            | "TIME WITH TIME ZONE"
            | "TIMESTAMP"
            | "TIMESTAMP_S"
            | "TIMESTAMP_MS"
            | "TIMESTAMP_NS"
            | "TIMESTAMP WITH TIME ZONE" => Self::Fixed(8),
            "HUGEINT" | "UHUGEINT" | "UUID" | "INTERVAL" => Self::Fixed(16),
            "BLOB" | "BIT" | "JSON" | "BIGNUM" | "VARINT" => Self::Bytes,
            "VARIANT" => Self::variant(),
            _ => return None,
        })
    }

    /// DuckDB's own columns of a VARIANT: keys, children, values, data.
    fn variant() -> Self {
        let list = |element| Self::List(Box::new(element));
        let (byte, int) = (Self::Fixed(1), Self::Fixed(4));
        Self::Struct(vec![
            list(Self::Bytes),
            list(Self::Struct(vec![int.clone(), int.clone()])),
            list(Self::Struct(vec![byte, int])),
            Self::Bytes,
        ])
    }

    /// Takes a value off the input: its payload, if it is not NULL.
    pub(crate) fn take<'a>(&self, input: &mut &'a [u8]) -> Result<Option<&'a [u8]>> {
        match take(input, 1)? {
            [0] => Ok(None),
            [1] => {
                let start = *input;
                self.skip_payload(input)?;
                Ok(Some(&start[..start.len() - input.len()]))
            }
            _ => Err(malformed()),
        }
    }

    /// What follows the length in a payload of bytes.
    pub(crate) fn bytes_of(mut payload: &[u8]) -> Result<&[u8]> {
        let length = take_number(&mut payload)?;
        if payload.len() as u64 == length { Ok(payload) } else { Err(malformed()) }
    }

    /// Appends a value to a key: other values give other bytes, and whole numbers sort.
    pub(crate) fn extend_key(&self, key: &mut Vec<u8>, payload: &[u8]) {
        let start = key.len();
        key.extend_from_slice(payload);
        if let (Self::Fixed(_), Some(number)) = (self, key.get_mut(start..)) {
            number.reverse();
            if let Some(sign) = number.first_mut() {
                *sign ^= 0x80;
            }
        }
    }

    fn skip_payload(&self, input: &mut &[u8]) -> Result<()> {
        match self {
            Self::Fixed(width) => take(input, usize::from(*width)).map(drop),
            Self::Bytes => {
                let length = usize::try_from(take_number(input)?).map_err(|_| malformed())?;
                take(input, length).map(drop)
            }
            Self::Struct(children) => children.iter().try_for_each(|child| child.take(input).map(drop)),
            // Each element takes at least one byte: the input's end bounds the loop.
            Self::List(element) => {
                let count = take_number(input)?;
                (0..count).try_for_each(|_| element.take(input).map(drop))
            }
            Self::Array(element, count) => (0..*count).try_for_each(|_| element.take(input).map(drop)),
        }
    }
}

fn take<'a>(input: &mut &'a [u8], count: usize) -> Result<&'a [u8]> {
    let (taken, rest) = input.split_at_checked(count).ok_or_else(|| corrupt("a row ends within a value"))?;
    *input = rest;
    Ok(taken)
}

/// An unsigned LEB128.
fn take_number(input: &mut &[u8]) -> Result<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let [byte] = take(input, 1)? else { return Err(malformed()) };
        let bits = u64::from(byte & 0x7f);
        if shift == 63 && bits > 1 {
            break;
        }
        number |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(number);
        }
    }
    Err(malformed())
}

fn malformed() -> Error {
    Error::new(ErrorKind::Corrupt, "a value of a row is not of its type")
}

/// The parts between top-level commas.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0usize, None);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) if byte == open => quote = None,
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'(') => depth += 1,
            (None, b')') => depth = depth.checked_sub(1)?,
            (None, b',') if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (depth == 0 && quote.is_none()).then_some(parts)
}

/// The type of a field `name TYPE` or `"name" TYPE`.
fn field_type(field: &str) -> Option<&str> {
    let field = field.trim();
    let Some(mut rest) = field.strip_prefix('"') else {
        return field.split_once(' ').map(|(_, r#type)| r#type);
    };
    loop {
        let (_, after) = rest.split_once('"')?;
        match after.strip_prefix('"') {
            Some(escaped) => rest = escaped,
            None => return Some(after),
        }
    }
}

/// How deep types may be nested.
const MAX_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::RowLayout;

    #[test]
    fn types_have_the_layout_that_duckdb_gives_them() {
        let fixed = Layout::Fixed;
        let list = |element| Layout::List(Box::new(element));
        let cases = [
            ("BIGINT", fixed(8)),
            ("timestamp with time zone", fixed(8)),
            ("UUID", fixed(16)),
            ("DECIMAL(4,1)", fixed(2)),
            ("DECIMAL(9,0)", fixed(4)),
            ("DECIMAL(18,3)", fixed(8)),
            ("DECIMAL(38,10)", fixed(16)),
            ("ENUM('a', 'it''s, (b)')", fixed(1)),
            ("VARCHAR", Layout::Bytes),
            ("GEOMETRY('OGC:CRS84')", Layout::Bytes),
            ("VARCHAR[]", list(Layout::Bytes)),
            ("INTEGER[3]", Layout::Array(Box::new(fixed(4)), 3)),
            ("INTEGER[3][]", list(Layout::Array(Box::new(fixed(4)), 3))),
            ("MAP(VARCHAR, BIGINT[])", list(Layout::Struct(vec![Layout::Bytes, list(fixed(8))]))),
            ("STRUCT(a INTEGER, \"b, (\"\"c\" VARCHAR[])", Layout::Struct(vec![fixed(4), list(Layout::Bytes)])),
            ("STRUCT(\"TIME ZONE\" TIME WITH TIME ZONE)", Layout::Struct(vec![fixed(8)])),
            ("UNION(num INTEGER, str VARCHAR)", Layout::Struct(vec![fixed(1), fixed(4), Layout::Bytes])),
        ];
        for (text, layout) in cases {
            assert_eq!(Layout::of_type(text), Some(layout), "{text}");
        }
        let many = (0..300).map(|number| format!("'{number}'")).collect::<Vec<_>>().join(", ");
        assert_eq!(Layout::of_type(&format!("ENUM({many})")), Some(fixed(2)));
        let deep = format!("INTEGER{}", "[]".repeat(10_000));
        let others =
            ["", "MYSTERY", "DECIMAL(39,0)", "STRUCT(a)", "STRUCT(a INTEGER", "MAP(VARCHAR)", "INTEGER[-1]", "]"];
        for text in others.into_iter().chain([deep.as_str()]) {
            assert_eq!(Layout::of_type(text), None, "{text}");
        }
    }

    /// A type, and a value of it.
    fn typed() -> impl Strategy<Value = (String, Vec<u8>)> {
        let fixed = |text: &'static str, width| {
            prop::collection::vec(any::<u8>(), width).prop_map(move |bytes| (text.to_owned(), bytes))
        };
        let text = prop::collection::vec(any::<u8>(), 0..300).prop_map(|bytes| {
            let length = u16::try_from(bytes.len()).unwrap();
            let [low, high] = [length & 0x7f, length >> 7].map(|bits| u8::try_from(bits).unwrap());
            let length = if high == 0 { vec![low] } else { vec![low | 0x80, high] };
            ("BLOB".to_owned(), [length, bytes].concat())
        });
        let leaf = prop_oneof![fixed("BOOLEAN", 1), fixed("BIGINT", 8), fixed("HUGEINT", 16), text];
        leaf.prop_recursive(3, 20, 3, |inner| {
            let value = |nulls: bool, payload: Vec<u8>| if nulls { vec![0] } else { [vec![1], payload].concat() };
            let lists = (inner.clone(), prop::collection::vec(any::<bool>(), 0..4)).prop_map(
                move |((text, payload), nulls)| {
                    let count = u8::try_from(nulls.len()).unwrap();
                    let elements = nulls.iter().flat_map(|null| value(*null, payload.clone()));
                    (format!("{text}[]"), [count].into_iter().chain(elements).collect())
                },
            );
            let structs = prop::collection::vec((inner, any::<bool>()), 1..3).prop_map(move |children| {
                let types: Vec<_> = children.iter().map(|((text, _), _)| format!("\"a \"\"b\" {text}")).collect();
                let values = children.into_iter().flat_map(|((_, payload), null)| value(null, payload));
                (format!("STRUCT({})", types.join(", ")), values.collect())
            });
            prop_oneof![lists, structs]
        })
    }

    proptest! {
        #[test]
        fn values_are_found_and_what_is_cut_off_is_refused(
            columns in prop::collection::vec((typed(), any::<bool>()), 1..5),
            cut in any::<prop::sample::Index>(),
        ) {
            let layout = RowLayout::new(columns.iter().map(|((text, _), _)| text.as_str())).unwrap();
            let mut row = Vec::new();
            let mut starts = Vec::new();
            for ((_, payload), null) in &columns {
                starts.push(row.len());
                row.push(u8::from(!null));
                row.extend(payload.iter().filter(|_| !null));
            }
            let found = layout.values(&row).unwrap();
            let expected: Vec<_> =
                columns.iter().map(|((_, payload), null)| (!null).then_some(payload.as_slice())).collect();
            prop_assert_eq!(found, expected);

            let cut = cut.index(row.len());
            // At the end of a column the others are as if they had been added later.
            prop_assert_eq!(layout.values(&row[..cut]).is_ok(), starts.contains(&cut));
            row.push(0);
            prop_assert!(layout.values(&row).is_err());
        }

        #[test]
        fn no_bytes_are_too_bad(text in "[A-Z(), \\[\\]\"'0-9]{0,30}", row in prop::collection::vec(any::<u8>(), 0..100)) {
            for text in [text.as_str(), "VARIANT", "INTEGER[4000000000]", "MAP(BLOB, UNION(a BLOB, b BIGINT[]))"] {
                if let Ok(layout) = RowLayout::new([text]) {
                    let _ = layout.values(&row);
                }
            }
        }
    }
}
