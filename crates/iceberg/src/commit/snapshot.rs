//! Writing a snapshot: its manifests, its list, and the commit that adds it with its keys.

use std::collections::HashMap;

use futures::future;
use uuid::Uuid;

use super::TableCommit;
use crate::encryption::PendingFile;
use crate::manifest::{
    Codec, EncodedManifest, ManifestContent, ManifestFile, ManifestListHeader, ManifestOptions, ManifestWriter,
    assign_first_row_ids, encode_manifest_list,
};
use crate::spec::{
    FormatVersion, MAIN_BRANCH, Operation, PartitionSpecRef, Snapshot, SnapshotReference, SnapshotRetention, Summary,
    TableMetadata, TableRequirement, TableUpdate,
};
use crate::{Error, ErrorKind, Result, Table};

/// Manifests of about this many bytes are kept until they are stored together.
const MAX_PENDING: u64 = 64 << 20;

/// One attempt at a snapshot of a table's main branch.
pub(super) struct SnapshotWriter<'a> {
    table: &'a Table,
    snapshot_id: i64,
    uuid: Uuid,
    attempt: u32,
    manifests: u32,
    /// Prepared, and to be stored together.
    pending: Vec<PendingFile>,
    pending_bytes: u64,
    written: Vec<String>,
}

impl<'a> SnapshotWriter<'a> {
    /// Starts one. Nothing is written.
    pub(super) fn new(table: &'a Table, attempt: u32) -> Self {
        let snapshot_id = new_snapshot_id(table.metadata());
        Self {
            table,
            snapshot_id,
            uuid: Uuid::new_v4(),
            attempt,
            manifests: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            written: Vec::new(),
        }
    }

    pub(super) fn snapshot_id(&self) -> i64 {
        self.snapshot_id
    }

    /// All files written so far, to be removed if the attempt fails.
    pub(super) fn into_written(self) -> Vec<String> {
        self.written
    }

    pub(super) fn manifest_writer(
        &self,
        content: ManifestContent,
        partition_spec: &PartitionSpecRef,
        codec: Codec,
    ) -> Result<ManifestWriter> {
        let metadata = self.table.metadata();
        ManifestWriter::new(ManifestOptions {
            format_version: metadata.format_version(),
            content,
            schema: metadata.current_schema().clone(),
            partition_spec: partition_spec.clone(),
            snapshot_id: self.snapshot_id,
            sequence_number: metadata.next_sequence_number(),
            codec,
        })
    }

    /// Takes a manifest in. It is stored by the time the [`commit`](Self::commit) is made.
    pub(super) async fn add_manifest(&mut self, manifest: EncodedManifest) -> Result<ManifestFile> {
        let location = format!("{}/{}-m{}.avro", metadata_folder(self.table.metadata()), self.uuid, self.manifests);
        self.manifests += 1;
        let (listed, pending) = manifest.prepare(self.table.io(), &location)?;
        self.store_later(pending);
        if self.pending_bytes > MAX_PENDING {
            self.store().await?;
        }
        Ok(listed)
    }

    fn store_later(&mut self, pending: PendingFile) {
        self.pending_bytes += pending.file().stored_length;
        self.written.push(pending.file().location.clone());
        self.pending.push(pending);
    }

    /// Stores what is pending, all of it at once: a store takes as long for one small file as for several. Waits for
    /// every one, also after an error: a file that comes later could not be removed any more.
    async fn store(&mut self) -> Result<()> {
        self.pending_bytes = 0;
        let stored = future::join_all(self.pending.drain(..).map(PendingFile::store)).await;
        stored.into_iter().collect()
    }

