//! Data files: from record batches to encrypted Parquet with Iceberg's statistics.
//!
//! Input columns are matched to the table's by name, case-sensitively, in structs as well. A column that is missing is
//! filled with its write default, or null if it is optional. Types are cast where nothing is lost: to wider numbers,
//! between units of time, from dictionaries and views, from text to uuid; where it depends on the value (a long in an
//! int column, nanoseconds in a timestamp) each value is checked. Anything else is an error that names the column,
//! and the row if it is about one. Values are never part of an error.

mod bloom;
mod body;
mod coerce;
mod file;
mod location;
mod metrics;
mod parquet_schema;
mod partition;
mod settings;
mod upload;
mod writer;

use std::collections::HashMap;

pub(crate) use partition::{human_string, partition_path};
pub use writer::{DataFileWriter, WriteOptions};

use self::bloom::BloomFilters;
use self::location::DataLocations;
use self::metrics::MetricsConfig;
use self::parquet_schema::parquet_schema;
use self::settings::Settings;
use crate::Result;
use crate::spec::Schema;

#[cfg(test)]
mod tests;

/// Checks the properties that say how data files are written, without writing any.
///
/// Metrics modes are held to more than a write holds them to, which ignores what it does not understand, as Java does.
pub(crate) fn check_properties(properties: &HashMap<String, String>, schema: &Schema) -> Result<()> {
    Settings::new(properties, schema, &parquet_schema(schema)?)?;
    BloomFilters::check(properties, schema)?;
    DataLocations::folder(properties)?;
    MetricsConfig::check(properties, schema)
}
