//! The stores of a catalog's files, by location.

use std::{
    collections::HashMap,
    fmt,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use bytes::Bytes;
use futures::TryStreamExt;
use object_store::{GetOptions, ObjectStore, ObjectStoreExt, PutMode, PutOptions, memory::InMemory, path::Path};

use crate::{
    at_rest::ServerSideEncryption,
    error::{self, Error, ErrorKind, Result},
    local::LocalStore,
    location::{Location, Place},
    properties::Properties,
};

/// The property that says whether local files are flushed to the disk before a write returns: `true` (the default) or `false`.
pub const LOCAL_FSYNC: &str = "local.fsync";

/// Reads and writes files by their locations, as they are stored. A clone shares everything with the original.
///
/// | location | store |
/// |---|---|
/// | `/path`, `file:/path`, `file:///path` | the local file system |
/// | `s3://bucket/path`, `s3a://`, `s3n://` | S3, or a store that speaks it (feature `aws`) |
/// | `gs://bucket/path` | Google Cloud Storage (feature `gcp`) |
/// | `abfss://container@account.dfs.core.windows.net/path`, `abfs://`, `wasbs://`, `wasb://` | Azure Blob Storage (feature `azure`) |
/// | `memory://path` | memory, of this value and its clones alone |
///
/// A file appears whole or not at all, also after a crash; folders appear with the first file in them.
#[derive(Clone)]
pub struct Storage {
    stores: Arc<Stores>,
}

struct Stores {
    local: Arc<LocalStore>,
    memory: Arc<InMemory>,
    remote: RemoteStores,
}

impl Stores {
    /// Where the store of a place is, if the place alone does not say it.
    fn endpoint(&self, place: &Place) -> Option<String> {
        match place {
            Place::Memory => Some(format!("{:p}", Arc::as_ptr(&self.memory))),
            #[cfg(feature = "aws")]
            Place::S3 { .. } => self.remote.s3.endpoint(),
            #[cfg(feature = "gcp")]
            Place::Gcs { .. } => self.remote.gcs.endpoint(),
            _ => None,
        }
    }
}

/// The buckets in use, and how new ones are reached.
struct RemoteStores {
    buckets: Mutex<HashMap<Place, Arc<dyn ObjectStore>>>,
    #[cfg(feature = "aws")]
    s3: Arc<crate::s3::S3Settings>,
    #[cfg(feature = "gcp")]
    gcs: Arc<crate::gcs::GcsSettings>,
    #[cfg(feature = "azure")]
    azure: Arc<crate::azure::AzureSettings>,
}

impl RemoteStores {
    fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let _ = properties;
        Ok(Self {
            buckets: Mutex::default(),
            #[cfg(feature = "aws")]
            s3: Arc::new(crate::s3::S3Settings::from_properties(properties)?),
            #[cfg(feature = "gcp")]
            gcs: Arc::new(crate::gcs::GcsSettings::from_properties(properties)?),
            #[cfg(feature = "azure")]
            azure: Arc::new(crate::azure::AzureSettings::from_properties(properties)?),
        })
    }

    /// A bucket, of which there is one, with its connections, for all files in it.
    fn bucket(&self, place: &Place, location: &str) -> Result<Arc<dyn ObjectStore>> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = buckets.get(place) {
            return Ok(Arc::clone(bucket));
        }
        let bucket = self.new_bucket(place).ok_or_else(|| left_out(location))?;
        buckets.insert(place.clone(), Arc::clone(&bucket));
        Ok(bucket)
    }

    fn new_bucket(&self, place: &Place) -> Option<Arc<dyn ObjectStore>> {
        match place {
            #[cfg(feature = "aws")]
            Place::S3 { bucket } => Some(Arc::new(self.s3.bucket(place, bucket))),
            #[cfg(feature = "gcp")]
            Place::Gcs { bucket } => Some(Arc::new(self.gcs.bucket(place, bucket))),
            #[cfg(feature = "azure")]
            Place::Azure { host, container } => Some(Arc::new(self.azure.container(place, host, container))),
            _ => None,
        }
    }
}

fn left_out(location: &str) -> Error {
    let message = "support for such a store was left out of this program when it was built";
    Error::new(ErrorKind::Unsupported, location, message)
}

