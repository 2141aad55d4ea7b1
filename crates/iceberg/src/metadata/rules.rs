//! The rules of encrypted tables that no commit may break, whoever asks for it.

use super::numbers;
use crate::encryption::EncryptionProperties;
use crate::spec::{FormatVersion, Snapshot, TableMetadata, TableUpdate};
use crate::{Error, ErrorKind, Result, opaque, properties};

/// How far the clocks of writers may differ.
const CLOCK_TOLERANCE_MS: i64 = 60_000;

/// Checks the metadata of a new table.
pub(super) fn check_new(metadata: &TableMetadata) -> Result<()> {
    EncryptionProperties::check_new_table(metadata.properties(), metadata.format_version())?;
    properties::check_new(metadata)?;
    for field in metadata.current_schema().as_struct().fields() {
        if field.name.is_empty() || METADATA_COLUMNS.contains(&field.name.as_str()) {
            return Err(invalid(format!("{:?} cannot be the name of a column: choose another", field.name)));
        }
    }
    Ok(())
}

/// Names of columns that every table has, which Java cannot read a second time:
/// <https://iceberg.apache.org/spec/#reserved-field-ids>.
const METADATA_COLUMNS: [&str; 7] =
    ["_deleted", "_file", "_last_updated_sequence_number", "_partition", "_pos", "_row_id", "_spec_id"];

/// Checks an update that the metadata builder would take as it comes.
pub(super) fn check_update(metadata: &TableMetadata, update: &TableUpdate) -> Result<()> {
    match update {
        TableUpdate::AssignUuid { uuid } if *uuid != metadata.uuid() => {
            Err(invalid(format!("the uuid of table {} cannot be changed", metadata.uuid())))
        }
        TableUpdate::AddSchema { schema } => opaque::refuse(schema),
        TableUpdate::AddSnapshot { snapshot } => numbers::check_snapshot(snapshot)
            .map_err(|problem| invalid(format!("snapshot {}: {problem}", snapshot.snapshot_id()))),
        _ => Ok(()),
    }
}

/// Checks what a commit makes of the metadata.
pub(super) fn check_change(before: &TableMetadata, after: &TableMetadata) -> Result<()> {
    check_clock(before, after)?;
    numbers::check(after).map_err(invalid)?;
    EncryptionProperties::check_change(before.properties(), after.properties())?;
    properties::check_change(before, after)?;
    if EncryptionProperties::from_table(after)?.is_none() {
        return Ok(());
    }
    if after.format_version() < FormatVersion::V3 {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the encrypted table at {} has a format version below 3: upgrade it first", after.location()),
        ));
    }
    check_keys(before, after)
}

/// Checks that time did not go back further than readers accept, which the metadata builder leaves to them: the table
/// could not be read any more.
fn check_clock(before: &TableMetadata, after: &TableMetadata) -> Result<()> {
    if after.last_updated_ms().saturating_sub(before.last_updated_ms()) < -CLOCK_TOLERANCE_MS {
        return Err(invalid(format!(
            "the change is dated {} ms, more than a minute before the last one at {} ms: set the clock right",
            after.last_updated_ms(),
            before.last_updated_ms()
        )));
    }
    Ok(())
}

/// Checks that each snapshot has the keys it needs. What was missing before stays as it is: it must not stand in the way
/// of the commit that repairs it.
fn check_keys(before: &TableMetadata, after: &TableMetadata) -> Result<()> {
    for snapshot in after.snapshots() {
        if let Some(missing) = missing_key(after, snapshot)
            && before.snapshot_by_id(snapshot.snapshot_id()).is_none_or(|s| missing_key(before, s).is_none())
        {
            return Err(invalid(format!("snapshot {}: {missing}", snapshot.snapshot_id())));
        }
    }
    Ok(())
}

fn missing_key(metadata: &TableMetadata, snapshot: &Snapshot) -> Option<String> {
    let Some(id) = snapshot.encryption_key_id() else {
        return Some("it has no key-id, and the table is encrypted".to_owned());
    };
    let Some(entry) = metadata.encryption_key(id) else {
        return Some(format!("there is no encryption key {id}"));
    };
    match entry.encrypted_by_id() {
        None => Some(format!("encryption key {id} does not say by which key it is encrypted")),
        Some(by) if metadata.encryption_key(by).is_none() => {
            Some(format!("encryption key {id} is encrypted by key {by}, which there is not"))
        }
        Some(_) => None,
    }
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
