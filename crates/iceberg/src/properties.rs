//! Table properties: parsed where they are checked as they are where they are used.

use std::collections::HashMap;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use lakelock_storage::Storage;

use crate::commit::{ManifestProperties, RetryPolicy};
use crate::encryption::EncryptionProperties;
use crate::metadata::MetadataCompression;
use crate::spec::{Schema, TableMetadata};
use crate::{Error, ErrorKind, Result, write};

/// Java's `int`, not negative.
pub(crate) const INT_MAX: u64 = i32::MAX as u64;
/// Java's `long`, not negative.
pub(crate) const LONG_MAX: u64 = i64::MAX as u64;

/// Where files go, in place of the table's own folder.
const FOLDERS: [&str; 3] = ["write.data.path", "write.folder-storage.path", "write.metadata.path"];

type Properties = HashMap<String, String>;

/// Every group of properties that Lakelock reads: those that are parsed at once, when they are used.
const GROUPS: [fn(&Properties, &Schema) -> Result<()>; 6] = [
    |properties, _| EncryptionProperties::from_properties(properties).map(drop),
    |properties, _| FOLDERS.iter().try_for_each(|name| folder(properties, name)),
    |properties, _| {
        // The metadata builder reads this one, and takes the default for what it cannot read.
        number(properties, "write.metadata.previous-versions-max", 100, 1..=INT_MAX)?;
        MetadataCompression::from_properties(properties).map(drop)
    },
    |properties, _| ManifestProperties::from_properties(properties).map(drop),
    |properties, _| RetryPolicy::from_properties(properties).map(drop),
    write::check_properties,
];

/// Refuses properties of a new table that its first write would fail on.
pub(crate) fn check_new(metadata: &TableMetadata) -> Result<()> {
    GROUPS.iter().try_for_each(|check| check(metadata.properties(), metadata.current_schema()))
}

/// Refuses a change of properties after which writes would fail. What was wrong before, such as what another writer
/// allows, stays as it is: it must not stand in the way of other changes.
pub(crate) fn check_change(before: &TableMetadata, after: &TableMetadata) -> Result<()> {
    if before.properties() == after.properties() {
        return Ok(());
    }
    let schema = after.current_schema();
    GROUPS.iter().try_for_each(|check| match check(after.properties(), schema) {
        Err(error) if check(before.properties(), schema).is_ok() => Err(error),
        _ => Ok(()),
    })
}

/// A property that is a whole number in a range.
pub(crate) fn number<T>(properties: &Properties, name: &str, default: T, range: RangeInclusive<T>) -> Result<T>
where
    T: FromStr + PartialOrd + Display,
{
    let Some(text) = properties.get(name) else { return Ok(default) };
    text.parse()
        .ok()
        .filter(|number| range.contains(number))
        .ok_or_else(|| invalid(name, text, &format!("a whole number from {} to {}", range.start(), range.end())))
}

/// Refuses locations of stores that there are not.
fn folder(properties: &Properties, name: &str) -> Result<()> {
    let Some(location) = properties.get(name) else { return Ok(()) };
    match Storage::canonical(location) {
        Ok(_) => Ok(()),
        Err(error) => Err(invalid(name, location, "a location that can be written to").with_source(error)),
    }
}

/// The error for a value that a property cannot have.
pub(crate) fn invalid(name: &str, value: &str, expected: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("table property {name} is {value:?}, expected {expected}"))
}

/// The error for a value that a property can have, but not in Lakelock.
pub(crate) fn unsupported(name: &str, value: &str, why: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("table property {name} is {value:?}: {why}"))
}