/// A file in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileInfo {
    /// Where it is, written like the prefix that was listed.
    pub location: String,
    /// The stored length.
    pub length: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

impl Storage {
    /// Sets up the stores from catalog properties: [`LOCAL_FSYNC`], and Java's for the object stores. Nothing is connected to.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if a value is not one of the property's; [`ErrorKind::Unsupported`] for a property of an object
    /// store that cannot be ignored: files would be less protected, elsewhere, or reached as somebody else. The
    /// [location](Error::location) of these errors is the property.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Self> {
        let stores = Stores {
            local: Arc::new(LocalStore::new(Properties(properties).flag(LOCAL_FSYNC, true)?)),
            memory: Arc::new(InMemory::new()),
            remote: RemoteStores::from_properties(properties)?,
        };
        Ok(Self { stores: Arc::new(stores) })
    }

    /// The local file system, with the default settings.
    #[must_use]
    pub fn local() -> Self {
        Self::from_properties(&HashMap::new()).unwrap_or_else(|_| unreachable!("no property is wrong"))
    }

    /// An empty memory store, for tests and tables that need not last.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::local()
    }

    /// The store and the path in it that `location` means.
    ///
    /// What is written through it is stored as it is: nothing is encrypted.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for an unknown scheme, [`ErrorKind::InvalidInput`] for what is no location.
    pub fn resolve(&self, location: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
        let Location { place, path, .. } = Location::parse(location)?;
        Ok((self.store(&place, location)?, path))
    }

    fn store(&self, place: &Place, location: &str) -> Result<Arc<dyn ObjectStore>> {
        match place {
            Place::File => Ok(Arc::clone(&self.stores.local) as _),
            Place::Memory => Ok(Arc::clone(&self.stores.memory) as _),
            _ => self.stores.remote.bucket(place, location),
        }
    }

    /// What a bucket of S3 encrypts new objects with by itself.
    #[cfg_attr(not(feature = "aws"), expect(clippy::unused_async, reason = "there is nobody to ask"))]
    pub(crate) async fn bucket_encryption(&self, bucket: &str) -> Result<Option<ServerSideEncryption>> {
        #[cfg(feature = "aws")]
        return self.stores.remote.s3.bucket_encryption(bucket).await;
        #[cfg(not(feature = "aws"))]
        Err(left_out(&format!("s3://{bucket}/")))
    }

    /// A location in the one form that all ways to write it have in common, to compare it with others.
    ///
    /// # Errors
    ///
    /// Those of [`resolve`](Self::resolve).
    pub fn canonical(location: &str) -> Result<String> {
        Location::parse(location).map(|location| location.canonical())
    }

    /// A text that locations have in common, also those of other values, if and only if they mean the same file: the
    /// [canonical](Self::canonical) form, and which store it is reached at.
    ///
    /// # Errors
    ///
    /// Those of [`resolve`](Self::resolve).
    pub fn identity(&self, location: &str) -> Result<String> {
        let parsed = Location::parse(location)?;
        let canonical = parsed.canonical();
        Ok(match self.stores.endpoint(&parsed.place) {
            Some(endpoint) => format!("{canonical} at {endpoint}"),
            None => canonical,
        })
    }

    /// All bytes of a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], and whatever the store answers.
    pub async fn read(&self, location: &str) -> Result<Bytes> {
        let (store, path) = self.resolve(location)?;
        let read = async { store.get(&path).await?.bytes().await };
        read.await.map_err(|error| Error::from_store(error, location, "read"))
    }

    /// All bytes of a file, if they are not more than `limit`: for files that anybody may have put there.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`] for a longer file, of which nothing is kept, and those of [`read`](Self::read).
    pub async fn read_at_most(&self, location: &str, limit: u64) -> Result<Bytes> {
        let (store, path) = self.resolve(location)?;
        let failed = |error| Error::from_store(error, location, "read");
        let found = store.get(&path).await.map_err(failed)?;
        if found.meta.size > limit {
            let message = format!("{} bytes are more than such a file may have: {limit}", found.meta.size);
            return Err(Error::new(ErrorKind::InvalidData, location, message));
        }
        found.bytes().await.map_err(failed)
    }

    /// The bytes of a file in `range`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`] if the file ends before the range does, and those of [`read`](Self::read).
    pub async fn read_range(&self, location: &str, range: Range<u64>) -> Result<Bytes> {
        let (store, path) = self.resolve(location)?;
        read_exactly(store.as_ref(), &path, location, range, None).await
    }

    /// The stored length of a file.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read).
    pub async fn length(&self, location: &str) -> Result<u64> {
        let (store, path) = self.resolve(location)?;
        let meta = store.head(&path).await.map_err(|error| Error::from_store(error, location, "look at"))?;
        Ok(meta.size)
    }

    /// Whether there is such a file.
    ///
    /// # Errors
    ///
    /// Those of [`read`](Self::read), but for [`ErrorKind::NotFound`].
    pub async fn exists(&self, location: &str) -> Result<bool> {
        match self.length(location).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes a file, in place of one that may be there.
    ///
    /// # Errors
    ///
    /// Whatever the store answers. The old file is still there then.
    pub async fn write(&self, location: &str, bytes: impl Into<Bytes>) -> Result<()> {
        self.put(location, bytes.into(), PutMode::Overwrite).await
    }

    /// Writes a new file. Of several writers at the same time one succeeds.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::AlreadyExists`], and whatever the store answers.
    pub async fn write_new(&self, location: &str, bytes: impl Into<Bytes>) -> Result<()> {
        self.put(location, bytes.into(), PutMode::Create).await
    }

    async fn put(&self, location: &str, bytes: Bytes, mode: PutMode) -> Result<()> {
        let (store, path) = self.resolve(location)?;
        let options = PutOptions { mode, ..PutOptions::default() };
        match store.put_opts(&path, bytes.into(), options).await {
            Ok(_) => Ok(()),
            Err(error) => Err(Error::from_store(error, location, "write")),
        }
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`] from stores that tell, and whatever else the store answers.
    pub async fn delete(&self, location: &str) -> Result<()> {
        let (store, path) = self.resolve(location)?;
        store.delete(&path).await.map_err(|error| Error::from_store(error, location, "delete"))
    }

    /// All files in the folder `prefix` and in the folders in it, in no particular order. None, if there is no such folder.
    ///
    /// # Errors
    ///
    /// Whatever the store answers.
    pub async fn list(&self, prefix: &str) -> Result<Vec<FileInfo>> {
        let folder = Location::parse(prefix)?;
        let store = self.store(&folder.place, prefix)?;
        let files = store.list(Some(&folder.path)).map_ok(|meta| FileInfo {
            location: folder.sibling(&meta.location),
            length: meta.size,
            modified: meta.last_modified.into(),
        });
        files.try_collect().await.map_err(|error| Error::from_store(error, prefix, "list"))
    }
}

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storage").finish_non_exhaustive()
    }
}

/// The bytes in `range`, all of them, of a file that has no more than the `expected` length, if one is: the answer says
/// how long the file is.
pub(crate) async fn read_exactly(
    store: &dyn ObjectStore,
    path: &Path,
    location: &str,
    range: Range<u64>,
    expected: Option<u64>,
) -> Result<Bytes> {
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    let cut_off = |length: u64| {
        let message = format!("the file is cut off: {length} bytes, expected at least {}", range.end);
        Error::new(ErrorKind::InvalidData, location, message)
    };
    let too_long = |length: u64| {
        let message =
            format!("the file has {length} bytes, expected {}: it was extended", expected.unwrap_or_default());
        Error::new(ErrorKind::InvalidData, location, message)
    };
    let read = async {
        let options = GetOptions { range: Some(range.clone().into()), ..GetOptions::default() };
        let answer = store.get_opts(path, options).await?;
        let length = answer.meta.size;
        Ok::<_, object_store::Error>((answer.bytes().await?, length))
    };
    match read.await {
        Ok((_, length)) if expected.is_some_and(|expected| length > expected) => Err(too_long(length)),
        Ok((bytes, _)) if bytes.len() as u64 == range.end - range.start => Ok(bytes),
        Ok((bytes, _)) => Err(cut_off(range.start + bytes.len() as u64)),
        Err(error) if error::is_refusal(&error) => Err(Error::from_store(error, location, "read")),
        // A range that starts beyond the end is an error, of a kind that is the store's own.
        Err(error) => match store.head(path).await {
            Ok(meta) if meta.size < range.end => Err(cut_off(meta.size)),
            _ => Err(Error::from_store(error, location, "read")),
        },
    }
}
