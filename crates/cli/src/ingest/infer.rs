//! The schema of a new table, by the files to be loaded into it.

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};

use super::csv::{CsvFile, CsvOptions};
use super::csv_records::Record;
use super::source::{FileFormat, Progress, Source};
use super::{json_lines, parquet, text};
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

/// The types that text may turn out to have, from the narrowest; a column takes the first that all its values fit.
const CANDIDATES: usize = 6;
/// Whole numbers of so many digits are still exact as doubles.
const EXACT_DIGITS: usize = 15;

fn candidates() -> [DataType; CANDIDATES] {
    [
        DataType::Boolean,
        DataType::Int64,
        DataType::Float64,
        DataType::Date32,
        DataType::Timestamp(TimeUnit::Microsecond, None),
        DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into())),
    ]
}

/// Which candidates a column's values have left.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    left: [bool; CANDIDATES],
    seen: bool,
}

fn infer_csv(sources: &[&Source], options: &CsvOptions) -> Result<Schema> {
    let candidates = candidates().map(|data_type| Field::new("", data_type, true));
    let mut columns: Vec<Column> = Vec::new();
    for source in sources {
        let mut file = CsvFile::open(source, options, &Progress::default())?;
        let mut places = Vec::with_capacity(file.names.len());
        for name in &file.names {
            let known = columns.iter().position(|column| column.name == *name);
            places.push(known.unwrap_or_else(|| {
                columns.push(Column { name: name.clone(), left: [true; CANDIDATES], seen: false });
                columns.len() - 1
            }));
        }
        let mut record = Record::default();
        while file.next(&mut record)? {
            for (place, field) in places.iter().zip(record.fields()) {
                if let Some(value) = options.value(field) {
                    columns[*place].see(value, &candidates);
                }
            }
        }
    }
    Ok(Schema::new(columns.iter().map(|column| column.field(&candidates)).collect::<Vec<_>>()))
}

impl Column {
    fn see(&mut self, value: &str, candidates: &[Field]) {
        self.seen = true;
        // A leading zero is part of a code, a phone number, a postcode: as a number it would be lost.
        let digits = value.trim_start_matches('-');
        let whole = digits.bytes().all(|b| b.is_ascii_digit());
        let is_code = whole && digits.len() > 1 && digits.starts_with('0');
        let is_beyond_double = whole && digits.len() > EXACT_DIGITS;
        for (left, candidate) in self.left.iter_mut().zip(candidates) {
            if *left {
                let numeric = candidate.data_type().is_numeric();
                *left = !(numeric && (is_code || value.starts_with('+') || value.trim() != value))
                    && !(candidate.data_type() == &DataType::Float64 && is_beyond_double)
                    && text::parse_column(&[Some(value)], candidate).is_ok();
            }
        }
    }

    fn field(&self, candidates: &[Field]) -> Field {
        let narrowest = self.left.iter().position(|left| *left).filter(|_| self.seen);
        let data_type = narrowest.map_or(DataType::Utf8, |i| candidates[i].data_type().clone());
        Field::new(&self.name, data_type, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_takes_the_narrowest_type_that_all_values_fit() {
        let cases: &[(&[&str], DataType)] = &[
            (&["true", "FALSE"], DataType::Boolean),
            (&["1", "-20"], DataType::Int64),
            (&["1", "2.5"], DataType::Float64),
            (&["1", "x"], DataType::Utf8),
            (&["01234"], DataType::Utf8),
            (&["0"], DataType::Int64),
            (&["+1"], DataType::Utf8),
            (&["99999999999999999999"], DataType::Utf8),
            (&["2024-02-29"], DataType::Date32),
            (&["2024-02-29", "2024-02-29T01:00:00"], DataType::Timestamp(TimeUnit::Microsecond, None)),
            (&["2024-02-29T01:00:00Z"], DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()))),
            (&[], DataType::Utf8),
        ];
        let candidates = candidates().map(|data_type| Field::new("", data_type, true));
        for (values, expected) in cases {
            let mut column = Column { name: "c".into(), left: [true; CANDIDATES], seen: false };
            values.iter().for_each(|value| column.see(value, &candidates));
            assert_eq!(column.field(&candidates).data_type(), expected, "{values:?}");
        }
    }
}
