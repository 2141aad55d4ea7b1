//! Metadata tables: what a table's metadata, manifest lists and manifests say, as rows.
//!
//! They have the names, columns and types of the Java implementation's (`MetadataTableType`), but for one thing: key
//! metadata holds keys, so that where there is some, `key_metadata` is the bytes `[redacted]`. A column is nullable
//! wherever old files may leave its value out.
//!
//! `snapshots`, `history`, `refs` and `metadata_log_entries` come from metadata.json alone; all others need the table's
//! keys.

mod cell;
mod files;
mod log;
mod manifests;
mod partition;
mod partitions;
mod readable_metrics;

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};

use self::cell::{Cell, Row, batch};
use self::files::FileColumns;
pub use self::partition::UnifiedPartition;
use crate::encryption::EncodedKeyMetadata;
use crate::manifest::{Manifest, ManifestContent, ManifestFile, ManifestStatus, read_manifest_list};
use crate::spec::SnapshotRef;
use crate::{Error, ErrorKind, Result, Table, TableVersion};

/// Files read at a time.
const CONCURRENCY: usize = 16;

/// A metadata table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MetadataTable {
    /// The data files of all snapshots.
    AllDataFiles,
    /// The delete files of all snapshots.
    AllDeleteFiles,
    /// The manifest entries of all snapshots.
    AllEntries,
    /// The files of all snapshots.
    AllFiles,
    /// The manifests of every snapshot, once for each.
    AllManifests,
    /// The data files of a snapshot.
    DataFiles,
    /// The delete files of a snapshot.
    DeleteFiles,
    /// The manifest entries of a snapshot, also those of removed files.
    Entries,
    /// The data and delete files of a snapshot.
    Files,
    /// Which snapshot was current since when.
    History,
    /// The manifests of a snapshot.
    Manifests,
    /// The metadata files that the table has had.
    MetadataLogEntries,
    /// The partitions of a snapshot, with their numbers of rows and files.
    Partitions,
    /// Branches and tags.
    Refs,
    /// The snapshots.
    Snapshots,
}

impl MetadataTable {
    /// All of them, by name.
    pub const ALL: [Self; 15] = [
        Self::AllDataFiles,
        Self::AllDeleteFiles,
        Self::AllEntries,
        Self::AllFiles,
        Self::AllManifests,
        Self::DataFiles,
        Self::DeleteFiles,
        Self::Entries,
        Self::Files,
        Self::History,
        Self::Manifests,
        Self::MetadataLogEntries,
        Self::Partitions,
        Self::Refs,
        Self::Snapshots,
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AllDataFiles => "all_data_files",
            Self::AllDeleteFiles => "all_delete_files",
            Self::AllEntries => "all_entries",
            Self::AllFiles => "all_files",
            Self::AllManifests => "all_manifests",
            Self::DataFiles => "data_files",
            Self::DeleteFiles => "delete_files",
            Self::Entries => "entries",
            Self::Files => "files",
            Self::History => "history",
            Self::Manifests => "manifests",
            Self::MetadataLogEntries => "metadata_log_entries",
            Self::Partitions => "partitions",
            Self::Refs => "refs",
            Self::Snapshots => "snapshots",
        }
    }

    /// The metadata table of this name, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name().eq_ignore_ascii_case(name))
    }

    /// Whether it shows one snapshot, so that a version can be asked for.
    #[must_use]
    pub fn is_of_one_snapshot(self) -> bool {
        matches!(
            self,
            Self::DataFiles | Self::DeleteFiles | Self::Entries | Self::Files | Self::Manifests | Self::Partitions
        )
    }

    /// The snapshot that it shows: that of the version or else the current one, if the table has one.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a version of a metadata table that is not [of one
    /// snapshot](Self::is_of_one_snapshot); [`ErrorKind::NotFound`] when there is no such version.
    pub fn snapshot(self, table: &Table, version: Option<&TableVersion>) -> Result<Option<SnapshotRef>> {
        let Some(version) = version else { return Ok(table.metadata().current_snapshot().cloned()) };
        if !self.is_of_one_snapshot() {
            let (name, table) = (self.name(), table.identifier());
            let message = format!("{name} of {table} is the same whatever the version: ask for it without one");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
        table.snapshot_at(version).map(Some)
    }

    /// Its columns. Those of files and partitions depend on the table's schema and partition specs.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for types and partition transforms that this version does not know;
    /// [`ErrorKind::InvalidData`] for partition specs that contradict each other.
    pub fn schema(self, table: &Table) -> Result<SchemaRef> {
        let metadata = table.metadata();
        let fields = match self {
            Self::AllManifests => manifests::all_fields(),
            Self::History => log::history_fields(),
            Self::Manifests => manifests::fields(),
            Self::MetadataLogEntries => log::metadata_log_fields(),
            Self::Partitions => partitions::fields(&UnifiedPartition::new(metadata)?)?,
            Self::Refs => log::reference_fields(),
            Self::Snapshots => log::snapshot_fields(),
            Self::AllEntries | Self::Entries => FileColumns::new(metadata)?.entry_fields()?,
            Self::AllDataFiles
            | Self::AllDeleteFiles
            | Self::AllFiles
            | Self::DataFiles
            | Self::DeleteFiles
            | Self::Files => FileColumns::new(metadata)?.file_fields()?,
        };
        Ok(Arc::new(Schema::new(fields)))
    }

    /// Its rows: of the current snapshot, or of a version.
    ///
    /// # Errors
    /// As [`schema`](Self::schema) and [`snapshot`](Self::snapshot); a manifest list, manifest or key that cannot be
    /// read.
    pub async fn read(self, table: &Table, version: Option<&TableVersion>) -> Result<Vec<RecordBatch>> {
        let metadata = table.metadata();
        let schema = self.schema(table)?;
        let snapshot = self.snapshot(table, version)?;
        let rows = match self {
            Self::History => log::history(metadata),
            Self::MetadataLogEntries => log::metadata_log(metadata, table.metadata_location()),
            Self::Refs => log::references(table.document()),
            Self::Snapshots => log::snapshots(metadata),
            Self::AllManifests => {
                let mut rows = Vec::new();
                for (snapshot, list) in lists(table, log::sorted(metadata)).await? {
                    rows.extend(manifests::rows_of_all(metadata, &list, snapshot.snapshot_id()));
                }
                rows
            }
            Self::Manifests => {
                let lists = lists(table, snapshot.into_iter().collect()).await?;
                lists.iter().flat_map(|(_, list)| manifests::rows(metadata, list)).collect()
            }
            Self::Partitions => {
                let mut partitions = partitions::Partitions::new(metadata)?;
                let manifests = listed(lists(table, snapshot.into_iter().collect()).await?, None);
                let mut manifests = open(table, manifests);
                while let Some(manifest) = manifests.try_next().await? {
                    partitions.add(metadata, &manifest.entries)?;
                }
                partitions.into_rows()
            }
            _ => return self.files(table, &schema, snapshot).await,
        };
        Ok(vec![batch(&schema, rows)?])
    }

    /// A batch for each manifest.
    async fn files(self, table: &Table, schema: &SchemaRef, snapshot: Option<SnapshotRef>) -> Result<Vec<RecordBatch>> {
        let metadata = table.metadata();
        let snapshots = if self.is_of_one_snapshot() { snapshot.into_iter().collect() } else { log::sorted(metadata) };
        let content = match self {
            Self::AllDataFiles | Self::DataFiles => Some(ManifestContent::Data),
            Self::AllDeleteFiles | Self::DeleteFiles => Some(ManifestContent::Deletes),
            _ => None,
        };
        let columns = FileColumns::new(metadata)?;
        let entries = matches!(self, Self::AllEntries | Self::Entries);
        let manifests = listed(lists(table, snapshots).await?, content);
        let mut manifests = open(table, manifests);
        let mut batches = Vec::new();
        while let Some(manifest) = manifests.try_next().await? {
            let shown = manifest.entries.iter().filter(|entry| entries || entry.status != ManifestStatus::Deleted);
            let rows: Result<Vec<Row>> = if entries {
                shown.map(|entry| columns.entry(entry)).collect()
            } else {
                shown.map(|entry| columns.file(&entry.data_file)).collect()
            };
            batches.push(batch(schema, rows?)?);
        }
        Ok(batches)
    }
}

