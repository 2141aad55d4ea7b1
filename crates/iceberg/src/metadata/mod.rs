//! metadata.json: read, changed and written without losing what this version does not know.

use std::sync::Arc;

use crate::spec::TableMetadata;

/// A table's metadata: parsed, and with everything its JSON held.
#[derive(Debug, Clone)]
pub struct TableDocument {
    metadata: Arc<TableMetadata>,
}

impl TableDocument {
    /// The parsed metadata.
    #[must_use]
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        &self.metadata
    }
}
