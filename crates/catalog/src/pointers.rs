//! What a catalog keeps of its tables: a pointer to the metadata and a pin. It knows nothing of what is in a metadata file.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};

use crate::Result;

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
    /// SHA-256 of the file's bytes, in lower-case hex.
    pub(crate) metadata_sha256: String,
}

/// Whether a change of a pointer took place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Swap {
    /// It did, durably.
    Done,
    /// The pointer was not what it was expected to be.
    Lost,
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

    async fn get(&self, table: &TableIdent) -> Result<Option<Pointer>>;

    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), or [`NotFound`](crate::ErrorKind::NotFound) for the
    /// namespace. The pointer has a pin.
    async fn insert(&self, table: &TableIdent, pointer: &Pointer) -> Result<()>;

    /// Replaces the pointer if it still is at `expected`. An error means that nothing was changed, unless it is
    /// [`UnknownOutcome`](crate::ErrorKind::UnknownOutcome).
    async fn swap(&self, table: &TableIdent, expected: &str, pointer: &Pointer) -> Result<Swap>;

    /// Pins what was learned at a first load, if the pointer still is there and nobody else was first.
    async fn learn(&self, table: &TableIdent, pin: &Pin) -> Result<()>;

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
