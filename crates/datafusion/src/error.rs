//! Errors between the table layer and DataFusion.
//!
//! DataFusion's traits fix the error type, so this crate has none of its own: an error of the table layer travels as
//! [`DataFusionError::External`], with its kind and its causes, and [`table_error`] finds it again.

use std::error::Error as StdError;

use datafusion::error::DataFusionError;
use lakelock_iceberg::{Error, ErrorKind};

/// The table layer's error behind an error of DataFusion, if it comes from there: its kind tells what to do about it,
/// its message names the file, table or key.
#[must_use]
pub fn table_error(error: &DataFusionError) -> Option<&Error> {
    find(error)
}

pub(crate) fn external(error: impl Into<Box<dyn StdError + Send + Sync>>) -> DataFusionError {
    DataFusionError::External(error.into())
}

/// An error met while reading a file of this kind ("data file"), as one that names it.
///
/// Errors of the query's own expressions, which DataFusion evaluates while it reads, pass as they are.
pub(crate) fn while_reading(what: &str, location: &str, error: DataFusionError) -> DataFusionError {
    if !is_of_file(&error) || find::<NamedFile>(&error).is_some() {
        return error;
    }
    let kind = match (find::<Error>(&error), find::<object_store::Error>(&error)) {
        (Some(inner), _) => inner.kind(),
        (None, Some(object_store::Error::NotFound { .. })) => ErrorKind::NotFound,
        (None, Some(_)) => ErrorKind::Storage,
        (None, None) => ErrorKind::InvalidData,
    };
    let why = match kind {
        ErrorKind::InvalidData => ": it is damaged, or not encrypted with the key that the table keeps for it",
        _ => "",
    };
    let message = format!("cannot read {what} {location}{why}");
    external(Error::new(kind, message).with_source(NamedFile(error)))
}

/// Whether the file or its storage is at fault.
fn is_of_file(error: &DataFusionError) -> bool {
    match error {
        DataFusionError::ParquetError(_)
        | DataFusionError::ObjectStore(_)
        | DataFusionError::IoError(_)
        | DataFusionError::External(_) => true,
        DataFusionError::ArrowError(error, _) => {
            use datafusion::arrow::error::ArrowError;
            matches!(**error, ArrowError::ParquetError(_) | ArrowError::ExternalError(_) | ArrowError::IoError(_, _))
        }
        DataFusionError::Context(_, inner) => is_of_file(inner),
        _ => false,
    }
}

/// Marks an error as already told with the name of its file.
#[derive(Debug)]
struct NamedFile(DataFusionError);

impl std::fmt::Display for NamedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for NamedFile {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()
    }
}

/// The outermost error of a type in a chain of causes.
fn find<'a, E: StdError + 'static>(error: &'a (dyn StdError + 'static)) -> Option<&'a E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // Boxes and shared errors hide what they hold from `source`.
        next = match error.downcast_ref::<DataFusionError>() {
            Some(DataFusionError::External(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::Shared(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::ParquetError(inner)) => Some(inner.as_ref()),
            Some(DataFusionError::ArrowError(inner, _)) => Some(inner.as_ref()),
            _ => match error.downcast_ref::<parquet::errors::ParquetError>() {
                Some(parquet::errors::ParquetError::External(inner)) => Some(inner.as_ref()),
                _ => error.source(),
            },
        };
    }
    None
}
