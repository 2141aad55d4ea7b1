//! The stores of `lakelock-storage` as `SlateDB` takes them: its line of `object_store` is another one.
//!
//! Endpoints, credentials, server-side encryption and what makes local files last are thereby set up in one place. Conditions on
//! reads and writes go through unchanged: `SlateDB`'s fencing stands on them.

use std::{fmt, future::ready, ops::Range, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{
    FutureExt, StreamExt, TryStreamExt,
    stream::{BoxStream, once},
};
use object_store as ours;
use object_store_slatedb as theirs;
use theirs::{
    CopyMode, CopyOptions, Error, Extensions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, RenameTargetMode, Result, UploadPart, path::Path,
};

use crate::mark::Mark;

/// A store of the other line.
#[derive(Debug)]
pub(crate) struct Bridge {
    inner: Arc<dyn ours::ObjectStore>,
    /// If set, objects of a newer state do not show.
    state: Option<Mark>,
}

impl Bridge {
    pub(crate) fn new(inner: Arc<dyn ours::ObjectStore>) -> Self {
        Self { inner, state: None }
    }

    /// The store as it was in this state.
    pub(crate) fn at(inner: Arc<dyn ours::ObjectStore>, state: Mark) -> Self {
        Self { inner, state: Some(state) }
    }

    fn hides(&self, location: &Path) -> bool {
        self.state.as_ref().is_some_and(|state| state.hides(location))
    }

    fn metas(
        &self,
        listed: BoxStream<'static, ours::Result<ours::ObjectMeta>>,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        let listed = listed.map(|found| meta(found.map_err(error)?));
        match self.state.clone() {
            None => listed.boxed(),
            Some(state) => listed.try_filter(move |found| ready(!state.hides(&found.location))).boxed(),
        }
    }
}

impl fmt::Display for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

// Every method is written out: a new one with a default body must be looked at here first.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for Bridge {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        let options = ours::PutOptions {
            mode: match opts.mode {
                PutMode::Overwrite => ours::PutMode::Overwrite,
                PutMode::Create => ours::PutMode::Create,
                PutMode::Update(theirs::UpdateVersion { e_tag, version }) => {
                    ours::PutMode::Update(ours::UpdateVersion { e_tag, version })
                }
            },
            attributes: attributes_in(&opts.attributes)?,
            ..ours::PutOptions::default()
        };
        let written = self.inner.put_opts(&path_in(location)?, payload.iter().cloned().collect(), options).await;
        written.map(put_result).map_err(error)
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        let options = ours::PutMultipartOptions {
            attributes: attributes_in(&opts.attributes)?,
            ..ours::PutMultipartOptions::default()
        };
        let upload = self.inner.put_multipart_opts(&path_in(location)?, options).await.map_err(error)?;
        Ok(Box::new(Upload { inner: upload }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        if self.hides(location) {
            return Err(Error::NotFound { path: location.to_string(), source: "it is newer".into() });
        }
        let options = ours::GetOptions {
            if_match: options.if_match,
            if_none_match: options.if_none_match,
            if_modified_since: options.if_modified_since,
            if_unmodified_since: options.if_unmodified_since,
            range: options.range.map(|range| match range {
                GetRange::Bounded(range) => ours::GetRange::Bounded(range),
                GetRange::Offset(offset) => ours::GetRange::Offset(offset),
                GetRange::Suffix(length) => ours::GetRange::Suffix(length),
            }),
            version: options.version,
            head: options.head,
            ..ours::GetOptions::default()
        };
        let found = self.inner.get_opts(&path_in(location)?, options).await.map_err(error)?;
        let (range, attributes) = (found.range.clone(), attributes_out(&found.attributes));
        let meta = meta(found.meta.clone())?;
        let payload = match &found.payload {
            // As a stream it would be read in many small pieces.
            ours::GetResultPayload::File(..) => once(async { found.bytes().await.map_err(error) }).boxed(),
            ours::GetResultPayload::Stream(_) => found.into_stream().map_err(error).boxed(),
        };
        let payload = GetResultPayload::Stream(payload);
        Ok(GetResult { payload, meta, range, attributes, extensions: Extensions::new() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(&path_in(location)?, ranges).await.map_err(error)
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let locations = locations.map(|location| location.and_then(|path| path_in(&path)).map_err(error_in)).boxed();
        self.inner.delete_stream(locations).map(|deleted| path_out(&deleted.map_err(error)?)).boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match prefix.map(path_in).transpose() {
            Ok(prefix) => self.metas(self.inner.list(prefix.as_ref())),
            Err(error) => failed(error),
        }
    }

    fn list_with_offset(&self, prefix: Option<&Path>, offset: &Path) -> BoxStream<'static, Result<ObjectMeta>> {
        match (prefix.map(path_in).transpose(), path_in(offset)) {
            (Ok(prefix), Ok(offset)) => self.metas(self.inner.list_with_offset(prefix.as_ref(), &offset)),
            (Err(error), _) | (_, Err(error)) => failed(error),
        }
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let prefix = prefix.map(path_in).transpose()?;
        let listed = self.inner.list_with_delimiter(prefix.as_ref()).await.map_err(error)?;
        Ok(ListResult {
            common_prefixes: listed.common_prefixes.iter().map(path_out).collect::<Result<_>>()?,
            objects: listed.objects.into_iter().map(meta).collect::<Result<_>>()?,
            extensions: Extensions::new(),
        })
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let mode = match options.mode {
            CopyMode::Overwrite => ours::CopyMode::Overwrite,
            CopyMode::Create => ours::CopyMode::Create,
        };
        let options = ours::CopyOptions::new().with_mode(mode);
        self.inner.copy_opts(&path_in(from)?, &path_in(to)?, options).await.map_err(error)
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let mode = match options.target_mode {
            RenameTargetMode::Overwrite => ours::RenameTargetMode::Overwrite,
            RenameTargetMode::Create => ours::RenameTargetMode::Create,
        };
        let options = ours::RenameOptions::new().with_target_mode(mode);
        self.inner.rename_opts(&path_in(from)?, &path_in(to)?, options).await.map_err(error)
    }
}

/// An upload of several parts.
#[derive(Debug)]
struct Upload {
    inner: Box<dyn ours::MultipartUpload>,
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl MultipartUpload for Upload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let part = self.inner.put_part(data.iter().cloned().collect());
        part.map(|written| written.map_err(error)).boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.inner.complete().await.map(put_result).map_err(error)
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await.map_err(error)
    }
}

