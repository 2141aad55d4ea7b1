//! Partition specs as a person types them.

use std::sync::Arc;

use super::print_type;
use super::tokens::{Token, Tokens};
use crate::spec::{Schema, Transform, UnboundPartitionField, UnboundPartitionSpec};
use crate::{Error, ErrorKind, Result};

/// Parses a list of partition fields: `column`, `identity(column)`, `year(column)`, `month(column)`, `day(column)`,
/// `hour(column)`, `bucket(N, column)`, `truncate(W, column)` or `void(column)`, each optionally `as name`.
///
/// Without a name of its own a field gets the one that Java's builder gives it: `day_month`, `id_bucket`,
/// `name_trunc`, and the column's for identity.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for what cannot be parsed, a column that does not exist, a transform that does not go
/// with its column's type, and fields that conflict.
pub fn parse_partition_spec(text: &str, schema: &Schema) -> Result<UnboundPartitionSpec> {
    let mut tokens = Tokens::new(text, "partition spec")?;
    let mut fields = Vec::new();
    loop {
        fields.push(field(&mut tokens, schema)?);
        if !tokens.take(&Token::Symbol(',')) {
            break;
        }
    }
    tokens.expect(&Token::End, "a comma or the end")?;
    let invalid = |e| Error::new(ErrorKind::InvalidInput, format!("invalid partition spec '{text}'")).with_source(e);
    let builder = UnboundPartitionSpec::builder().with_spec_id(0).add_partition_fields(fields);
    let spec = builder.map_err(|e| invalid(Box::new(e)))?.build();
    spec.clone().bind(Arc::new(schema.clone())).map_err(|e| invalid(Box::new(e)))?;
    Ok(spec)
}

fn field(tokens: &mut Tokens<'_>, schema: &Schema) -> Result<UnboundPartitionField> {
    let first = tokens.name("a column or a transform")?;
    let (transform, column) = if tokens.take(&Token::Symbol('(')) {
        let (transform, column) = transform_and_column(&first, tokens)?;
        tokens.expect(&Token::Symbol(')'), ")")?;
        (transform, column)
    } else if first.eq_ignore_ascii_case("identity") && matches!(tokens.peek(), Token::Word(_) | Token::Quoted(_)) {
        (Transform::Identity, tokens.name("a column")?)
    } else {
        (Transform::Identity, first)
    };
    let source = schema.field_by_name(&column).ok_or_else(|| tokens.error(&format!("there is no column {column}")))?;
    if transform.result_type(&source.field_type).is_err() || !source.field_type.is_primitive() {
        let found = print_type(&source.field_type);
        let message = format!("{transform} does not go with column {column} of type {found}");
        return Err(tokens.error(&message));
    }
    let name = if tokens.take_word("as") { tokens.name("a name")? } else { default_name(&column, transform) };
    Ok(UnboundPartitionField { source_id: source.id, field_id: None, name, transform })
}

fn transform_and_column(name: &str, tokens: &mut Tokens<'_>) -> Result<(Transform, String)> {
    let transform = match name.to_ascii_lowercase().as_str() {
        "identity" => Transform::Identity,
        "year" | "years" => Transform::Year,
        "month" | "months" => Transform::Month,
        "day" | "days" => Transform::Day,
        "hour" | "hours" => Transform::Hour,
        "void" => Transform::Void,
        "bucket" => return parameter_and_column(tokens, "a number of buckets", Transform::Bucket),
        "truncate" => return parameter_and_column(tokens, "a width", Transform::Truncate),
        _ => return Err(tokens.error(&format!("there is no transform {name}"))),
    };
    Ok((transform, tokens.name("a column")?))
}

/// `N, column`, or as some engines have it, `column, N`.
fn parameter_and_column(
    tokens: &mut Tokens<'_>,
    wanted: &str,
    transform: fn(u32) -> Transform,
) -> Result<(Transform, String)> {
    let range = 1..=i32::MAX.unsigned_abs();
    if matches!(tokens.peek(), Token::Number(_)) {
        let parameter = tokens.number(wanted, range)?;
        tokens.expect(&Token::Symbol(','), "a comma")?;
        return Ok((transform(parameter), tokens.name("a column")?));
    }
    let column = tokens.name(wanted)?;
    tokens.expect(&Token::Symbol(','), "a comma")?;
    Ok((transform(tokens.number(wanted, range)?), column))
}

/// What Java's `PartitionSpec.Builder` calls a field.
fn default_name(column: &str, transform: Transform) -> String {
    let suffix = match transform {
        Transform::Identity | Transform::Unknown => return column.to_owned(),
        Transform::Year => "year",
        Transform::Month => "month",
        Transform::Day => "day",
        Transform::Hour => "hour",
        Transform::Bucket(_) => "bucket",
        Transform::Truncate(_) => "trunc",
        Transform::Void => "null",
    };
    format!("{column}_{suffix}")
}
