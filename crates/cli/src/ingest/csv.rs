//! CSV as record batches.

use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, Schema, SchemaRef};

use super::batches::{Row, Rows};
use super::csv_records::{Malformed, Record, Records};
use super::source::{Counted, Progress, Source};
use super::text::{BadValue, parse_column};
use super::{columns, json};
use crate::failure::{Failure, Result};

/// How a CSV file is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct CsvOptions {
    /// Between fields; `None`: a tab if the file's name ends in `.tsv`, else a comma.
    pub(crate) delimiter: Option<u8>,
    /// Unquoted texts that stand for null, besides the empty one.
    pub(crate) nulls: Vec<String>,
}

impl CsvOptions {
    fn delimiter_of(&self, source: &Source) -> u8 {
        let by_name = if source.path.extension().is_some_and(|e| e.eq_ignore_ascii_case("tsv")) { b'\t' } else { b',' };
        self.delimiter.unwrap_or(by_name)
    }

    /// A field's value.
    pub(super) fn value<'a>(&self, (text, quoted): (&'a str, bool)) -> Option<&'a str> {
        (quoted || !(text.is_empty() || self.nulls.iter().any(|null| null == text))).then_some(text)
    }
}

/// A CSV file after its header.
#[derive(Debug)]
pub(super) struct CsvFile {
    source: Source,
    records: Records<BufReader<Counted<File>>>,
    /// The header.
    pub(super) names: Vec<String>,
}

impl CsvFile {
    pub(super) fn open(source: &Source, options: &CsvOptions, progress: &Progress) -> Result<Self> {
        let input = source.text(progress)?;
        let mut file = Self {
            source: source.clone(),
            records: Records::new(input, options.delimiter_of(source)),
            names: Vec::new(),
        };
        let mut header = Record::default();
        if !file.read(&mut header)? {
            return Err(Failure::new(format!("{} is empty", source.path.display()))
                .hint("a CSV file starts with a line of column names"));
        }
        file.names = header.fields().map(|(text, _)| text.trim().to_owned()).collect();
        Ok(file)
    }

    /// Reads the next record, blank lines left out; false at the end.
    pub(super) fn next(&mut self, record: &mut Record) -> Result<bool> {
        loop {
            if !self.read(record)? {
                return Ok(false);
            }
            // In a file of one column a blank line is a null.
            if record.is_blank() && self.names.len() > 1 {
                continue;
            }
            if record.len() == self.names.len() {
                return Ok(true);
            }
            let message = format!("{} fields, but the header has {}", record.len(), self.names.len());
            return Err(self.source.at_line(record.line, message));
        }
    }

    fn read(&mut self, record: &mut Record) -> Result<bool> {
        self.records.read(record).map_err(|Malformed { line, message }| self.source.at_line(line, message))
    }
}

/// The rows of a CSV file, of which some columns of a table are made.
#[derive(Debug)]
pub(super) struct CsvRows {
    file: CsvFile,
    options: CsvOptions,
    /// The table's columns that the file has, in the file's order.
    schema: SchemaRef,
}

impl CsvRows {
    pub(super) fn open(source: &Source, schema: &SchemaRef, options: &CsvOptions, progress: &Progress) -> Result<Self> {
        let file = CsvFile::open(source, options, progress)?;
        let names: Vec<&str> = file.names.iter().map(String::as_str).collect();
        let fields = columns::match_columns(&source.path.display().to_string(), &names, schema)?;
        Ok(Self { file, options: options.clone(), schema: Arc::new(Schema::new(fields)) })
    }
}

impl Rows for CsvRows {
    type Content = Record;

    fn source(&self) -> &Source {
        &self.file.source
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self) -> Result<Option<Row<Record>>> {
        let mut content = Record::default();
        Ok(self.file.next(&mut content)?.then(|| Row { line: content.line, length: content.byte_len(), content }))
    }

    fn columns(&self, rows: &[Row<Record>]) -> Result<Vec<ArrayRef>, BadValue> {
        let mut cells: Vec<Vec<Option<&str>>> = vec![Vec::with_capacity(rows.len()); self.schema.fields().len()];
        for row in rows {
            for (column, field) in cells.iter_mut().zip(row.content.fields()) {
                column.push(self.options.value(field));
            }
        }
        self.schema.fields().iter().zip(&cells).map(|(field, cells)| convert(cells, field)).collect()
    }
}

fn convert(cells: &[Option<&str>], field: &Field) -> Result<ArrayRef, BadValue> {
    if field.data_type().is_nested() {
        return json::parse_column(cells, field);
    }
    if !field.is_nullable()
        && let Some(row) = cells.iter().position(Option::is_none)
    {
        return Err(BadValue::null(row, field));
    }
    parse_column(cells, field)
}
