use std::collections::{BTreeSet, HashMap};

use lakelock_storage::{ErrorKind, LOCAL_FSYNC, Storage};

use crate::Place;

#[tokio::test]
async fn a_file_is_written_read_and_deleted() {
    for place in Place::all() {
        let storage = &place.storage;
        let file = place.at("new folder/db.t/a%20b=é.bin");
        assert!(!storage.exists(&file).await.unwrap());

        storage.write_new(&file, "0123456789").await.unwrap();
        assert!(storage.exists(&file).await.unwrap());
        assert_eq!(storage.length(&file).await.unwrap(), 10);
        assert_eq!(storage.read(&file).await.unwrap(), "0123456789");
        assert_eq!(storage.read_range(&file, 3..5).await.unwrap(), "34");
        assert_eq!(storage.read_range(&file, 10..10).await.unwrap(), "");

        storage.write(&file, "new").await.unwrap();
        assert_eq!(storage.read(&file).await.unwrap(), "new");

        storage.delete(&file).await.unwrap();
        assert!(!storage.exists(&file).await.unwrap());
    }
}

#[tokio::test]
async fn the_name_on_the_disk_is_the_name_in_the_location() {
    let place = Place::local();
    let folder = place.local.as_ref().unwrap().path();
    for name in ["a%20b", "c d", "x=%2Fy", "é#x"] {
        place.storage.write(&place.at(name), "1").await.unwrap();
        assert!(folder.join(name).exists(), "{name}");
        let uri = format!("file:{}", place.at(name));
        assert_eq!(place.storage.read(&uri).await.unwrap(), "1", "{name}");
    }
}

#[tokio::test]
async fn of_many_writers_of_a_new_file_one_succeeds() {
    for place in Place::all() {
        let file = place.at("00001.metadata.json");
        let writers = (0..8).map(|writer| {
            let (storage, file) = (place.storage.clone(), file.clone());
            tokio::spawn(async move { storage.write_new(&file, format!("{writer}")).await.map(|()| writer) })
        });
        let mut winner = None;
        for result in futures::future::join_all(writers).await {
            match result.unwrap() {
                Ok(writer) => assert!(winner.replace(writer).is_none(), "two writers succeeded"),
                Err(error) => assert_eq!((error.kind(), error.location()), (ErrorKind::AlreadyExists, file.as_str())),
            }
        }
        assert_eq!(place.storage.read(&file).await.unwrap(), winner.unwrap().to_string());
        assert_eq!(place.file_count().await, 1);
    }
}

#[tokio::test]
async fn a_listing_has_all_files_below_and_writes_them_like_the_prefix() {
    for place in Place::all() {
        for name in ["t/a", "t/data/b", "t/data/x=%20/c", "tt/d"] {
            place.storage.write(&place.at(name), name.to_owned()).await.unwrap();
        }
        let prefixes = match place.local {
            Some(_) => vec![place.folder.clone(), format!("file:{}", place.folder), format!("file://{}", place.folder)],
            None => vec![place.folder.clone()],
        };
        for prefix in prefixes {
            let files = place.storage.list(&format!("{prefix}/t")).await.unwrap();
            let found: BTreeSet<_> = files.iter().map(|file| (file.location.clone(), file.length)).collect();
            let expected = [("t/a", 3), ("t/data/b", 8), ("t/data/x=%20/c", 14)];
            assert_eq!(found, expected.map(|(name, length)| (format!("{prefix}/{name}"), length)).into());
            assert_eq!(place.storage.read(&files[0].location).await.unwrap().len() as u64, files[0].length);
        }
        assert_eq!(place.storage.list(&place.at("nothing")).await.unwrap(), []);
    }
}

#[tokio::test]
async fn errors_name_the_location_and_say_what_to_do() {
    for place in Place::all() {
        let (storage, file) = (&place.storage, place.at("f"));
        let missing = place.at("missing");
        storage.write(&file, "0123").await.unwrap();
        let cases = [
            (storage.read(&missing).await.map(drop), ErrorKind::NotFound, &missing),
            (storage.read_range(&missing, 0..1).await.map(drop), ErrorKind::NotFound, &missing),
            (storage.length(&missing).await.map(drop), ErrorKind::NotFound, &missing),
            (storage.write_new(&file, "").await, ErrorKind::AlreadyExists, &file),
            (storage.read_range(&file, 3..5).await.map(drop), ErrorKind::InvalidData, &file),
            (storage.read_range(&file, 1 << 60..1 << 61).await.map(drop), ErrorKind::InvalidData, &file),
            (storage.read_range(&file, 0..1 << 61).await.map(drop), ErrorKind::InvalidData, &file),
        ];
        for (result, kind, location) in cases {
            let error = result.unwrap_err();
            assert_eq!((error.kind(), error.location()), (kind, location.as_str()));
            assert!(error.to_string().starts_with(location.as_str()), "{error}");
        }
        assert_eq!(storage.read("hdfs://bucket/file").await.unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

#[tokio::test]
async fn properties_are_checked() {
    let properties = |value: &str| HashMap::from([(LOCAL_FSYNC.to_owned(), value.to_owned())]);
    let storage = Storage::from_properties(&properties("false")).unwrap();
    storage.write("memory://a", "1").await.unwrap();
    assert_eq!(storage.clone().read("memory://a").await.unwrap(), "1");
    assert_eq!(Storage::from_properties(&properties("maybe")).unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn locations_are_compared_in_one_form() {
    for (one, other, same) in [
        ("/w/t", "file:///w//t/", true),
        ("s3a://lake/t", "s3://lake/t", true),
        ("s3://lake/t", "s3://other/t", false),
        ("s3://lake/t", "gs://lake/t", false),
        ("wasbs://lake@acc.blob.core.windows.net/t", "abfss://lake@acc.dfs.core.windows.net/t", true),
    ] {
        let canonical = |location| Storage::canonical(location).unwrap();
        assert_eq!(canonical(one) == canonical(other), same, "{one} {other}");
    }
    assert_eq!(Storage::canonical("http://host/t").unwrap_err().kind(), ErrorKind::Unsupported);
}
