//! Whether the bucket keeps a lake under the key that it is meant to be under.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use lakelock_storage::Storage;

use super::{
    Contents,
    check::{FILES_AT_ONCE, Problem, Wrong, cannot_look_at},
};
use crate::error::{Error, ErrorKind, Result};

impl Contents<'_> {
    /// What of a lake in S3 the bucket does not itself encrypt under this key of its KMS (SSE-KMS): every object of the catalog,
    /// which is at this location, and of the data path, whatever it is; the snapshot's files that are elsewhere; and the
    /// buckets' own configuration, under which objects come whose writer does not ask for anything.
    ///
    /// The key is its id or its ARN. Without one it is the default key of the catalog's bucket.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] for a lake that is not in S3, or without a key where the bucket names none;
    /// [`ErrorKind::Corrupt`] and [`ErrorKind::Storage`] for what keeps it from being told.
    pub async fn check_at_rest(&self, catalog: &str, storage: &Storage, key: Option<&str>) -> Result<AtRest> {
        let mut buckets = BTreeMap::new();
        let objects = self.objects(catalog, storage).await?;
        for location in [catalog].into_iter().chain(objects.iter().map(String::as_str)) {
            let bucket = bucket(location);
            if !buckets.contains_key(bucket) {
                let found = storage.default_encryption_at_rest(location).await;
                buckets.insert(bucket, found.map_err(cannot_look_at(bucket))?);
            }
        }
        let default = buckets.get(bucket(catalog)).and_then(Option::as_ref).and_then(|default| default.key.clone());
        let key = key.map(str::to_owned).or(default).ok_or_else(|| no_key(bucket(catalog)))?;

        let looked_at = stream::iter(&objects).map(|object| async move {
            match storage.encryption_at_rest(object).await {
                // The catalog's own objects come and go; whether the lake's files are there is for `check` to say.
                Err(error) if error.kind() == lakelock_storage::ErrorKind::NotFound => Ok(None),
                found => found.map(|found| Some((object.as_str(), found))).map_err(cannot_look_at(object)),
            }
        });
        let looked_at: Vec<_> = looked_at.buffered(FILES_AT_ONCE).try_collect().await?;
        let problems = buckets
            .into_iter()
            .chain(looked_at.into_iter().flatten())
            .filter(|(_, found)| !found.as_ref().is_some_and(|found| found.is_under(&key)))
            .map(|(location, found)| {
                let what = Wrong::AtRest { expected: key.clone(), found };
                Problem { location: location.to_owned(), what }
            })
            .collect();
        Ok(AtRest { problems, objects: objects.len(), key })
    }

    /// All objects that hold something of the lake.
    async fn objects(&self, catalog: &str, storage: &Storage) -> Result<Vec<String>> {
        let mut objects = Vec::new();
        for folder in [catalog, self.data_path()] {
            let files = storage.list(folder).await.map_err(cannot_look_at(folder))?;
            objects.extend(files.into_iter().map(|file| file.location));
        }
        objects.extend(self.files(None).await?.into_iter().map(|file| file.location));
        objects.sort_unstable();
        objects.dedup();
        Ok(objects)
    }
}

/// How a bucket keeps a lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtRest {
    /// The key that everything is to be under.
    pub key: String,
    /// How many objects were looked at.
    pub objects: usize,
    /// What is not under the key: buckets by their roots, and objects.
    pub problems: Vec<Problem>,
}

/// The root of the bucket that a location is in.
fn bucket(location: &str) -> &str {
    let start = location.find("://").map_or(0, |at| at + "://".len());
    location[start..].find('/').map_or(location, |end| &location[..=start + end])
}

fn no_key(bucket: &str) -> Error {
    let message = format!("no key is expected, as {bucket} has no KMS key by default: say which one it is to be");
    Error::new(ErrorKind::Unsupported, message)
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn a_bucket_is_what_comes_before_the_path() {
        for (location, expected) in
            [("s3://lake/a/b", "s3://lake/"), ("s3://lake/", "s3://lake/"), ("s3://lake", "s3://lake"), ("/a/b", "/")]
        {
            assert_eq!(bucket(location), expected);
        }
    }
}
