//! Altered files and wrong keys are refused, with the file's name.

use std::path::{Path, PathBuf};

use lakelock_datafusion::LakelockTableProvider;
use lakelock_iceberg::ErrorKind;
use parquet::arrow::ArrowWriter;
use serde_json::Value;

use crate::tables::{failure, open, open_with, query, session};
use crate::{judge, rows};

fn data_files(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.join("data")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "parquet")).collect();
    files.sort();
    files
}

async fn read_all(metadata: &str) -> Result<Vec<Value>, (ErrorKind, String)> {
    let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
    let batches = query(&context, "select * from t").await.collect().await.map_err(|e| failure(&e))?;
    Ok(rows::sorted(rows::of_batches(&batches)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_altered_data_file_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("unpartitioned", folder.path());
    let metadata = written["metadata"].as_str().unwrap();
    let files = data_files(folder.path());
    let (file, other) = (&files[0], std::fs::read(&files[1]).unwrap());
    let original = std::fs::read(file).unwrap();
    let length = original.len();
    let expected = read_all(metadata).await.expect("a whole table");

    let flip = |at: usize| {
        let mut bytes = original.clone();
        bytes[at] ^= 1;
        bytes
    };
    let mut cases = vec![
        ("cut", original[..length - 1].to_vec()),
        ("cut in half", original[..length / 2].to_vec()),
        ("empty", Vec::new()),
        ("extended by a byte", [original.as_slice(), b"1"].concat()),
        ("extended by a footer's magic", [original.as_slice(), b"PARE"].concat()),
        ("another file of the table", other),
    ];
    cases.extend((0..length).step_by(length / 60 + 1).map(|at| ("a flipped bit", flip(at))));
    cases.extend([length - 1, length - 5, length - 9].map(|at| ("a flipped bit in the footer", flip(at))));
    let (mut refused, total) = (0, cases.len());
    for (what, bytes) in cases {
        std::fs::write(file, bytes).unwrap();
        match read_all(metadata).await {
            // A part that the query does not read: the magic at the start, an index.
            Ok(rows) => assert!(what == "a flipped bit" && rows == expected, "{what}"),
            Err((kind, text)) => {
                refused += 1;
                assert!(text.contains(file.to_str().unwrap()), "{what}: {text}");
                assert!(matches!(kind, ErrorKind::InvalidData | ErrorKind::Storage), "{what}: {kind:?} {text}");
            }
        }
    }
    assert!(refused * 10 >= total * 7, "only {refused} of {total} were noticed");
    std::fs::remove_file(file).unwrap();
    assert_eq!(read_all(metadata).await.unwrap_err().0, ErrorKind::NotFound);
}

/// A plaintext Parquet file with rows of the table, filled up to a length.
async fn forged(metadata: &str, length: usize) -> Vec<u8> {
    let context = session(LakelockTableProvider::try_new(open(metadata).await).unwrap());
    let batches = query(&context, "select * from t limit 1").await.collect().await.unwrap();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, batches[0].schema(), None).unwrap();
    writer.write(&batches[0]).unwrap();
    writer.close().unwrap();
    let footer = file.len() - 8 - u32::from_le_bytes(file[file.len() - 8..][..4].try_into().unwrap()) as usize;
    let filling = vec![0; length - file.len()];
    [&file[..footer], &filling, &file[footer..]].concat()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plaintext_file_in_place_of_an_encrypted_one_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("unpartitioned", folder.path());
    let metadata = written["metadata"].as_str().unwrap();
    // Large enough to hold the forged rows: the manifest's length is that of the file being replaced.
    let file = data_files(folder.path()).into_iter().max_by_key(|file| file.metadata().unwrap().len()).unwrap();
    let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
    std::fs::write(&file, forged(metadata, length).await).unwrap();
    let (kind, text) = read_all(metadata).await.unwrap_err();
    assert_eq!(kind, ErrorKind::InvalidData, "{text}");
    assert!(text.contains(file.to_str().unwrap()), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_master_key_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let written = judge::write("unpartitioned", folder.path());
    let table = open_with(written["metadata"].as_str().unwrap(), b"1123456789012345").await;
    let context = session(LakelockTableProvider::try_new(table).unwrap());
    let (kind, text) = failure(&query(&context, "select * from t").await.collect().await.unwrap_err());
    assert_eq!(kind, ErrorKind::Encryption, "{text}");
}
