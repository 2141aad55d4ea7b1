//! Names that can be parts of paths, and the places that follow from them.

use std::path;

use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};
use uuid::Uuid;

use crate::{Error, ErrorKind, Result};

/// Checks a namespace: a dot in a level could not be told from the dot between levels.
pub(crate) fn check_namespace(namespace: &NamespaceIdent) -> Result<()> {
    for level in namespace.as_ref() {
        check_part(level)?;
        if level.contains('.') {
            return Err(invalid(format!("namespace level {level:?} has a dot in it")));
        }
    }
    Ok(())
}

/// Checks a table's name and that of its namespace.
pub(crate) fn check_table(table: &TableIdent) -> Result<()> {
    check_namespace(table.namespace())?;
    check_part(table.name())
}

/// Names become folders: they must stay inside their parent, whatever store that is in.
fn check_part(name: &str) -> Result<()> {
    let bad = |c: char| c == '/' || c == '\\' || c.is_control();
    if name.is_empty() || name == "." || name == ".." || name.contains(bad) {
        return Err(invalid(format!(
            "{name:?} cannot be a name: it is empty, dots, or has a slash or a control in it"
        )));
    }
    Ok(())
}

/// The root below which tables are made: an URL, or an absolute path.
pub(crate) fn warehouse(location: &str) -> Result<String> {
    let trimmed = location.trim_end_matches('/');
    if trimmed.is_empty() {
        return Err(invalid(format!("warehouse {location:?} is not a folder")));
    }
    if has_scheme(trimmed) {
        return Ok(trimmed.to_owned());
    }
    // What is written into metadata must mean the same in every process.
    let absolute = path::absolute(trimmed)
        .map_err(|e| invalid(format!("warehouse {location} has no absolute path")).with_source(e))?;
    absolute
        .to_str()
        .map(str::to_owned)
        .ok_or_else(|| invalid(format!("the absolute path of warehouse {location} is not valid UTF-8")))
}

fn has_scheme(location: &str) -> bool {
    location.split_once(':').is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// Where a table goes that names no place of its own.
pub(crate) fn table_location(warehouse: &str, table: &TableIdent) -> String {
    format!("{warehouse}/{}/{}", table.namespace().as_ref().join("/"), table.name())
}

/// The location of the metadata file that follows `previous`, named as Java does.
pub(crate) fn next_metadata_location(folder: &str, previous: Option<&str>, extension: &str) -> String {
    let version = previous.and_then(metadata_version).map_or(0, |version| version.saturating_add(1));
    format!("{folder}/{version:05}-{}{extension}", Uuid::new_v4())
}

fn metadata_version(location: &str) -> Option<u32> {
    location.rsplit('/').next()?.split_once('-')?.0.parse().ok()
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_inside_their_parent() {
        let table = |parts: &[&str]| check_table(&TableIdent::from_strs(parts).unwrap());
        for good in [&["db", "t"][..], &["a", "b", "c d"], &["db", "t.2024"], &["db", "größe"]] {
            table(good).unwrap();
        }
        for bad in [
            &["..", "t"][..],
            &["db", ".."],
            &["db", ""],
            &["a/b", "t"],
            &["db", "t\\u"],
            &["a.b", "t"],
            &["db", "a\nb"],
        ] {
            assert_eq!(table(bad).unwrap_err().kind(), ErrorKind::InvalidInput, "{bad:?}");
        }
    }

    #[test]
    fn metadata_files_are_numbered_on_whatever_wrote_the_last() {
        for (previous, expected) in [
            (None, "f/00000-"),
            (Some("f/00000-x.metadata.json"), "f/00001-"),
            (Some("s3://b/t/metadata/00099-x.gz.metadata.json"), "f/00100-"),
            (Some("f/v7.metadata.json"), "f/00000-"),
            (Some("f/x-y.metadata.json"), "f/00000-"),
        ] {
            let location = next_metadata_location("f", previous, ".metadata.json");
            assert!(location.starts_with(expected) && location.ends_with(".metadata.json"), "{location}");
        }
    }

    #[test]
    fn a_warehouse_means_the_same_everywhere() {
        for (given, expected) in
            [("s3://b/w/", "s3://b/w"), ("/w", "/w"), ("file:///w", "file:///w"), ("memory://w", "memory://w")]
        {
            assert_eq!(warehouse(given).unwrap(), expected);
        }
        assert!(warehouse("w").unwrap().starts_with('/'));
        assert!(warehouse("/").is_err());
    }
}
