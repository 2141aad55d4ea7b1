//! metadata.json: read, changed and written without losing what this version does not know.
//!
//! A [`TableDocument`] holds the same metadata twice: parsed, and as the text of each top-level field. A change is made
//! to the parsed side, and the text of what it changed is then replaced, element by element: an append to a table of
//! thousands of snapshots writes one snapshot, and fields that this version does not know stay as they were.

mod check;
mod compression;
mod item;
mod java;
mod numbers;
mod raw;
mod refs;
mod rules;
mod splice;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Deserializer;
use sha2::{Digest, Sha256};

pub use compression::MetadataCompression;

use self::raw::RawDocument;
use self::refs::References;
use crate::spec::{FormatVersion, SnapshotReference, TableCreation, TableMetadata, TableMetadataBuilder, TableUpdate};
use crate::{Error, ErrorKind, Result, opaque};

/// A table's metadata: parsed, and with everything its JSON held. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct TableDocument {
    metadata: Arc<TableMetadata>,
    references: Arc<References>,
    raw: RawDocument,
    /// The metadata of an encrypted table of version 2, read as if it were of version 3: the parser finds keys there only.
    as_version_3: Option<Arc<TableMetadata>>,
}

impl TableDocument {
    /// Parses a metadata file, compressed or not; `location` is where it was read from, named in errors.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] when it is not valid table metadata, and [`ErrorKind::Unsupported`] naming the
    /// column or the format version that this version does not know.
    pub fn read(bytes: &[u8], location: &str) -> Result<Self> {
        let json = compression::decompress(bytes, location)?;
        Self::parse(&json, location)
    }

    /// The metadata of a new table, with fresh field ids.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when schema, partitioning or sort order contradict each other, when there is no
    /// location, or when a property breaks a rule (see [`apply`](Self::apply)) or has a value that writes would fail on.
    pub fn create(creation: TableCreation) -> Result<Self> {
        let name = creation.name.clone();
        let invalid = |kind| Error::new(kind, format!("cannot create table {name}"));
        let metadata = TableMetadataBuilder::from_table_creation(creation)
            .and_then(TableMetadataBuilder::build)
            .map_err(|e| invalid(ErrorKind::InvalidInput).with_source(e))?
            .metadata;
        rules::check_new(&metadata).map_err(|e| invalid(e.kind()).with_source(e))?;
        let raw = splice::write(&metadata)?;
        Ok(Self { metadata: Arc::new(metadata), references: Arc::default(), raw, as_version_3: None })
    }

