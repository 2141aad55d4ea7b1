//! The table properties that decide how manifests are written.

use std::collections::HashMap;
use std::str::FromStr;

use crate::manifest::Codec;
use crate::{Error, ErrorKind, Result};

/// How a commit writes and merges manifests. The defaults are Java's.
#[derive(Debug, Clone, Copy)]
pub(super) struct ManifestProperties {
    pub(super) merge: bool,
    /// The bin with the newest manifest is merged from this many manifests on.
    pub(super) min_count_to_merge: usize,
    pub(super) target_size: u64,
    pub(super) codec: Codec,
}

impl ManifestProperties {
    pub(super) fn from_table(properties: &HashMap<String, String>) -> Result<Self> {
        let text = |name: &str| properties.get(name).map(String::as_str);
        Ok(Self {
            merge: text("commit.manifest-merge.enabled").is_none_or(|v| v.eq_ignore_ascii_case("true")),
            min_count_to_merge: number(properties, "commit.manifest.min-count-to-merge", 100)?,
            target_size: number(properties, "commit.manifest.target-size-bytes", 8 << 20)?,
            codec: Codec::from_properties(
                text("write.manifest.compression-codec"),
                text("write.manifest.compression-level"),
            )?,
        })
    }
}

fn number<T: FromStr>(properties: &HashMap<String, String>, name: &str, default: T) -> Result<T> {
    let Some(text) = properties.get(name) else { return Ok(default) };
    text.parse().map_err(|_| {
        let message = format!("table property {name} is {text:?}, expected a whole number that is not negative");
        Error::new(ErrorKind::InvalidInput, message)
    })
}
