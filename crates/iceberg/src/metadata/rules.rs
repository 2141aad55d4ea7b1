//! The rules of encrypted tables that no commit may break, whoever asks for it.

use crate::spec::{FormatVersion, Snapshot, TableMetadata, TableUpdate};
use crate::{Error, ErrorKind, Result};

const KEY_ID: &str = "encryption.key-id";
const DATA_KEY_LENGTH: &str = "encryption.data-key-length";

/// Checks the metadata of a new table.
pub(super) fn check_new(metadata: &TableMetadata) -> Result<()> {
    check_data_key_length(metadata)?;
    match key_id(metadata) {
        Some("") => Err(invalid(format!("{KEY_ID} is empty"))),
        Some(_) if metadata.format_version() < FormatVersion::V3 => Err(invalid(format!(
            "{KEY_ID} needs format version 3, and the table has {}",
            metadata.format_version() as u8
        ))),
        _ => Ok(()),
    }
}

/// Checks an update that the metadata builder would take as it comes.
pub(super) fn check_update(metadata: &TableMetadata, update: &TableUpdate) -> Result<()> {
    match update {
        TableUpdate::AssignUuid { uuid } if *uuid != metadata.uuid() => {
            Err(invalid(format!("the uuid of table {} cannot be changed", metadata.uuid())))
        }
        _ => Ok(()),
    }
}

/// Checks what a commit makes of the metadata.
pub(super) fn check_change(before: &TableMetadata, after: &TableMetadata) -> Result<()> {
    let location = after.location();
    match (key_id(before), key_id(after)) {
        (None, None) => {}
        (None, Some(_)) => {
            return Err(invalid(format!(
                "{KEY_ID} cannot be set on the existing table at {location}: its files would stay in plaintext"
            )));
        }
        (Some(old), new) if new != Some(old) => {
            return Err(invalid(format!("{KEY_ID} of the table at {location} cannot be changed or removed")));
        }
        (Some(_), _) if after.format_version() < FormatVersion::V3 => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("the encrypted table at {location} has a format version below 3: upgrade it first"),
            ));
        }
        (Some(_), _) => check_keys(before, after)?,
    }
    if before.properties().get(DATA_KEY_LENGTH) != after.properties().get(DATA_KEY_LENGTH) {
        check_data_key_length(after)?;
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

fn check_data_key_length(metadata: &TableMetadata) -> Result<()> {
    match metadata.properties().get(DATA_KEY_LENGTH).map(String::as_str) {
        None | Some("16" | "24" | "32") => Ok(()),
        Some(other) => Err(invalid(format!("{DATA_KEY_LENGTH} is {other}: expected 16, 24 or 32"))),
    }
}

fn key_id(metadata: &TableMetadata) -> Option<&str> {
    metadata.properties().get(KEY_ID).map(String::as_str)
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}
