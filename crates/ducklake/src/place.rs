//! Where a catalog is, and how `SlateDB` is set up there.

use std::{
    fmt,
    sync::{Arc, OnceLock},
    time::Duration,
};

use lakelock_storage::Storage;
use object_store_slatedb::{ObjectStore, path::Path};
use slatedb::{
    Db, DbReader, DbReaderMode, GarbageCollectorBuilder, SstBlockSize,
    config::{CompactorOptions, DbReaderOptions, GarbageCollectorDirectoryOptions, GarbageCollectorOptions, Settings},
    db_cache::{
        DbCache, SplitCache,
        moka::{MokaCache, MokaCacheOptions},
    },
};
use uuid::Uuid;

use crate::{
    bridge::Bridge,
    error::{Error, ErrorKind, Result, from_slatedb, not_found},
    format::Format,
    garbage::{Grace, Seen},
    mark::Mark,
    view::View,
};

/// A place for a catalog. A clone is the same one.
#[derive(Clone)]
pub(crate) struct Place {
    inner: Arc<dyn object_store::ObjectStore>,
    store: Arc<dyn ObjectStore>,
    path: Path,
    location: Arc<str>,
    identity: Arc<str>,
    /// Keeps the cached blocks of this place apart from those of others.
    cache_id: u64,
    seen: Arc<Seen>,
}

impl Place {
    pub(crate) fn new(storage: &Storage, location: &str) -> Result<Self> {
        let location = location.trim_end_matches('/');
        let (store, path) = storage.resolve(location)?;
        let place = Self::on(store, path.as_ref(), location)?;
        Ok(Self { identity: storage.identity(location)?.into(), ..place })
    }

    /// The folder at `path` of a store.
    pub(crate) fn on(inner: Arc<dyn object_store::ObjectStore>, path: &str, location: &str) -> Result<Self> {
        let path = Path::parse(path).map_err(|error| {
            Error::new(ErrorKind::InvalidInput, format!("{location} is no place for a catalog")).with_source(error)
        })?;
        Ok(Self {
            store: Arc::new(Bridge::new(Arc::clone(&inner))),
            inner,
            path,
            location: location.into(),
            identity: location.into(),
            cache_id: Uuid::new_v4().as_u64_pair().0,
            seen: Arc::default(),
        })
    }

    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// What places have in common exactly if they are the same one.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn store(&self) -> &Arc<dyn ObjectStore> {
        &self.store
    }

    /// How far the newest state goes.
    pub(crate) async fn mark(&self) -> Result<Mark> {
        Mark::newest(&self.store, &self.path).await.map_err(|error| self.unlisted(error))
    }

    /// The same, if that is further than `known`.
    pub(crate) async fn newer(&self, known: &Mark) -> Result<Option<Mark>> {
        known.newer(&self.store).await.map_err(|error| self.unlisted(error))
    }

    pub(crate) fn missing(&self) -> Error {
        not_found(format!("there is no catalog at {}: create it first", self.location))
    }

    /// Opens the store to write. Whoever has done so before is fenced by that.
    pub(crate) async fn open_db(&self) -> Result<Db> {
        let collector = GarbageCollectorBuilder::new(self.path.clone(), Arc::clone(&self.store))
            .with_options(collector_options(BACKGROUND_INTERVAL.into(), MIN_AGE))
            .with_gc_filter(self.grace(MIN_AGE));
        let opened = Db::builder(self.path.clone(), Arc::clone(&self.store))
            .with_settings(settings())
            .with_sst_block_size(BLOCK_SIZE)
            .with_db_cache(cache(), self.cache_id)
            .with_gc_builder(collector)
            .build();
        opened.await.map_err(|error| from_slatedb(error, &self.location, "open"))
    }

    /// Removes what nothing refers to any more, and has not for `min_age`.
    pub(crate) async fn collect(&self, min_age: Duration) {
        let collector = GarbageCollectorBuilder::new(self.path.clone(), Arc::clone(&self.store))
            .with_options(collector_options(None, min_age))
            .with_gc_filter(self.grace(min_age));
        collector.build().run_gc_once().await;
    }

    fn grace(&self, min_age: Duration) -> Arc<Grace> {
        Arc::new(Grace::new(self.path.clone().join("compacted"), Arc::clone(&self.seen), min_age))
    }

    pub(crate) fn snapshot(&self, db: &Db) -> Result<View> {
        let snapshot = db.snapshot().map_err(|error| from_slatedb(error, &self.location, "read"))?;
        Ok(View::of_snapshot(snapshot, Arc::clone(&self.location)))
    }

    /// A state, whoever wrote it, and its format; nothing, if the catalog was not made to the end.
    pub(crate) async fn at(&self, mark: &Mark) -> Result<Option<(View, Format)>> {
        if mark.is_empty() {
            return Ok(None);
        }
        let store = Bridge::at(Arc::clone(&self.inner), mark.clone());
        self.read(DbReaderMode::FollowLatest, Arc::new(store)).await
    }

    /// The state that a checkpoint has kept, and its format.
    pub(crate) async fn at_checkpoint(&self, checkpoint: Uuid) -> Result<Option<(View, Format)>> {
        self.read(DbReaderMode::Checkpoint(checkpoint), Arc::clone(&self.store)).await
    }

    async fn read(&self, mode: DbReaderMode, store: Arc<dyn ObjectStore>) -> Result<Option<(View, Format)>> {
        let options = DbReaderOptions {
            // There is nothing newer in the store that it sees.
            manifest_poll_interval: NEVER,
            object_store_max_retries: Some(MAX_RETRIES),
            ..DbReaderOptions::default()
        };
        let opened = DbReader::builder(self.path.clone(), store)
            .with_reader_mode(mode)
            .with_options(options)
            .with_db_cache(cache(), self.cache_id)
            .build();
        let reader = opened.await.map_err(|error| from_slatedb(error, &self.location, "read"))?;
        let view = View::of_reader(reader, Arc::clone(&self.location));
        let format = Format::read(&view, &self.location).await?;
        Ok(format.map(|format| (view, format)))
    }

    fn unlisted(&self, error: object_store_slatedb::Error) -> Error {
        let message = format!("cannot look for what is new in the catalog {}", self.location);
        Error::new(ErrorKind::Storage, message).with_source(error)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.location).finish()
    }
}

