//! Files of Java that Iceberg does not write: see `interop/fixtures/README.md`. Tables of Java are read elsewhere.

use arrow::array::{AsArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use bytes::Bytes;
use lakelock_crypto::{SecretKey, StandardKeyMetadata};
use lakelock_parquet::{Error, ErrorKind, ReadOptions};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, RowSelection, RowSelector};
use parquet::arrow::async_reader::ParquetRecordBatchStreamBuilder;

use crate::files::{Reader, Stored};

fn fixture(name: &str, length: u8) -> (Bytes, StandardKeyMetadata) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/fixtures/parquet");
    let key = SecretKey::new(&(0..length).collect::<Vec<u8>>()).unwrap();
    let file = std::fs::read(format!("{folder}/{name}.parquet")).unwrap();
    (file.into(), StandardKeyMetadata::new(key, Some((0x40..0x50).collect())))
}

fn expect(batch: &RecordBatch, ids: impl Iterator<Item = i64> + Clone) {
    assert_eq!(batch.column(0).as_primitive::<Int64Type>(), &Int64Array::from_iter_values(ids.clone()));
    let names: StringArray = ids.map(|id| (id % 7 != 0).then(|| format!("name {}", id % 5))).collect();
    assert_eq!(batch.column(1).as_string::<i32>(), &names);
}

#[tokio::test]
async fn counter_mode_is_read_by_who_asks_for_it_alone() {
    for length in [16, 24, 32] {
        let (file, key) = fixture(&format!("ctr-{length}"), length);
        let stored = Stored::new(file);
        let refused = Reader::open(stored.clone(), &key).await.err().unwrap();
        assert_eq!(Error::behind(refused).unwrap().kind(), ErrorKind::Unsupported);

        let options = ReadOptions::default().danger_accept_ctr();
        let open = async || Reader::open_with(stored.clone(), &key, &options).await.unwrap();
        expect(&open().await.rows(None, None).await.unwrap(), 0..200);
        let selection = RowSelection::from(vec![RowSelector::skip(95), RowSelector::select(50), RowSelector::skip(55)]);
        let selected = open().await.with_page_index().await.unwrap().rows(Some(selection), None).await.unwrap();
        expect(&selected, 95..145);

        let reader = open().await;
        let metadata = ArrowReaderMetadata::try_new(reader.metadata().clone().into(), ArrowReaderOptions::default());
        let mut builder = ParquetRecordBatchStreamBuilder::new_with_metadata(reader, metadata.unwrap());
        for (row_group, ids) in [(0, 0..120), (1, 120..200)] {
            let filter = builder.get_row_group_column_bloom_filter(row_group, 0).await.unwrap().unwrap();
            let others = (0..200_i64).filter(|id| !ids.contains(id));
            assert!(ids.clone().all(|id| filter.check(&id)));
            assert!(others.filter(|id| filter.check(id)).count() < 20);
        }
    }
}

/// Java encrypts the values of such pages alone.
#[tokio::test]
async fn levels_in_plaintext_are_refused() {
    let (file, key) = fixture("pages-v2", 16);
    let reader = Reader::open(Stored::new(file), &key).await.unwrap();
    let error = Error::behind(reader.rows(None, None).await.unwrap_err()).unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("page 0 of column 1 in row group 0 has its levels in plaintext"), "{error}");
}
