//! What catalogs do alike: from a pointer to a checked table, and from a commit to the next pointer.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use lakelock_iceberg::Table;
use lakelock_iceberg::commit::TableCommit;
use lakelock_iceberg::encryption::{
    CatalogEncryption, DATA_KEY_LENGTH, EncryptingFileIO, EncryptionProperties, KEY_ID,
};
use lakelock_iceberg::metadata::TableDocument;
use lakelock_iceberg::spec::{self, NamespaceIdent, TableIdent, TableMetadata};
use lakelock_kms::KmsRegistry;
use lakelock_storage::Storage;
use sha2::{Digest, Sha256};
use tracing::{debug, warn};

use crate::document_cache::DocumentCache;
use crate::pointers::{Pin, Pointer, PointerStore, Swap, implies};
use crate::{Catalog, Error, ErrorKind, Result, TableCreation, names, purge};

const METADATA_PATH: &str = "write.metadata.path";
const FORMAT_VERSION: &str = "format-version";

/// A table's default that Java writes into its metadata, so that every writer agrees.
const PARQUET_CODEC: (&str, &str) = ("write.parquet.compression-codec", "zstd");

/// How often a load follows a pointer that moves under it.
const LOAD_ATTEMPTS: usize = 5;

/// From this length on, metadata is parsed off the async threads.
const LARGE_METADATA: usize = 256 << 10;

/// Tables over a [`PointerStore`]: everything of a catalog but where its pointers are.
pub(crate) struct Tables {
    name: String,
    warehouse: Option<String>,
    storage: Storage,
    encryption: CatalogEncryption,
    pointers: Box<dyn PointerStore>,
    documents: DocumentCache,
}

/// A catalog that is nothing but [`Tables`].
pub(crate) trait HasTables {
    fn tables(&self) -> &Tables;
}

/// What a load makes sure of.
#[derive(Debug, Clone, Copy)]
enum Check {
    /// That the file is what is pinned.
    File,
    /// That the document is what is pinned, be the file as it may: one at hand will do.
    Pin,
}

/// A document with where it is and what it hashes to.
struct Loaded {
    document: Arc<TableDocument>,
    location: String,
    sha256: String,
}

