//! JSON lines as record batches.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use arrow::array::{ArrayRef, AsArray as _};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::ROW_LIMIT;
use super::batches::{Row, Rows};
use super::candidates::Candidates;
use super::columns::with_article;
use super::json::{self, Cell, shown};
use super::json_value::{Malformed, Value};
use super::source::{Counted, Progress, Source};
use super::text::BadValue;
use crate::failure::{Context as _, Failure, Result};

/// The objects of a file.
#[derive(Debug)]
pub(super) struct Objects {
    source: Source,
    input: BufReader<Counted<File>>,
    line: u64,
    text: Vec<u8>,
}

impl Objects {
    pub(super) fn open(source: &Source, progress: &Progress) -> Result<Self> {
        Ok(Self { source: source.clone(), input: source.text(progress)?, line: 0, text: Vec::new() })
    }

    /// The next object; blank lines are left out.
    pub(super) fn next(&mut self) -> Result<Option<Row<Value>>> {
        loop {
            self.text.clear();
            self.line += 1;
            let limited = &mut (&mut self.input).take(ROW_LIMIT as u64 + 1);
            limited
                .read_until(b'\n', &mut self.text)
                .with_context(|| format!("{}, line {}: cannot read on", self.source.path.display(), self.line))?;
            if self.text.is_empty() {
                return Ok(None);
            }
            if self.text.len() > ROW_LIMIT {
                return Err(self.source.at_line(self.line, format!("longer than {} MiB", ROW_LIMIT >> 20)));
            }
            if self.text.trim_ascii().is_empty() {
                continue;
            }
            let content = self.parse()?;
            return Ok(Some(Row { content, line: self.line, length: self.text.len() }));
        }
    }

    fn parse(&self) -> Result<Value> {
        let text = std::str::from_utf8(&self.text).map_err(|_| self.source.at_line(self.line, "not valid UTF-8"))?;
        match Value::parse(text) {
            Ok(value @ Value::Object(_)) => Ok(value),
            Ok(_) => Err(self.source.at_line(self.line, "not a JSON object")),
            Err(Malformed { reason, is_cut }) => {
                let failure = self.source.at_line(self.line, reason);
                Err(if is_cut { failure.hint("each line must hold one whole JSON object") } else { failure })
            }
        }
    }
}

/// The rows of a file of JSON lines.
#[derive(Debug)]
pub(super) struct JsonRows {
    objects: Objects,
    schema: SchemaRef,
}

impl JsonRows {
    pub(super) fn open(source: &Source, schema: &SchemaRef, progress: &Progress) -> Result<Self> {
        Ok(Self { objects: Objects::open(source, progress)?, schema: schema.clone() })
    }
}

impl Rows for JsonRows {
    type Content = Value;

    fn source(&self) -> &Source {
        &self.objects.source
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self) -> Result<Option<Row<Value>>> {
        self.objects.next()
    }

    fn columns(&self, rows: &[Row<Value>]) -> Result<Vec<ArrayRef>, BadValue> {
        let row_type = Field::new("row", DataType::Struct(self.schema.fields().clone()), false);
        let cells: Vec<Cell<'_>> =
            rows.iter().enumerate().map(|(place, row)| Cell::new(place, Some(&row.content))).collect();
        let array = json::build(&row_type, &cells).map_err(|bad| BadValue {
            column: bad.column.strip_prefix("row.").unwrap_or(&bad.column).to_owned(),
            ..bad
        })?;
        Ok(array.as_struct().columns().to_vec())
    }
}

/// Whole numbers up to here are all different as doubles.
const EXACT_AS_DOUBLE: u64 = 1 << 53;

/// What the values of a column have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Long {
        /// Whether all of them are still the same as doubles.
        exact: bool,
    },
    Double,
    /// Strings, which may all be dates or times.
    String(Candidates),
    List(Box<Kind>),
    Struct(Vec<(String, Kind)>),
}

