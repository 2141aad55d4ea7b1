use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lakelock_crypto::{KeyLength, StandardKeyMetadata};
use lakelock_interop::proxy::{Proxy, Reply, Request};
use lakelock_storage::{EncryptingWriter, ErrorKind, Storage};

use crate::{Place, azure, s3, storage};

/// Which requests make a file.
fn makes_a_file(request: &Request) -> bool {
    let is_whole = request.method == "PUT" && !request.target.contains('?');
    is_whole || (request.method == "POST" && request.target.contains("uploadId="))
}

/// A storage whose first request that makes a file is carried out, but answered by an error.
fn losing(place: &Place, properties: fn(&str) -> Vec<(&'static str, String)>) -> (Proxy, Storage) {
    let requests = AtomicUsize::new(0);
    let proxy = Proxy::before(place.url, move |request| {
        let is_first = makes_a_file(request) && requests.fetch_add(1, Ordering::SeqCst) == 0;
        if is_first { Reply::Lose(500) } else { Reply::Forward }
    });
    let mut properties = properties(&proxy.url());
    properties.push(("storage.retry.min-wait-ms", "1".to_owned()));
    let storage = storage(&properties);
    (proxy, storage)
}

#[tokio::test]
async fn a_writer_knows_its_own_file_when_the_answer_was_lost() {
    let places: [(_, fn(&str) -> _); 3] =
        [(Place::moto("lost"), s3), (Place::seaweedfs("lost"), s3), (Place::azurite("lost"), azure)];
    for (place, properties) in places {
        let file = place.at("00001.metadata.json");
        let (_proxy, storage) = losing(&place, properties);
        storage.write_new(&file, "ours").await.unwrap();
        assert_eq!(storage.read(&file).await.unwrap(), "ours");

        // Another writer's is still another writer's, if only by a moment.
        let (_proxy, storage) = losing(&place, properties);
        let error = storage.write_new(&file, "ours").await.unwrap_err();
        assert_eq!((error.kind(), error.location()), (ErrorKind::AlreadyExists, file.as_str()));
    }
}

/// Connections break before the request has arrived: three times in a row, and each time.
#[tokio::test]
async fn a_file_is_written_although_connections_break() {
    let places: [(_, fn(&str) -> _); 3] =
        [(Place::moto("broken"), s3), (Place::seaweedfs("broken"), s3), (Place::azurite("broken"), azure)];
    for (place, properties) in places {
        for (breaks, is_written) in [(3, true), (usize::MAX, false)] {
            let attempts = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&attempts);
            let proxy = Proxy::before(place.url, move |request| {
                let breaks = makes_a_file(request) && counter.fetch_add(1, Ordering::SeqCst) < breaks;
                if breaks { Reply::Hangup } else { Reply::Forward }
            });
            let mut properties = properties(&proxy.url());
            properties.push(("storage.retry.min-wait-ms", "1".to_owned()));
            properties.push(("storage.retry.num-retries", "3".to_owned()));
            let file = place.at(&format!("after-{breaks}"));
            let written = storage(&properties).write_new(&file, "ours").await;
            assert_eq!(written.err().map(|error| error.kind()), (!is_written).then_some(ErrorKind::Unavailable));
            assert!(attempts.load(Ordering::SeqCst) >= 4);
            let found = place.storage.read(&file).await.map_err(|error| error.kind());
            assert_eq!(found, if is_written { Ok("ours".into()) } else { Err(ErrorKind::NotFound) });
        }
    }
}

#[tokio::test]
async fn an_upload_is_complete_when_only_the_answer_was_lost() {
    let places: [(_, fn(&str) -> _); 2] = [(Place::moto("lost"), s3), (Place::seaweedfs("lost"), s3)];
    for (place, properties) in places {
        let (_proxy, storage) = losing(&place, properties);
        let key = StandardKeyMetadata::generate(KeyLength::Aes128).unwrap();
        let mut writer = EncryptingWriter::create(&storage, &place.at("large"), &key).unwrap();
        writer.write(&vec![7; 9 << 20]).await.unwrap();
        let written = writer.close().await.unwrap();
        assert_eq!(storage.length(&place.at("large")).await.unwrap(), written.stored_length);
    }
}

#[tokio::test]
async fn a_file_is_written_once_where_the_store_has_no_condition() {
    let place = Place::moto("unconditional");
    let proxy = Proxy::before(place.url, |request| match request.header("if-none-match") {
        Some(_) => Reply::Answer(501, vec![], "<Error><Code>NotImplemented</Code></Error>"),
        None => Reply::Forward,
    });
    let mut properties = s3(&proxy.url());
    let error = storage(&properties).write_new(&place.at("f"), "1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("s3.conditional-writes"), "{error}");
    assert_eq!(proxy.take_exchanges().len(), 1, "it was tried again");

    properties.push(("s3.conditional-writes", "false".to_owned()));
    let storage = storage(&properties);
    storage.write_new(&place.at("f"), "1").await.unwrap();
    assert_eq!(storage.write_new(&place.at("f"), "2").await.unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(storage.read(&place.at("f")).await.unwrap(), "1");
}
