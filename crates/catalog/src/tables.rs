//! The tables of a catalog: from a pointer to a checked document, and from a document to the next metadata file.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use lakelock_iceberg::Table;
use lakelock_iceberg::encryption::{
    CatalogEncryption, DATA_KEY_LENGTH, EncryptingFileIO, EncryptionProperties, KEY_ID, ManifestCache,
};
use lakelock_iceberg::metadata::TableDocument;
use lakelock_iceberg::spec::TableIdent;
use lakelock_kms::KmsRegistry;
use lakelock_storage::Storage;
use sha2::{Digest, Sha256};
use tracing::{debug, warn};

use crate::document_cache::DocumentCache;
use crate::loaded::Loaded;
use crate::pointers::{MetadataHash, Pin, Pointer, PointerStore};
use crate::{Error, ErrorKind, Result, names};

const METADATA_PATH: &str = "write.metadata.path";

/// The namespace property that says where its tables go.
const LOCATION: &str = "location";

/// How often a load follows a pointer that moves under it.
const LOAD_ATTEMPTS: usize = 5;

/// The longest metadata file that is read.
const MAX_METADATA: u64 = 512 << 20;

/// From this length on, metadata is parsed off the async threads.
const LARGE_METADATA: usize = 256 << 10;

/// Tables over a [`PointerStore`]: everything of a catalog but where its pointers are.
pub(crate) struct Tables {
    pub(crate) name: String,
    warehouse: Option<String>,
    pub(crate) storage: Storage,
    encryption: CatalogEncryption,
    manifests: Option<Arc<ManifestCache>>,
    pub(crate) pointers: Box<dyn PointerStore>,
    pub(crate) documents: DocumentCache,
}

/// A catalog that is nothing but [`Tables`].
pub(crate) trait HasTables {
    fn tables(&self) -> &Tables;
}

/// What a load makes sure of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Check {
    /// That the file is what is pinned.
    File,
    /// That the document is what is pinned, be the file as it may: one at hand will do.
    Pin,
}