/// The manifest lists of snapshots.
async fn lists(table: &Table, snapshots: Vec<SnapshotRef>) -> Result<Vec<(SnapshotRef, Vec<ManifestFile>)>> {
    stream::iter(snapshots)
        .map(|snapshot| async move {
            let list = read_manifest_list(table.io(), table.metadata(), &snapshot).await?;
            Ok((snapshot, list))
        })
        .buffered(CONCURRENCY)
        .try_collect()
        .await
}

/// The manifests of lists, each once.
fn listed(lists: Vec<(SnapshotRef, Vec<ManifestFile>)>, content: Option<ManifestContent>) -> Vec<ManifestFile> {
    let mut seen = HashSet::new();
    let manifests = lists.into_iter().flat_map(|(_, list)| list);
    manifests
        .filter(|manifest| content.is_none_or(|content| manifest.content == content))
        .filter(|manifest| seen.insert(manifest.manifest_path.clone()))
        .collect()
}

/// Reads manifests, in their order.
fn open(table: &Table, manifests: Vec<ManifestFile>) -> BoxStream<'_, Result<Manifest>> {
    let read =
        move |manifest: ManifestFile| async move { Manifest::read(table.io(), table.metadata(), &manifest).await };
    stream::iter(manifests).map(read).buffered(CONCURRENCY).boxed()
}

/// All that a metadata table shows of a key.
fn redacted(key: Option<&EncodedKeyMetadata>) -> Cell {
    key.map(|_| b"[redacted]".to_vec()).into()
}

fn required(name: &str, r#type: DataType) -> Field {
    Field::new(name, r#type, false)
}

fn optional(name: &str, r#type: DataType) -> Field {
    Field::new(name, r#type, true)
}

fn instant() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(required("element", element)))
}

fn map_of(key: DataType, value: DataType) -> DataType {
    let entry = Fields::from(vec![required("key", key), required("value", value)]);
    DataType::Map(Arc::new(required("key_value", DataType::Struct(entry))), false)
}

/// A time in milliseconds as [`instant`].
fn instant_cell(ms: i64) -> Cell {
    ms.checked_mul(1000).into()
}
