//! Small tables of our own making: lists of tables, keys, snapshots, files.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray, TimestampMillisecondArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use arrow::record_batch::RecordBatch;

use super::{OutputFormat, RowWriter};
use crate::failure::Result;
use crate::terminal::Paint;

/// Columns of equal length, by name.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    columns: Vec<(&'static str, ArrayRef)>,
}

impl Listing {
    /// A column of text.
    #[must_use]
    pub(crate) fn text<T: AsRef<str>>(self, name: &'static str, values: impl IntoIterator<Item = Option<T>>) -> Self {
        self.column(name, Arc::new(values.into_iter().collect::<StringArray>()))
    }

    /// A column of numbers.
    #[must_use]
    pub(crate) fn numbers(self, name: &'static str, values: impl IntoIterator<Item = Option<i64>>) -> Self {
        self.column(name, Arc::new(values.into_iter().collect::<Int64Array>()))
    }

    /// A column of yes and no.
    #[must_use]
    pub(crate) fn flags(self, name: &'static str, values: impl IntoIterator<Item = bool>) -> Self {
        self.column(name, Arc::new(values.into_iter().map(Some).collect::<BooleanArray>()))
    }

    /// A column of instants, in milliseconds since the epoch.
    #[must_use]
    pub(crate) fn instants(self, name: &'static str, values: impl IntoIterator<Item = Option<i64>>) -> Self {
        let values = values.into_iter().collect::<TimestampMillisecondArray>().with_timezone("UTC");
        self.column(name, Arc::new(values))
    }

    fn column(mut self, name: &'static str, values: ArrayRef) -> Self {
        self.columns.push((name, values));
        self
    }

    /// Writes it to standard output.
    pub(crate) fn print(mut self, format: OutputFormat, paint: Paint) -> Result<()> {
        if format == OutputFormat::Table {
            // Fractions of a second are for programs.
            let seconds = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
            for (_, values) in &mut self.columns {
                if matches!(values.data_type(), DataType::Timestamp(..)) {
                    *values = cast(values, &seconds)?;
                }
            }
        }
        let fields: Vec<Field> =
            self.columns.iter().map(|(name, values)| Field::new(*name, values.data_type().clone(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let mut writer = RowWriter::stdout(format, paint, schema.clone())?;
        writer.write(RecordBatch::try_new(schema, self.columns.into_iter().map(|(_, values)| values).collect())?)?;
        writer.finish()?;
        Ok(())
    }
}
