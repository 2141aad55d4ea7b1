//! Writing manifests.

use serde_avro_fast::Schema as AvroSchema;
use serde_avro_fast::ser::SerializerConfig;

use super::avro_schema::{self, FixedForm, sanitize};
use super::container::ContainerWriter;
use super::record::EntryRecord;
use super::summary::PartitionSummary;
use super::value::AvroValue;
use super::{Codec, DataFile, FileContent, ManifestContent, ManifestEntry, ManifestFile, ManifestStatus};
use crate::encryption::{EncryptingFileIO, PendingFile};
use crate::spec::{FormatVersion, Literal, PartitionSpecRef, PrimitiveType, SchemaRef, Type};
use crate::{Error, ErrorKind, Result, opaque};

/// What a manifest is written for.
#[derive(Debug, Clone)]
pub struct ManifestOptions {
    /// Version 2 or 3.
    pub format_version: FormatVersion,
    /// Data or delete files.
    pub content: ManifestContent,
    /// The table's schema.
    pub schema: SchemaRef,
    /// The partition spec of all its files.
    pub partition_spec: PartitionSpecRef,
    /// The snapshot that adds the manifest.
    pub snapshot_id: i64,
    /// That snapshot's sequence number.
    pub sequence_number: i64,
    /// How its blocks are compressed.
    pub codec: Codec,
}

/// Builds a manifest in memory, and its manifest list entry.
pub struct ManifestWriter {
    options: ManifestOptions,
    partition: Vec<(String, PrimitiveType)>,
    schema: AvroSchema,
    file: ContainerWriter,
    summary: PartitionSummary,
    counts: [Counts; 3],
    min_sequence_number: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    files: u32,
    rows: u64,
}

