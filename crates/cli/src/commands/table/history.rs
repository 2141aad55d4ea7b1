//! `lakelock table history`.

use std::collections::HashMap;
use std::sync::Arc;

use lakelock_iceberg::spec::Snapshot;

use crate::context::Context;
use crate::failure::Result;
use crate::names;
use crate::output::{Listing, OutputFormat};

pub(super) async fn run(context: &Context, table: &str) -> Result<()> {
    let ident = names::table(table)?;
    let table = context.catalog().await?.load_table(&ident).await?;
    let metadata = table.metadata();
    let mut snapshots: Vec<&Arc<Snapshot>> = metadata.snapshots().collect();
    snapshots.sort_by_key(|snapshot| std::cmp::Reverse((snapshot.sequence_number(), snapshot.timestamp_ms())));
    let current = metadata.current_snapshot_id();
    let listing = Listing::default()
        .instants("committed_at", snapshots.iter().map(|s| Some(s.timestamp_ms())))
        .text("snapshot_id", snapshots.iter().map(|s| Some(s.snapshot_id().to_string())))
        .text("operation", snapshots.iter().map(|s| Some(s.summary().operation.as_str())))
        .numbers("added", snapshots.iter().map(|s| count(s, "added-records")))
        .numbers("rows", snapshots.iter().map(|s| count(s, "total-records")));
    let listing = match context.format() {
        // The newest is the current one, but for the rare table that was rolled back.
        OutputFormat::Table if snapshots.first().map(|s| s.snapshot_id()) == current => listing,
        _ => listing.flags("current", snapshots.iter().map(|s| Some(s.snapshot_id()) == current)),
    };
    listing.print(context.format(), context.paint())
}

/// A number of a snapshot's summary.
pub(super) fn count(snapshot: &Snapshot, name: &str) -> Option<i64> {
    let properties: &HashMap<String, String> = &snapshot.summary().additional_properties;
    properties.get(name)?.parse().ok()
}
