//! Reading manifests.

use std::sync::Arc;

use serde_json::{Value, json};

use super::avro_schema::{self, FixedForm};
use super::container::{Container, damaged};
use super::record::{PartitionLayout, RawEntry};
use super::{DataFile, FileContent, ManifestContent, ManifestEntry, ManifestFile, ManifestStatus};
use crate::encryption::EncryptingFileIO;
use crate::spec::{FormatVersion, PartitionSpec, PrimitiveType, Schema, SchemaRef, StructType, TableMetadata, Type};
use crate::{Error, ErrorKind, Result, opaque};

/// A manifest: what its header says, and its entries.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The format version it was written for.
    pub format_version: FormatVersion,
    /// Data or delete files.
    pub content: ManifestContent,
    /// The table's schema when it was written.
    pub schema: SchemaRef,
    /// The partition spec of its files.
    pub partition_spec: PartitionSpec,
    /// The types of the partition values in its entries.
    pub partition_type: StructType,
    /// The entries, in the order of the file.
    pub entries: Vec<ManifestEntry>,
}

impl Manifest {
    /// Opens, decodes and completes a manifest of a table's manifest list: entries have their inherited snapshot id,
    /// sequence numbers and first row ids, and partition values the types of the table's current schema.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] naming the manifest when it is damaged, forged, or not what the list says; errors of
    /// opening it.
    pub async fn read(io: &EncryptingFileIO, metadata: &TableMetadata, file: &ManifestFile) -> Result<Self> {
        let bytes = io.read_manifest(&file.manifest_path, file.key_metadata.as_ref()).await?;
        Self::of_table(&bytes, metadata, file)
    }

    /// The manifest of a table's manifest list that has these bytes.
    pub(super) fn of_table(bytes: &[u8], metadata: &TableMetadata, file: &ManifestFile) -> Result<Self> {
        let location = file.manifest_path.as_str();
        let mut manifest = Self::decode_as(bytes, location, current_partition_type(metadata, file))?;
        check_listed(manifest.partition_spec.spec_id(), manifest.content, file)?;
        manifest.inherit(file)?;
        if metadata.format_version() >= FormatVersion::V3 {
            manifest.check_row_ids(metadata, location)?;
        }
        Ok(manifest)
    }

    /// Decodes a manifest; `location` is named in errors. Nothing is inherited yet: see [`inherit`](Self::inherit).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] for bytes that are no manifest.
    pub fn decode(bytes: &[u8], location: &str) -> Result<Self> {
        Self::decode_as(bytes, location, None)
    }

    fn decode_as(bytes: &[u8], location: &str, partition_type: Option<StructType>) -> Result<Self> {
        let container = Container::open(bytes, location)?;
        let header = Header::read(&container, location)?;
        let partition_type = partition_type.map_or_else(|| header.partition_type(location), Ok)?;
        let entries = entries(&container, location, &header, &partition_type)?;
        Ok(Self {
            format_version: header.format_version,
            content: header.content,
            schema: header.schema,
            partition_spec: header.partition_spec,
            partition_type,
            entries,
        })
    }

    /// Fills in what entries inherit from the manifest list's entry for this manifest.
    ///
    /// - Snapshot id, where null.
    /// - Both sequence numbers, where null in an added entry; all, in manifests of version 1 tables (number 0).
    /// - First row ids: a live data file without one takes the running id of the manifest, which starts at the
    ///   manifest's and is advanced by the file's rows; if the manifest has none, its files have none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] when row ids overflow.
    pub fn inherit(&mut self, file: &ManifestFile) -> Result<()> {
        let mut inheritance = Inheritance::new(self.content, file);
        for ManifestEntry { status, snapshot_id, sequence_number, file_sequence_number, data_file } in &mut self.entries
        {
            let first_row_id = &mut data_file.first_row_id;
            let numbers = Inherited { snapshot_id, sequence_number, file_sequence_number, first_row_id };
            inheritance.complete(*status, data_file.record_count, numbers)?;
        }
        Ok(())
    }

    /// Refuses row ids that the table has not given out: <https://iceberg.apache.org/spec/#row-lineage>.
    fn check_row_ids(&self, metadata: &TableMetadata, location: &str) -> Result<()> {
        let next = metadata.next_row_id();
        for DataFile { file_path, record_count, first_row_id, .. } in self.entries.iter().map(|e| &e.data_file) {
            if let Some(first) = first_row_id
                && !are_given_out(*first, *record_count, next)
            {
                let rows = format!("{record_count} rows from first_row_id {first} on");
                return Err(damaged(
                    location,
                    &format!("{file_path} has {rows}, and the table's next-row-id is {next}"),
                ));
            }
        }
        Ok(())
    }
}

