//! The local file system as an object store whose files last.
//!
//! `object_store`'s own has files appear whole, but does not flush them: after a power cut a file that was reported as written
//! may be empty. This one writes by itself and leaves the rest to that one.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path as FilePath, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
    PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UpdateVersion, UploadPart,
    local::LocalFileSystem, path::Path,
};

/// The root of the local file system.
#[derive(Debug)]
pub(crate) struct LocalStore {
    inner: LocalFileSystem,
    fsync: bool,
}

impl LocalStore {
    /// `fsync`: whether a file and the entry of its folder are on the disk when a write returns.
    pub(crate) fn new(fsync: bool) -> Self {
        Self { inner: LocalFileSystem::new(), fsync }
    }
}

impl LocalStore {
    /// Puts a file in place of the one of this version. Others that do so wait for it, also those of other processes.
    async fn update(&self, location: &Path, version: UpdateVersion, staged: Staged) -> Result<PutResult> {
        let target = staged.target.clone();
        let lock = blocking(move || lock(&target)).await?;
        let found = match self.inner.head(location).await {
            Err(Error::NotFound { source, .. }) => Err(precondition(location, source)),
            found => found,
        }?;
        if found.e_tag.is_none() || found.e_tag != version.e_tag {
            return Err(precondition(location, "it was changed".into()));
        }
        blocking(move || {
            let published = staged.publish(false);
            drop(lock);
            published
        })
        .await
    }
}

impl fmt::Display for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAME)
    }
}

// Every method is written out: a new one with a default body must be looked at here first.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for LocalStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        if !opts.attributes.is_empty() {
            return Err(not_implemented("put_opts with attributes"));
        }
        let target = self.inner.path_to_filesystem(location)?;
        let fsync = self.fsync;
        let stage = move || {
            let mut staged = Staged::create(&target, fsync)?;
            payload.iter().try_for_each(|part| staged.file.write_all(part)).map_err(|error| failed(&target, error))?;
            Ok(staged)
        };
        match opts.mode {
            PutMode::Overwrite => blocking(move || stage()?.publish(false)).await,
            PutMode::Create => blocking(move || stage()?.publish(true)).await,
            PutMode::Update(version) => self.update(location, version, blocking(stage).await?).await,
        }
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        if !opts.attributes.is_empty() {
            return Err(not_implemented("put_multipart_opts with attributes"));
        }
        let target = self.inner.path_to_filesystem(location)?;
        let fsync = self.fsync;
        let staged = blocking(move || Staged::create(&target, fsync)).await?;
        Ok(Box::new(Upload { staged: Arc::new(Mutex::new(Some(staged))), length: 0 }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}

/// A file in the making, next to its place. It is removed if it does not get there.
///
/// Its name ends in `#` and digits; such names are left out of listings.
#[derive(Debug)]
struct Staged {
    target: PathBuf,
    path: PathBuf,
    file: File,
    fsync: bool,
}

impl Staged {
    fn create(target: &FilePath, fsync: bool) -> Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = COUNTER.fetch_add(1, Ordering::Relaxed);
            let mut path = target.as_os_str().to_owned();
            path.push(format!("#{}{number:06}", std::process::id()));
            let path = PathBuf::from(path);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { target: target.to_owned(), path, file, fsync }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let folder = target.parent().unwrap_or(target);
                    create_folder(folder, fsync).map_err(|error| failed(folder, error))?;
                }
                Err(error) => return Err(failed(target, error)),
            }
        }
    }

    /// Gives the file its name, if `create` only when there is none of that name.
    fn publish(self, create: bool) -> Result<PutResult> {
        let publish = || {
            if self.fsync {
                self.file.sync_all()?;
            }
            let give_name = if create { fs::hard_link } else { fs::rename };
            give_name(&self.path, &self.target)?;
            if self.fsync { self.target.parent().map_or(Ok(()), sync_folder) } else { Ok(()) }
        };
        publish().map_err(|error| failed(&self.target, error))?;
        Ok(PutResult { e_tag: None, version: None })
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // After a rename there is nothing left to remove.
        let _ = fs::remove_file(&self.path);
    }
}

/// A file that is written part by part.
#[derive(Debug)]
struct Upload {
    /// Nothing, once it is complete or aborted.
    staged: Arc<Mutex<Option<Staged>>>,
    length: u64,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let offset = self.length;
        self.length += data.content_length() as u64;
        let staged = Arc::clone(&self.staged);
        Box::pin(blocking(move || {
            let mut staged = staged.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(Staged { file, target, .. }) = staged.as_mut() else {
                return Err(finished());
            };
            let mut write = || {
                file.seek(SeekFrom::Start(offset))?;
                data.iter().try_for_each(|part| file.write_all(part))
            };
            write().map_err(|error| failed(target, error))
        }))
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let staged = self.take().ok_or_else(finished)?;
        blocking(move || staged.publish(false)).await
    }

    async fn abort(&mut self) -> Result<()> {
        let staged = self.take().ok_or_else(finished)?;
        blocking(move || {
            drop(staged);
            Ok(())
        })
        .await
    }
}

impl Upload {
    fn take(&self) -> Option<Staged> {
        self.staged.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Waits for the sole right to change a file; it lasts as long as the answer is open.
///
/// The name of the file that is locked is left out of listings.
fn lock(target: &FilePath) -> Result<File> {
    let mut path = target.as_os_str().to_owned();
    path.push("#0");
    let locked = || {
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path)?;
        file.lock()?;
        Ok(file)
    };
    locked().map_err(|error| failed(target, error))
}

/// Makes a folder and those above it, each entry flushed if `fsync`.
fn create_folder(folder: &FilePath, fsync: bool) -> io::Result<()> {
    let missing: Vec<_> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(folder)?;
    if fsync {
        missing.iter().filter_map(|folder| folder.parent()).try_for_each(sync_folder)?;
    }
    Ok(())
}

/// Flushes the entries of a folder, where the system knows how to.
fn sync_folder(folder: &FilePath) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Runs `work` where it may block.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(work).await?,
        Err(_) => work(),
    }
}

fn failed(path: &FilePath, source: io::Error) -> Error {
    let path = path.display().to_string();
    let kind = source.kind();
    let source = Box::new(source);
    match kind {
        io::ErrorKind::AlreadyExists => Error::AlreadyExists { path, source },
        io::ErrorKind::NotFound => Error::NotFound { path, source },
        io::ErrorKind::PermissionDenied => Error::PermissionDenied { path, source },
        _ => Error::Generic { store: NAME, source },
    }
}

fn precondition(location: &Path, source: Box<dyn std::error::Error + Send + Sync>) -> Error {
    Error::Precondition { path: location.to_string(), source }
}

fn finished() -> Error {
    Error::Generic { store: NAME, source: "the upload is already complete or aborted".into() }
}

fn not_implemented(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.to_owned(), implementer: NAME.to_owned() }
}

const NAME: &str = "local file system";