/// A metadata file as it is stored.
pub(crate) struct MetadataFile {
    bytes: Bytes,
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
            manifests: ManifestCache::from_properties(properties)?.map(Arc::new),
            pointers,
            documents: DocumentCache::default(),
        })
    }

    /// The current document of a table, which is what the pin says.
    pub(crate) async fn load(&self, table: &TableIdent, check: Check) -> Result<Loaded> {
        for _ in 0..LOAD_ATTEMPTS {
            let pointer = self.pointer(table).await?.ok_or_else(|| not_found("table", table))?;
            let loaded = match self.read(table, &pointer, check).await {
                Ok(loaded) => loaded,
                // The table may have been changed, and its old metadata cleaned up, since the pointer was read; or while it
                // was: a metastore may show the parameters of a table half before and half after a change.
                Err(_) if self.changed(table, &pointer).await? => continue,
                Err(e) => return Err(e),
            };
            match &pointer.pin {
                Some(_) if pointer.pinned().is_some() => return Ok(loaded),
                Some(pin) => {
                    check_encryption(table, pin, &loaded)?;
                    debug!(%table, location = loaded.location, "metadata was moved by another catalog client: pinning it");
                }
                None if loaded.key_id().is_some() => {
                    warn!(%table, location = loaded.location, "a table without a pin: its key id is believed and pinned");
                }
                None => debug!(%table, location = loaded.location, "a table without a pin: pinning it"),
            }
            // The next round reads what is pinned now: ours, or that of whoever was faster.
            self.pointers.learn(table, &loaded).await?;
        }
        Err(Error::new(ErrorKind::Conflict, format!("table {table} was changed each time it was loaded")))
    }

    /// The pointer of a table, if there can be one: a level with a dot in it would be taken for two.
    pub(crate) async fn pointer(&self, table: &TableIdent) -> Result<Option<Pointer>> {
        if names::check_namespace(table.namespace()).is_err() {
            return Ok(None);
        }
        self.pointers.get(table).await
    }

    async fn changed(&self, table: &TableIdent, pointer: &Pointer) -> Result<bool> {
        Ok(self.pointers.get(table).await?.is_some_and(|now| now != *pointer))
    }

    /// The document that a pointer points to, which is what a pin of it says. If the file's bytes are pinned, and are not
    /// those, it is not even unpacked.
    async fn read(&self, table: &TableIdent, pointer: &Pointer, check: Check) -> Result<Loaded> {
        let location = &pointer.metadata_location;
        let pinned = pointer.pinned();
        if let (Check::Pin, Some(pin)) = (check, pinned)
            && let Some(loaded) = self.documents.get(location, &pin.hash)?
        {
            check_encryption(table, pin, &loaded)?;
            return Ok(loaded);
        }
        let file = self.read_file(location).await.map_err(|e| {
            Error::new(e.kind(), format!("the metadata of table {table} cannot be read")).with_source(e)
        })?;
        if let Some(Pin { hash: MetadataHash::File(sha256), .. }) = pinned
            && *sha256 != file.sha256
        {
            return Err(changed_outside(table, location));
        }
        let loaded = self.parse(file).await?;
        if let Some(pin) = pinned {
            check_encryption(table, pin, &loaded)?;
            let (hash, document) = (pin.hash.clone(), loaded.clone());
            let has_hash = move || document.has_hash(&hash);
            if !off_async_threads(loaded.document.json_length(), has_hash).await? {
                return Err(changed_outside(table, location));
            }
        }
        Ok(loaded)
    }

    pub(crate) async fn read_file(&self, location: &str) -> Result<MetadataFile> {
        let bytes = self.storage.read_at_most(location, MAX_METADATA).await?;
        let length = bytes.len();
        let (sha256, bytes) = off_async_threads(length, move || Ok((sha256(&bytes), bytes))).await?;
        Ok(MetadataFile { bytes, location: location.to_owned(), sha256 })
    }

    /// Parses a document, unless that was done a moment ago.
    pub(crate) async fn parse(&self, file: MetadataFile) -> Result<Loaded> {
        let MetadataFile { bytes, location, sha256 } = file;
        let hash = MetadataHash::File(sha256.clone());
        if let Some(loaded) = self.documents.get(&location, &hash)? {
            return Ok(loaded);
        }
        let length = bytes.len();
        let parse = {
            let location = location.clone();
            move || Ok(TableDocument::read(&bytes, &location)?)
        };
        let document = Arc::new(off_async_threads(length, parse).await?);
        let loaded = Loaded::new(document, location, sha256);
        self.documents.insert(&loaded);
        Ok(loaded)
    }

    pub(crate) fn table(&self, table: &TableIdent, loaded: &Loaded) -> Result<Table> {
        // The load has made sure that the table's key id is the pinned one.
        let properties = EncryptionProperties::from_table(loaded.document.metadata())?;
        let manager = self.encryption.manager(&table.to_string(), properties);
        let io = EncryptingFileIO::new(self.storage.clone(), manager).with_manifest_cache(self.manifests.clone());
        Ok(Table::new(table.clone(), loaded.document.clone(), loaded.location.clone(), io))
    }

    /// The folder of a new table: below that of its namespace, if there is one.
    pub(crate) async fn location_of(&self, table: &TableIdent, wanted: Option<&str>) -> Result<String> {
        if let Some(location) = wanted {
            return names::warehouse(location);
        }
        let namespace = self.pointers.namespace_properties(table.namespace()).await?;
        if let Some(location) = namespace.get(LOCATION) {
            return Ok(format!("{}/{}", names::warehouse(location)?, table.name()));
        }
        let warehouse = self.warehouse.as_deref().ok_or_else(|| {
            let message =
                format!("table {table} has no location, and catalog {} has no property `warehouse`", self.name);
            Error::new(ErrorKind::InvalidInput, message)
        })?;
        Ok(names::table_location(warehouse, table))
    }

    /// Writes a document as the one that follows `previous`.
    pub(crate) async fn write(&self, document: TableDocument, previous: Option<&str>) -> Result<Loaded> {
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
        let loaded = Loaded::new(document, location, sha256);
        self.documents.insert(&loaded);
        Ok(loaded)
    }

    /// Removes a metadata file that no pointer has ever pointed to.
    pub(crate) async fn discard(&self, loaded: &Loaded) {
        self.documents.remove(&loaded.location);
        if let Err(error) = self.storage.delete(&loaded.location).await {
            warn!(location = loaded.location, %error, "a metadata file of a failed commit is left behind");
        }
    }

    /// Finds out how a swap ended that failed to say so.
    pub(crate) async fn outcome(&self, table: &TableIdent, written: &Loaded, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::UnknownOutcome {
            self.discard(written).await;
            return Err(error);
        }
        match self.has_taken_place(table, written).await {
            Ok(true) => Ok(()),
            // It may still take place: the files stay.
            Ok(false) | Err(_) => Err(error),
        }
    }

    /// Whether a table has come to be at what was written, be it that another commit has followed.
    ///
    /// # Errors
    /// [`ErrorKind::UnknownOutcome`] when that cannot be found out.
    pub(crate) async fn has_taken_place(&self, table: &TableIdent, written: &Loaded) -> Result<bool> {
        let current = match self.load(table, Check::Pin).await {
            Ok(current) => current,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => {
                let message = format!("it cannot be found out whether the change of table {table} took place");
                return Err(Error::new(ErrorKind::UnknownOutcome, message).with_source(error));
            }
        };
        let log = current.document.metadata().metadata_log();
        Ok(current.location == written.location || log.iter().any(|e| e.metadata_file == written.location))
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

/// Metadata that somebody else wrote must keep the table's key id and key length.
fn check_encryption(table: &TableIdent, pin: &Pin, loaded: &Loaded) -> Result<()> {
    let changed = |what: &str, found: String, pinned: String| {
        let location = &loaded.location;
        let message = format!(
            "{location} of table {table} has {found}, and the catalog has {pinned}: {what} was changed outside the catalog"
        );
        Err(Error::new(ErrorKind::InvalidData, message))
    };
    let (found, pinned) = (loaded.key_id(), pin.key_id.as_deref());
    if found != pinned {
        return changed(KEY_ID, describe(found), describe(pinned));
    }
    let (found, pinned) = (loaded.data_key_length(), pin.data_key_length.as_deref());
    if found != pinned {
        let describe = |length: Option<&str>| format!("{DATA_KEY_LENGTH} {}", length.unwrap_or("unset"));
        return changed(DATA_KEY_LENGTH, describe(found), describe(pinned));
    }
    Ok(())
}

fn changed_outside(table: &TableIdent, location: &str) -> Error {
    let message =
        format!("{location} of table {table} was changed outside the catalog: its SHA-256 is not the pinned one");
    Error::new(ErrorKind::InvalidData, message)
}

pub(crate) fn describe(key_id: Option<&str>) -> String {
    key_id.map_or_else(|| "no key id".to_owned(), |key_id| format!("key id {key_id}"))
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

pub(crate) fn conflict(table: &TableIdent) -> Error {
    Error::new(ErrorKind::Conflict, format!("table {table} was changed by another writer"))
}

/// Runs what takes long for large metadata where it does not hold up other tasks.
pub(crate) async fn off_async_threads<T: Send + 'static>(
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
