//! Appending data files.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};

use super::merge::{self, Candidate, Outcome, Source};
use super::snapshot::{self, SnapshotWriter};
use super::summary::{self, ManifestCounts};
use super::{ManifestProperties, TableAction, TableCommit};
use crate::encryption::{Clock, SystemClock, encrypted_length};
use crate::manifest::{
    DataFile, EncodedManifest, FileContent, Manifest, ManifestContent, ManifestFile, ManifestStatus, ManifestWriter,
    read_manifest_list,
};
use crate::spec::{Operation, PartitionSpecRef};
use crate::{Error, ErrorKind, Result, Table};

/// A manifest's length is compared to the target size each time it has got this many more entries, as Java does.
const ENTRIES_PER_CHECK: u32 = 250;

/// Manifests read at once for a merge.
const CONCURRENT_READS: usize = 8;

/// Appends data files to a table's main branch, and merges manifests as Java's merging append does.
///
/// Nothing is written unless the files are fit for the table: data files of its partition specs, with key metadata if
/// and only if the table is encrypted, whose keys can be wrapped. Each attempt writes its manifests anew, under keys
/// of its own, and makes its key entries from the metadata that it applies to. Without files it still adds a snapshot.
#[derive(Debug)]
pub struct AppendFiles {
    files: Vec<DataFile>,
    summary: HashMap<String, String>,
    clock: Arc<dyn Clock>,
    attempts: AtomicU32,
    /// What each prepared snapshot wrote, for [`TableAction::discard`].
    written: Mutex<HashMap<i64, Vec<String>>>,
}

impl AppendFiles {
    /// An append of these files. They get new row ids, whatever `first_row_id` they bring.
    pub fn new(files: impl IntoIterator<Item = DataFile>) -> Self {
        Self {
            files: files.into_iter().map(|file| DataFile { first_row_id: None, ..file }).collect(),
            summary: HashMap::new(),
            clock: Arc::new(SystemClock),
            attempts: AtomicU32::new(0),
            written: Mutex::default(),
        }
    }

    /// Adds an entry to the snapshot's summary. Those that the append makes itself win.
    #[must_use]
    pub fn with_summary(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.summary.insert(key.into(), value.into());
        self
    }

    /// Takes the snapshot's timestamp from another clock than the system's.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }
}

#[async_trait]
impl TableAction for AppendFiles {
    /// # Errors
    /// - [`ErrorKind::InvalidInput`] naming a file that does not fit the table;
    /// - [`ErrorKind::Unsupported`] for tables of version 1, and encrypted ones of version 2;
    /// - [`ErrorKind::Encryption`] when keys cannot be wrapped;
    /// - errors of reading what is merged and of storage.
    ///
    /// Files written before an error are removed.
    async fn prepare(&self, table: &Table) -> Result<TableCommit> {
        snapshot::check_writable(table)?;
        // Without a KMS client this fails: before a file is written.
        table.io().manager().new_file_key()?;
        let properties = ManifestProperties::from_properties(table.metadata().properties())?;
        let by_spec = self.check_files(table)?;
        let attempt = self.attempts.fetch_add(1, Ordering::Relaxed) + 1;
        let mut writer = SnapshotWriter::new(table, attempt);
        let snapshot_id = writer.snapshot_id();
        match self.write(table, &properties, by_spec, &mut writer).await {
            Ok(commit) => {
                let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
                written.insert(snapshot_id, writer.into_written());
                Ok(commit)
            }
            Err(error) => {
                snapshot::remove(table, writer.into_written()).await;
                Err(error)
            }
        }
    }

    async fn discard(&self, table: &Table, commit: &TableCommit) {
        let written = snapshot::added_snapshot(commit)
            .and_then(|id| self.written.lock().unwrap_or_else(PoisonError::into_inner).remove(&id));
        if let Some(locations) = written {
            snapshot::remove(table, locations).await;
        }
    }
}

