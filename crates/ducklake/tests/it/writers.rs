//! Several processes on one catalog.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use lakelock_ducklake::{ErrorKind, Lake};
use lakelock_storage::Storage;

use crate::support::{File, all, assert_fails, create, insert, reading, writing};

/// Two locations of one folder: what a process opens at one of them, it takes for another catalog than the other, as another
/// process would.
fn two_locations(folder: &Path) -> [String; 2] {
    std::fs::create_dir(folder.join("real")).unwrap();
    std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
    ["real", "link"].map(|name| folder.join(name).join("lake").to_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writer_that_comes_later_fences_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let [here, there] = two_locations(folder.path());
    let storage = Storage::local();
    let first = Lake::open(&storage, &here, writing()).await.unwrap();
    let table = create(&first, "files").await;
    let file = |id| File::new(id, 1, None, "p");
    let mut under_way = first.begin().await.unwrap();
    insert(&mut under_way, table, &file(1)).await.unwrap();

    let second = Lake::open(&storage, &there, writing()).await.unwrap();
    let process = format!("process {}", std::process::id());
    let words = ["another writer has taken over", here.as_str(), process.as_str(), "attach"];
    assert_fails(under_way.commit().await, ErrorKind::Fenced, &words);
    assert_fails(first.begin().await, ErrorKind::Fenced, &words);

    let mut transaction = second.begin().await.unwrap();
    assert_eq!(all(&transaction, table).await, []);
    insert(&mut transaction, table, &file(2)).await.unwrap();
    transaction.commit().await.unwrap();

    // The first comes back, beside its own fenced self.
    let third = Lake::open(&storage, &here, writing()).await.unwrap();
    let mut transaction = third.begin().await.unwrap();
    assert_eq!(all(&transaction, table).await, [file(2)]);
    insert(&mut transaction, table, &file(3)).await.unwrap();
    transaction.commit().await.unwrap();
    let mut late = second.begin().await;
    if let Ok(transaction) = &mut late {
        insert(transaction, table, &file(4)).await.unwrap();
    }
    let committed = match late {
        Ok(transaction) => transaction.commit().await,
        Err(error) => Err(error),
    };
    assert_fails(committed, ErrorKind::Fenced, &[&there]);
    for lake in [first, second, third] {
        lake.close().await.unwrap();
    }
    let reader = Lake::open(&storage, &there, reading()).await.unwrap();
    assert_eq!(all(&reader.begin().await.unwrap(), table).await, [file(2), file(3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_see_whole_commits_beside_a_writer() {
    const READERS: usize = 8;
    const COMMITS: i64 = 150;
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("lake").to_str().unwrap().to_owned();
    let storage = Storage::local();
    let lake = Lake::open(&storage, &location, writing()).await.unwrap();
    let tables = [create(&lake, "one").await, create(&lake, "other").await];
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let (done, location, storage) = (Arc::clone(&done), location.clone(), storage.clone());
        readers.push(tokio::spawn(async move {
            let lake = Lake::open(&storage, &location, reading()).await.unwrap();
            let mut newest = 0;
            loop {
                let last = done.load(Ordering::Acquire);
                let transaction = lake.begin().await.unwrap();
                let one = all(&transaction, tables[0]).await;
                assert!(one.len() >= newest, "a later transaction sees no less");
                newest = one.len();
                assert_eq!(all(&transaction, tables[1]).await, one);
                assert_eq!(all(&transaction, tables[0]).await, one, "a transaction does not move");
                if last {
                    return newest;
                }
            }
        }));
    }
    for id in 0..COMMITS {
        let mut transaction = lake.begin().await.unwrap();
        for table in tables {
            insert(&mut transaction, table, &File::new(id, 1, None, "p")).await.unwrap();
        }
        transaction.commit().await.unwrap();
    }
    done.store(true, Ordering::Release);
    for reader in readers {
        assert_eq!(reader.await.unwrap(), usize::try_from(COMMITS).unwrap());
    }
    lake.close().await.unwrap();
}

/// The collector of garbage stands on it, and `object_store`'s own local store does not have it.
#[tokio::test(flavor = "multi_thread")]
async fn of_those_who_update_a_local_file_one_succeeds() {
    use object_store::{Error, ObjectStoreExt, PutMode, UpdateVersion};

    const WRITERS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("a/boundary").to_str().unwrap().to_owned();
    let (store, path) = Storage::local().resolve(&location).unwrap();
    let update = |version: UpdateVersion, text: String| {
        let (store, path) = (Arc::clone(&store), path.clone());
        async move { store.put_opts(&path, text.into(), PutMode::Update(version).into()).await }
    };
    let unknown = UpdateVersion { e_tag: None, version: None };
    let missing = update(UpdateVersion { e_tag: Some("none".to_owned()), version: None }, String::new()).await;
    assert!(matches!(missing, Err(Error::Precondition { .. })), "{missing:?}");
    store.put_opts(&path, "first".into(), PutMode::Create.into()).await.unwrap();
    for round in 0..20 {
        let meta = store.head(&path).await.unwrap();
        let version = UpdateVersion { e_tag: meta.e_tag, version: meta.version };
        let writers = (0..WRITERS).map(|writer| tokio::spawn(update(version.clone(), format!("{round} by {writer}"))));
        let mut last = Vec::new();
        for (writer, written) in futures::future::join_all(writers).await.into_iter().enumerate() {
            match written.unwrap() {
                Ok(_) => last.push(format!("{round} by {writer}")),
                Err(error) => assert!(matches!(error, Error::Precondition { .. }), "{error}"),
            }
        }
        let found = store.get(&path).await.unwrap().bytes().await.unwrap();
        assert_eq!(last, [std::str::from_utf8(&found).unwrap()]);
    }
    assert!(matches!(update(unknown, String::new()).await, Err(Error::Precondition { .. })));
    let listed: Vec<_> = Storage::local().list(folder.path().to_str().unwrap()).await.unwrap();
    assert_eq!(listed.into_iter().map(|file| file.location).collect::<Vec<_>>(), [location]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_began_too_long_ago_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let location = folder.path().join("lake").to_str().unwrap().to_owned();
    let storage = Storage::local();
    let lake = Lake::open(&storage, &location, writing()).await.unwrap();
    let table = create(&lake, "files").await;
    let mut transaction = lake.begin().await.unwrap();
    let rows = (0..5000).map(|id| File::new(id, 1, None, &"p".repeat(100)).encode());
    transaction.insert(table, rows.collect()).await.unwrap();
    transaction.commit().await.unwrap();
    lake.close().await.unwrap();

    let reader = Lake::open(&storage, &location, reading()).await.unwrap();
    let transaction = reader.begin().await.unwrap();
    std::fs::remove_dir_all(folder.path().join("lake/compacted")).unwrap();
    let read = transaction.scan(table, &[]).unwrap().collect().await;
    assert_fails(read.map(|rows| rows.len()), ErrorKind::Storage, &[&location, "began too long ago", "checkpoint"]);
}
