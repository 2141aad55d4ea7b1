//! Which of the table's columns a file has.

use arrow::datatypes::{Field, FieldRef, Schema};

use crate::failure::{Failure, Result};

/// The table's column for each of the file's, by name. What the file lacks is the writer's business: a default, null,
/// or an error.
pub(super) fn match_columns(file: &str, names: &[&str], table: &Schema) -> Result<Vec<FieldRef>> {
    names
        .iter()
        .enumerate()
        .map(|(i, name)| {
            if names[..i].contains(name) {
                return Err(Failure::new(format!("{file} has two columns named {name:?}")));
            }
            match table.fields().find(name) {
                Some((_, field)) => Ok(field.clone()),
                None => Err(Failure::new(format!("{file} has a column {name:?}, which the table has not"))
                    .hint(format!("the table's columns are {}", list(table)))),
            }
        })
        .collect()
}

fn list(schema: &Schema) -> String {
    schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ")
}

/// A word with the article it takes: `an int`, `a uuid`.
pub(super) fn with_article(word: &str) -> String {
    let article = if word.starts_with(['a', 'e', 'i', 'o', 'A', 'E', 'I', 'O']) { "an" } else { "a" };
    format!("{article} {word}")
}

/// A field's type in Iceberg's words, for messages.
pub(super) fn type_name(field: &Field) -> String {
    use arrow::datatypes::DataType;
    match field.data_type() {
        DataType::Boolean => "boolean".into(),
        DataType::Int32 => "int".into(),
        DataType::Int64 => "long".into(),
        DataType::Float32 => "float".into(),
        DataType::Float64 => "double".into(),
        DataType::Decimal128(precision, scale) => format!("decimal({precision}, {scale})"),
        DataType::Date32 => "date (like 2024-02-29)".into(),
        DataType::Time64(_) => "time (like 23:59:59.999999)".into(),
        DataType::Timestamp(_, None) => "timestamp without a zone (like 2024-02-29T23:59:59)".into(),
        DataType::Timestamp(_, Some(_)) => "timestamp (like 2024-02-29T23:59:59+00:00)".into(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "string".into(),
        DataType::FixedSizeBinary(16) if crate::output::value::is_uuid(field) => "uuid".into(),
        DataType::FixedSizeBinary(length) => format!("fixed({length}) in hex"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => "binary in hex".into(),
        DataType::Struct(_) => "struct (a JSON object)".into(),
        DataType::Map(..) => "map (a JSON array of [key, value])".into(),
        DataType::List(_) | DataType::LargeList(_) => "list (a JSON array)".into(),
        other => other.to_string(),
    }
}