/// Files of one partition spec.
type FilesOfSpec<'a> = (PartitionSpecRef, Vec<&'a DataFile>);

/// A manifest of added files that is not written yet: it may be merged instead.
struct NewManifest<'a> {
    encoded: EncodedManifest,
    files: Vec<&'a DataFile>,
}

impl AppendFiles {
    /// Refuses what does not fit the table; the rest by partition spec, latest first.
    fn check_files(&self, table: &Table) -> Result<Vec<FilesOfSpec<'_>>> {
        let encrypting = table.io().manager().is_encrypting();
        let mut by_spec: BTreeMap<i32, FilesOfSpec<'_>> = BTreeMap::new();
        let mut paths = HashSet::new();
        for file in &self.files {
            let path = &file.file_path;
            let refuse = |why: String| {
                let message = format!("cannot append {path} to table {}: {why}", table.identifier());
                Err(Error::new(ErrorKind::InvalidInput, message))
            };
            if file.content != FileContent::Data {
                return refuse(format!("it holds {:?}", file.content));
            }
            if !paths.insert(path) {
                return refuse("it is listed twice".to_owned());
            }
            match (&file.key_metadata, encrypting) {
                (None, true) => return refuse("it has no key metadata, and the table is encrypted".to_owned()),
                (Some(_), false) => return refuse("it has key metadata, and the table is not encrypted".to_owned()),
                (None, false) => {}
                (Some(key), true) => {
                    let recorded = key.decode(path)?.file_length();
                    if recorded.is_some_and(|length| length != file.file_size_in_bytes) {
                        return refuse("its length differs from the one in its key metadata".to_owned());
                    }
                }
            }
            let Some(spec) = table.metadata().partition_spec_by_id(file.spec_id) else {
                return refuse(format!("the table has no partition spec {}", file.spec_id));
            };
            by_spec.entry(file.spec_id).or_insert_with(|| (spec.clone(), Vec::new())).1.push(file);
        }
        Ok(by_spec.into_values().rev().collect())
    }

    async fn write(
        &self,
        table: &Table,
        properties: &ManifestProperties,
        by_spec: Vec<FilesOfSpec<'_>>,
        writer: &mut SnapshotWriter<'_>,
    ) -> Result<TableCommit> {
        let metadata = table.metadata();
        let parent = metadata.current_snapshot().map(AsRef::as_ref);
        let listed = match parent {
            Some(parent) => read_manifest_list(table.io(), metadata, parent).await?,
            None => Vec::new(),
        };
        let (data, deletes) = merge::by_content(listed);
        let encrypting = table.io().manager().is_encrypting();
        let mut candidates = Vec::new();
        for (spec, files) in by_spec {
            for manifest in new_manifests(writer, properties, &spec, &files)? {
                let weight = stored_length(&manifest.encoded, encrypting)?;
                candidates.push(Candidate { manifest: Source::New(manifest), spec_id: spec.spec_id(), weight });
            }
        }
        let existing =
            |manifests: Vec<ManifestFile>| manifests.into_iter().filter(merge::has_live_files).map(candidate);
        candidates.extend(existing(data));
        // A spec whose column is gone cannot be written any more; its manifests stay as they are.
        let mergeable = |spec_id| {
            let spec = metadata.partition_spec_by_id(spec_id);
            spec.is_some_and(|spec| spec.partition_type(metadata.current_schema()).is_ok())
        };
        let plans = [
            (ManifestContent::Data, merge::plan(candidates, properties, mergeable)),
            (ManifestContent::Deletes, merge::plan(existing(deletes).collect(), properties, mergeable)),
        ];
        let mut counts = ManifestCounts::default();
        let mut manifests = Vec::new();
        for (content, outcomes) in plans {
            for outcome in outcomes {
                manifests.push(match outcome {
                    Outcome::Keep(Source::Existing(manifest)) => {
                        counts.kept += 1;
                        manifest
                    }
                    Outcome::Keep(Source::New(manifest)) => {
                        counts.created += 1;
                        writer.add_manifest(manifest.encoded).await?
                    }
                    Outcome::Merge(spec_id, sources) => {
                        counts.created += 1;
                        counts.replaced += sources.iter().filter(|s| matches!(s, Source::Existing(_))).count();
                        let merged = merged(table, properties, writer, content, spec_id, sources).await?;
                        writer.add_manifest(merged).await?
                    }
                });
            }
        }
        let summary = summary::of_append(&self.files, metadata, properties, counts, parent, &self.summary);
        writer.commit(manifests, Operation::Append, summary, self.clock.now_ms()).await
    }
}

