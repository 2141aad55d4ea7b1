//! Files that `DuckDB` encrypts in its own dialect, against the same rows as it writes them unencrypted.

use std::path::Path;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use bytes::Bytes;
use lakelock_crypto::{SecretKey, StandardKeyMetadata};
use lakelock_interop::statements::Statements;
use lakelock_parquet::{Dialect, Error, ErrorKind, ReadOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::files::{self, Reader, Stored, encrypted};

const ROWS: &str = "select range as id, case when range % 5 > 0 then 'word ' || range % 11 end as word,
        'like no other ' || hash(range) as long, {'a': range / 3.0, 'b': [range, null]} as nested,
        range::decimal(20, 3) as exact, date '2024-01-01' + (range % 400)::int as day
    from range(30000)";

fn options() -> ReadOptions {
    ReadOptions::default().with_dialect(Dialect::DuckDb)
}

/// No AAD prefix: the dialect knows none.
fn key(bytes: &[u8]) -> StandardKeyMetadata {
    StandardKeyMetadata::new(SecretKey::new(bytes).unwrap(), None)
}

/// The rows encrypted and not, written with the same options.
fn write(duckdb: &mut Statements, folder: &Path, key: &[u8], more: &str) -> (Bytes, RecordBatch) {
    let [encrypted, plain] = ["encrypted.parquet", "plain.parquet"].map(|name| folder.join(name));
    let name = format!("key{}", key.len());
    duckdb.sql(&format!("pragma add_parquet_key('{name}', '{}')", std::str::from_utf8(key).unwrap()));
    for (path, encryption) in
        [(&encrypted, format!(", encryption_config {{footer_key: '{name}'}}")), (&plain, String::new())]
    {
        let path = path.display();
        duckdb.sql(&format!("copy ({ROWS}) to '{path}' (format parquet, row_group_size 12000{more}{encryption})"));
    }
    let reader = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(plain).unwrap()).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    (std::fs::read(encrypted).unwrap().into(), concat_batches(&schema, &batches).unwrap())
}

#[tokio::test]
async fn what_duckdb_encrypts_is_read_as_what_it_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let mut duckdb = Statements::duckdb();
    for (length, more) in [
        (16, ""),
        (24, ", compression zstd"),
        (32, ", compression uncompressed, dictionary_size_limit 0"),
        (16, ", compression lz4_raw, parquet_version v2"),
    ] {
        let bytes = &b"0123456789abcdef0123456789abcdef"[..length];
        let (file, expected) = write(&mut duckdb, folder.path(), bytes, more);
        let (stored, key) = (Stored::new(file), key(bytes));
        let reader = Reader::open_with(stored.clone(), &key, &options()).await.unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 3, "{more}");
        assert_eq!(reader.rows(None, None).await.unwrap(), expected, "{length} bytes of key{more}");
    }
}

#[tokio::test]
async fn the_dialect_is_not_believed_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = b"0123456789abcdef";
    let (file, _) = write(&mut Statements::duckdb(), folder.path(), bytes, "");
    let standard = Reader::open(Stored::new(file.clone()), &key(bytes)).await.err().unwrap();
    let error = Error::behind(standard).unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("DuckDB writes such files"), "{error}");

    let rows = files::rows(100);
    let of_standard =
        Stored::new(encrypted(&rows, &files::key(16), parquet::file::properties::WriterProperties::builder()));
    let other = Reader::open_with(of_standard, &files::key(16), &options()).await.err().unwrap();
    assert_eq!(Error::behind(other).unwrap().kind(), ErrorKind::Unsupported);

    // A bit of any page, and another key.
    let mut damaged = file.to_vec();
    damaged[2000] ^= 1;
    let reader = Reader::open_with(Stored::new(damaged.into()), &key(bytes), &options()).await.unwrap();
    let error = Error::behind(reader.rows(None, None).await.unwrap_err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
    let wrong = Reader::open_with(Stored::new(file), &key(b"fedcba9876543210"), &options()).await.err().unwrap();
    assert_eq!(Error::behind(wrong).unwrap().kind(), ErrorKind::Authentication);
}