fn settings() -> Settings {
    Settings {
        // Every commit asks for its own flush.
        flush_interval: None,
        // Flushes to sorted tables are frequent and small, and come faster than the compactor looks.
        l0_max_ssts: 64,
        l0_max_ssts_per_key: 64,
        compactor_options: Some(CompactorOptions {
            object_store_max_retries: Some(MAX_RETRIES),
            ..CompactorOptions::default()
        }),
        // The collector comes with its own.
        garbage_collector_options: None,
        object_store_max_retries: Some(MAX_RETRIES),
        ..Settings::default()
    }
}

fn collector_options(interval: Option<Duration>, min_age: Duration) -> GarbageCollectorOptions {
    let directory = |min_age| Some(GarbageCollectorDirectoryOptions { interval, min_age, dry_run: false });
    GarbageCollectorOptions {
        manifest_options: directory(min_age),
        // Readers need the log while they begin only.
        wal_options: directory(min_age.min(LOG_MIN_AGE)),
        compacted_options: directory(min_age),
        compactions_options: directory(min_age),
        object_store_max_retries: Some(MAX_RETRIES),
        ..GarbageCollectorOptions::default()
    }
}

/// The blocks and indexes that all catalogs of this process have read last.
fn cache() -> Arc<dyn DbCache> {
    static CACHE: OnceLock<Arc<dyn DbCache>> = OnceLock::new();
    let of_size = |max_capacity| -> Arc<dyn DbCache> {
        Arc::new(MokaCache::new_with_opts(MokaCacheOptions { max_capacity, ..MokaCacheOptions::default() }))
    };
    let new = || -> Arc<dyn DbCache> {
        let blocks = SplitCache::new().with_block_cache(Some(of_size(BLOCK_CACHE)));
        Arc::new(blocks.with_meta_cache(Some(of_size(INDEX_CACHE))).build())
    };
    Arc::clone(CACHE.get_or_init(new))
}

/// Rows are small, and mostly read many at a time.
const BLOCK_SIZE: SstBlockSize = SstBlockSize::Block16Kib;
/// In bytes.
const BLOCK_CACHE: u64 = 256 << 20;
const INDEX_CACHE: u64 = 64 << 20;
/// The stores try again by themselves.
const MAX_RETRIES: u32 = 2;
const BACKGROUND_INTERVAL: Duration = Duration::from_mins(1);
/// For so long at least what a reader has begun to read stays there.
pub(crate) const MIN_AGE: Duration = Duration::from_mins(15);
const LOG_MIN_AGE: Duration = Duration::from_mins(1);
const NEVER: Duration = Duration::from_hours(10 * 365 * 24);
