use std::collections::BTreeSet;

use lakelock_crypto::{KeyLength, StandardKeyMetadata};
use lakelock_interop::proxy::{Proxy, Reply};
use lakelock_storage::{EncryptedReader, EncryptingWriter, ErrorKind};

use crate::{Place, plain_request, s3, storage};

const MIB: usize = 1 << 20;

fn text(length: usize) -> Vec<u8> {
    (0..251).cycle().take(length).collect()
}

fn key() -> StandardKeyMetadata {
    StandardKeyMetadata::generate(KeyLength::Aes256).unwrap()
}

#[tokio::test]
async fn files_are_written_read_listed_and_deleted() {
    for place in Place::all("files") {
        let storage = &place.storage;
        // Names as partitions have them, and as nobody should.
        let names = ["t/a", "t/data/day=2024-01-01/b", "t/data/x=%20%2F+~&'()!é/c d", "t/data/y=a:b,c;d@e$f/ö", "tt/e"];
        for name in names {
            storage.write_new(&place.at(name), name.to_owned()).await.unwrap();
            let length = name.len() as u64;
            assert_eq!(storage.length(&place.at(name)).await.unwrap(), length, "{name}");
            assert_eq!(storage.read(&place.at(name)).await.unwrap(), name, "{}", place.at(name));
            assert_eq!(storage.read_range(&place.at(name), 1..length).await.unwrap(), name[1..], "{name}");
        }
        let files = storage.list(&place.at("t")).await.unwrap();
        let found: BTreeSet<_> = files.iter().map(|file| (file.location.clone(), file.length)).collect();
        assert_eq!(found, names[..4].iter().map(|name| (place.at(name), name.len() as u64)).collect());
        assert_eq!(storage.list(&place.at("nothing")).await.unwrap(), []);

        let file = place.at("t/a");
        storage.write(&file, "new").await.unwrap();
        assert_eq!(storage.read(&file).await.unwrap(), "new");
        let beyond = storage.read_range(&file, 2..5).await.unwrap_err();
        assert_eq!((beyond.kind(), beyond.location()), (ErrorKind::InvalidData, file.as_str()));
        storage.delete(&file).await.unwrap();
        assert!(!storage.exists(&file).await.unwrap());
        for missing in [storage.read(&file).await.map(drop), storage.read_range(&file, 0..1).await.map(drop)] {
            assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
        }
    }
}

#[tokio::test]
async fn of_many_writers_of_a_new_file_one_succeeds() {
    for place in Place::all("writers") {
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
    }
}

#[tokio::test]
async fn large_files_go_up_in_parts_and_replace_nothing() {
    for place in Place::all("large") {
        let (storage, file, key) = (&place.storage, place.at("large"), key());
        let plain = text(20 * MIB + 5);
        let mut writer = EncryptingWriter::create(storage, &file, &key).unwrap();
        writer.write(&plain).await.unwrap();
        assert!(!storage.exists(&file).await.unwrap(), "it is there before it is closed");
        let written = writer.close().await.unwrap();
        let reader =
            EncryptedReader::open(storage, &file, &key.clone().with_file_length(written.stored_length)).unwrap();
        assert!(reader.read_all().await.unwrap() == plain);
        assert!(reader.read_range(0..10).await.unwrap() == plain[..10]);

        let mut late = EncryptingWriter::create(storage, &file, &key).unwrap();
        assert_eq!(late.write(&plain).await.unwrap_err().kind(), ErrorKind::AlreadyExists);

        // One that was there first, but only just.
        let raced = place.at("raced");
        let mut writer = EncryptingWriter::create(storage, &raced, &key).unwrap();
        writer.write(&plain).await.unwrap();
        storage.write_new(&raced, "first").await.unwrap();
        assert_eq!(writer.close().await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(storage.read(&raced).await.unwrap(), "first");
    }
}

#[tokio::test]
async fn an_upload_that_is_not_finished_leaves_nothing() {
    let place = Place::moto("unfinished");
    for fails in [false, true] {
        let proxy = Proxy::before(place.url, move |request| {
            let is_lost = fails && request.target.contains("partNumber=2");
            if is_lost { Reply::Answer(500, vec![], "") } else { Reply::Forward }
        });
        let mut properties = s3(&proxy.url());
        properties.push(("s3.retry.num-retries", "0".to_owned()));
        let storage = storage(&properties);
        let file = place.at("unfinished");
        let mut writer = EncryptingWriter::create(&storage, &file, &key()).unwrap();
        let outcome = writer.write(&text(40 * MIB)).await;
        assert_eq!(outcome.is_err(), fails);
        drop(writer);
        // The clean-up is a task of its own.
        while !proxy.take_exchanges().iter().any(|exchange| exchange.request.method == "DELETE") {
            tokio::task::yield_now().await;
        }
        assert!(!storage.exists(&file).await.unwrap());
        let uploads = plain_request("GET", place.url, "/lake?uploads");
        assert!(uploads.starts_with("http/1.1 200") && !uploads.contains("<key>unfinished/"), "{uploads}");
    }
}

#[tokio::test]
async fn the_store_encrypts_as_the_properties_say() {
    let cases = [
        (&[("s3.sse.type", "s3")][..], &["x-amz-server-side-encryption: aes256"][..]),
        (
            &[("s3.sse.type", "kms"), ("s3.sse.key", "lake-key")],
            &["x-amz-server-side-encryption: aws:kms", "x-amz-server-side-encryption-aws-kms-key-id: lake-key"],
        ),
        (&[("s3.sse.type", "dsse-kms"), ("s3.sse.key", "lake-key")], &["x-amz-server-side-encryption: aws:kms:dsse"]),
        (&[("s3.write.storage-class", "STANDARD_IA")], &["x-amz-storage-class: standard_ia"]),
        (&[("s3.write.tags.team", "lake"), ("s3.write.tags.cost", "1")], &["x-amz-tagging-count: 2"]),
    ];
    // SeaweedFS knows the first two.
    for (place, known) in [(Place::moto("sse"), cases.len()), (Place::seaweedfs("sse"), 2)] {
        for (number, (properties, headers)) in cases[..known].iter().enumerate() {
            let mut all = s3(place.url);
            all.extend(properties.iter().map(|(name, value)| (*name, (*value).to_owned())));
            let storage = storage(&all);
            for (name, length) in [("small", 10), ("large", 10 * MIB)] {
                let (file, key) = (place.at(&format!("{number}/{name}")), key());
                let mut writer = EncryptingWriter::create(&storage, &file, &key).unwrap();
                writer.write(&text(length)).await.unwrap();
                let key = key.with_file_length(writer.close().await.unwrap().stored_length);
                let head = plain_request("HEAD", place.url, &format!("/lake/sse/{number}/{name}"));
                for header in *headers {
                    assert!(head.contains(&format!("\r\n{header}\r\n")), "{name} {properties:?}: {head}");
                }
                let reader = EncryptedReader::open(&storage, &file, &key).unwrap();
                assert!(reader.read_all().await.unwrap() == text(length), "{name} {properties:?}");
            }
        }
    }
}
