//! The properties that make a table an encrypted one, and their rules.

use std::collections::HashMap;

use lakelock_crypto::KeyLength;

use crate::spec::{FormatVersion, TableMetadata};
use crate::{Error, ErrorKind, Result, properties};

/// Table property: the id of the table's master key in the KMS. A table is encrypted if and only if it is set.
pub const KEY_ID: &str = "encryption.key-id";
/// Table property: the length of new KEKs and DEKs in bytes: 16 (the default), 24 or 32.
pub const DATA_KEY_LENGTH: &str = "encryption.data-key-length";

/// What a table's properties say of its encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionProperties {
    key_id: String,
    data_key_length: KeyLength,
}

impl EncryptionProperties {
    /// Properties from parts, such as those that a catalog has pinned.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an empty key id.
    pub fn new(key_id: impl Into<String>, data_key_length: KeyLength) -> Result<Self> {
        let key_id = key_id.into();
        if key_id.is_empty() {
            return Err(invalid(format!("{KEY_ID} is empty: expected the id of a master key")));
        }
        Ok(Self { key_id, data_key_length })
    }

    /// What the properties of a loaded table say; `None` if it is not encrypted.
    ///
    /// # Errors
    /// As [`from_properties`](Self::from_properties).
    pub fn from_table(metadata: &TableMetadata) -> Result<Option<Self>> {
        Self::from_properties(metadata.properties())
    }

    /// What table properties say; `None` without a key id.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an empty key id or a length that keys do not have.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Option<Self>> {
        let data_key_length = properties.get(DATA_KEY_LENGTH).map_or(Ok(KeyLength::Aes128), |text| key_length(text))?;
        properties.get(KEY_ID).map(|key_id| Self::new(key_id, data_key_length)).transpose()
    }

    /// Checks the properties of a table about to be created and returns what they say.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for either encryption property below format version 3; otherwise as
    /// [`from_properties`](Self::from_properties).
    pub fn check_new_table(properties: &HashMap<String, String>, version: FormatVersion) -> Result<Option<Self>> {
        let given = [KEY_ID, DATA_KEY_LENGTH].into_iter().find(|name| properties.contains_key(*name));
        if let Some(name) = given
            && version < FormatVersion::V3
        {
            return Err(invalid(format!("{name} needs format version 3, and the table is to have {version}")));
        }
        Self::from_properties(properties)
    }

    /// Checks a change of table properties: an encrypted table keeps its key id, and a plaintext table, whose files
    /// stay as they are, gets none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] if the key id would be changed, removed or added, or another value is not valid.
    pub fn check_change(old: &HashMap<String, String>, new: &HashMap<String, String>) -> Result<()> {
        Self::from_properties(new)?;
        match (old.get(KEY_ID), new.get(KEY_ID)) {
            (old, new) if old == new => Ok(()),
            (Some(old), Some(new)) => Err(invalid(format!("{KEY_ID} cannot be changed (from {old:?} to {new:?})"))),
            (Some(old), None) => Err(invalid(format!("{KEY_ID} ({old:?}) cannot be removed"))),
            (None, _) => {
                Err(invalid(format!("{KEY_ID} cannot be added to a table that has none: its files are plaintext")))
            }
        }
    }

    /// The id of the table's master key.
    #[must_use]
    pub fn key_id(&self) -> &str {
        &self.key_id
    }

    /// The length of new KEKs and DEKs; existing ones keep theirs.
    #[must_use]
    pub fn data_key_length(&self) -> KeyLength {
        self.data_key_length
    }
}

fn key_length(text: &str) -> Result<KeyLength> {
    let length = text.parse::<usize>().ok().and_then(|bytes| KeyLength::try_from(bytes).ok());
    length.ok_or_else(|| properties::invalid(DATA_KEY_LENGTH, text, "16, 24 or 32"))
}

fn invalid(message: String) -> Error {
    Error::new(ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_key_id_makes_a_table_encrypted() {
        let of = |pairs| EncryptionProperties::from_properties(&properties(pairs)).unwrap();
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(DATA_KEY_LENGTH, "32")]), None);
        for (pairs, length) in [
            (&[(KEY_ID, "keyA")][..], KeyLength::Aes128),
            (&[(KEY_ID, "keyA"), (DATA_KEY_LENGTH, "24")], KeyLength::Aes192),
            (&[(KEY_ID, "keyA"), (DATA_KEY_LENGTH, "32")], KeyLength::Aes256),
        ] {
            assert_eq!(of(pairs), Some(EncryptionProperties::new("keyA", length).unwrap()));
        }
    }

    #[test]
    fn bad_values_are_refused() {
        for pairs in [
            &[(KEY_ID, "")][..],
            &[(KEY_ID, "keyA"), (DATA_KEY_LENGTH, "")],
            &[(KEY_ID, "keyA"), (DATA_KEY_LENGTH, "17")],
            &[(DATA_KEY_LENGTH, "-16")],
        ] {
            let error = EncryptionProperties::from_properties(&properties(pairs)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{pairs:?}");
        }
    }

    #[test]
    fn a_new_encrypted_table_has_format_version_3() {
        let encrypted = properties(&[(KEY_ID, "keyA")]);
        let check = EncryptionProperties::check_new_table;
        assert!(check(&encrypted, FormatVersion::V3).unwrap().is_some());
        assert!(check(&properties(&[]), FormatVersion::V2).unwrap().is_none());
        for refused in [encrypted, properties(&[(DATA_KEY_LENGTH, "16")])] {
            assert_eq!(check(&refused, FormatVersion::V2).unwrap_err().kind(), ErrorKind::InvalidInput);
            assert_eq!(check(&refused, FormatVersion::V1).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_key_id_stays_what_it_is() {
        let (none, key_a, key_b) = (properties(&[]), properties(&[(KEY_ID, "keyA")]), properties(&[(KEY_ID, "keyB")]));
        let longer = properties(&[(KEY_ID, "keyA"), (DATA_KEY_LENGTH, "32")]);
        let bad = properties(&[(KEY_ID, "keyA"), (DATA_KEY_LENGTH, "33")]);
        let check = EncryptionProperties::check_change;
        for (old, new) in [(&none, &none), (&key_a, &key_a), (&key_a, &longer), (&longer, &key_a)] {
            check(old, new).unwrap();
        }
        for (old, new) in [(&key_a, &none), (&key_a, &key_b), (&none, &key_a), (&key_a, &bad)] {
            assert_eq!(check(old, new).unwrap_err().kind(), ErrorKind::InvalidInput);
        }
    }
}
