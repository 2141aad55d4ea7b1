//! Types as a person types them: what the parser takes.

use super::tokens::is_plain_name;
use crate::opaque::OpaqueType;
use crate::spec::{NestedField, Type};

/// A type as [`parse_schema`](super::parse_schema) takes it, parts and all: `struct<a: int not null, b: list<string>>`.
#[must_use]
pub fn print_type(printed: &Type) -> String {
    let mut out = String::new();
    write_type(&mut out, printed);
    out
}

fn write_type(out: &mut String, printed: &Type) {
    match printed {
        Type::Primitive(primitive) => match OpaqueType::of(primitive) {
            Some(opaque) => out.push_str(opaque.name()),
            None => out.push_str(&primitive.to_string()),
        },
        Type::List(list) => {
            out.push_str("list<");
            write_nullable(out, &list.element_field);
            out.push('>');
        }
        Type::Map(map) => {
            out.push_str("map<");
            // Keys are always required, which goes without saying.
            write_type(out, &map.key_field.field_type);
            out.push_str(", ");
            write_nullable(out, &map.value_field);
            out.push('>');
        }
        Type::Struct(fields) => {
            out.push_str("struct<");
            for (i, field) in fields.fields().iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_field(out, field);
            }
            out.push('>');
        }
    }
}

fn write_field(out: &mut String, field: &NestedField) {
    if is_plain_name(&field.name) {
        out.push_str(&field.name);
    } else {
        write_quoted(out, &field.name, '"');
    }
    out.push_str(": ");
    write_nullable(out, field);
    if let Some(doc) = &field.doc {
        out.push_str(" comment ");
        write_quoted(out, doc, '\'');
    }
}

fn write_nullable(out: &mut String, field: &NestedField) {
    write_type(out, &field.field_type);
    if field.required {
        out.push_str(" not null");
    }
}

fn write_quoted(out: &mut String, text: &str, quote: char) {
    out.push(quote);
    for c in text.chars() {
        if c == quote {
            out.push(quote);
        }
        out.push(c);
    }
    out.push(quote);
}
