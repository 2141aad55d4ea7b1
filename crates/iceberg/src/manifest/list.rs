//! Manifest lists.

use serde_avro_fast::ser::SerializerConfig;

use super::avro_schema::{self, FixedForm};
use super::container::{Container, ContainerWriter, damaged};
use super::record::{ManifestFileRecord, RawManifestFile};
use super::{Codec, ManifestContent, ManifestFile};
use crate::encryption::EncryptingFileIO;
use crate::spec::{FormatVersion, Snapshot, TableMetadata};
use crate::{Error, ErrorKind, Result};

/// Opens and decodes a snapshot's manifest list.
///
/// # Errors
/// [`ErrorKind::InvalidData`] naming the list when it is damaged or forged; errors of its keys and of opening it.
pub async fn read_manifest_list(
    io: &EncryptingFileIO,
    metadata: &TableMetadata,
    snapshot: &Snapshot,
) -> Result<Vec<ManifestFile>> {
    let key = io.manager().manifest_list_key(metadata, snapshot).await?;
    let location = snapshot.manifest_list();
    let bytes = io.read(location, key.as_ref()).await?;
    decode_manifest_list(&bytes, location)
}

/// Decodes a manifest list; `location` is named in errors.
///
/// # Errors
/// [`ErrorKind::InvalidData`] for bytes that are no manifest list.
pub fn decode_manifest_list(bytes: &[u8], location: &str) -> Result<Vec<ManifestFile>> {
    let container = Container::open(bytes, location)?;
    let invalid = |what: String| damaged(location, &format!("its Avro schema is invalid: {what}"));
    let schema = avro_schema::parse(container.required_text("avro.schema")?).map_err(invalid)?;
    let schema = avro_schema::record_schema(&schema, FixedForm::Fixed).map_err(invalid)?;
    let raw: Vec<RawManifestFile> = container.records(&schema)?;
    let manifests = raw.into_iter().enumerate().map(|(i, manifest)| {
        manifest.into_manifest_file().map_err(|what| damaged(location, &format!("its entry {i} has {what}")))
    });
    manifests.collect()
}

/// What the header of a manifest list says of its snapshot.
#[derive(Debug, Clone, Copy)]
pub struct ManifestListHeader {
    /// Version 2 or 3.
    pub format_version: FormatVersion,
    /// The snapshot.
    pub snapshot_id: i64,
    /// Its parent.
    pub parent_snapshot_id: Option<i64>,
    /// Its sequence number.
    pub sequence_number: i64,
    /// Its first row id, from version 3 on.
    pub first_row_id: Option<u64>,
}

/// Encodes a manifest list, compressed with deflate as always in Java.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for version 1; [`ErrorKind::InvalidInput`] for a number that Avro cannot hold.
pub fn encode_manifest_list(header: ManifestListHeader, manifests: &[ManifestFile]) -> Result<Vec<u8>> {
    let version = header.format_version;
    if version < FormatVersion::V2 {
        let message = "manifest lists of format version 1 are only read: upgrade the table to version 2 or 3";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let text = |id: Option<i64>| id.map_or_else(|| "null".to_owned(), |id| id.to_string());
    let mut metadata = vec![
        ("format-version", (version as u8).to_string()),
        ("snapshot-id", header.snapshot_id.to_string()),
        ("parent-snapshot-id", text(header.parent_snapshot_id)),
        ("sequence-number", header.sequence_number.to_string()),
    ];
    if version >= FormatVersion::V3 {
        metadata.push(("first-row-id", header.first_row_id.unwrap_or(0).to_string()));
    }
    let json = avro_schema::list_schema(version);
    let schema = avro_schema::record_schema(&json, FixedForm::Fixed)
        .map_err(|what| Error::new(ErrorKind::Internal, format!("the Avro schema of lists is invalid: {what}")))?;
    let mut config = SerializerConfig::new(&schema);
    let mut file = ContainerWriter::new(&json.to_string(), Codec::DEFAULT, &metadata);
    for manifest in manifests {
        file.write(&ManifestFileRecord(version, manifest), &mut config)?;
    }
    file.finish()
}

/// Gives every data manifest without a first row id the next one, and returns the next id after all of them.
///
/// The ids advance by a manifest's existing and added rows: files that came from before version 3 get theirs here.
///
/// # Errors
/// [`ErrorKind::InvalidData`] when row ids overflow.
pub fn assign_first_row_ids(manifests: &mut [ManifestFile], next_row_id: u64) -> Result<u64> {
    let mut next = next_row_id;
    for manifest in manifests {
        if manifest.content != ManifestContent::Data || manifest.first_row_id.is_some() {
            continue;
        }
        let rows = (manifest.existing_rows_count.unwrap_or(0)).checked_add(manifest.added_rows_count.unwrap_or(0));
        let after = rows.and_then(|rows| next.checked_add(rows)).filter(|end| i64::try_from(*end).is_ok());
        let overflow = || damaged(&manifest.manifest_path, "its row ids overflow");
        manifest.first_row_id = Some(i64::try_from(next).map_err(|_| overflow())?);
        next = after.ok_or_else(overflow)?;
    }
    Ok(next)
}