fn candidate<N>(manifest: ManifestFile) -> Candidate<N> {
    let (spec_id, weight) = (manifest.partition_spec_id, manifest.manifest_length);
    Candidate { manifest: Source::Existing(manifest), spec_id, weight }
}

/// Manifests of added files, each of about the target size.
fn new_manifests<'f>(
    snapshot: &SnapshotWriter<'_>,
    properties: &ManifestProperties,
    spec: &PartitionSpecRef,
    files: &[&'f DataFile],
) -> Result<Vec<NewManifest<'f>>> {
    let start = || snapshot.manifest_writer(ManifestContent::Data, spec, properties.codec);
    let mut manifests = Vec::new();
    let (mut writer, mut added) = (start()?, Vec::new());
    for file in files {
        let full = !added.is_empty()
            && writer.entry_count().is_multiple_of(ENTRIES_PER_CHECK)
            && writer.length() >= properties.target_size;
        if full {
            let encoded = std::mem::replace(&mut writer, start()?).finish()?;
            manifests.push(NewManifest { encoded, files: std::mem::take(&mut added) });
        }
        writer.add(file)?;
        added.push(*file);
    }
    if !added.is_empty() {
        manifests.push(NewManifest { encoded: writer.finish()?, files: added });
    }
    Ok(manifests)
}

/// One manifest of what several hold: added files stay added, those of earlier snapshots become existing, and what
/// earlier snapshots deleted is left out.
async fn merged(
    table: &Table,
    properties: &ManifestProperties,
    snapshot: &SnapshotWriter<'_>,
    content: ManifestContent,
    spec_id: i32,
    sources: Vec<Source<NewManifest<'_>>>,
) -> Result<EncodedManifest> {
    let (io, metadata) = (table.io(), table.metadata());
    let spec = metadata.partition_spec_by_id(spec_id).ok_or_else(|| {
        Error::new(ErrorKind::InvalidData, format!("table {} has no partition spec {spec_id}", table.identifier()))
    })?;
    let mut writer = snapshot.manifest_writer(content, spec, properties.codec)?;
    let (mut new, mut old) = (Vec::new(), Vec::new());
    for source in sources {
        match source {
            Source::New(manifest) => new.push(manifest),
            Source::Existing(manifest) => old.push(manifest),
        }
    }
    // New manifests are the first of every plan, so their files come first here too.
    for file in new.iter().flat_map(|manifest| &manifest.files) {
        writer.add(file)?;
    }
    let reads: Vec<_> = old.iter().map(|file| Manifest::read(io, metadata, file)).collect();
    let mut reads = stream::iter(reads).buffered(CONCURRENT_READS);
    while let Some(manifest) = reads.try_next().await? {
        add_existing(&mut writer, &manifest)?;
    }
    writer.finish()
}

/// Carries over the live files of a manifest of an earlier snapshot.
pub(super) fn add_existing(writer: &mut ManifestWriter, manifest: &Manifest) -> Result<()> {
    let mut live = manifest.entries.iter().filter(|entry| entry.status != ManifestStatus::Deleted);
    live.try_for_each(|entry| writer.existing(entry))
}

fn stored_length(manifest: &EncodedManifest, encrypting: bool) -> Result<u64> {
    if encrypting { encrypted_length(manifest.length()) } else { Ok(manifest.length()) }
}
