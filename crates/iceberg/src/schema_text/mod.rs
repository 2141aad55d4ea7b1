//! Schemas and partition specs as a person types them.
//!
//! ```
//! use lakelock_iceberg::schema_text::{parse_partition_spec, parse_schema};
//!
//! let schema = parse_schema("id long not null, day date, price decimal(9, 2), tags list<string>, s struct<a: int>")?;
//! let spec = parse_partition_spec("month(day), bucket(16, id)", &schema)?;
//! assert_eq!(spec.fields()[1].name, "id_bucket");
//! # Ok::<(), lakelock_iceberg::Error>(())
//! ```

mod partition;
mod print;
mod tokens;

use std::sync::Arc;

pub use partition::parse_partition_spec;
pub use print::print_type;
use tokens::{Token, Tokens};

use crate::spec::{ListType, MapType, NestedField, NestedFieldRef, PrimitiveType, Schema, StructType, Type};
use crate::{Error, ErrorKind, Result};

/// How deeply types may nest.
const MAX_DEPTH: usize = 100;

/// Parses a list of columns: `name type [not null] [comment 'text']`, separated by commas.
///
/// Types are Iceberg's (`boolean`, `int`, `long`, `float`, `double`, `decimal(P, S)`, `date`, `time`, `timestamp`,
/// `timestamptz`, `timestamp_ns`, `timestamptz_ns`, `string`, `uuid`, `fixed(N)`, `binary`, `list<T>`, `map<K, V>`,
/// `struct<name: type, ...>`) and the usual SQL names of some. A name that is not a plain word goes in double quotes
/// or backticks. Ids are assigned as Java does it.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] saying what was expected where.
pub fn parse_schema(text: &str) -> Result<Schema> {
    let mut tokens = Tokens::new(text, "schema")?;
    let columns = columns(&mut tokens, &Token::End, 0)?;
    tokens.expect(&Token::End, "a comma or the end")?;
    let columns = with_fresh_ids(&columns, &mut 0);
    Schema::builder()
        .with_fields(columns)
        .build()
        .map_err(|e| Error::new(ErrorKind::InvalidInput, format!("invalid schema '{text}'")).with_source(e))
}

fn columns(tokens: &mut Tokens<'_>, end: &Token, depth: usize) -> Result<Vec<NestedFieldRef>> {
    let mut columns: Vec<NestedFieldRef> = Vec::new();
    loop {
        let name = tokens.name("a column name")?;
        if columns.iter().any(|column| column.name == name) {
            return Err(tokens.error(&format!("two columns are named {name}")));
        }
        tokens.take(&Token::Symbol(':'));
        let (column_type, required) = nullable_type(tokens, depth)?;
        let mut column = NestedField::new(0, name, column_type, required);
        if tokens.take_word("comment") {
            column = column.with_doc(tokens.text("a comment in single quotes")?);
        }
        columns.push(Arc::new(column));
        if tokens.peek() == end || !tokens.take(&Token::Symbol(',')) {
            return Ok(columns);
        }
    }
}

/// A type and whether it was declared `not null`.
fn nullable_type(tokens: &mut Tokens<'_>, depth: usize) -> Result<(Type, bool)> {
    let parsed = data_type(tokens, depth)?;
    if tokens.take_word("not") {
        return if tokens.take_word("null") { Ok((parsed, true)) } else { Err(tokens.expected("null")) };
    }
    tokens.take_word("null");
    Ok((parsed, false))
}

