//! Writing rows as they arrive.

use std::collections::HashSet;
use std::io::{self, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;

use super::{OutputFormat, csv, table, value};
use crate::failure::{Failure, Result};
use crate::terminal::Paint;

/// So many rows make one table for people; more follow as another one, so that memory stays bounded.
const ROWS_PER_TABLE: usize = 10_000;

/// Writes record batches in one format. Nothing is held back but the rows of the table being drawn.
pub(crate) struct RowWriter<W> {
    out: W,
    format: OutputFormat,
    paint: Paint,
    /// Of the terminal, for tables that must fit it.
    width: Option<usize>,
    schema: SchemaRef,
    pending: Vec<RecordBatch>,
    pending_rows: usize,
    tables: usize,
    rows: u64,
}

impl RowWriter<io::BufWriter<io::StdoutLock<'static>>> {
    /// To standard output.
    pub(crate) fn stdout(format: OutputFormat, paint: Paint, schema: SchemaRef) -> Result<Self> {
        Self::new(io::BufWriter::new(io::stdout().lock()), format, paint, schema)
    }
}

impl<W: Write> RowWriter<W> {
    /// Starts with what comes before the first row.
    ///
    /// Columns of one name are refused in JSON, where nearly every reader would lose one of them.
    pub(crate) fn new(mut out: W, format: OutputFormat, paint: Paint, schema: SchemaRef) -> Result<Self> {
        if format == OutputFormat::Json {
            let mut seen = HashSet::new();
            if let Some(twice) = schema.fields().iter().find(|field| !seen.insert(field.name())) {
                return Err(Failure::usage(format!("two columns are named {}", twice.name()))
                    .hint("name one of them in another way, with `as`, or use another format"));
            }
        }
        if format == OutputFormat::Csv {
            let mut line = String::new();
            csv::write_line(&mut line, schema.fields().iter().map(|field| Some(field.name().as_str())));
            out.write_all(line.as_bytes())?;
        }
        Ok(Self { out, format, paint, width: None, schema, pending: Vec::new(), pending_rows: 0, tables: 0, rows: 0 })
    }

    /// Shows rows that are wider than this as one block each.
    #[must_use]
    pub(crate) fn fitting(mut self, width: Option<usize>) -> Self {
        self.width = width;
        self
    }

    /// Writes the rows of a batch.
    pub(crate) fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        match self.format {
            OutputFormat::Table => {
                self.pending_rows += batch.num_rows();
                self.pending.push(batch);
                if self.pending_rows >= ROWS_PER_TABLE {
                    self.draw()?;
                }
            }
            OutputFormat::Json => self.write_json(&batch)?,
            OutputFormat::Csv => self.write_csv(&batch)?,
        }
        Ok(())
    }

    /// Writes what is left and says how many rows there were.
    pub(crate) fn finish(mut self) -> Result<u64> {
        if self.format == OutputFormat::Table && (self.tables == 0 || self.pending_rows > 0) {
            self.draw()?;
        }
        self.out.flush()?;
        Ok(self.rows)
    }

    fn draw(&mut self) -> Result<()> {
        let first = self.rows - self.pending_rows as u64 + 1;
        let drawn = table::draw(&self.schema, &self.pending, first, self.width, self.paint)?;
        self.out.write_all(drawn.as_bytes())?;
        self.pending.clear();
        self.pending_rows = 0;
        self.tables += 1;
        Ok(())
    }

    fn write_json(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let names: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| {
                let mut name = String::new();
                value::write_json_string(&mut name, field.name());
                name
            })
            .collect();
        let mut line = String::new();
        for row in 0..batch.num_rows() {
            line.clear();
            for (i, (field, column)) in schema.fields().iter().zip(batch.columns()).enumerate() {
                line.push(if i == 0 { '{' } else { ',' });
                line.push_str(&names[i]);
                line.push(':');
                value::write_json(&mut line, field, column, row)?;
            }
            line.push_str(if names.is_empty() { "{}\n" } else { "}\n" });
            self.out.write_all(line.as_bytes())?;
        }
        Ok(())
    }

    fn write_csv(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let mut line = String::new();
        let mut cells = Vec::with_capacity(batch.num_columns());
        for row in 0..batch.num_rows() {
            cells.clear();
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                cells.push(value::text(field, column, row)?);
            }
            line.clear();
            csv::write_line(&mut line, cells.iter().map(Option::as_deref));
            self.out.write_all(line.as_bytes())?;
        }
        Ok(())
    }
}

/// Writes one JSON document to standard output, indented for people.
pub(crate) fn print_document(document: &serde_json::Value) -> Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;
    use crate::failure::Fault;

    fn written(format: OutputFormat, rows: bool) -> String {
        let schema = Arc::new(Schema::new(vec![
            Field::new("id", DataType::Int64, true),
            Field::new("na\"me", DataType::Utf8, true),
        ]));
        let mut out = Vec::new();
        let mut writer = RowWriter::new(&mut out, format, Paint::plain(), schema.clone()).unwrap();
        if rows {
            let ids = Int64Array::from(vec![Some(1), None]);
            let names = StringArray::from(vec![Some("a,b"), Some("")]);
            writer.write(RecordBatch::try_new(schema, vec![Arc::new(ids), Arc::new(names)]).unwrap()).unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_result_in_three_formats() {
        assert_eq!(
            written(OutputFormat::Json, true),
            "{\"id\":1,\"na\\\"me\":\"a,b\"}\n{\"id\":null,\"na\\\"me\":\"\"}\n"
        );
        assert_eq!(written(OutputFormat::Csv, true), "id,\"na\"\"me\"\n1,\"a,b\"\n,\"\"\n");
        assert_eq!(written(OutputFormat::Table, true), "   id │ na\"me\n──────┼───────\n    1 │ a,b\n NULL │\n");
    }

    #[test]
    fn columns_of_one_name_are_no_json() {
        let field = Field::new("x", DataType::Int64, true);
        let schema = Arc::new(Schema::new(vec![field.clone(), field]));
        let writer = |format| RowWriter::new(Vec::new(), format, Paint::plain(), schema.clone());
        assert!(writer(OutputFormat::Json).is_err_and(|failure| failure.fault() == Fault::Usage));
        assert!(writer(OutputFormat::Csv).is_ok());
    }

    #[test]
    fn no_rows_still_have_a_header() {
        assert_eq!(written(OutputFormat::Json, false), "");
        assert_eq!(written(OutputFormat::Csv, false), "id,\"na\"\"me\"\n");
        assert_eq!(written(OutputFormat::Table, false), " id │ na\"me\n────┼───────\n");
    }
}