impl Tables {
    /// Sets up storage and KMS client from catalog properties.
    pub(crate) fn new(
        name: &str,
        warehouse: Option<&str>,
        properties: &HashMap<String, String>,
        registry: &KmsRegistry,
        pointers: Box<dyn PointerStore>,
    ) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            warehouse: warehouse.map(names::warehouse).transpose()?,
            storage: Storage::from_properties(properties)?,
            encryption: CatalogEncryption::from_properties(registry, properties)?,
            pointers,
            documents: DocumentCache::default(),
        })
    }

    /// The current pointer of a table and its document, which is what the pin says.
    async fn load(&self, table: &TableIdent, check: Check) -> Result<(Pointer, Loaded)> {
        for _ in 0..LOAD_ATTEMPTS {
            let pointer = self.pointer(table).await?.ok_or_else(|| not_found("table", table))?;
            let loaded = match self.read(&pointer, check).await {
                Ok(loaded) => loaded,
                // The table may have been changed, and its old metadata cleaned up, since the pointer was read.
                Err(e) if e.kind() == ErrorKind::NotFound && self.moved(table, &pointer).await? => continue,
                Err(e) => return Err(e),
            };
            match &pointer.pin {
                Some(pin) => {
                    check_key_id(table, pin, &loaded)?;
                    if pin.metadata_location == pointer.metadata_location {
                        check_hash(table, pin, &loaded)?;
                        return Ok((pointer, loaded));
                    }
                    debug!(%table, location = loaded.location, "metadata was moved by another catalog client: pinning it");
                }
                None if key_id(loaded.document.metadata()).is_some() => {
                    warn!(%table, location = loaded.location, "a table without a pin: its key id is believed and pinned");
                }
                None => debug!(%table, location = loaded.location, "a table without a pin: pinning it"),
            }
            // The next round reads what is pinned now: ours, or that of whoever was faster.
            self.pointers.learn(table, &loaded.pin()).await?;
        }
        Err(Error::new(ErrorKind::Conflict, format!("table {table} was changed each time it was loaded")))
    }

    /// The pointer of a table, if there can be one: a level with a dot in it would be taken for two.
    async fn pointer(&self, table: &TableIdent) -> Result<Option<Pointer>> {
        if names::check_namespace(table.namespace()).is_err() {
            return Ok(None);
        }
        self.pointers.get(table).await
    }

    async fn moved(&self, table: &TableIdent, pointer: &Pointer) -> Result<bool> {
        Ok(self.pointers.get(table).await?.is_some_and(|now| now.metadata_location != pointer.metadata_location))
    }

    /// The document that a pointer points to.
    async fn read(&self, pointer: &Pointer, check: Check) -> Result<Loaded> {
        let location = &pointer.metadata_location;
        if let (Check::Pin, Some(pin)) = (check, &pointer.pin)
            && pin.metadata_location == *location
            && let Some(document) = self.documents.get(location, &pin.metadata_sha256)
        {
            return Ok(Loaded { document, location: location.clone(), sha256: pin.metadata_sha256.clone() });
        }
        self.read_file(location).await
    }

    /// Reads a document, and parses it unless it was a moment ago.
    async fn read_file(&self, location: &str) -> Result<Loaded> {
        let bytes = self.storage.read(location).await?;
        let length = bytes.len();
        let (sha256, bytes) = off_async_threads(length, move || Ok((sha256(&bytes), bytes))).await?;
        if let Some(document) = self.documents.get(location, &sha256) {
            return Ok(Loaded { document, location: location.to_owned(), sha256 });
        }
        let parse = {
            let location = location.to_owned();
            move || Ok(TableDocument::read(&bytes, &location)?)
        };
        let document = Arc::new(off_async_threads(length, parse).await?);
        let loaded = Loaded { document, location: location.to_owned(), sha256 };
        self.documents.insert(&loaded.location, &loaded.sha256, &loaded.document);
        Ok(loaded)
    }

    fn table(&self, table: &TableIdent, loaded: &Loaded) -> Result<Table> {
        // The load has made sure that the table's key id is the pinned one.
        let properties = EncryptionProperties::from_table(loaded.document.metadata())?;
        let manager = self.encryption.manager(&table.to_string(), properties);
        let io = EncryptingFileIO::new(self.storage.clone(), manager);
        Ok(Table::new(table.clone(), loaded.document.clone(), loaded.location.clone(), io))
    }

    /// The folder of a new table.
    fn location_of(&self, table: &TableIdent, wanted: Option<&str>) -> Result<String> {
        if let Some(location) = wanted {
            return names::warehouse(location);
        }
        let warehouse = self.warehouse.as_deref().ok_or_else(|| {
            let message =
                format!("table {table} has no location, and catalog {} has no property `warehouse`", self.name);
            Error::new(ErrorKind::InvalidInput, message)
        })?;
        Ok(names::table_location(warehouse, table))
    }

    /// Writes a document as the one that follows `previous`.
    async fn write(&self, document: TableDocument, previous: Option<&str>) -> Result<Loaded> {
        let metadata = document.metadata();
        let folder = match metadata.properties().get(METADATA_PATH) {
            Some(path) => path.trim_end_matches('/').to_owned(),
            None => format!("{}/metadata", metadata.location()),
        };
        let location = names::next_metadata_location(&folder, previous, document.compression()?.file_extension());
        let document = Arc::new(document);
        let encode = {
            let document = document.clone();
            move || -> Result<(Vec<u8>, String)> {
                let bytes = document.to_file()?;
                let sha256 = sha256(&bytes);
                Ok((bytes, sha256))
            }
        };
        let (bytes, sha256) = off_async_threads(document.json_length(), encode).await?;
        self.storage.write_new(&location, bytes).await?;
        let loaded = Loaded { document, location, sha256 };
        self.documents.insert(&loaded.location, &loaded.sha256, &loaded.document);
        Ok(loaded)
    }

    /// Removes a metadata file that no pointer has ever pointed to.
    async fn discard(&self, loaded: &Loaded) {
        self.documents.remove(&loaded.location);
        if let Err(error) = self.storage.delete(&loaded.location).await {
            warn!(location = loaded.location, %error, "a metadata file of a failed commit is left behind");
        }
    }

    /// Finds out how a swap ended that failed to say so.
    async fn outcome(&self, table: &TableIdent, written: &Loaded, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::UnknownOutcome {
            self.discard(written).await;
            return Err(error);
        }
        match self.pointers.get(table).await {
            Ok(Some(pointer)) if pointer.metadata_location == written.location => Ok(()),
            // It may have taken place and have been followed by another commit: the files stay.
            _ => Err(error),
        }
    }
}

impl Loaded {
    fn pointer(&self) -> Pointer {
        Pointer { metadata_location: self.location.clone(), pin: Some(self.pin()) }
    }

    fn pin(&self) -> Pin {
        let metadata = self.document.metadata();
        Pin {
            key_id: key_id(metadata).map(str::to_owned),
            data_key_length: metadata.properties().get(DATA_KEY_LENGTH).cloned(),
            metadata_location: self.location.clone(),
            metadata_sha256: self.sha256.clone(),
        }
    }
}

