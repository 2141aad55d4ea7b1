//! Data on standard output: rows as tables, JSON lines or CSV.

mod calendar;
mod csv;
mod listing;
mod rows;
mod table;
pub(crate) mod value;

use clap::ValueEnum;

pub(crate) use listing::Listing;
pub(crate) use rows::{RowWriter, print_document};

/// How data is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OutputFormat {
    // Plain comments: documented values would make every command's help long.
    // Columns for people.
    #[default]
    Table,
    // One JSON object a line.
    Json,
    // Comma-separated values with a header; null is empty, an empty string is "".
    Csv,
}
