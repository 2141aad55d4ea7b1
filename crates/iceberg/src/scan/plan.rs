//! From a snapshot to its files.

use std::sync::Arc;

use super::delete_index::{DeleteFiles, DeleteIndex};
use super::pruning::Pruner;
use super::select::select_all;
use super::{FileScanTask, Predicate};
use crate::manifest::{
    EntryFilter, FileFormat, ManifestContent, ManifestEntry, ManifestFile, Selected, read_manifest_list,
};
use crate::spec::{SchemaRef, Snapshot};
use crate::{Error, ErrorKind, Result, Table, TableVersion};

/// A scan of one snapshot of a table.
#[derive(Debug, Clone)]
pub struct TableScan {
    pub(super) table: Table,
    pub(super) snapshot: Option<Arc<Snapshot>>,
    pub(super) schema: SchemaRef,
    /// The snapshots whose files alone are scanned.
    pub(super) appends: Option<Arc<[Arc<Snapshot>]>>,
    filter: Predicate,
    /// The columns whose statistics files keep, besides those of the filter.
    statistics: Vec<i32>,
}

/// What a [`TableScan`] has to read.
#[derive(Debug, Default)]
pub struct ScanPlan {
    /// The files.
    pub tasks: Vec<FileScanTask>,
    /// What planning left out.
    pub metrics: ScanMetrics,
}

/// What planning read and left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanMetrics {
    /// Data manifests read.
    pub manifests_read: usize,
    /// Data manifests left out by their partition summaries.
    pub manifests_pruned: usize,
    /// Live data files left out of the manifests that were read.
    pub files_pruned: usize,
}

impl TableScan {
    /// A scan of the current snapshot with the current schema; of nothing if the table has no snapshot.
    #[must_use]
    pub fn new(table: &Table) -> Self {
        let metadata = table.metadata();
        Self {
            table: table.clone(),
            snapshot: metadata.current_snapshot().cloned(),
            schema: Arc::clone(metadata.current_schema()),
            appends: None,
            filter: Predicate::True,
            statistics: Vec::new(),
        }
    }

    /// Scans another snapshot, with the schema it was written with.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the table has no such snapshot, or not its schema.
    pub fn with_snapshot(self, snapshot_id: i64) -> Result<Self> {
        self.with_version(&TableVersion::Snapshot(snapshot_id))
    }

    /// Scans another version, with [its schema](Table::schema_at).
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the table has no such version, or not its schema.
    pub fn with_version(mut self, version: &TableVersion) -> Result<Self> {
        self.schema = self.table.schema_at(version)?;
        self.snapshot = Some(self.table.snapshot_at(version)?);
        self.appends = None;
        Ok(self)
    }

    /// Leaves out files that have no matching row. Rows of the files that are left must still be filtered.
    #[must_use]
    pub fn with_filter(mut self, filter: Predicate) -> Self {
        self.filter = filter;
        self
    }