impl ManifestWriter {
    /// Starts a manifest.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for version 1 and for a schema that cannot be written; [`ErrorKind::InvalidInput`] if the spec does not fit the schema.
    pub fn new(options: ManifestOptions) -> Result<Self> {
        let version = options.format_version;
        if version < FormatVersion::V2 {
            let message = "manifests of format version 1 are only read: upgrade the table to version 2 or 3";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        opaque::refuse(&options.schema)?;
        let spec = &options.partition_spec;
        let partition_type = spec.partition_type(&options.schema).map_err(|e| {
            let message =
                format!("partition spec {} does not fit schema {}", spec.spec_id(), options.schema.schema_id());
            Error::new(ErrorKind::InvalidInput, message).with_source(e)
        })?;
        let json = avro_schema::entry_schema(version, &partition_type)?;
        let internal =
            |what| Error::new(ErrorKind::Internal, format!("the Avro schema of manifests is invalid: {what}"));
        // Java reads and writes fixed partition values with their length, against the schema in the header.
        let schema = avro_schema::record_schema(&json, FixedForm::Bytes).map_err(internal)?;
        let header = |value: serde_json::Result<String>| value.map_err(|e| internal(e.to_string()));
        let metadata = [
            ("schema", header(serde_json::to_string(&options.schema))?),
            ("schema-id", options.schema.schema_id().to_string()),
            ("partition-spec", header(serde_json::to_string(spec.fields()))?),
            ("partition-spec-id", spec.spec_id().to_string()),
            ("format-version", (version as u8).to_string()),
            ("content", if options.content == ManifestContent::Data { "data" } else { "deletes" }.to_owned()),
        ];
        let file = ContainerWriter::new(&json.to_string(), options.codec, &metadata);
        let partition = partition_type.fields().iter().filter_map(|field| match &*field.field_type {
            Type::Primitive(primitive) => Some((sanitize(&field.name), primitive.clone())),
            _ => None,
        });
        Ok(Self {
            partition: partition.collect(),
            schema,
            file,
            summary: PartitionSummary::new(partition_type.fields().len()),
            counts: [Counts::default(); 3],
            min_sequence_number: None,
            options,
        })
    }

    /// Adds a file that the manifest's snapshot adds. It inherits the sequence numbers, and its first row id unless it
    /// brings one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] naming the file when it is not one of this manifest's spec and content.
    pub fn add(&mut self, file: &DataFile) -> Result<()> {
        self.write(ManifestStatus::Added, Some(self.options.snapshot_id), None, None, file)
    }

    /// Carries over an entry of an earlier snapshot, which keeps its snapshot id, sequence numbers and first row id.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] when the entry has none of the former; else as [`add`](Self::add).
    pub fn existing(&mut self, entry: &ManifestEntry) -> Result<()> {
        let file = &entry.data_file;
        if entry.snapshot_id.is_none() || entry.sequence_number.is_none() || entry.file_sequence_number.is_none() {
            let message = format!("the entry of {} has no snapshot id or sequence numbers", file.file_path);
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        let (data, number) = (entry.sequence_number, entry.file_sequence_number);
        self.write(ManifestStatus::Existing, entry.snapshot_id, data, number, file)
    }

    /// Bytes of the manifest so far, without what is not yet compressed.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.file.length()
    }

    /// Entries so far.
    #[must_use]
    pub fn entry_count(&self) -> u32 {
        self.counts.iter().map(|c| c.files).sum()
    }

    /// The finished manifest.
    ///
    /// # Errors
    /// When a block cannot be compressed.
    pub fn finish(self) -> Result<EncodedManifest> {
        let bytes = self.file.finish()?;
        let [existing, added, deleted] = self.counts;
        let listed = ManifestFile {
            manifest_path: String::new(),
            manifest_length: bytes.len() as u64,
            partition_spec_id: self.options.partition_spec.spec_id(),
            content: self.options.content,
            sequence_number: self.options.sequence_number,
            min_sequence_number: self.min_sequence_number.unwrap_or(self.options.sequence_number),
            added_snapshot_id: self.options.snapshot_id,
            added_files_count: Some(added.files),
            existing_files_count: Some(existing.files),
            deleted_files_count: Some(deleted.files),
            added_rows_count: Some(added.rows),
            existing_rows_count: Some(existing.rows),
            deleted_rows_count: Some(deleted.rows),
            partitions: Some(self.summary.finish()),
            key_metadata: None,
            first_row_id: None,
        };
        Ok(EncodedManifest { bytes, listed })
    }

    fn write(
        &mut self,
        status: ManifestStatus,
        snapshot_id: Option<i64>,
        sequence_number: Option<i64>,
        file_sequence_number: Option<i64>,
        file: &DataFile,
    ) -> Result<()> {
        self.check(file)?;
        let record = EntryRecord {
            version: self.options.format_version,
            partition: &self.partition,
            status,
            snapshot_id,
            sequence_number,
            file_sequence_number,
            file,
        };
        self.file.write(&record, &mut SerializerConfig::new(&self.schema))?;
        self.summary.add(&file.partition);
        let counts = &mut self.counts[status as usize];
        counts.files += 1;
        counts.rows += file.record_count;
        if let Some(number) = sequence_number.filter(|_| status != ManifestStatus::Deleted) {
            self.min_sequence_number = Some(self.min_sequence_number.map_or(number, |least| least.min(number)));
        }
        Ok(())
    }

    fn check(&self, file: &DataFile) -> Result<()> {
        let refuse = |what: String| {
            Err(Error::new(ErrorKind::InvalidInput, format!("cannot add {} to a manifest: {what}", file.file_path)))
        };
        let spec_id = self.options.partition_spec.spec_id();
        if file.spec_id != spec_id {
            return refuse(format!("it has partition spec {}, not {spec_id}", file.spec_id));
        }
        if (file.content == FileContent::Data) != (self.options.content == ManifestContent::Data) {
            return refuse(format!("it holds {:?}", file.content));
        }
        if i64::try_from(file.record_count).is_err() || i64::try_from(file.file_size_in_bytes).is_err() {
            return refuse("its row count or length is out of range".to_owned());
        }
        let values = file.partition.fields();
        if values.len() != self.partition.len() {
            return refuse(format!("it has {} partition values, not {}", values.len(), self.partition.len()));
        }
        for (value, (name, type_)) in values.iter().zip(&self.partition) {
            match value {
                None => {}
                Some(Literal::Primitive(literal)) if AvroValue(literal, type_).fits() => {}
                Some(_) => return refuse(format!("its partition value {name} is no {type_}")),
            }
        }
        Ok(())
    }
}

/// A finished manifest that is in memory only.
pub struct EncodedManifest {
    pub(super) bytes: Vec<u8>,
    /// Its list entry but for path, stored length and key.
    pub(super) listed: ManifestFile,
}

impl EncodedManifest {
    /// Its length, unencrypted.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Its bytes, unencrypted.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes it a file of the table's, encrypted if the table is, and makes its list entry. The file is stored apart
    /// from that.
    ///
    /// # Errors
    /// When there is no way to keep its key.
    pub fn prepare(self, io: &EncryptingFileIO, location: &str) -> Result<(ManifestFile, PendingFile)> {
        let pending = io.prepare(location, self.bytes)?;
        let file = pending.file().clone();
        let listed = ManifestFile {
            manifest_path: file.location,
            manifest_length: file.stored_length,
            key_metadata: file.key_metadata,
            ..self.listed
        };
        Ok((listed, pending))
    }

    /// Writes it through the table's I/O, which encrypts it if the table is encrypted, and makes its list entry.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub async fn write(self, io: &EncryptingFileIO, location: String) -> Result<ManifestFile> {
        let (listed, pending) = self.prepare(io, &location)?;
        pending.store().await?;
        Ok(listed)
    }
}
