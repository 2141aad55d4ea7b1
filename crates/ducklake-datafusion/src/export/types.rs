//! `DuckDB`'s types by their texts, in terms of `DuckLake`'s.

use crate::columns::Column;

/// How deeply types may nest.
const MAX_DEPTH: usize = 64;

/// A column of a type as `DuckDB` writes it; nothing for one that `DuckLake` has no column of.
pub(super) fn column(name: &str, type_text: &str) -> Option<Column> {
    parse(name, type_text.trim(), 0)
}

fn parse(name: &str, text: &str, depth: usize) -> Option<Column> {
    if depth > MAX_DEPTH {
        return None;
    }
    let of = |type_name: &str, children| Column {
        id: 0,
        name: name.to_owned(),
        type_name: type_name.to_owned(),
        initial_default: None,
        children,
    };
    if let Some(element) = text.strip_suffix("[]") {
        return Some(of("list", vec![parse("element", element, depth + 1)?]));
    }
    let upper = text.to_ascii_uppercase();
    if let Some(inner) = upper.strip_prefix("STRUCT(").and_then(|_| text.get(7..)?.strip_suffix(')')) {
        let fields = split(inner)?.into_iter().map(|field| {
            let (name, type_text) = field_name(field.trim())?;
            parse(&name, type_text.trim(), depth + 1)
        });
        return Some(of("struct", fields.collect::<Option<_>>()?));
    }
    if let Some(inner) = upper.strip_prefix("MAP(").and_then(|_| text.get(4..)?.strip_suffix(')')) {
        let [key, value] = split(inner)?[..] else { return None };
        let children = [("key", key), ("value", value)].map(|(name, text)| parse(name, text.trim(), depth + 1));
        return Some(of("map", children.into_iter().collect::<Option<_>>()?));
    }
    if upper.starts_with("DECIMAL(") {
        return Some(of(&upper.to_ascii_lowercase(), Vec::new()));
    }
    let type_name = match upper.as_str() {
        "BOOLEAN" => "boolean",
        "TINYINT" => "int8",
        "SMALLINT" => "int16",
        "INTEGER" => "int32",
        "BIGINT" => "int64",
        "HUGEINT" => "int128",
        "UTINYINT" => "uint8",
        "USMALLINT" => "uint16",
        "UINTEGER" => "uint32",
        "UBIGINT" => "uint64",
        "UHUGEINT" => "uint128",
        "FLOAT" => "float32",
        "DOUBLE" => "float64",
        "DATE" => "date",
        "TIME" => "time",
        "TIME_NS" => "time_ns",
        "TIMESTAMP" => "timestamp",
        "TIMESTAMP_S" => "timestamp_s",
        "TIMESTAMP_MS" => "timestamp_ms",
        "TIMESTAMP_NS" => "timestamp_ns",
        "TIMESTAMP WITH TIME ZONE" => "timestamptz",
        "VARCHAR" => "varchar",
        "JSON" => "json",
        "BLOB" => "blob",
        "UUID" => "uuid",
        _ => return None,
    };
    Some(of(type_name, Vec::new()))
}

/// The parts between top-level commas.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0usize, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b'(' if !quoted => depth += 1,
            b')' if !quoted => depth = depth.checked_sub(1)?,
            b',' if !quoted && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    (depth == 0 && !quoted).then_some(parts)
}

/// The name and the type of a field `name TYPE` or `"name" TYPE`.
fn field_name(field: &str) -> Option<(String, &str)> {
    let Some(mut rest) = field.strip_prefix('"') else {
        return field.split_once(' ').map(|(name, type_text)| (name.to_owned(), type_text));
    };
    let mut name = String::new();
    loop {
        let (part, after) = rest.split_once('"')?;
        name.push_str(part);
        match after.strip_prefix('"') {
            Some(escaped) => {
                name.push('"');
                rest = escaped;
            }
            None => return Some((name, after)),
        }
    }
}
