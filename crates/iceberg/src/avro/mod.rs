//! Avro data and delete files, as Arrow.
//!
//! | to do this | use |
//! |---|---|
//! | open a file, see its columns | [`AvroFile`] |
//! | read rows | [`AvroFile::rows`] |
//! | know how many rows are before a part | [`AvroFile::index`] |
//!
//! The decoder is our own: maps whose keys are no strings, columns found by Iceberg's field ids, parts of a file read
//! side by side, and bytes that anybody may have written. No buffer is sized by a number from the file. What a file has for a
//! column is handed out as the file has it; making it what the table has now is the reader's part, as with Parquet.
//! Format: <https://avro.apache.org/docs/1.12.0/specification/>, <https://iceberg.apache.org/spec/#avro>.

mod blocks;
mod cursor;
mod file;
mod header;
mod mapped;
mod parts;
mod schema;
mod skip;
#[cfg(test)]
mod tests;
mod values;

use std::collections::HashSet;

use arrow::datatypes::{DataType, Fields};

pub use blocks::BlockIndex;
pub(crate) use cursor::{Cursor, Decoded, Malformed};
pub use file::{AvroFile, AvroRead, AvroRows};
pub(crate) use schema::{Field, Node};

use crate::arrow_schema::field_id;

/// The field ids that are to be read; what else files have is passed over, whatever it is.
#[derive(Debug, Clone, Default)]
pub struct Wanted(HashSet<i32>);

impl Wanted {
    /// Those of Arrow fields and of what is nested in them.
    #[must_use]
    pub fn of(fields: &Fields) -> Self {
        let mut ids = HashSet::new();
        collect(fields, &mut ids);
        Self(ids)
    }

    /// These too.
    #[must_use]
    pub fn and(mut self, ids: impl IntoIterator<Item = i32>) -> Self {
        self.0.extend(ids);
        self
    }

    fn includes(&self, field: &schema::Field) -> bool {
        field.id.is_some_and(|id| self.0.contains(&id))
    }
}

fn collect(fields: &Fields, ids: &mut HashSet<i32>) {
    for field in fields {
        ids.extend(field_id(field));
        match field.data_type() {
            DataType::Struct(fields) => collect(fields, ids),
            DataType::List(inner) | DataType::Map(inner, _) => collect(&Fields::from(vec![inner.clone()]), ids),
            _ => {}
        }
    }
}
