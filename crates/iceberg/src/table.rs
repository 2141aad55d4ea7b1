//! A loaded table.

use std::sync::Arc;

use crate::encryption::{EncryptingFileIO, Version2EncryptionManager};
use crate::metadata::TableDocument;
use crate::spec::{TableIdent, TableMetadata};

/// A table as a catalog loaded it: its metadata, where that was read from, and the I/O that encrypts and decrypts
/// its files by itself.
///
/// A value of one moment: it does not follow later commits. Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Table {
    identifier: TableIdent,
    document: Arc<TableDocument>,
    metadata_location: String,
    io: EncryptingFileIO,
}

impl Table {
    /// A table from what its catalog knows of it.
    #[must_use]
    pub fn new(
        identifier: TableIdent,
        document: Arc<TableDocument>,
        metadata_location: String,
        io: EncryptingFileIO,
    ) -> Self {
        let io = match document.as_version_3() {
            Some(metadata) => {
                io.with_manager(|inner| Arc::new(Version2EncryptionManager::new(inner, Arc::clone(metadata))))
            }
            None => io,
        };
        Self { identifier, document, metadata_location, io }
    }

    /// Its name in the catalog.
    #[must_use]
    pub fn identifier(&self) -> &TableIdent {
        &self.identifier
    }

    /// The parsed table metadata.
    #[must_use]
    pub fn metadata(&self) -> &Arc<TableMetadata> {
        self.document.metadata()
    }

    /// The metadata with everything its JSON held, known to this version or not.
    #[must_use]
    pub fn document(&self) -> &Arc<TableDocument> {
        &self.document
    }

    /// Where the metadata was read from.
    #[must_use]
    pub fn metadata_location(&self) -> &str {
        &self.metadata_location
    }

    /// Opens and writes the table's files.
    #[must_use]
    pub fn io(&self) -> &EncryptingFileIO {
        &self.io
    }
}
