//! Where data files go, and what they are called.

use std::collections::HashMap;

use uuid::Uuid;

use crate::Result;
use crate::properties::unsupported;
use crate::spec::TableMetadata;

/// Names the data files of one writer as Java's `OutputFileFactory` and `DefaultLocationProvider` do:
/// `{location}/data/[{partition}/]00000-0-{uuid}-00001.parquet`.
#[derive(Debug)]
pub(super) struct DataLocations {
    folder: String,
    operation: Uuid,
    count: u32,
}

impl DataLocations {
    /// For a table, honouring `write.data.path`.
    pub(super) fn new(metadata: &TableMetadata) -> Result<Self> {
        let folder = match Self::folder(metadata.properties())? {
            Some(folder) => folder.trim_end_matches('/').to_owned(),
            None => format!("{}/data", metadata.location().trim_end_matches('/')),
        };
        Ok(Self { folder, operation: Uuid::new_v4(), count: 0 })
    }

    /// The folder that properties name, if they name one.
    pub(super) fn folder(properties: &HashMap<String, String>) -> Result<Option<&str>> {
        refuse(properties, "write.location-provider.impl", |_| true)?;
        refuse(properties, "write.object-storage.enabled", |value| value.eq_ignore_ascii_case("true"))?;
        let folder = properties.get("write.data.path").or_else(|| properties.get("write.folder-storage.path"));
        Ok(folder.map(String::as_str))
    }

    /// The location of the next file: in the folder of a partition, unless that is empty.
    pub(super) fn next(&mut self, partition: &str) -> String {
        self.count += 1;
        let folder = &self.folder;
        let separator = if partition.is_empty() { "" } else { "/" };
        format!("{folder}/{partition}{separator}00000-0-{}-{:05}.parquet", self.operation, self.count)
    }
}

fn refuse(properties: &HashMap<String, String>, property: &str, if_it: fn(&str) -> bool) -> Result<()> {
    match properties.get(property) {
        Some(value) if if_it(value) => Err(unsupported(property, value, "that is not supported yet")),
        _ => Ok(()),
    }
}
