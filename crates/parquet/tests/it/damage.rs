//! What is damaged, forged or encrypted in another way is an error that says what and where.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;

use arrow::array::RecordBatch;
use bytes::Bytes;
use futures::FutureExt;
use lakelock_crypto::{SecretKey, StandardKeyMetadata};
use lakelock_parquet::{Error, ErrorKind};
use parquet::arrow::arrow_reader::RowSelection;
use parquet::encryption::encrypt::FileEncryptionProperties;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::WriterProperties;

use crate::files::{AAD_PREFIX, Reader, Stored, encrypted, key, rows, write};

async fn read(file: Bytes, key: &StandardKeyMetadata) -> Result<RecordBatch> {
    Reader::open(Stored::new(file), key).await?.with_page_index().await?.rows(None, None).await
}

/// What an error of this crate says, and of which kind it is.
fn told(error: ParquetError) -> (ErrorKind, String) {
    let error = Error::behind(error).unwrap();
    let text = error.to_string();
    assert!(text.starts_with("file t.parquet"), "{text}");
    (error.kind(), text)
}

#[tokio::test]
async fn every_flipped_byte_is_an_error_or_changes_nothing() {
    let expected = rows(20).project(&[0, 1]).unwrap();
    let key = key(16);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(12)).set_data_page_row_count_limit(6);
    let file = encrypted(&expected, &key, properties.set_write_batch_size(5));
    let (mut unnoticed, mut kinds) = (Vec::new(), HashMap::<_, usize>::new());
    for at in 0..file.len() {
        let mut damaged = file.to_vec();
        damaged[at] ^= 1 << (at % 8);
        let read = AssertUnwindSafe(read(damaged.into(), &key)).catch_unwind().await;
        match read.unwrap_or_else(|_| panic!("a panic for byte {at}")) {
            Ok(found) => {
                assert_eq!(found, expected, "byte {at}");
                unnoticed.push(at);
            }
            Err(error) => *kinds.entry(told(error).0).or_default() += 1,
        }
    }
    // The magic at the start, and what FileCryptoMetaData says of the prefix.
    assert!(unnoticed.len() < 16, "{unnoticed:?}");
    assert!(kinds[&ErrorKind::Authentication] > file.len() * 8 / 10, "{kinds:?}");
}

#[tokio::test]
async fn modules_are_bound_to_their_places() {
    let key = key(16);
    let small = rows(40);
    let columns = small.project(&[0]).unwrap();
    let file = encrypted(&columns, &key, WriterProperties::builder().set_dictionary_enabled(false));
    let other = encrypted(&columns, &key, WriterProperties::builder().set_dictionary_enabled(false));
    // Both are of the same lengths, and differ in what makes each of them unique.
    let footer = 200;
    let mixed = [&other[..footer], &file[footer..]].concat();
    let (kind, text) = told(read(mixed.into(), &key).await.unwrap_err());
    assert_eq!(kind, ErrorKind::Authentication);
    assert!(text.contains("page 0 of column 0 in row group 0"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_opened_says_why() {
    use ErrorKind::{Authentication, InvalidData, Unsupported};
    let batch = rows(10);
    let good = encrypted(&batch, &key(16), WriterProperties::builder());
    let secret = |bytes: &[u8]| SecretKey::new(bytes).unwrap();
    let bytes: Vec<u8> = key(16).encryption_key().expose_secret().to_vec();
    let other_prefix = StandardKeyMetadata::new(secret(&bytes), Some(b"other".to_vec()));
    let no_prefix = StandardKeyMetadata::new(secret(&bytes), None);
    let encryption = || FileEncryptionProperties::builder(bytes.clone()).with_aad_prefix(AAD_PREFIX.to_vec());
    let with = |encryption: parquet::encryption::encrypt::EncryptionPropertiesBuilder| {
        write(&batch, WriterProperties::builder().with_file_encryption_properties(encryption.build().unwrap()))
    };
    let column_key = with(encryption().with_column_key("id", vec![7; 16]));
    let plaintext_column = with(encryption().with_column_key("word", vec![7; 16]));
    let plaintext_footer = with(encryption().with_plaintext_footer(true));
    let stored_prefix = with(encryption().with_aad_prefix_storage(true));
    let plaintext = write(&batch, WriterProperties::builder());
    let mut counter_mode = good.to_vec();
    let crypto = good.windows(4).rposition(|bytes| bytes == b"\x1c\x1c\x28\x08").unwrap();
    counter_mode[crypto + 1] = 0x2c;
    let long_footer = [&good[..good.len() - 8], b"\xff\xff\xff\x7fPARE"].concat();
    let cases: Vec<(&str, Bytes, StandardKeyMetadata, ErrorKind, &str)> = vec![
        ("another key", good.clone(), key(32), Authentication, "the footer does not decrypt"),
        ("another prefix", good.clone(), other_prefix.clone(), Authentication, "the footer does not decrypt"),
        ("no prefix", good.clone(), no_prefix, InvalidData, "AAD prefix"),
        ("a stored prefix that differs", stored_prefix.clone(), other_prefix, InvalidData, "stores another AAD prefix"),
        ("a column key", column_key, key(16), Unsupported, "key of its own for column id"),
        ("a plaintext column", plaintext_column, key(16), InvalidData, "column id in plaintext"),
        ("a plaintext footer", plaintext_footer, key(16), InvalidData, "is not encrypted"),
        ("plaintext", plaintext, key(16), InvalidData, "is not encrypted"),
        ("counter mode", counter_mode.into(), key(16), Unsupported, "AES_GCM_CTR_V1"),
        ("a footer longer than the file", long_footer.into(), key(16), InvalidData, "no room"),
        ("nothing", Bytes::new(), key(16), InvalidData, "too short"),
        ("only an end", Bytes::from_static(b"\0\0\0\0PARE"), key(16), InvalidData, "no room"),
    ];
    for (what, file, key, kind, text) in cases {
        let (found, message) = told(read(file, &key).await.unwrap_err());
        assert_eq!(found, kind, "{what}: {message}");
        assert!(message.contains(text), "{what}: {message}");
    }
    let no_prefix = StandardKeyMetadata::new(secret(&bytes), None);
    assert_eq!(read(stored_prefix, &no_prefix).await.unwrap(), batch);
}

#[tokio::test]
async fn a_range_that_cuts_a_page_is_refused() {
    use parquet::arrow::async_reader::AsyncFileReader;
    let key = key(16);
    let stored = Stored::new(encrypted(&rows(100), &key, WriterProperties::builder()));
    let mut reader = Reader::open(stored, &key).await.unwrap().with_page_index().await.unwrap();
    let (start, length) = reader.metadata().row_group(0).column(0).byte_range();
    for range in [start + 1..start + length, start..start + length - 1, start - 4..start + length - 1] {
        let (kind, text) = told(reader.get_bytes(range.clone()).await.unwrap_err());
        assert_eq!(kind, ErrorKind::InvalidData, "{range:?}: {text}");
    }
    assert!(reader.get_bytes(0..start + length).await.is_ok());
    let nothing = reader.rows(Some(RowSelection::from(vec![])), None).await.unwrap();
    assert_eq!(nothing.num_rows(), 0);
}
