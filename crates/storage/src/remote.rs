//! A bucket of an object store, with what the stores' own clients leave open.
//!
//! - It is set up by the first request, as credentials and regions may have to be asked for.
//! - A new object is written once, and whether it was is known: a request that is tried again may find what its first
//!   attempt has written. Each object carries a number of its writer by which that is told apart from another writer's.
//! - An upload that is not completed is aborted, wherever it is dropped.
//! - Errors say what to do next.

use std::{fmt, ops::Range, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{StreamExt, TryFutureExt, TryStreamExt, stream::BoxStream};
use object_store::{
    Attribute, AttributeValue, Attributes, CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload,
    ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result,
    RetryConfig, TagSet, path::Path,
};
use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::{error, location::Place, repeats::Repeats, upload::GuardedUpload};

/// A bucket. A clone shares everything with the original.
#[derive(Clone)]
pub(crate) struct RemoteStore {
    shared: Arc<Shared>,
}

struct Shared {
    place: Place,
    bucket: Box<dyn Connect>,
    new_objects: NewObjects,
    retry: RetryConfig,
    store: OnceCell<Arc<dyn ObjectStore>>,
}

/// A bucket that is not set up yet.
#[async_trait]
pub(crate) trait Connect: Send + Sync {
    /// Sets it up.
    async fn connect(&self) -> error::Result<Arc<dyn ObjectStore>>;
}

/// What new objects of a store are to have.
#[derive(Clone, Debug)]
pub(crate) struct NewObjects {
    pub(crate) attributes: Attributes,
    pub(crate) tags: TagSet,
    /// Whether the store can refuse to write where there is an object. If not, that is looked at before, which does not help
    /// against a writer at the same time.
    pub(crate) conditional: bool,
    /// The same, for uploads of several parts.
    pub(crate) conditional_uploads: bool,
}

impl Default for NewObjects {
    /// As with Azure and Google, whose uploads of several parts take no condition.
    fn default() -> Self {
        Self { attributes: Attributes::new(), tags: TagSet::default(), conditional: true, conditional_uploads: false }
    }
}

impl RemoteStore {
    pub(crate) fn new(
        place: Place,
        bucket: impl Connect + 'static,
        new_objects: NewObjects,
        retry: RetryConfig,
    ) -> Self {
        let bucket = Box::new(bucket);
        Self { shared: Arc::new(Shared { place, bucket, new_objects, retry, store: OnceCell::new() }) }
    }

    async fn store(&self) -> Result<&Arc<dyn ObjectStore>> {
        let Shared { bucket, store, .. } = &*self.shared;
        store.get_or_try_init(|| async { bucket.connect().await.map_err(error::into_store) }).await
    }

    /// What a store says of a path, so that it says what to do.
    pub(crate) fn explained(&self, path: &Path, doing: &str) -> impl FnOnce(Error) -> Error + use<> {
        let place = self.shared.place.clone();
        let (path, doing) = (path.clone(), doing.to_owned());
        move |error| error::explained(error, &place, &path, &doing)
    }

    /// The object at `path`, if it was written under this number.
    pub(crate) async fn written_as(&self, path: &Path, number: &Uuid) -> Result<Written> {
        let options = GetOptions { head: true, ..GetOptions::default() };
        match self.store().await?.get_opts(path, options).await {
            Ok(found) => {
                let ours = found.attributes.get(&NUMBER).is_some_and(|found| **found == *number.to_string());
                let GetResult { meta, .. } = found;
                let result = PutResult { e_tag: meta.e_tag, version: meta.version };
                Ok(if ours { Written::ByUs(result) } else { Written::ByOthers })
            }
            Err(Error::NotFound { .. }) => Ok(Written::Not),
            Err(error) => Err(self.explained(path, "look at")(error)),
        }
    }

    /// Writes an object where there is none.
    async fn create(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        let number = Uuid::new_v4();
        let mut options = self.numbered(options, &number);
        if !self.shared.new_objects.conditional {
            if !matches!(self.written_as(path, &number).await?, Written::Not) {
                return Err(already_exists(path));
            }
            options.mode = PutMode::Overwrite;
        }
        let store = self.store().await?;
        let mut repeats = Repeats::new(&self.shared.retry);
        let mut obstructions = 0;
        loop {
            let error = match store.put_opts(path, payload.clone(), options.clone()).await {
                Ok(result) => return Ok(result),
                Err(error) => error,
            };
            let exists = matches!(error, Error::AlreadyExists { .. } | Error::Precondition { .. });
            // Whatever else went wrong, it may have been the answer that was lost.
            let unknown = matches!(error, Error::Generic { .. }) && !error::is_refusal(&error);
            let found = if exists || unknown { self.written_as(path, &number).await.ok() } else { None };
            match found {
                Some(Written::ByUs(result)) => return Ok(result),
                // It was in the way for a moment only, such as another request that was not finished.
                Some(Written::Not) if exists && obstructions < MAX_OBSTRUCTIONS => obstructions += 1,
                // Should the first attempt still arrive, it is known by its number.
                Some(Written::Not) if unknown && repeats.next().await => {}
                _ if exists => return Err(already_exists(path)),
                _ => return Err(self.explained(path, "write")(error)),
            }
        }
    }

    fn numbered(&self, options: PutOptions, number: &Uuid) -> PutOptions {
        let NewObjects { attributes, tags, .. } = &self.shared.new_objects;
        PutOptions { attributes: numbered(options.attributes, attributes, number), tags: tags.clone(), ..options }
    }
}

/// Who has written an object.
pub(crate) enum Written {
    /// This writer.
    ByUs(PutResult),
    /// Another one.
    ByOthers,
    /// Nobody.
    Not,
}

/// How often an object is written anew that could not be written since something was in the way which is not there any more.
const MAX_OBSTRUCTIONS: usize = 2;

/// The metadata of an object that holds the number of its writer. All stores take a name like this one.
const NUMBER: Attribute = Attribute::Metadata(std::borrow::Cow::Borrowed("lakelockwriter"));

fn numbered(mut attributes: Attributes, others: &Attributes, number: &Uuid) -> Attributes {
    for (name, value) in others {
        attributes.insert(name.clone(), value.clone());
    }
    attributes.insert(NUMBER, AttributeValue::from(number.to_string()));
    attributes
}

pub(crate) fn already_exists(path: &Path) -> Error {
    Error::AlreadyExists { path: path.to_string(), source: "another writer has written it".into() }
}

impl fmt::Display for RemoteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shared.place.fmt(f)
    }
}

