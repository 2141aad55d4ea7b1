//! What a catalog keeps of its tables: a pointer to the metadata and a pin.
//!
//! An implementation reads no metadata; one that shows some of it to others takes it from the [`Loaded`] that it is given.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};

use crate::Result;
use crate::loaded::Loaded;

/// A table as the catalog keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// Where its current metadata is.
    pub(crate) metadata_location: String,
    /// What that must be: `None` when something else put the table in.
    pub(crate) pin: Option<Pin>,
}

impl Pointer {
    /// The pin, if it is of the metadata pointed to.
    pub(crate) fn pinned(&self) -> Option<&Pin> {
        self.pin.as_ref().filter(|pin| pin.metadata_location == self.metadata_location)
    }
}

/// What the catalog knows of a table's metadata without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    /// The table's `encryption.key-id`.
    pub(crate) key_id: Option<String>,
    /// The table's `encryption.data-key-length`.
    pub(crate) data_key_length: Option<String>,
    /// The file that the hash is of. Another than the pointer's means that something else moved that.
    pub(crate) metadata_location: String,
    /// What the metadata hashes to.
    pub(crate) hash: MetadataHash,
}

/// A hash of metadata, by what it is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MetadataHash {
    /// SHA-256 of the file's bytes, in lower-case hex.
    File(String),
    /// SHA-256 of the text that Java prints for the metadata.
    Java([u8; 32]),
    /// The catalog has none: key id and data key length are all that is pinned.
    None,
}

/// Whether a change of a pointer took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swap {
    /// It did, durably.
    Done,
    /// The pointer was not what it was expected to be.
    Lost,
    /// It did not, or it did and another change followed upon it: the metadata log tells.
    LostOrFollowed,
}

/// Keeps namespaces and pointers. Every method is one transaction.
#[async_trait]
pub(crate) trait PointerStore: Debug + Send + Sync {
    /// All namespaces that were made or that hold a table, without those implied as parents.
    async fn namespaces(&self) -> Result<Vec<NamespaceIdent>>;

    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), also for one that is implied.
    async fn create_namespace(&self, namespace: &NamespaceIdent, properties: &HashMap<String, String>) -> Result<()>;

    /// [`NotFound`](crate::ErrorKind::NotFound), [`NotEmpty`](crate::ErrorKind::NotEmpty).
    async fn drop_namespace(&self, namespace: &NamespaceIdent) -> Result<()>;

    /// Empty for a namespace that does not exist.
    async fn namespace_properties(&self, namespace: &NamespaceIdent) -> Result<HashMap<String, String>>;

    /// The names of the tables directly in a namespace.
    async fn tables(&self, namespace: &NamespaceIdent) -> Result<Vec<String>>;

    /// Whether there is such a namespace, be it implied.
    async fn namespace_exists(&self, namespace: &NamespaceIdent) -> Result<bool>;

    async fn get(&self, table: &TableIdent) -> Result<Option<Pointer>>;

    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), or [`NotFound`](crate::ErrorKind::NotFound) for the
    /// namespace. What is written is pinned.
    async fn insert(&self, table: &TableIdent, written: &Loaded) -> Result<()>;

    /// Points to `written` if the pointer still is at `base`, and pins it. An error means that nothing was changed, unless
    /// it is [`UnknownOutcome`](crate::ErrorKind::UnknownOutcome).
    async fn swap(&self, table: &TableIdent, base: &Loaded, written: &Loaded) -> Result<Swap>;

    /// Pins what was learned at a first load, if the pointer still is there and nobody else was first.
    async fn learn(&self, table: &TableIdent, loaded: &Loaded) -> Result<()>;

    /// Removes a table, if `expected` is given only while it is there.
    async fn remove(&self, table: &TableIdent, expected: Option<&str>) -> Result<Swap>;
}

/// Whether one of `known` is the namespace or lies below it.
pub(crate) fn implies(known: &[NamespaceIdent], namespace: &NamespaceIdent) -> bool {
    known.iter().any(|k| k.as_ref().starts_with(namespace.as_ref()))
}

/// Whether one of `known` lies below the namespace.
pub(crate) fn has_children(known: &[NamespaceIdent], namespace: &NamespaceIdent) -> bool {
    known.iter().any(|k| k != namespace && k.as_ref().starts_with(namespace.as_ref()))
}