impl fmt::Debug for Tables {
    /// Without the properties: they may hold passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog")
            .field("name", &self.name)
            .field("warehouse", &self.warehouse)
            .field("pointers", &self.pointers)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl<C: HasTables + fmt::Debug + Send + Sync> Catalog for C {
    fn name(&self) -> &str {
        &self.tables().name
    }

    async fn create_namespace(&self, namespace: &NamespaceIdent, properties: HashMap<String, String>) -> Result<()> {
        names::check_namespace(namespace)?;
        self.tables().pointers.create_namespace(namespace, &properties).await
    }

    async fn drop_namespace(&self, namespace: &NamespaceIdent) -> Result<()> {
        self.tables().pointers.drop_namespace(namespace).await
    }

    async fn list_namespaces(&self, parent: Option<&NamespaceIdent>) -> Result<Vec<NamespaceIdent>> {
        let known = self.tables().pointers.namespaces().await?;
        if let Some(parent) = parent
            && !implies(&known, parent)
        {
            return Err(not_found("namespace", parent));
        }
        let parent: &[String] = parent.map_or(&[], |p| p.as_ref());
        let children: BTreeSet<&[String]> = known
            .iter()
            .map(|namespace| namespace.as_ref().as_slice())
            .filter(|levels| levels.starts_with(parent))
            .filter_map(|levels| levels.get(..=parent.len()))
            .collect();
        Ok(children.into_iter().filter_map(|levels| NamespaceIdent::from_vec(levels.to_vec()).ok()).collect())
    }

    async fn namespace_exists(&self, namespace: &NamespaceIdent) -> Result<bool> {
        Ok(implies(&self.tables().pointers.namespaces().await?, namespace))
    }

    async fn namespace_properties(&self, namespace: &NamespaceIdent) -> Result<HashMap<String, String>> {
        if !self.namespace_exists(namespace).await? {
            return Err(not_found("namespace", namespace));
        }
        self.tables().pointers.namespace_properties(namespace).await
    }

    async fn create_table(&self, mut creation: TableCreation) -> Result<Table> {
        let tables = self.tables();
        let table = creation.identifier.clone();
        names::check_table(&table)?;
        if !self.namespace_exists(table.namespace()).await? {
            return Err(not_found("namespace", table.namespace()));
        }
        if self.table_exists(&table).await? {
            return Err(already_exists("table", &table));
        }
        let location = tables.location_of(&table, creation.location.take().as_deref())?;
        let document = TableDocument::create(into_spec(creation, location)?)?;
        let written = tables.write(document, None).await?;
        // Whatever can fail for the table itself must do so before it is there.
        let created = match tables.table(&table, &written) {
            Ok(created) => created,
            Err(error) => {
                tables.discard(&written).await;
                return Err(error);
            }
        };
        if let Err(error) = tables.pointers.insert(&table, &written.pointer()).await {
            tables.outcome(&table, &written, error).await?;
        }
        Ok(created)
    }

    async fn register_table(&self, table: &TableIdent, metadata_location: &str, key_id: Option<&str>) -> Result<Table> {
        let tables = self.tables();
        names::check_table(table)?;
        if !self.namespace_exists(table.namespace()).await? {
            return Err(not_found("namespace", table.namespace()));
        }
        let loaded = tables.read_file(metadata_location).await?;
        let found = self::key_id(loaded.document.metadata());
        if let Some(expected) = key_id
            && found != Some(expected)
        {
            let message = format!("{metadata_location} has {}, expected {expected}", describe(found));
            return Err(Error::new(ErrorKind::InvalidData, message));
        }
        let registered = tables.table(table, &loaded)?;
        tables.pointers.insert(table, &loaded.pointer()).await?;
        Ok(registered)
    }

    async fn load_table(&self, table: &TableIdent) -> Result<Table> {
        let (_, loaded) = self.tables().load(table, Check::File).await?;
        self.tables().table(table, &loaded)
    }

    async fn drop_table(&self, table: &TableIdent, purge: bool) -> Result<()> {
        let tables = self.tables();
        if !purge {
            if !self.table_exists(table).await? {
                return Err(not_found("table", table));
            }
            return match tables.pointers.remove(table, None).await? {
                Swap::Done => Ok(()),
                Swap::Lost => Err(not_found("table", table)),
            };
        }
        let loaded = self.load_table(table).await?;
        let files = purge::files(&loaded).await?;
        match tables.pointers.remove(table, Some(loaded.metadata_location())).await? {
            Swap::Done => purge::delete(table, &tables.storage, files).await,
            Swap::Lost => Err(conflict(table)),
        }
    }

    async fn list_tables(&self, namespace: &NamespaceIdent) -> Result<Vec<TableIdent>> {
        if !self.namespace_exists(namespace).await? {
            return Err(not_found("namespace", namespace));
        }
        let mut names = self.tables().pointers.tables(namespace).await?;
        names.sort_unstable();
        Ok(names.into_iter().map(|name| TableIdent::new(namespace.clone(), name)).collect())
    }

    async fn table_exists(&self, table: &TableIdent) -> Result<bool> {
        Ok(self.tables().pointer(table).await?.is_some())
    }

    async fn update_table(&self, commit: TableCommit) -> Result<Table> {
        let tables = self.tables();
        let table = &commit.identifier;
        let (pointer, base) = tables.load(table, Check::Pin).await?;
        for requirement in &commit.requirements {
            requirement.check(Some(base.document.metadata())).map_err(|e| conflict(table).with_source(e))?;
        }
        let document = {
            let (document, location, updates) = (base.document.clone(), base.location.clone(), commit.updates);
            off_async_threads(document.json_length(), move || Ok(document.apply(&updates, &location)?)).await?
        };
        if Arc::ptr_eq(document.metadata(), base.document.metadata()) {
            return tables.table(table, &base);
        }
        let written = tables.write(document, Some(&pointer.metadata_location)).await?;
        let updated = match tables.table(table, &written) {
            Ok(updated) => updated,
            Err(error) => {
                tables.discard(&written).await;
                return Err(error);
            }
        };
        match tables.pointers.swap(table, &pointer.metadata_location, &written.pointer()).await {
            Ok(Swap::Done) => {}
            Ok(Swap::Lost) => {
                tables.discard(&written).await;
                return Err(conflict(table));
            }
            Err(error) => tables.outcome(table, &written, error).await?,
        }
        tables.documents.remove(&pointer.metadata_location);
        Ok(updated)
    }
}

fn into_spec(creation: TableCreation, location: String) -> Result<spec::TableCreation> {
    let TableCreation { identifier, schema, location: _, partition_spec, sort_order, mut properties, format_version } =
        creation;
    let format_version = match properties.remove(FORMAT_VERSION).as_deref() {
        None => format_version,
        Some("1") => spec::FormatVersion::V1,
        Some("2") => spec::FormatVersion::V2,
        Some("3") => spec::FormatVersion::V3,
        Some(other) => {
            let message = format!("{FORMAT_VERSION} of table {identifier} is {other}: expected 1, 2 or 3");
            return Err(Error::new(ErrorKind::InvalidInput, message));
        }
    };
    properties.entry(PARQUET_CODEC.0.to_owned()).or_insert_with(|| PARQUET_CODEC.1.to_owned());
    Ok(spec::TableCreation {
        name: identifier.to_string(),
        location: Some(location),
        schema,
        partition_spec,
        sort_order,
        properties,
        format_version,
    })
}

fn check_key_id(table: &TableIdent, pin: &Pin, loaded: &Loaded) -> Result<()> {
    let found = key_id(loaded.document.metadata());
    if found == pin.key_id.as_deref() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidData,
        format!(
            "{} of table {table} has {}, and the catalog has {}: it was changed outside the catalog",
            loaded.location,
            describe(found),
            describe(pin.key_id.as_deref())
        ),
    ))
}

