//! What the stores themselves encrypt objects with.

use lakelock_storage::{ErrorKind, ServerSideEncryption, Storage};

use crate::{Place, s3, storage};

const KEY: &str = "1234abcd-12ab-34cd-56ef-1234567890ab";

#[tokio::test]
async fn an_object_is_under_what_it_was_written_with() {
    for place in [Place::moto("at-rest"), Place::seaweedfs("at-rest")] {
        let kms = [("s3.sse.type", "kms"), ("s3.sse.key", KEY), ("s3.sse.bucket-key-enabled", "true")];
        let cases = [
            (&kms[..], Some(("aws:kms", Some(KEY)))),
            (&kms[..2], Some(("aws:kms", Some(KEY)))),
            (&[("s3.sse.type", "s3")], Some(("AES256", None))),
        ];
        for (n, (properties, expected)) in cases.into_iter().enumerate() {
            let mut all = s3(place.url);
            all.extend(properties.iter().map(|(name, value)| (*name, (*value).to_owned())));
            let file = place.at(&n.to_string());
            storage(&all).write_new(&file, "1").await.unwrap();
            let expected = expected.map(|(algorithm, key)| ServerSideEncryption {
                algorithm: algorithm.to_owned(),
                key: key.map(str::to_owned),
            });
            assert_eq!(place.storage.encryption_at_rest(&file).await.unwrap(), expected, "{properties:?}");
        }
        assert_eq!(place.storage.default_encryption_at_rest(&place.at("")).await.unwrap(), None);
        let missing = place.storage.encryption_at_rest(&place.at("missing")).await.unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}

#[tokio::test]
async fn what_keeps_it_from_being_told_is_an_error_of_its_own() {
    // SeaweedFS has the same answer for a bucket that is not there as for one without a configuration.
    let error = Place::moto("").storage.default_encryption_at_rest("s3://nowhere/a").await.unwrap_err();
    assert_eq!((error.kind(), error.location()), (ErrorKind::MissingBucket, "s3://nowhere/"));

    let mut reader = s3(Place::seaweedfs("").url);
    reader[2].1 = "reader".to_owned();
    reader[3].1 = "reader-secret".to_owned();
    let error = storage(&reader).default_encryption_at_rest("s3://lake/a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("s3:GetEncryptionConfiguration"), "{error}");

    for location in ["/folder/file", "memory://file", "gs://bucket/file"] {
        let error = Storage::local().encryption_at_rest(location).await.unwrap_err();
        assert_eq!((error.kind(), error.location()), (ErrorKind::Unsupported, location));
        assert_eq!(
            Storage::local().default_encryption_at_rest(location).await.unwrap_err().kind(),
            ErrorKind::Unsupported
        );
    }
}
