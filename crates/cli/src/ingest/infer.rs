//! The schema of a new table, by the files to be loaded into it.

use arrow::datatypes::{DataType, Field, Schema};

use super::candidates::Candidates;
use super::csv::{CsvFile, CsvOptions};
use super::csv_records::Record;
use super::source::{FileFormat, Progress, Source};
use super::{json_lines, parquet};
use crate::failure::{Failure, Result};

/// Reads the first file to tell the columns and their types: all of it for the text formats, so that no value further
/// down can be a surprise.
pub(crate) fn infer_schema(sources: &[Source], options: &CsvOptions) -> Result<Schema> {
    let Some(first) = sources.first() else { return Err(Failure::usage("there is no file to take a schema from")) };
    if let Some(pipe) = sources.iter().find(|source| !source.can_be_read_again) {
        return Err(Failure::usage(format!("{} can be read only once", pipe.path.display()))
            .hint("say with --schema what the columns are"));
    }
    match first.format {
        FileFormat::Parquet => parquet::schema(first),
        FileFormat::Json => json_lines::infer(first),
        FileFormat::Csv => {
            let csv: Vec<&Source> = sources.iter().filter(|source| source.format == FileFormat::Csv).collect();
            infer_csv(&csv, options)
        }
    }
}

/// A column, and which types its values have left.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    /// `None` before the first value.
    candidates: Option<Candidates>,
}

fn infer_csv(sources: &[&Source], options: &CsvOptions) -> Result<Schema> {
    let mut columns: Vec<Column> = Vec::new();
    for source in sources {
        let mut file = CsvFile::open(source, options, &Progress::default())?;
        let mut places = Vec::with_capacity(file.names.len());
        for name in &file.names {
            let known = columns.iter().position(|column| column.name == *name);
            places.push(known.unwrap_or_else(|| {
                columns.push(Column { name: name.clone(), candidates: None });
                columns.len() - 1
            }));
        }
        let mut record = Record::default();
        while file.next(&mut record)? {
            for (place, field) in places.iter().zip(record.fields()) {
                if let Some(value) = options.value(field) {
                    let candidates = &mut columns[*place].candidates;
                    *candidates = Some(candidates.unwrap_or(Candidates::ALL).fitting(value));
                }
            }
        }
    }
    let field = |column: &Column| {
        let data_type = column.candidates.map_or(DataType::Utf8, Candidates::data_type);
        Field::new(&column.name, data_type, true)
    };
    Ok(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}