/// What an entry may inherit.
pub(super) struct Inherited<'a> {
    pub(super) snapshot_id: &'a mut Option<i64>,
    pub(super) sequence_number: &'a mut Option<i64>,
    pub(super) file_sequence_number: &'a mut Option<i64>,
    pub(super) first_row_id: &'a mut Option<i64>,
}

/// What the entries of a manifest inherit, one after the other.
pub(super) struct Inheritance<'a> {
    file: &'a ManifestFile,
    next_row_id: Option<i64>,
}

impl<'a> Inheritance<'a> {
    pub(super) fn new(content: ManifestContent, file: &'a ManifestFile) -> Self {
        Self { file, next_row_id: file.first_row_id.filter(|_| content == ManifestContent::Data) }
    }

    /// Fills in what the next entry leaves out.
    pub(super) fn complete(&mut self, status: ManifestStatus, record_count: u64, entry: Inherited<'_>) -> Result<()> {
        let Inherited { snapshot_id, sequence_number, file_sequence_number, first_row_id } = entry;
        let file = self.file;
        snapshot_id.get_or_insert(file.added_snapshot_id);
        if status == ManifestStatus::Added || file.sequence_number == 0 {
            sequence_number.get_or_insert(file.sequence_number);
            file_sequence_number.get_or_insert(file.sequence_number);
        }
        match &mut self.next_row_id {
            None => *first_row_id = None,
            Some(_) if status == ManifestStatus::Deleted || first_row_id.is_some() => {}
            Some(next) => {
                *first_row_id = Some(*next);
                *next = i64::try_from(record_count)
                    .ok()
                    .and_then(|rows| next.checked_add(rows))
                    .ok_or_else(|| damaged(&file.manifest_path, "its row ids overflow"))?;
            }
        }
        Ok(())
    }
}

/// Whether the ids of a file's rows come before those that the table gives out next.
pub(super) fn are_given_out(first_row_id: i64, record_count: u64, next_row_id: u64) -> bool {
    record_count.checked_add(first_row_id.unsigned_abs()).is_some_and(|end| end <= next_row_id)
}

/// The types of a manifest's partition values by the table's current schema; a column dropped since leaves those of the
/// time of writing.
pub(super) fn current_partition_type(metadata: &TableMetadata, file: &ManifestFile) -> Option<StructType> {
    metadata
        .partition_spec_by_id(file.partition_spec_id)
        .and_then(|spec| spec.partition_type(metadata.current_schema()).ok())
}

/// Refuses a manifest that is not what its list says.
pub(super) fn check_listed(spec_id: i32, content: ManifestContent, file: &ManifestFile) -> Result<()> {
    if spec_id == file.partition_spec_id && content == file.content {
        return Ok(());
    }
    let what = format!(
        "it holds {content:?} of partition spec {spec_id}, its list says {:?} of {}",
        file.content, file.partition_spec_id
    );
    Err(damaged(&file.manifest_path, &what))
}

/// What a manifest says of itself.
pub(super) struct Header {
    pub(super) format_version: FormatVersion,
    pub(super) content: ManifestContent,
    pub(super) schema: SchemaRef,
    pub(super) partition_spec: PartitionSpec,
}