impl Kind {
    fn of(value: &Value) -> Result<Self, String> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Boolean(_) => Self::Boolean,
            Value::Number(digits) if digits.contains(['.', 'e', 'E']) => Self::Double,
            Value::Number(digits) => match digits.parse::<i64>() {
                Ok(number) => Self::Long { exact: number.unsigned_abs() <= EXACT_AS_DOUBLE },
                Err(_) => return Err(format!("{} is beyond a long", shown(value))),
            },
            Value::String(text) => Self::String(Candidates::MOMENTS.fitting(text)),
            Value::Array(elements) => {
                let mut kind = Self::Null;
                for element in elements {
                    kind = kind.with(Self::of(element)?)?;
                }
                Self::List(Box::new(kind))
            }
            Value::Object(object) => Self::Struct(
                object
                    .iter()
                    .map(|(name, value)| Ok((name.clone(), Self::of(value).map_err(|e| format!("{name}: {e}"))?)))
                    .collect::<Result<_, String>>()?,
            ),
        })
    }

    fn with(self, other: Self) -> Result<Self, String> {
        Ok(match (self, other) {
            (a, Self::Null) | (Self::Null, a) => a,
            (Self::Long { exact: a }, Self::Long { exact: b }) => Self::Long { exact: a && b },
            (Self::Long { exact: true }, Self::Double) | (Self::Double, Self::Long { exact: true }) => Self::Double,
            (Self::Long { .. }, Self::Double) | (Self::Double, Self::Long { .. }) => {
                return Err("fractions, and whole numbers that a double cannot hold".to_owned());
            }
            (Self::String(a), Self::String(b)) => Self::String(a.and(b)),
            (Self::List(a), Self::List(b)) => Self::List(Box::new(a.with(*b)?)),
            (Self::Struct(mut fields), Self::Struct(others)) => {
                for (name, other) in others {
                    match fields.iter_mut().find(|(known, _)| *known == name) {
                        Some((_, kind)) => {
                            let known = std::mem::replace(kind, Self::Null);
                            *kind = known.with(other).map_err(|error| format!("{name}: {error}"))?;
                        }
                        None => fields.push((name, other)),
                    }
                }
                Self::Struct(fields)
            }
            (a, b) if a == b => a,
            (a, b) => return Err(format!("{} here and {} before", with_article(b.name()), with_article(a.name()))),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Long { .. } | Self::Double => "number",
            Self::String(_) => "string",
            Self::List(_) => "array",
            Self::Struct(_) => "object",
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Long { .. } => DataType::Int64,
            Self::Double => DataType::Float64,
            // What was null throughout may become anything; text holds it.
            Self::Null => DataType::Utf8,
            Self::String(candidates) => candidates.data_type(),
            Self::List(element) => DataType::new_list(element.data_type(), true),
            Self::Struct(fields) => DataType::Struct(fields.iter().map(|(name, kind)| kind.field(name)).collect()),
        }
    }

    fn field(&self, name: &str) -> Field {
        Field::new(name, self.data_type(), true)
    }
}

/// Reads a whole file to tell its columns' types.
pub(super) fn infer(source: &Source) -> Result<Schema> {
    let mut objects = Objects::open(source, &Progress::default())?;
    let mut kind = Kind::Struct(Vec::new());
    while let Some(Row { content, line, .. }) = objects.next()? {
        kind = Kind::of(&content).and_then(|other| kind.with(other)).map_err(|error| {
            source
                .at_line(line, format!("no one type fits column {error}"))
                .hint("say with --schema what the columns are")
        })?;
    }
    match kind {
        Kind::Struct(fields) if !fields.is_empty() => {
            Ok(Schema::new(fields.iter().map(|(name, kind)| kind.field(name)).collect::<Vec<_>>()))
        }
        _ => Err(Failure::new(format!("{} has no rows to take a schema from", source.path.display()))),
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::TimeUnit;

    use super::*;

    #[test]
    fn a_column_takes_the_type_that_all_values_fit() {
        let list = DataType::new_list(DataType::Int64, true);
        let zoned = DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()));
        let cases = [
            ("1", "null", Ok(DataType::Int64)),
            ("1", "2.5", Ok(DataType::Float64)),
            ("9007199254740993", "1", Ok(DataType::Int64)),
            ("9007199254740993", "0.5", Err("a double cannot hold")),
            ("1", "9223372036854775808", Err("9223372036854775808 is beyond a long")),
            ("[1]", "[null]", Ok(list)),
            ("[1]", "{}", Err("an object here and an array before")),
            ("true", "\"x\"", Err("a string here and a boolean before")),
            ("null", "null", Ok(DataType::Utf8)),
            ("null", "\"2024-02-29\"", Ok(DataType::Date32)),
            ("\"2024-02-29\"", "\"2024-02-29T01:00:00Z\"", Ok(zoned)),
            ("[\"2024-02-29\"]", "[\"x\"]", Ok(DataType::new_list(DataType::Utf8, true))),
            ("\"true\"", "\"1\"", Ok(DataType::Utf8)),
        ];
        for (first, second, expected) in cases {
            let kind = |text: &str| Kind::of(&Value::parse(text).unwrap());
            match (kind(second).and_then(|second| kind(first)?.with(second)), expected) {
                (Ok(kind), Ok(expected)) => assert_eq!(kind.data_type(), expected, "{first} {second}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{first} {second}: {found}"),
                (found, _) => panic!("{first} {second}: {found:?}"),
            }
        }
    }
}
