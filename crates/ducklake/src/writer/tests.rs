//! What a commit asks of the store.

use std::{fmt, ops::Range, sync::Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore, PutMode,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result, memory::InMemory, path::Path,
};

use super::*;
use crate::{ColumnDef, NewTable, transaction::Transaction};

/// A store in memory that notes what is written to it, and on which condition.
#[derive(Debug, Default)]
struct Noting {
    inner: InMemory,
    writes: Mutex<Vec<(String, PutMode)>>,
}

impl Noting {
    fn taken(&self) -> Vec<(String, PutMode)> {
        std::mem::take(&mut *self.writes.lock().unwrap())
    }
}

impl fmt::Display for Noting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[async_trait]
impl ObjectStore for Noting {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        self.writes.lock().unwrap().push((location.to_string(), opts.mode.clone()));
        self.inner.put_opts(location, payload, opts).await
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, opts).await
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

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

#[tokio::test]
async fn a_commit_is_one_conditional_write_to_the_log() {
    let store = Arc::new(Noting::default());
    let place = Place::on(Arc::clone(&store) as _, "lake", "test").unwrap();
    let writer = Writer::open(place, true, None).await.unwrap();
    let begin = async || {
        let (moment, active) = writer.begin().await.unwrap();
        Transaction::new(moment, Some(active))
    };
    let mut transaction = begin().await;
    let new = NewTable {
        schema: MAIN.to_owned(),
        name: "t".to_owned(),
        columns: vec![ColumnDef::new("table_id", "BIGINT")],
        primary_key: vec![0],
    };
    transaction.create_table(new, false).unwrap();
    let table = transaction.table(MAIN, "t").unwrap().id();
    transaction.commit().await.unwrap();
    store.taken();
    let mut numbers = Vec::new();
    for commit in 0..10u8 {
        let mut transaction = begin().await;
        let row = [&[1, commit][..], &[0; 7]].concat();
        transaction.insert(table, vec![row.into()]).await.unwrap();
        transaction.commit().await.unwrap();
        let written = store.taken();
        let [(location, PutMode::Create)] = written.as_slice() else { panic!("{written:?}") };
        let number = location.strip_prefix("lake/wal/").and_then(|name| name.strip_suffix(".sst"));
        numbers.push(number.unwrap().parse::<u64>().unwrap());
    }
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    // Nothing to commit, nothing to write.
    begin().await.commit().await.unwrap();
    assert_eq!(store.taken(), []);
    writer.close().await.unwrap();
}