impl Header {
    pub(super) fn read(container: &Container<'_>, location: &str) -> Result<Self> {
        let unknown = |key: &str, value: &str| {
            let message = format!("cannot read {location}: {key} {value:?} in its header is not supported");
            Error::new(ErrorKind::Unsupported, message)
        };
        let format_version = match container.text("format-version")? {
            None | Some("1") => FormatVersion::V1,
            Some("2") => FormatVersion::V2,
            Some("3") => FormatVersion::V3,
            Some(other) => return Err(unknown("format-version", other)),
        };
        let content = match container.text("content")? {
            None | Some("data") => ManifestContent::Data,
            Some("deletes") => ManifestContent::Deletes,
            Some(other) => return Err(unknown("content", other)),
        };
        let malformed =
            |e: serde_json::Error| damaged(location, "the schema in its header is malformed").with_source(e);
        let text = container.required_text("schema")?;
        let schema: Schema = match serde_json::from_str(text) {
            Ok(schema) => schema,
            Err(e) => {
                let mut json: Value = serde_json::from_str(text).map_err(malformed)?;
                match opaque::hide(&mut json) {
                    Ok(true) => serde_json::from_value(json).map_err(malformed)?,
                    _ => return Err(malformed(e)),
                }
            }
        };
        let malformed =
            |e: serde_json::Error| damaged(location, "the partition spec in its header is malformed").with_source(e);
        let spec_id = container.text("partition-spec-id")?.unwrap_or("0");
        let spec_id: i32 = spec_id
            .parse()
            .map_err(|e| damaged(location, &format!("partition-spec-id {spec_id:?} in its header")).with_source(e))?;
        let mut fields: Vec<Value> =
            serde_json::from_str(container.required_text("partition-spec")?).map_err(malformed)?;
        for (i, field) in fields.iter_mut().enumerate() {
            // Version 1 numbered partition fields by position.
            if let Some(field) = field.as_object_mut() {
                field.entry("field-id").or_insert_with(|| json!(1000 + i));
            }
        }
        let partition_spec =
            serde_json::from_value(json!({"spec-id": spec_id, "fields": fields})).map_err(malformed)?;
        Ok(Self { format_version, content, schema: Arc::new(schema), partition_spec })
    }

    /// The types of the partition values as they were when the manifest was written.
    pub(super) fn partition_type(&self, location: &str) -> Result<StructType> {
        self.partition_spec
            .partition_type(&self.schema)
            .map_err(|e| damaged(location, "its partition spec does not fit its schema").with_source(e))
    }
}

fn entries(
    container: &Container<'_>,
    location: &str,
    header: &Header,
    partition_type: &StructType,
) -> Result<Vec<ManifestEntry>> {
    let (spec_id, content) = (header.partition_spec.spec_id(), header.content);
    let invalid = |what: String| damaged(location, &format!("its Avro schema is invalid: {what}"));
    let schema = avro_schema::parse(container.required_text("avro.schema")?).map_err(invalid)?;
    let (ids, has_fixed) = avro_schema::partition_fields(&schema)
        .ok_or_else(|| invalid("it has no data_file.partition record".to_owned()))?;
    let layout = layout(location, spec_id, partition_type, &ids)?;
    let decode = |form| {
        let schema = avro_schema::record_schema(&schema, form).map_err(invalid)?;
        let raw: Vec<RawEntry> = container.records(&schema)?;
        let entries = raw.into_iter().enumerate().map(|(i, entry)| {
            let entry =
                entry.into_entry(&layout).map_err(|what| damaged(location, &format!("its entry {i} has {what}")))?;
            if (entry.data_file.content == FileContent::Data) != (content == ManifestContent::Data) {
                let what = format!("its entry {i} has {:?} in a manifest of {content:?}", entry.data_file.content);
                return Err(damaged(location, &what));
            }
            Ok(entry)
        });
        entries.collect::<Result<Vec<_>>>()
    };
    if has_fixed {
        // Java puts the length before a fixed partition value, against the schema it writes; other writers do not.
        // Only one of the two readings gives the right lengths all the way to the end of each block.
        return decode(FixedForm::Bytes).or_else(|_| decode(FixedForm::Fixed));
    }
    decode(FixedForm::Fixed)
}

pub(super) fn layout<'a>(
    location: &str,
    spec_id: i32,
    partition_type: &'a StructType,
    ids: &[Option<i32>],
) -> Result<PartitionLayout<'a>> {
    let by_position = ids.iter().all(Option::is_none);
    let fields = partition_type.fields().iter().enumerate().map(|(i, field)| {
        let Type::Primitive(primitive) = &*field.field_type else {
            return Err(damaged(location, &format!("partition field {:?} has no primitive type", field.name)));
        };
        let position = if by_position { Some(i) } else { ids.iter().position(|id| *id == Some(field.id)) };
        let missing =
            || damaged(location, &format!("its entries have no partition field {} ({})", field.id, field.name));
        Ok((primitive, position.filter(|i| *i < ids.len()).ok_or_else(missing)?))
    });
    Ok(PartitionLayout { spec_id, fields: fields.collect::<Result<Vec<(&PrimitiveType, _)>>>()? })
}