    /// Writes the manifest list and makes the commit.
    ///
    /// Keys are wrapped for the metadata that the commit applies to, and are part of the commit: they stand before the
    /// snapshot that names them.
    pub(super) async fn commit(
        &mut self,
        mut manifests: Vec<ManifestFile>,
        operation: Operation,
        summary: HashMap<String, String>,
        timestamp_ms: i64,
    ) -> Result<TableCommit> {
        let metadata = self.table.metadata();
        let version = metadata.format_version();
        let parent = metadata.current_snapshot().map(|s| s.snapshot_id());
        let sequence_number = metadata.next_sequence_number();
        let first_row_id = metadata.next_row_id();
        let added_rows = if version >= FormatVersion::V3 {
            Some(assign_first_row_ids(&mut manifests, first_row_id)? - first_row_id)
        } else {
            None
        };
        let header = ManifestListHeader {
            format_version: version,
            snapshot_id: self.snapshot_id,
            parent_snapshot_id: parent,
            sequence_number,
            first_row_id: added_rows.map(|_| first_row_id),
        };
        let location =
            format!("{}/snap-{}-{}-{}.avro", metadata_folder(metadata), self.snapshot_id, self.attempt, self.uuid);
        let list = self.table.io().prepare(&location, encode_manifest_list(header, &manifests)?)?;
        let list_key = list.file().key_metadata.clone();
        self.store_later(list);
        self.store().await?;
        let mut updates = Vec::new();
        let mut key_id = None;
        if let Some(key) = list_key {
            let key = key.decode(&location)?;
            let wrapped = self.table.io().manager().wrap_manifest_list_key(metadata, &key).await?;
            let entries = wrapped.new_entries.into_iter();
            updates.extend(entries.map(|encryption_key| TableUpdate::AddEncryptionKey { encryption_key }));
            key_id = Some(wrapped.key_id);
        }
        let snapshot = Snapshot::builder()
            .with_snapshot_id(self.snapshot_id)
            .with_parent_snapshot_id(parent)
            .with_sequence_number(sequence_number)
            // Snapshots of one table do not go back in time, even if this clock is behind another writer's.
            .with_timestamp_ms(timestamp_ms.max(metadata.last_updated_ms()))
            .with_manifest_list(location)
            .with_summary(Summary { operation, additional_properties: summary })
            .with_schema_id(metadata.current_schema_id())
            .with_encryption_key_id(key_id);
        let snapshot = match added_rows {
            Some(rows) => snapshot.with_row_range(first_row_id, rows).build(),
            None => snapshot.build(),
        };
        updates.push(TableUpdate::AddSnapshot { snapshot });
        updates.push(TableUpdate::SetSnapshotRef {
            ref_name: MAIN_BRANCH.to_owned(),
            reference: SnapshotReference::new(self.snapshot_id, self.retention()),
        });
        let requirements = vec![
            TableRequirement::UuidMatch { uuid: metadata.uuid() },
            TableRequirement::RefSnapshotIdMatch { r#ref: MAIN_BRANCH.to_owned(), snapshot_id: parent },
        ];
        Ok(TableCommit { identifier: self.table.identifier().clone(), requirements, updates })
    }

    /// What the main branch's reference says of keeping its snapshots.
    fn retention(&self) -> SnapshotRetention {
        let main = self.table.document().references().get(MAIN_BRANCH);
        main.map_or_else(|| SnapshotRetention::branch(None, None, None), |reference| reference.retention.clone())
    }
}

/// Removes files that no commit refers to. What cannot be removed stays behind as an orphan, which harms nobody.
pub(super) async fn remove(table: &Table, locations: Vec<String>) {
    let storage = table.io().storage();
    let removals = locations.iter().map(|location| async move {
        // What failed to be written may not be there.
        if let Err(error) = storage.delete(location).await
            && error.kind() != lakelock_storage::ErrorKind::NotFound
        {
            tracing::warn!(%location, %error, "a file of a failed commit stays behind");
        }
    });
    future::join_all(removals).await;
}

/// The snapshot that a commit adds.
pub(super) fn added_snapshot(commit: &TableCommit) -> Option<i64> {
    commit.updates.iter().find_map(|update| match update {
        TableUpdate::AddSnapshot { snapshot } => Some(snapshot.snapshot_id()),
        _ => None,
    })
}

/// What Lakelock writes at all, and what it writes encrypted.
pub(super) fn check_writable(table: &Table) -> Result<()> {
    let version = table.metadata().format_version();
    let unsupported = |why: &str| {
        let message = format!("cannot write to table {}: {why}", table.identifier());
        Err(Error::new(ErrorKind::Unsupported, message))
    };
    if version < FormatVersion::V2 {
        return unsupported("it has format version 1; upgrade it to version 2 or 3");
    }
    if table.io().manager().is_encrypting() && version < FormatVersion::V3 {
        return unsupported("it is encrypted, which format version 3 is needed for, and has version 2");
    }
    Ok(())
}

/// Where manifests and lists go.
fn metadata_folder(metadata: &TableMetadata) -> String {
    match metadata.properties().get("write.metadata.path") {
        Some(path) => path.trim_end_matches('/').to_owned(),
        None => format!("{}/metadata", metadata.location().trim_end_matches('/')),
    }
}

fn new_snapshot_id(metadata: &TableMetadata) -> i64 {
    loop {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        let id = ((high ^ low) & (u64::MAX >> 1)).cast_signed();
        if id != 0 && metadata.snapshot_by_id(id).is_none() {
            return id;
        }
    }
}
