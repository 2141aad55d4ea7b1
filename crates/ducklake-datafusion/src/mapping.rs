//! Files that were not written by `DuckLake`: their columns are found by name, and some in their paths.

use std::collections::HashMap;

use datafusion::common::ScalarValue;
use lakelock_iceberg::name_mapping::NameMapping;
use serde_json::{Value, json};

use crate::{
    columns::Column,
    error::{Error, ErrorKind, Result, invalid},
    files::StoredFile,
    lake::MappedName,
    metadata::Cell,
    values::{from_text, scalar},
};

/// What a path has where a value is NULL.
const HIVE_NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// The mapping of a table's columns in the form that files are read with.
pub(crate) fn name_mapping(mapped: &[MappedName], columns: &[Column]) -> Result<NameMapping> {
    let text = to_json(mapped, columns, None).to_string();
    NameMapping::parse(&text).map_err(|error| {
        Error::new(ErrorKind::InvalidData, "a column mapping of the catalog makes no sense").with_source(error)
    })
}

fn to_json(mapped: &[MappedName], columns: &[Column], parent: Option<&Column>) -> Value {
    let in_file = mapped.iter().filter(|mapped| !mapped.is_partition);
    let field = |mapped: &MappedName| {
        // What has been dropped since is not read.
        let column = columns.iter().find(|column| column.id == mapped.field_id)?;
        // What is nested in lists has various names in files.
        let name = match parent {
            Some(parent) if parent.type_name == "list" => "element",
            _ => &mapped.name,
        };
        let fields = to_json(&mapped.children, &column.children, Some(column));
        Some(json!({"field-id": column.id, "names": [name], "fields": fields}))
    };
    in_file.filter_map(field).collect()
}

/// The values that a file's path has, by field id: `.../k=1/...`.
pub(crate) fn constants(
    mapped: &[MappedName],
    columns: &[Column],
    file: &StoredFile,
) -> Result<HashMap<i32, ScalarValue>> {
    let mut constants = HashMap::new();
    for partition in mapped.iter().filter(|mapped| mapped.is_partition) {
        // A column that has been dropped since.
        let Some(column) = columns.iter().find(|column| column.id == partition.field_id) else { continue };
        if column.data_type().is_none() {
            continue;
        }
        let name = &partition.name;
        let missing = || invalid(format!("the path of {file} has no {name}=..., which the catalog says it has"));
        let text = value_in(&file.location, name).ok_or_else(missing)?;
        let value = match text.as_str() {
            HIVE_NULL => scalar(column, &Cell::Null),
            text => from_text(column, text),
        };
        let wrong = || invalid(format!("{name} in the path of {file} is no {}", column.type_name));
        constants.insert(partition.field_id, value.ok_or_else(wrong)?);
    }
    Ok(constants)
}

/// The value of a part of a path.
fn value_in(path: &str, name: &str) -> Option<String> {
    let (folders, _) = path.rsplit_once('/')?;
    folders.split('/').rev().find_map(|folder| {
        let (key, value) = folder.split_once('=')?;
        (decoded(key)?.eq_ignore_ascii_case(name)).then(|| decoded(value))?
    })
}

/// Without `%` escapes.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match (first, after.get(..2).map(hex::decode)) {
            (b'%', Some(Ok(byte))) => {
                bytes.extend(byte);
                rest = &after[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_in_paths() {
        for (path, expected) in [
            ("s3://b/x/k=1/f.parquet", Some("1")),
            ("/x/K=a%2Fb%20c/l=2/f.parquet", Some("a/b c")),
            ("/k=1/k=2/f", Some("2")),
            ("/x/k=100%/f", Some("100%")),
            ("/x/kk=1/f", None),
            ("/x/k=1", None),
        ] {
            assert_eq!(value_in(path, "k").as_deref(), expected, "{path}");
        }
    }
}
