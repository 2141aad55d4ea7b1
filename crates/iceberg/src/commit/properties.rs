//! The table properties that decide how manifests and summaries are written.

use std::collections::HashMap;

use crate::Result;
use crate::manifest::Codec;
use crate::properties::{INT_MAX, LONG_MAX, number};

/// How a commit writes and merges manifests, and what its summary says. The defaults are Java's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ManifestProperties {
    pub(super) merge: bool,
    /// The bin with the newest manifest is merged from this many manifests on.
    pub(super) min_count_to_merge: u64,
    pub(super) target_size: u64,
    pub(super) codec: Codec,
    /// Up to so many changed partitions have a summary of their own.
    pub(super) partition_summary_limit: u64,
}

impl ManifestProperties {
    pub(crate) fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        Ok(Self {
            merge: properties.get("commit.manifest-merge.enabled").is_none_or(|v| v.eq_ignore_ascii_case("true")),
            min_count_to_merge: number(properties, "commit.manifest.min-count-to-merge", 100, 0..=INT_MAX)?,
            target_size: number(properties, "commit.manifest.target-size-bytes", 8 << 20, 0..=LONG_MAX)?,
            codec: Codec::from_properties(properties)?,
            partition_summary_limit: number(properties, "write.summary.partition-limit", 0, 0..=INT_MAX)?,
        })
    }
}