fn data_type(tokens: &mut Tokens<'_>, depth: usize) -> Result<Type> {
    if depth > MAX_DEPTH {
        return Err(tokens.error("types are nested too deeply"));
    }
    let start = tokens.clone();
    let name = tokens.word("a type")?.to_ascii_lowercase();
    let primitive = match name.as_str() {
        "boolean" | "bool" => PrimitiveType::Boolean,
        "int" | "integer" => PrimitiveType::Int,
        "long" | "bigint" => PrimitiveType::Long,
        "float" | "real" => PrimitiveType::Float,
        "double" => PrimitiveType::Double,
        "decimal" | "numeric" => decimal(tokens)?,
        "date" => PrimitiveType::Date,
        "time" => PrimitiveType::Time,
        "timestamp" => PrimitiveType::Timestamp,
        "timestamptz" => PrimitiveType::Timestamptz,
        "timestamp_ns" => PrimitiveType::TimestampNs,
        "timestamptz_ns" => PrimitiveType::TimestamptzNs,
        "string" | "text" | "varchar" => PrimitiveType::String,
        "uuid" => PrimitiveType::Uuid,
        "fixed" => fixed(tokens)?,
        "binary" => PrimitiveType::Binary,
        "list" | "array" => {
            tokens.expect(&Token::Symbol('<'), "<")?;
            let (element, required) = nullable_type(tokens, depth + 1)?;
            tokens.expect(&Token::Symbol('>'), ">")?;
            return Ok(Type::List(ListType::new(NestedField::list_element(0, element, required).into())));
        }
        "map" => {
            tokens.expect(&Token::Symbol('<'), "<")?;
            let (key, _) = nullable_type(tokens, depth + 1)?;
            tokens.expect(&Token::Symbol(','), "a comma")?;
            let (value, required) = nullable_type(tokens, depth + 1)?;
            tokens.expect(&Token::Symbol('>'), ">")?;
            return Ok(Type::Map(if required {
                MapType::required(0, key, 0, value)
            } else {
                MapType::optional(0, key, 0, value)
            }));
        }
        "struct" => {
            tokens.expect(&Token::Symbol('<'), "<")?;
            let fields = columns(tokens, &Token::Symbol('>'), depth + 1)?;
            tokens.expect(&Token::Symbol('>'), ">")?;
            return Ok(Type::Struct(StructType::new(fields)));
        }
        "variant" | "geometry" | "geography" | "unknown" => {
            return Err(Error::new(ErrorKind::Unsupported, format!("columns of type {name} are not supported yet")));
        }
        _ => return Err(start.expected("a type")),
    };
    Ok(Type::Primitive(primitive))
}

fn decimal(tokens: &mut Tokens<'_>) -> Result<PrimitiveType> {
    tokens.expect(&Token::Symbol('('), "(precision, scale)")?;
    let precision = tokens.number("a precision from 1 to 38", 1..=38)?;
    let scale = if tokens.take(&Token::Symbol(',')) {
        tokens.number("a scale from 0 to the precision", 0..=precision)?
    } else {
        0
    };
    tokens.expect(&Token::Symbol(')'), ")")?;
    Ok(PrimitiveType::Decimal { precision, scale })
}

fn fixed(tokens: &mut Tokens<'_>) -> Result<PrimitiveType> {
    let close = if tokens.take(&Token::Symbol('[')) { ']' } else { ')' };
    if close == ')' {
        tokens.expect(&Token::Symbol('('), "(length)")?;
    }
    let length = tokens.number("a length in bytes", 1..=i32::MAX.unsigned_abs())?;
    tokens.expect(&Token::Symbol(close), "the end of the length")?;
    Ok(PrimitiveType::Fixed(u64::from(length)))
}

/// Ids in Java's order: all fields of a struct first, then what is nested in each.
fn with_fresh_ids(fields: &[NestedFieldRef], last: &mut i32) -> Vec<NestedFieldRef> {
    let own = fields.iter().map(|_| next(last)).collect::<Vec<_>>();
    let fields = fields.iter().zip(own);
    fields.map(|(field, id)| with_id(field, id, last)).collect()
}

fn with_id(field: &NestedField, id: i32, last: &mut i32) -> NestedFieldRef {
    let field_type = match &*field.field_type {
        Type::Primitive(primitive) => Type::Primitive(primitive.clone()),
        Type::Struct(fields) => Type::Struct(StructType::new(with_fresh_ids(fields.fields(), last))),
        Type::List(nested) => {
            let id = next(last);
            Type::List(ListType::new(with_id(&nested.element_field, id, last)))
        }
        Type::Map(map) => {
            let (key, value) = (next(last), next(last));
            Type::Map(MapType::new(with_id(&map.key_field, key, last), with_id(&map.value_field, value, last)))
        }
    };
    Arc::new(NestedField { id, field_type: Box::new(field_type), ..field.clone() })
}

fn next(last: &mut i32) -> i32 {
    *last += 1;
    *last
}

#[cfg(test)]
mod tests;