fn check_hash(table: &TableIdent, pin: &Pin, loaded: &Loaded) -> Result<()> {
    if loaded.sha256 == pin.metadata_sha256 {
        return Ok(());
    }
    let message = format!(
        "{} of table {table} was changed outside the catalog: its SHA-256 is not the pinned one",
        loaded.location
    );
    Err(Error::new(ErrorKind::InvalidData, message))
}

fn describe(key_id: Option<&str>) -> String {
    key_id.map_or_else(|| "no key id".to_owned(), |key_id| format!("key id {key_id}"))
}

fn key_id(metadata: &TableMetadata) -> Option<&str> {
    metadata.properties().get(KEY_ID).map(String::as_str)
}

fn sha256(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

pub(crate) fn not_found(what: &str, name: &dyn fmt::Display) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no {what} {name}"))
}

pub(crate) fn already_exists(what: &str, name: &dyn fmt::Display) -> Error {
    Error::new(ErrorKind::AlreadyExists, format!("there is a {what} {name} already"))
}

fn conflict(table: &TableIdent) -> Error {
    Error::new(ErrorKind::Conflict, format!("table {table} was changed by another writer"))
}

/// Runs what takes long for large metadata where it does not hold up other tasks.
async fn off_async_threads<T: Send + 'static>(
    length: usize,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    if length < LARGE_METADATA {
        return work();
    }
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|e| Error::new(ErrorKind::Internal, "work on table metadata was cut short").with_source(e))?
}
