//! What every catalog can do.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use lakelock_iceberg::Table;
use lakelock_iceberg::commit::TableCommit;
use lakelock_iceberg::spec::{FormatVersion, NamespaceIdent, Schema, SortOrder, TableIdent, UnboundPartitionSpec};

use crate::Result;

/// Namespaces and tables, and the one place where a table's current metadata is decided.
///
/// Loaded tables encrypt and decrypt by themselves. Without a KMS client an encrypted table loads and can be described,
/// but neither be read nor written.
#[async_trait]
pub trait Catalog: Debug + Send + Sync {
    /// The name it was configured under.
    fn name(&self) -> &str;

    /// Makes a namespace; its parents need not exist.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), also when tables in it imply it.
    async fn create_namespace(&self, namespace: &NamespaceIdent, properties: HashMap<String, String>) -> Result<()>;

    /// Removes an empty namespace.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound), or [`NotEmpty`](crate::ErrorKind::NotEmpty) when it holds tables or
    /// namespaces.
    async fn drop_namespace(&self, namespace: &NamespaceIdent) -> Result<()>;

    /// The namespaces directly below `parent`, or those at the top, sorted.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) when there is no such parent.
    async fn list_namespaces(&self, parent: Option<&NamespaceIdent>) -> Result<Vec<NamespaceIdent>>;

    /// Whether there is such a namespace.
    ///
    /// # Errors
    /// When the catalog cannot be reached.
    async fn namespace_exists(&self, namespace: &NamespaceIdent) -> Result<bool>;

    /// What a namespace was made with.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn namespace_properties(&self, namespace: &NamespaceIdent) -> Result<HashMap<String, String>>;

    /// Makes an empty table and pins its key id.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists); [`NotFound`](crate::ErrorKind::NotFound) for its namespace;
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when the parts contradict each other, or for
    /// `encryption.key-id` with a format version below 3.
    async fn create_table(&self, creation: TableCreation) -> Result<Table>;

    /// Takes in a table that something else wrote. `key_id` becomes its pin: give what you know to be right, not what
    /// the metadata file says; `None` is a table that is not encrypted.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists); [`InvalidInput`](crate::ErrorKind::InvalidInput) when there is
    /// no such file, or when it has another key id than `key_id`; [`InvalidData`](crate::ErrorKind::InvalidData) when it
    /// is damaged.
    async fn register_table(&self, table: &TableIdent, metadata_location: &str, key_id: Option<&str>) -> Result<Table>;

    /// Loads a table as it is now, and checks its metadata against its pin.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound); [`InvalidData`](crate::ErrorKind::InvalidData) when the metadata was
    /// changed outside the catalog or is damaged.
    async fn load_table(&self, table: &TableIdent) -> Result<Table>;

    /// Takes a table out of the catalog. With `purge`, its files are deleted: those that its metadata reaches and that
    /// lie below its location.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound). With `purge`, before anything is changed:
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when another table of the catalog was registered from the same
    /// folder, and so has the same files; and whatever keeps the list of files from being read. After that,
    /// [`Storage`](crate::ErrorKind::Storage) when the table is gone but files could not be deleted.
    async fn drop_table(&self, table: &TableIdent, purge: bool) -> Result<()>;

    /// The tables in a namespace, sorted; not those in namespaces below it.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn list_tables(&self, namespace: &NamespaceIdent) -> Result<Vec<TableIdent>>;

    /// Whether there is such a table.
    ///
    /// # Errors
    /// When the catalog cannot be reached.
    async fn table_exists(&self, table: &TableIdent) -> Result<bool>;

    /// Applies a commit to the table as it is now, as a whole or not at all, and returns the table after it.
    ///
    /// # Errors
    /// [`Conflict`](crate::ErrorKind::Conflict) when a requirement does not hold or another writer was first;
    /// [`InvalidInput`](crate::ErrorKind::InvalidInput) when the change would break a rule of encrypted tables;
    /// [`UnknownOutcome`](crate::ErrorKind::UnknownOutcome) when it may have taken place. Only after the last must the
    /// files of the commit be kept.
    async fn update_table(&self, commit: TableCommit) -> Result<Table>;
}

/// A table to be made.
#[derive(Debug, Clone)]
pub struct TableCreation {
    pub(crate) identifier: TableIdent,
    pub(crate) schema: Schema,
    pub(crate) location: Option<String>,
    pub(crate) partition_spec: Option<UnboundPartitionSpec>,
    pub(crate) sort_order: Option<SortOrder>,
    pub(crate) properties: HashMap<String, String>,
    pub(crate) format_version: FormatVersion,
}

impl TableCreation {
    /// An unpartitioned table of format version 3, in the catalog's warehouse. Field ids are assigned anew.
    #[must_use]
    pub fn new(identifier: TableIdent, schema: Schema) -> Self {
        Self {
            identifier,
            schema,
            location: None,
            partition_spec: None,
            sort_order: None,
            properties: HashMap::new(),
            format_version: FormatVersion::V3,
        }
    }

    /// The folder of the table, instead of `{warehouse}/{namespace}/{table}`.
    #[must_use]
    pub fn with_location(mut self, location: impl Into<String>) -> Self {
        self.location = Some(location.into());
        self
    }

    /// How it is partitioned; source ids are those of the schema given.
    #[must_use]
    pub fn with_partition_spec(mut self, partition_spec: UnboundPartitionSpec) -> Self {
        self.partition_spec = Some(partition_spec);
        self
    }

    /// How its files are to be sorted; source ids are those of the schema given.
    #[must_use]
    pub fn with_sort_order(mut self, sort_order: SortOrder) -> Self {
        self.sort_order = Some(sort_order);
        self
    }

    /// Adds table properties. `encryption.key-id` makes the table an encrypted one; `format-version` is taken as
    /// [`with_format_version`](Self::with_format_version).
    #[must_use]
    pub fn with_properties(mut self, properties: impl IntoIterator<Item = (String, String)>) -> Self {
        self.properties.extend(properties);
        self
    }

    /// Another format version than 3.
    #[must_use]
    pub fn with_format_version(mut self, format_version: FormatVersion) -> Self {
        self.format_version = format_version;
        self
    }
}
