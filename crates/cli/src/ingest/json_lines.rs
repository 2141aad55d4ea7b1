//! JSON lines as record batches.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use serde_json::Value;

use super::json::{self, Cell};
use super::source::{Counted, Progress, Source};
use super::text::BadValue;
use super::{BATCH_BYTES, BATCH_ROWS, ROW_LIMIT};
use crate::failure::{Context as _, Failure, Result};

/// The objects of a file, with their lines.
#[derive(Debug)]
pub(super) struct Objects {
    source: Source,
    input: BufReader<Counted<File>>,
    line: u64,
    text: Vec<u8>,
}

impl Objects {
    pub(super) fn open(source: &Source, progress: &Progress) -> Result<Self> {
        Ok(Self { source: source.clone(), input: source.stream(progress)?, line: 0, text: Vec::new() })
    }

    /// The next object, the line it is on and its length; blank lines are left out.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Value, usize)>> {
        loop {
            self.text.clear();
            self.line += 1;
            let limited = &mut (&mut self.input).take(ROW_LIMIT as u64 + 1);
            limited
                .read_until(b'\n', &mut self.text)
                .with_context(|| format!("cannot read {}", self.source.path.display()))?;
            if self.text.is_empty() {
                return Ok(None);
            }
            if self.text.len() > ROW_LIMIT {
                return Err(self.source.at_line(self.line, format!("longer than {} MiB", ROW_LIMIT >> 20)));
            }
            if self.text.trim_ascii().is_empty() {
                continue;
            }
            let value: Value = serde_json::from_slice(&self.text).map_err(|error| {
                let failure = self.source.at_line(self.line, format!("not valid JSON at column {}", error.column()));
                if error.is_eof() { failure.hint("each line must hold one whole JSON object") } else { failure }
            })?;
            if !value.is_object() {
                return Err(self.source.at_line(self.line, "not a JSON object"));
            }
            return Ok(Some((self.line, value, self.text.len())));
        }
    }
}

/// Record batches of a file of JSON lines.
#[derive(Debug)]
pub(super) struct JsonBatches {
    objects: Objects,
    schema: SchemaRef,
    done: bool,
}

impl JsonBatches {
    pub(super) fn open(source: &Source, schema: &SchemaRef, progress: &Progress) -> Result<Self> {
        Ok(Self { objects: Objects::open(source, progress)?, schema: schema.clone(), done: false })
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        let mut bytes = 0;
        while rows.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            let Some((line, object, length)) = self.objects.next()? else {
                self.done = true;
                break;
            };
            rows.push(object);
            lines.push(line);
            bytes += length;
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let row_type = Field::new("row", DataType::Struct(self.schema.fields().clone()), false);
        let cells: Vec<Cell<'_>> = rows.iter().enumerate().map(|(row, value)| Cell::new(row, Some(value))).collect();
        let array = json::build(&row_type, &cells).map_err(|BadValue { row, column, reason }| {
            let column = column.strip_prefix("row.").unwrap_or(&column);
            self.objects.source.at_line(lines[row], format!("column {column}: {reason}"))
        })?;
        let columns = arrow::array::AsArray::as_struct(&array).columns().to_vec();
        Ok(Some(RecordBatch::try_new(self.schema.clone(), columns)?))
    }
}

impl Iterator for JsonBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let batch = self.read_batch().transpose();
        self.done |= matches!(batch, Some(Err(_)) | None);
        batch
    }
}

/// What the values of a column have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Null,
    Boolean,
    Long,
    Double,
    String,
    List(Box<Kind>),
    Struct(Vec<(String, Kind)>),
}

impl Kind {
    fn of(value: &Value) -> Result<Self, String> {
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_i64() => Self::Long,
            Value::Number(number) if number.is_u64() => return Err(format!("{number} is beyond a long")),
            Value::Number(_) => Self::Double,
            Value::String(_) => Self::String,
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
            (Self::Long, Self::Double) | (Self::Double, Self::Long) => Self::Double,
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
            (a, b) => return Err(format!("a {} here and a {} before", b.name(), a.name())),
        })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Long | Self::Double => "number",
            Self::String => "string",
            Self::List(_) => "array",
            Self::Struct(_) => "object",
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            Self::Boolean => DataType::Boolean,
            Self::Long => DataType::Int64,
            Self::Double => DataType::Float64,
            // What was null throughout may become anything; text holds it.
            Self::Null | Self::String => DataType::Utf8,
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
    while let Some((line, object, _)) = objects.next()? {
        kind = Kind::of(&object)
            .and_then(|other| kind.with(other))
            .map_err(|error| source.at_line(line, format!("no one type fits column {error}")))?;
    }
    match kind {
        Kind::Struct(fields) if !fields.is_empty() => {
            Ok(Schema::new(fields.iter().map(|(name, kind)| kind.field(name)).collect::<Vec<_>>()))
        }
        _ => Err(Failure::new(format!("{} has no rows to take a schema from", source.path.display()))),
    }
}
