//! The files of a table that is to go altogether.

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use lakelock_iceberg::Table;
use lakelock_iceberg::manifest::{Manifest, read_manifest_list};
use lakelock_iceberg::spec::TableIdent;
use lakelock_storage::Storage;
use tracing::warn;

use crate::pointers::PointerStore;
use crate::{Error, ErrorKind, Result};

const PARALLEL_DELETES: usize = 16;

/// The files that a table's metadata reaches and that lie below its location, those first that others point to: a purge
/// that breaks off can be found and finished by what is left.
///
/// # Errors
/// When a manifest list or a manifest cannot be read: then it is not known what there is.
pub(crate) async fn files(table: &Table) -> Result<Vec<String>> {
    let metadata = table.metadata();
    let mut manifests = BTreeSet::new();
    let mut lists = BTreeSet::new();
    let mut data = BTreeSet::new();
    for snapshot in metadata.snapshots() {
        for manifest in read_manifest_list(table.io(), metadata, snapshot).await? {
            if manifests.insert(manifest.manifest_path.clone()) {
                let entries = Manifest::read(table.io(), metadata, &manifest).await?.entries;
                data.extend(entries.into_iter().map(|entry| entry.data_file.file_path));
            }
        }
        lists.insert(snapshot.manifest_list().to_owned());
    }
    data.extend(metadata.statistics_iter().map(|s| s.statistics_path.clone()));
    data.extend(metadata.partition_statistics_iter().map(|s| s.statistics_path.clone()));
    let log = metadata.metadata_log().iter().map(|entry| entry.metadata_file.clone());
    let metadata_files: BTreeSet<_> = log.chain([table.metadata_location().to_owned()]).collect();

    let (inside, outside): (Vec<_>, Vec<_>) = data
        .into_iter()
        .chain(manifests)
        .chain(lists)
        .chain(metadata_files)
        .partition(|file| is_below(metadata.location(), file));
    for file in outside {
        warn!(table = %table.identifier(), file, "not deleted: it is outside the table's location");
    }
    Ok(inside)
}

/// Another table of the catalog whose metadata lies in the same folder: it was registered from there, and has the same
/// files.
pub(crate) async fn sharer(pointers: &dyn PointerStore, table: &Table) -> Result<Option<TableIdent>> {
    let own = folder(table.metadata_location());
    for namespace in pointers.namespaces().await? {
        for name in pointers.tables(&namespace).await? {
            let other = TableIdent::new(namespace.clone(), name);
            if other != *table.identifier()
                && let Some(pointer) = pointers.get(&other).await?
                && folder(&pointer.metadata_location) == own
            {
                return Ok(Some(other));
            }
        }
    }
    Ok(None)
}

/// The folder of a file, however its location is written; none for one in a store that is not known here.
fn folder(location: &str) -> Option<String> {
    let location = Storage::canonical(location).ok()?;
    location.rsplit_once('/').map(|(folder, _)| folder.to_owned())
}

/// Deletes files of a table that is out of the catalog; one that is gone already is no error.
pub(crate) async fn delete(table: &TableIdent, storage: &Storage, files: Vec<String>) -> Result<()> {
    let failures: Vec<_> = stream::iter(files)
        .map(|file| async move { storage.delete(&file).await })
        .buffered(PARALLEL_DELETES)
        .filter_map(async |deleted| deleted.err().filter(|e| e.kind() != lakelock_storage::ErrorKind::NotFound))
        .collect()
        .await;
    let count = failures.len();
    match failures.into_iter().next() {
        None => Ok(()),
        Some(first) => {
            let message = format!("table {table} was dropped, but {count} of its files could not be deleted");
            Err(Error::new(ErrorKind::Storage, message).with_source(first))
        }
    }
}

/// Whether a file is below a folder, however their locations are written. None is that climbs up, or is in a store that is
/// not known here.
fn is_below(folder: &str, file: &str) -> bool {
    let (Ok(folder), Ok(file)) = (Storage::canonical(folder), Storage::canonical(file)) else { return false };
    let rest = file.strip_prefix(folder.trim_end_matches('/')).and_then(|rest| rest.strip_prefix('/'));
    rest.is_some_and(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{folder, is_below};

    #[test]
    fn only_what_is_below_the_folder_counts() {
        for (folder, inside) in [
            ("/w/t", "/w/t/data/f.parquet"),
            ("/w/t", "file:///w/t/data/f.parquet"),
            ("s3a://w/t", "s3://w/t/data/f.parquet"),
            ("s3://w", "s3://w/data/f.parquet"),
        ] {
            assert!(is_below(folder, inside), "{folder} {inside}");
        }
        for outside in ["/w/t2/data/f", "/w/t/../t2/f", "/w/t/data/../../t2/f", "/w/t/", "/w/t", "s3://w/t/f"] {
            assert!(!is_below("/w/t", outside), "{outside}");
        }
        for outside in ["s3://w/t2/f", "s3://other/t/f", "gs://w/t/f", "/w/t/f", "s3://w/t//f"] {
            assert!(!is_below("s3://w/t", outside), "{outside}");
        }
    }

    #[test]
    fn a_folder_is_told_from_one_of_the_same_path_in_another_bucket() {
        assert_eq!(folder("s3://w/t/metadata/1.json"), folder("s3a://w/t/metadata/2.json"));
        for other in ["s3://v/t/metadata/1.json", "gs://w/t/metadata/1.json", "/t/metadata/1.json"] {
            assert_ne!(folder("s3://w/t/metadata/1.json"), folder(other), "{other}");
        }
    }
}
