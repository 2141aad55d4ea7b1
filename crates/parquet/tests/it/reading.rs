//! What is read is what was written, and no more is fetched than that takes.

use arrow::array::RecordBatch;
use arrow::compute::{concat_batches, filter_record_batch};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};

use crate::files::{Reader, Stored, encrypted, key, rows};

const ROWS: i32 = 3000;

fn properties(version: WriterVersion, dictionary: bool, compression: Compression) -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_writer_version(version)
        .set_dictionary_enabled(dictionary)
        .set_compression(compression)
        .set_max_row_group_row_count(Some(1100))
        .set_data_page_row_count_limit(150)
        .set_write_batch_size(50)
}

/// Every way to write a page that the library has.
fn variants() -> Vec<(String, WriterPropertiesBuilder)> {
    let mut variants = Vec::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for dictionary in [false, true] {
            for compression in
                [Compression::UNCOMPRESSED, Compression::ZSTD(ZstdLevel::default()), Compression::LZ4_RAW]
            {
                let name = format!("{version:?}, dictionary {dictionary}, {compression}");
                variants.push((name, properties(version, dictionary, compression)));
            }
        }
    }
    variants
}

#[tokio::test]
async fn all_rows_are_those_that_were_written() {
    let expected = rows(ROWS);
    for (name, properties) in variants() {
        for (length, index) in [(16, true), (32, false)] {
            let what = format!("{name}, {length} bytes of key, index {index}");
            let mut properties = properties.clone();
            if !index {
                properties = properties.set_statistics_enabled(EnabledStatistics::None).set_offset_index_disabled(true);
            }
            let key = key(length);
            let mut stored = Stored::new(encrypted(&expected, &key, properties));
            for (shared, index) in [(false, false), (true, false), (false, true)] {
                stored.shared = shared;
                let mut reader = Reader::open(stored.clone(), &key).await.unwrap();
                if index {
                    reader = reader.with_page_index().await.unwrap();
                }
                assert_eq!(reader.metadata().num_row_groups(), 3, "{what}");
                let found = reader.rows(None, None).await.unwrap();
                assert_eq!(found, expected, "{what}");
            }
        }
    }
}

/// Keeps so many rows after leaving out so many, over and over.
fn selection(skip: usize, keep: usize) -> (RowSelection, impl Fn(&RecordBatch) -> RecordBatch) {
    let total = usize::try_from(ROWS).unwrap();
    let kept = (0..total).map(move |row| row % (skip + keep) >= skip);
    let filter = arrow::array::BooleanArray::from(kept.collect::<Vec<_>>());
    let selectors = (0..total).step_by(skip + keep).flat_map(|at| {
        [RowSelector::skip(skip.min(total - at)), RowSelector::select(keep.min((total - at).saturating_sub(skip)))]
    });
    (selectors.collect::<Vec<_>>().into(), move |all| filter_record_batch(all, &filter).unwrap())
}

#[tokio::test]
async fn selected_rows_are_read_from_their_pages_alone() {
    let all = rows(ROWS);
    let key = key(16);
    for (name, properties) in variants() {
        let stored = Stored::new(encrypted(&all, &key, properties));
        for (skip, keep) in [(400, 100), (1, 1), (149, 2), (1500, 700)] {
            let (selection, keep_those) = selection(skip, keep);
            let expected = keep_those(&all);
            let open = || Reader::open(stored.clone(), &key);
            // By a reader that has loaded the index itself, and by one whose file has not.
            let with_index = open().await.unwrap().with_page_index().await.unwrap();
            let without = open().await.unwrap().with_page_index_of(open().await.unwrap()).await.unwrap();
            stored.read.lock().unwrap().clear();
            for reader in [with_index, without] {
                let found = reader.rows(Some(selection.clone()), None).await.unwrap();
                let found = concat_batches(&expected.schema(), [&found]).unwrap();
                assert_eq!(found, expected, "{name}: {keep} rows after {skip}");
            }
            if skip == 1500 {
                let read: u64 = stored.read.lock().unwrap().iter().map(|range| range.end - range.start).sum();
                // Each of both needs about a third.
                assert!(read < stored.bytes.len() as u64, "{name}: read {read} of {}", stored.bytes.len());
            }
        }
    }
}

#[tokio::test]
async fn columns_that_are_not_asked_for_are_not_fetched() {
    let all = rows(ROWS);
    let key = key(32);
    let file = encrypted(&all, &key, properties(WriterVersion::PARQUET_1_0, true, Compression::UNCOMPRESSED));
    let stored = Stored::new(file);
    let reader = Reader::open(stored.clone(), &key).await.unwrap();
    let metadata = reader.metadata().clone();
    stored.read.lock().unwrap().clear();
    let found = reader.rows(None, Some(&[1])).await.unwrap();
    assert_eq!(found.column(0), all.column(1));
    let chunks = metadata.row_groups().iter().map(|row_group| row_group.column(1).byte_range());
    let expected: Vec<_> = chunks.map(|(start, length)| start..start + length).collect();
    assert_eq!(*stored.read.lock().unwrap(), expected);
}