impl fmt::Debug for RemoteStore {
    /// Without the settings: they hold credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteStore").field("place", &self.shared.place).finish_non_exhaustive()
    }
}

// Every method is written out: a new one with a default body must be looked at here first.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for RemoteStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        if opts.mode == PutMode::Create {
            return self.create(location, payload, opts).await;
        }
        let options = self.numbered(opts, &Uuid::new_v4());
        let written = self.store().await?.put_opts(location, payload, options).await;
        written.map_err(self.explained(location, "write"))
    }

    /// The upload makes a new object: it is not completed where there is one, as far as the store can tell.
    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let NewObjects { attributes, tags, conditional_uploads, .. } = self.shared.new_objects.clone();
        let number = Uuid::new_v4();
        let attributes = numbered(opts.attributes, &attributes, &number);
        let options = PutMultipartOptions { attributes, tags, extensions: opts.extensions };
        let (this, location) = (self.clone(), location.clone());
        // A task of its own, so that an upload which the store has begun does not get lost when nobody waits for it any more.
        let started = tokio::spawn(async move {
            let store = this.store().await?;
            let upload = store.put_multipart_opts(&location, options).await;
            let upload = upload.map_err(this.explained(&location, "write"))?;
            Ok::<_, Error>(GuardedUpload::new(upload, this.clone(), location, number, conditional_uploads))
        });
        Ok(Box::new(started.await??))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let doing = if options.head { "look at" } else { "read" };
        self.store().await?.get_opts(location, options).await.map_err(self.explained(location, doing))
    }

    /// Ranges that are close to each other are one request, and some requests are made at the same time.
    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.store().await?.get_ranges(location, ranges).await.map_err(self.explained(location, "read"))
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let this = self.clone();
        let deleted = async move {
            let deleted = this.store().await?.delete_stream(locations);
            Ok(deleted.map_err(move |error| this.explained(&Path::default(), "delete from")(error)))
        };
        deleted.try_flatten_stream().boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (this, prefix) = (self.clone(), prefix.cloned());
        let listed = async move {
            let listed = this.store().await?.list(prefix.as_ref());
            Ok(listed.map_err(move |error| this.explained(&prefix.clone().unwrap_or_default(), "list")(error)))
        };
        listed.try_flatten_stream().boxed()
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        let (this, prefix, offset) = (self.clone(), prefix.cloned(), offset.clone());
        let listed = async move {
            let listed = this.store().await?.list_with_offset(prefix.as_ref(), &offset);
            Ok(listed.map_err(move |error| this.explained(&prefix.clone().unwrap_or_default(), "list")(error)))
        };
        listed.try_flatten_stream().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let listed = self.store().await?.list_with_delimiter(prefix).await;
        listed.map_err(self.explained(prefix.unwrap_or(&Path::default()), "list"))
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.store().await?.copy_opts(from, to, options).await.map_err(self.explained(from, "copy"))
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.store().await?.rename_opts(from, to, options).await.map_err(self.explained(from, "rename"))
    }
}