fn path_in(path: &Path) -> Result<ours::path::Path> {
    ours::path::Path::parse(path.as_ref()).map_err(|source| Error::Generic { store: NAME, source: source.into() })
}

fn path_out(path: &ours::path::Path) -> Result<Path> {
    Path::parse(path.as_ref()).map_err(|source| Error::InvalidPath { source })
}

fn meta(meta: ours::ObjectMeta) -> Result<ObjectMeta> {
    let ours::ObjectMeta { location, last_modified, size, e_tag, version } = meta;
    Ok(ObjectMeta { location: path_out(&location)?, last_modified, size, e_tag, version })
}

fn failed(error: Error) -> BoxStream<'static, Result<ObjectMeta>> {
    once(async { Err(error) }).boxed()
}

fn put_result(written: ours::PutResult) -> PutResult {
    PutResult { e_tag: written.e_tag, version: written.version, extensions: Extensions::new() }
}

/// `SlateDB` marks what it writes by metadata, to know its own objects again; it sets no other attributes.
fn attributes_in(attributes: &theirs::Attributes) -> Result<ours::Attributes> {
    let attribute = |(name, value): (&theirs::Attribute, &theirs::AttributeValue)| match name {
        theirs::Attribute::Metadata(name) => {
            let value = ours::AttributeValue::from(value.to_string());
            Ok((ours::Attribute::Metadata(name.clone()), value))
        }
        other => {
            let operation = format!("writing with the attribute {other:?}");
            Err(Error::NotImplemented { operation, implementer: NAME.to_owned() })
        }
    };
    attributes.iter().map(attribute).collect()
}

fn attributes_out(attributes: &ours::Attributes) -> theirs::Attributes {
    let metadata = attributes.iter().filter_map(|(name, value)| match name {
        ours::Attribute::Metadata(name) => {
            Some((theirs::Attribute::Metadata(name.clone()), theirs::AttributeValue::from(value.to_string())))
        }
        _ => None,
    });
    metadata.collect()
}

/// The same error, with its cause kept.
fn error(error: ours::Error) -> Error {
    use ours::Error as Ours;
    match error {
        Ours::NotFound { path, source } => Error::NotFound { path, source },
        Ours::NotSupported { source } => Error::NotSupported { source },
        Ours::AlreadyExists { path, source } => Error::AlreadyExists { path, source },
        Ours::Precondition { path, source } => Error::Precondition { path, source },
        Ours::NotModified { path, source } => Error::NotModified { path, source },
        Ours::NotImplemented { operation, implementer } => Error::NotImplemented { operation, implementer },
        Ours::PermissionDenied { path, source } => Error::PermissionDenied { path, source },
        Ours::Unauthenticated { path, source } => Error::Unauthenticated { path, source },
        Ours::UnknownConfigurationKey { store, key } => Error::UnknownConfigurationKey { store, key },
        Ours::Generic { store, source } => Error::Generic { store, source },
        other => Error::Generic { store: NAME, source: other.into() },
    }
}

/// An error of a stream of locations, on its way in.
fn error_in(error: Error) -> ours::Error {
    ours::Error::Generic { store: NAME, source: error.into() }
}

const NAME: &str = "catalog store";
