//! Table metadata at hand, with where it is and what it hashes to.

use std::sync::{Arc, OnceLock};

use lakelock_iceberg::encryption::{DATA_KEY_LENGTH, KEY_ID};
use lakelock_iceberg::metadata::TableDocument;

use crate::Result;
use crate::pointers::{MetadataHash, Pin, Pointer};

/// A document and the file that it was read from or written to. Cloning is cheap.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) document: Arc<TableDocument>,
    pub(crate) location: String,
    /// SHA-256 of the file's bytes, in lower-case hex.
    pub(crate) sha256: String,
    java_sha256: Arc<OnceLock<[u8; 32]>>,
}

impl Loaded {
    pub(crate) fn new(document: Arc<TableDocument>, location: String, sha256: String) -> Self {
        Self { document, location, sha256, java_sha256: Arc::default() }
    }

    /// SHA-256 of the text that Java prints for the document, worked out once.
    pub(crate) fn java_sha256(&self) -> Result<[u8; 32]> {
        if let Some(known) = self.java_sha256.get() {
            return Ok(*known);
        }
        let sha256 = self.document.java_sha256()?;
        Ok(*self.java_sha256.get_or_init(|| sha256))
    }

    /// Whether the metadata is that of the hash, as far as the hash says.
    pub(crate) fn has_hash(&self, hash: &MetadataHash) -> Result<bool> {
        Ok(match hash {
            MetadataHash::File(sha256) => self.sha256 == *sha256,
            MetadataHash::Java(sha256) => self.java_sha256()? == *sha256,
            MetadataHash::None => true,
        })
    }

    pub(crate) fn key_id(&self) -> Option<&str> {
        self.property(KEY_ID)
    }

    pub(crate) fn data_key_length(&self) -> Option<&str> {
        self.property(DATA_KEY_LENGTH)
    }

    /// The pointer to the file, with a pin of it.
    pub(crate) fn pointer(&self) -> Pointer {
        let pin = Pin {
            key_id: self.key_id().map(str::to_owned),
            data_key_length: self.data_key_length().map(str::to_owned),
            metadata_location: self.location.clone(),
            hash: MetadataHash::File(self.sha256.clone()),
        };
        Pointer { metadata_location: self.location.clone(), pin: Some(pin) }
    }

    fn property(&self, name: &str) -> Option<&str> {
        self.document.metadata().properties().get(name).map(String::as_str)
    }
}