    /// Applies a commit's updates, in order, to the metadata that was read from `location`, which enters the metadata
    /// log. Updates that change nothing give a document with the same [`metadata`](Self::metadata) pointer.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when an update does not fit the metadata, and when the outcome would break a rule
    /// of encrypted tables:
    /// - `encryption.key-id` cannot be added, changed or removed, and needs format version 3;
    /// - a property is changed to a value that writes would fail on;
    /// - a new snapshot has a key id, and no key that a snapshot needs is missing.
    ///
    /// [`ErrorKind::Unsupported`] for tables of format version 1.
    pub fn apply(&self, updates: &[TableUpdate], location: &str) -> Result<Self> {
        let before = &*self.metadata;
        let rejected = |kind| Error::new(kind, format!("the change cannot be applied to {location}"));
        if before.format_version() < FormatVersion::V2 {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("{location} has format version 1: only tables of version 2 and 3 can be changed"),
            ));
        }
        let mut builder = before.clone().into_builder(Some(location.to_owned()));
        for update in updates {
            rules::check_update(before, update).map_err(|e| rejected(e.kind()).with_source(e))?;
            builder = update.clone().apply(builder).map_err(|e| rejected(ErrorKind::InvalidInput).with_source(e))?;
            if let TableUpdate::RemoveSnapshots { snapshot_ids } = update {
                // Statistics of a snapshot that is gone are of no use, and Java drops them as well.
                builder = snapshot_ids
                    .iter()
                    .fold(builder, |b, id| b.remove_statistics(*id).remove_partition_statistics(*id));
            }
        }
        let built = builder.build().map_err(|e| rejected(ErrorKind::InvalidInput).with_source(e))?;
        if built.changes.is_empty() {
            return Ok(self.clone());
        }
        let after = built.metadata;
        rules::check_change(before, &after).map_err(|e| rejected(e.kind()).with_source(e))?;
        let references = refs::apply(&self.references, &built.changes);
        if !refs::agree(&references, &after) {
            let message = format!("the references of {location} went astray in a change");
            return Err(Error::new(ErrorKind::Internal, message));
        }
        let raw = splice::update(&self.raw, (before, &self.references), (&after, &references))
            .map_err(|e| e.in_document(location))?;
        let document = Self { metadata: Arc::new(after), references: Arc::new(references), raw, as_version_3: None };
        if before.format_version() != document.metadata.format_version() {
            // A rare change that can make old parts of the text mean something else: take nothing for granted.
            document.verify(location)?;
        }
        Ok(document)
    }

    /// The parsed metadata.
    #[must_use]
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        &self.metadata
    }

    /// The metadata with the keys of an encrypted table of version 2: read as if it were of version 3, so for its keys alone.
    pub(crate) fn as_version_3(&self) -> Option<&Arc<TableMetadata>> {
        self.as_version_3.as_ref()
    }

    /// Branches and tags, by name.
    #[must_use]
    pub fn references(&self) -> &BTreeMap<String, SnapshotReference> {
        &self.references
    }

    /// The JSON text, with the fields that this version does not know.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        self.raw.to_json()
    }

    /// The SHA-256 of the text that Java prints for this metadata, as a Hive metastore keeps it for encrypted tables: it is
    /// the same for every file that Java's parser takes for the same metadata.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for metadata that Java would not print.
    pub fn java_sha256(&self) -> Result<[u8; 32]> {
        let mut hasher = Sha256::new();
        java::print(&self.to_json(), &mut hasher).map_err(|e| self.not_for_java(e))?;
        Ok(hasher.finalize().into())
    }

    /// The current schema as Java prints it.
    ///
    /// # Errors
    /// As [`java_sha256`](Self::java_sha256).
    pub fn java_schema(&self) -> Result<String> {
        // From the text, which has the types that the parser does not know.
        let id = self.metadata.current_schema_id();
        let text = self.raw.get("schemas").map(serde_json::from_str::<Vec<serde_json::Value>>).transpose();
        let schemas = text.map_err(|e| self.not_for_java(e))?.unwrap_or_default();
        let current = schemas.iter().find(|schema| schema.get("schema-id").is_some_and(|found| *found == id));
        match current {
            Some(schema) if opaque::refuse(self.metadata.current_schema()).is_err() => java::schema(schema),
            _ => java::schema(self.metadata.current_schema()),
        }
        .map_err(|e| self.not_for_java(e))
    }

    /// The default partition spec as Java prints it.
    ///
    /// # Errors
    /// As [`java_sha256`](Self::java_sha256).
    pub fn java_partition_spec(&self) -> Result<String> {
        java::partition_spec(self.metadata.default_partition_spec()).map_err(|e| self.not_for_java(e))
    }

    /// The default sort order as Java prints it.
    ///
    /// # Errors
    /// As [`java_sha256`](Self::java_sha256).
    pub fn java_sort_order(&self) -> Result<String> {
        java::sort_order(self.metadata.default_sort_order()).map_err(|e| self.not_for_java(e))
    }

    /// The summary of the current snapshot as Java prints it, without the operation.
    ///
    /// # Errors
    /// As [`java_sha256`](Self::java_sha256).
    pub fn java_summary(&self) -> Result<Option<String>> {
        let Some(snapshot) = self.metadata.current_snapshot() else { return Ok(None) };
        let sorted: BTreeMap<_, _> = snapshot.summary().additional_properties.clone().into_iter().collect();
        java::object(sorted).map(Some).map_err(|e| self.not_for_java(e))
    }

    /// The length of [`to_json`](Self::to_json), or nearly so, without making it.
    #[must_use]
    pub fn json_length(&self) -> usize {
        self.raw.json_length()
    }

    /// How the table wants its metadata files compressed: `write.metadata.compression-codec`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] when the property names no codec that metadata files can have.
    pub fn compression(&self) -> Result<MetadataCompression> {
        MetadataCompression::from_properties(self.metadata.properties())
    }

    /// The bytes of a metadata file.
    ///
    /// # Errors
    /// As [`compression`](Self::compression).
    pub fn to_file(&self) -> Result<Vec<u8>> {
        self.compression()?.compress(self.to_json())
    }

    fn not_for_java(&self, error: serde_json::Error) -> Error {
        let message =
            format!("the metadata of the table at {} cannot be written as Java writes it", self.metadata.location());
        Error::new(ErrorKind::Unsupported, message).with_source(error)
    }

    fn parse(json: &[u8], location: &str) -> Result<Self> {
        let invalid = |e: serde_json::Error| {
            Error::new(ErrorKind::InvalidData, format!("{location} is not valid table metadata")).with_source(e)
        };
        let raw = RawDocument::parse(json).map_err(invalid)?;
        check::format_version(&raw, location)?;
        numbers::check_raw(&raw, location)?;
        check::decimal_defaults(&raw, location)?;
        let (metadata, opaque) = match parse_metadata(json) {
            Ok(metadata) => (metadata, false),
            // The parser says no more than that nothing matched: see whether it is a type that it does not know.
            Err(e) => {
                let Some(raw) = check::without_opaque_types(&raw, location)? else {
                    check::known_types(&raw, location)?;
                    return Err(invalid(e));
                };
                (parse_metadata(&raw.to_json()).map_err(invalid)?, true)
            }
        };
        check::parsed(&raw, &metadata, opaque, location)?;
        let references = refs::read(&raw, &metadata).map_err(invalid)?;
        let as_version_3 = check::as_version_3(&raw, &metadata, location)?;
        Ok(Self { metadata: Arc::new(metadata), references: Arc::new(references), raw, as_version_3 })
    }

    fn verify(&self, location: &str) -> Result<()> {
        let again = parse_metadata(&self.to_json()).ok();
        if again.as_ref() == Some(&*self.metadata) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("the change to {location} cannot be written without losing parts of it"),
        ))
    }
}

fn parse_metadata(json: &[u8]) -> Result<TableMetadata, serde_json::Error> {
    parse_complete(json).or_else(|error| match check::with_sequence_numbers(json) {
        Some(complete) => parse_complete(&complete),
        None => Err(error),
    })
}

fn parse_complete(json: &[u8]) -> Result<TableMetadata, serde_json::Error> {
    let mut deserializer = Deserializer::from_slice(json);
    let metadata = serde::Deserialize::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(metadata)
}