    /// Lets the files of the plan have the statistics of these columns, by their field ids, besides those of the columns in
    /// the filter. All others are left out: a large table has far more of them than of anything else.
    #[must_use]
    pub fn with_statistics(mut self, columns: impl IntoIterator<Item = i32>) -> Self {
        self.statistics.extend(columns);
        self
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The schema of the rows.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The snapshot, if the table has one.
    #[must_use]
    pub fn snapshot(&self) -> Option<&Arc<Snapshot>> {
        self.snapshot.as_ref()
    }

    /// Reads the manifests and finds the files.
    ///
    /// Manifests are decrypted and decoded on several threads; dropping the future ends that. It must be called within a
    /// Tokio runtime.
    ///
    /// # Errors
    /// A filter that does not fit the schema; a manifest list, manifest or key that cannot be read; a plaintext file in
    /// an encrypted table unless that was allowed; [`ErrorKind::InvalidData`] for deletes that contradict each other;
    /// [`ErrorKind::Unsupported`] naming the file when a matching data file, or a delete file for one, is neither
    /// Parquet nor Avro.
    pub async fn plan(&self) -> Result<ScanPlan> {
        let metadata = self.table.metadata();
        let pruner = Pruner::new(self.filter.bind(&self.schema)?, &self.statistics, metadata);
        if let Some(appends) = &self.appends {
            return self.plan_appends(appends, pruner).await;
        }
        let Some(snapshot) = &self.snapshot else { return Ok(ScanPlan::default()) };

        let manifests = read_manifest_list(self.table.io(), metadata, snapshot).await?.into_iter();
        let (data, deletes): (Vec<_>, Vec<_>) =
            manifests.filter(may_have_live_files).partition(|manifest| manifest.content == ManifestContent::Data);
        let deletes = prune(&pruner, deletes);
        let (data, metrics) = prune_data(&pruner, data);
        let mut plan = self.find(data, metrics, pruner).await?;
        if !plan.tasks.is_empty() {
            let deletes = select_all(&self.table, deletes, DeleteFiles, Ok).await?;
            let mut index = DeleteIndex::new(&self.table, deletes.found)?;
            for task in &mut plan.tasks {
                task.deletes = index.deletes_of(task)?;
            }
        }
        Ok(plan)
    }

    /// Finds the data files in manifests, without their deletes.
    pub(super) async fn find(
        &self,
        manifests: Vec<ManifestFile>,
        mut metrics: ScanMetrics,
        filter: impl EntryFilter + Send + Sync + 'static,
    ) -> Result<ScanPlan> {
        let table = self.table.clone();
        let make = move |entry| task(&table, entry);
        let Selected { found, pruned } = select_all(&self.table, manifests, filter, make).await?;
        metrics.files_pruned = pruned;
        Ok(ScanPlan { tasks: found, metrics })
    }
}

/// Version 1 lists may leave the counts out.
fn may_have_live_files(manifest: &ManifestFile) -> bool {
    manifest.added_files_count != Some(0) || manifest.existing_files_count != Some(0)
}

/// The data manifests to be read, and how many these are.
pub(super) fn prune_data(pruner: &Pruner, manifests: Vec<ManifestFile>) -> (Vec<ManifestFile>, ScanMetrics) {
    let all = manifests.len();
    let left = prune(pruner, manifests);
    let metrics =
        ScanMetrics { manifests_read: left.len(), manifests_pruned: all - left.len(), ..ScanMetrics::default() };
    (left, metrics)
}

fn prune(pruner: &Pruner, manifests: Vec<ManifestFile>) -> Vec<ManifestFile> {
    manifests.into_iter().filter(|manifest| pruner.may_match_manifest(manifest)).collect()
}

fn task(table: &Table, entry: ManifestEntry) -> Result<FileScanTask> {
    let data_file = entry.data_file;
    let location = &data_file.file_path;
    let unsupported = |what: &str| {
        let message = format!("data file {location} of {} {what}", table.identifier());
        Error::new(ErrorKind::Unsupported, message)
    };
    match data_file.file_format {
        FileFormat::Avro | FileFormat::Parquet => {}
        FileFormat::Orc => return Err(unsupported("is ORC; reading ORC data is not supported")),
        FileFormat::Puffin => return Err(unsupported("is Puffin, which holds no rows")),
    }
    let spec = table.metadata().partition_spec_by_id(data_file.spec_id).cloned().ok_or_else(|| {
        let message = format!("data file {location} has unknown partition spec {}", data_file.spec_id);
        Error::new(ErrorKind::InvalidData, message)
    })?;
    let key = table.io().file_key(location, data_file.key_metadata.as_ref())?;
    let (data_file, data_sequence_number) = (Arc::new(data_file), entry.sequence_number);
    Ok(FileScanTask { data_file, spec, key, data_sequence_number, deletes: Vec::new() })
}
