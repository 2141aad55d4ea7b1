//! Checkpoints and garbage.

use std::{sync::Arc, time::Duration};

use slatedb::{
    WriteBatch,
    admin::AdminBuilder,
    config::{CheckpointOptions, CheckpointScope},
};
use uuid::Uuid;

use crate::{
    error::{Result, from_slatedb},
    keys::{self, ENDED, LIVE, PRIMARY},
    lake::Checkpoint,
    moment::Moment,
    place::Place,
    table::TableId,
    view::View,
    writer::Writer,
};

pub(crate) async fn checkpoint(
    writer: &Arc<Writer>,
    name: Option<String>,
    lifetime: Option<Duration>,
) -> Result<Checkpoint> {
    // Fails if the writer is known to be fenced.
    drop(writer.begin().await?);
    let options = CheckpointOptions { lifetime, name: name.clone(), ..CheckpointOptions::default() };
    let created = writer.db().create_checkpoint(CheckpointScope::All, &options).await;
    let created = created.map_err(|error| from_slatedb(error, writer.place().location(), "keep a checkpoint of"))?;
    Ok(Checkpoint { id: created.id, name })
}

pub(crate) async fn checkpoints(place: &Place) -> Result<Vec<Checkpoint>> {
    let admin = AdminBuilder::new(place.path().clone(), Arc::clone(place.store())).build();
    let listed = admin.list_checkpoints(None).await;
    let listed = listed.map_err(|error| from_slatedb(error, place.location(), "list the checkpoints of"))?;
    Ok(listed.into_iter().map(|found| Checkpoint { id: found.id, name: found.name }).collect())
}

pub(crate) async fn delete_checkpoint(place: &Place, id: Uuid) -> Result<()> {
    let admin = AdminBuilder::new(place.path().clone(), Arc::clone(place.store())).build();
    let deleted = admin.delete_checkpoint(id).await;
    deleted.map_err(|error| from_slatedb(error, place.location(), "delete a checkpoint of"))
}

pub(crate) async fn collect_garbage(writer: &Arc<Writer>, min_age: Duration) -> Result<()> {
    loop {
        let (Moment { view, .. }, active) = writer.begin().await?;
        let mut dropped = view.scan_prefix(keys::DROPPED).await?;
        let Some((key, _)) = dropped.next().await? else { break };
        let table = keys::parse_table(keys::DROPPED, &key)?;
        remove_rows(writer, &view, active.began(), table).await?;
    }
    writer.place().collect(min_age).await;
    Ok(())
}

/// Removes what a dropped table has left, a part at a time, and then the note of it.
async fn remove_rows(writer: &Arc<Writer>, view: &View, began: u64, table: TableId) -> Result<()> {
    let mut batch = WriteBatch::new();
    let mut count = 0;
    for tag in [LIVE, ENDED, PRIMARY] {
        let (from, to) = keys::all(tag, table);
        let mut entries = view.scan(from, to).await?;
        while let Some((key, _)) = entries.next().await? {
            batch.delete(key);
            count += 1;
            if count == ROWS_PER_COMMIT {
                count = 0;
                writer.commit(began, std::mem::take(&mut batch).into()).await?;
            }
        }
    }
    batch.delete(keys::table(keys::DROPPED, table));
    writer.commit(began, batch.into()).await
}

/// How many entries are removed at a time.
const ROWS_PER_COMMIT: usize = 10_000;
