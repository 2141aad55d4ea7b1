use std::error::Error as _;

use lakelock_interop::{
    proxy::{Proxy, Reply},
    servers::Azurite,
};
use lakelock_storage::{Error, ErrorKind, Storage};

use crate::{Place, azure, s3, storage};

/// What each operation on a file says, where none can succeed.
async fn all(storage: &Storage, file: &str) -> Vec<(&'static str, Error)> {
    let folder = file.rsplit_once('/').unwrap().0;
    vec![
        ("read", storage.read(file).await.unwrap_err()),
        ("read_range", storage.read_range(file, 0..1).await.unwrap_err()),
        ("write", storage.write(file, "1").await.unwrap_err()),
        ("write_new", storage.write_new(file, "1").await.unwrap_err()),
        ("delete", storage.delete(file).await.unwrap_err()),
        ("list", storage.list(folder).await.unwrap_err()),
    ]
}

fn with(mut properties: Vec<(&'static str, String)>, more: &[(&'static str, &str)]) -> Storage {
    for (name, value) in more {
        properties.retain(|(known, _)| known != name);
        properties.push((name, (*value).to_owned()));
    }
    storage(&properties)
}

fn assert_errors(errors: Vec<(&'static str, Error)>, kind: ErrorKind, file: &str, says: &str) {
    for (what, error) in errors {
        assert_eq!(error.kind(), kind, "{what}: {error}: {:?}", error.source());
        let location = error.location();
        assert!(location == file || what == "list" && file.starts_with(location), "{what}: {location}");
        assert!(error.to_string().contains(says), "{what}: {error}");
    }
}

#[tokio::test]
async fn a_missing_bucket_is_named() {
    for place in [Place::moto("errors"), Place::seaweedfs("errors")] {
        assert_errors(
            all(&place.storage, "s3://no-such-lake/t/f").await,
            ErrorKind::MissingBucket,
            "s3://no-such-lake/t/f",
            "there is no bucket no-such-lake: make it",
        );
    }
    let place = Place::azurite("errors");
    let file = place.at("f").replace("lake@", "no-such-lake@");
    let mut errors = all(&place.storage, &file).await;
    // What is not there is deleted.
    errors.retain(|(what, _)| *what != "delete");
    assert_errors(errors, ErrorKind::MissingBucket, &file, "there is no container no-such-lake");
}

#[tokio::test]
async fn credentials_and_rights_are_told_apart() {
    let place = Place::seaweedfs("errors");
    let file = place.at("f");
    for wrong in [("s3.secret-access-key", "wrong"), ("s3.access-key-id", "nobody")] {
        let storage = with(s3(place.url), &[wrong]);
        assert_errors(all(&storage, &file).await, ErrorKind::Credentials, &file, "s3.access-key-id");
    }
    let reader = with(s3(place.url), &[("s3.access-key-id", "reader"), ("s3.secret-access-key", "reader-secret")]);
    place.storage.write(&file, "1").await.unwrap();
    assert_eq!(reader.read(&file).await.unwrap(), "1");
    for (error, right) in [
        (reader.write(&file, "2").await.unwrap_err(), "s3:PutObject"),
        (reader.write_new(&place.at("new"), "2").await.unwrap_err(), "s3:PutObject"),
        (reader.delete(&file).await.unwrap_err(), "s3:DeleteObject"),
    ] {
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{error}: {:?}", error.source());
        assert!(error.to_string().contains(right), "{error}");
    }

    let place = Place::azurite("errors");
    let key = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmcga2V5IHdyb25nIGtleSE=";
    let storage = with(azure(place.url), &[("adls.auth.shared-key.account.key", key)]);
    let file = place.at("f");
    // Azure itself says more: AuthenticationFailed.
    assert_errors(all(&storage, &file).await, ErrorKind::PermissionDenied, &file, "the role Storage Blob Data");
    // The key is of one account: others are not asked with it.
    let other = file.replace(Azurite::ACCOUNT, "other");
    let storage = with(azure(place.url), &[]);
    assert_errors(
        all(&storage, &other).await,
        ErrorKind::Credentials,
        &other,
        "the account devstoreaccount1, not of other",
    );

    let expired = storage_of_google("http://127.0.0.1:9", &[("gcs.oauth2.token-expires-at", "1")]);
    assert_errors(all(&expired, "gs://lake/t/f").await, ErrorKind::Credentials, "gs://lake/t/f", "no credentials");
}

#[tokio::test]
async fn a_store_that_cannot_be_reached_is_an_error_in_time() {
    const NOBODY: &str = "http://127.0.0.1:9";
    let silent = Proxy::instead(|_| Reply::Silence);
    let no_retries = ("storage.retry.num-retries", "0");
    let soon = ("storage.timeout-ms", "200");
    let azure_file = format!("abfss://lake@{}.dfs.core.windows.net/t/f", Azurite::ACCOUNT);
    for (storage, file, says) in [
        (with(s3(NOBODY), &[no_retries]), "s3://lake/t/f", "cannot be reached: check s3.endpoint"),
        (with(azure(NOBODY), &[no_retries]), &azure_file, "cannot be reached: check adls.connection-string"),
        (storage_of_google(NOBODY, &[no_retries]), "gs://lake/t/f", "cannot be reached: check gcs.service.host"),
        (with(s3(&silent.url()), &[no_retries, soon]), "s3://lake/t/f", "did not answer in time"),
        (storage_of_google(&silent.url(), &[no_retries, soon]), "gs://lake/t/f", "did not answer in time"),
    ] {
        assert_errors(all(&storage, file).await, ErrorKind::Unavailable, file, says);
    }
}

#[tokio::test]
async fn answers_that_only_the_clouds_give_are_understood() {
    let region = vec![("x-amz-bucket-region", "eu-west-1")];
    let malformed = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>";
    let in_region = "is in region eu-west-1: set client.region";
    for (reply, kind, says) in [
        (Reply::Answer(301, region.clone(), ""), ErrorKind::WrongRegion, in_region),
        (Reply::Answer(400, region, ""), ErrorKind::WrongRegion, in_region),
        (Reply::Answer(400, vec![], malformed), ErrorKind::WrongRegion, in_region),
        (Reply::Answer(403, vec![], "<Code>ExpiredToken</Code>"), ErrorKind::Credentials, "s3.session-token"),
        (Reply::Answer(403, vec![], ""), ErrorKind::PermissionDenied, "the credentials need s3:"),
    ] {
        let proxy = Proxy::instead(move |_| reply.clone());
        let storage = with(s3(&proxy.url()), &[]);
        let errors = all(&storage, "s3://lake/t/f").await;
        assert_eq!(proxy.take_exchanges().len(), errors.len(), "a refusal was not taken as one: {says}");
        assert_errors(errors, kind, "s3://lake/t/f", says);
    }
    let missing = "<Error><Code>NoSuchBucket</Code></Error>";
    for (reply, kind, says) in [
        (Reply::Answer(404, vec![], missing), ErrorKind::MissingBucket, "there is no bucket lake"),
        (Reply::Answer(401, vec![], ""), ErrorKind::Credentials, "gcs.oauth2.token"),
        (Reply::Answer(403, vec![], ""), ErrorKind::PermissionDenied, "the credentials need storage.objects."),
    ] {
        let proxy = Proxy::instead(move |_| reply.clone());
        assert_errors(all(&storage_of_google(&proxy.url(), &[]), "gs://lake/t/f").await, kind, "gs://lake/t/f", says);
        for exchange in proxy.take_exchanges() {
            assert_eq!(exchange.request.header("authorization"), Some("Bearer t0ken"));
            assert_eq!(exchange.request.header("x-goog-user-project"), Some("payer"));
        }
    }
}

#[tokio::test]
async fn a_new_file_of_google_is_written_under_its_condition() {
    let exists = Reply::Answer(412, vec![], "<Error><Code>PreconditionFailed</Code></Error>");
    let theirs = Reply::Answer(200, vec![("last-modified", "Mon, 30 Nov 2026 00:00:00 GMT"), ("etag", "\"1\"")], "");
    let proxy = Proxy::instead(move |request| if request.method == "PUT" { exists.clone() } else { theirs.clone() });
    let error = storage_of_google(&proxy.url(), &[]).write_new("gs://lake/t/f", "1").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error}: {:?}", error.source());
    let put = &proxy.take_exchanges()[0].request;
    assert_eq!((put.target.as_str(), put.header("x-goog-if-generation-match")), ("/lake/t%2Ff", Some("0")));
}

/// Google's own errors and conditions are those of a stub: there is no server of its own that could be asked.
fn storage_of_google(url: &str, more: &[(&'static str, &str)]) -> Storage {
    let properties = [("gcs.service.host", url), ("gcs.oauth2.token", "t0ken"), ("gcs.user-project", "payer")];
    with(properties.map(|(name, value)| (name, value.to_owned())).into(), more)
}
