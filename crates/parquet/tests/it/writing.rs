//! What is written is what the Parquet library, with its own decryption, and the view read.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use bytes::Bytes;
use lakelock_crypto::StandardKeyMetadata;
use lakelock_parquet::{Error, ErrorKind};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::compute_leaves;
use parquet::arrow::async_reader::AsyncFileReader;
use parquet::bloom_filter::Sbbf;
use parquet::encryption::decrypt::FileDecryptionProperties;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::{WriterProperties, WriterVersion};

use crate::files::{Reader, Stored, key, rows};

/// A file of two row groups, each with all rows.
fn written(batch: &RecordBatch, key: &StandardKeyMetadata, version: WriterVersion) -> Bytes {
    let schema = ArrowSchemaConverter::new().convert(&batch.schema()).unwrap().root_schema_ptr();
    let properties = WriterProperties::builder()
        .set_writer_version(version)
        .set_data_page_row_count_limit(70)
        .set_write_batch_size(35)
        .set_column_bloom_filter_enabled("id".into(), true)
        .set_column_bloom_filter_max_ndv("id".into(), 1000);
    let properties = Arc::new(properties.build());
    let mut writer =
        lakelock_parquet::EncryptingWriter::new(Vec::new(), schema, batch.schema(), properties, key).unwrap();
    for _ in 0..2 {
        let mut encoders = writer.begin_row_group().unwrap();
        let schema = batch.schema();
        let leaves = schema.fields().iter().zip(batch.columns()).flat_map(|(f, c)| compute_leaves(f, c).unwrap());
        for (encoder, leaf) in encoders.iter_mut().zip(leaves.collect::<Vec<_>>()) {
            encoder.write(&leaf).unwrap();
        }
        writer.end_row_group(encoders.into_iter().map(|encoder| encoder.close().unwrap()).collect()).unwrap();
    }
    let metadata = writer.finish().unwrap();
    let file = Bytes::from(std::mem::take(writer.inner_mut()));
    assert_eq!((writer.bytes_written(), metadata.num_row_groups()), (file.len() as u64, 2));
    file
}

#[tokio::test]
async fn all_readers_find_what_was_written() {
    let batch = rows(400);
    let expected = concat_batches(&batch.schema(), [&batch, &batch]).unwrap();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for length in [16, 24, 32] {
            let key = key(length);
            let file = written(&batch, &key, version);
            let reader = Reader::open(Stored::new(file.clone()), &key).await.unwrap().with_page_index().await.unwrap();
            assert!(reader.metadata().column_index().is_some() && reader.metadata().offset_index().is_some());
            assert_eq!(reader.rows(None, None).await.unwrap(), expected, "{version:?}, {length} bytes of key");
            if length != 24 {
                // It knows no such keys.
                let decryption = FileDecryptionProperties::builder(key.encryption_key().expose_secret().to_vec())
                    .with_aad_prefix(key.aad_prefix().to_vec());
                let options = ArrowReaderOptions::new()
                    .with_file_decryption_properties(decryption.build().unwrap())
                    .with_page_index_policy(PageIndexPolicy::Required);
                let metadata = ArrowReaderMetadata::load(&file, options).unwrap();
                let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata).build().unwrap();
                let found: Vec<_> = reader.collect::<Result<_, _>>().unwrap();
                assert_eq!(concat_batches(&batch.schema(), &found).unwrap(), expected, "{version:?}, {length}");
            }
        }
    }
}

#[tokio::test]
async fn an_altered_bloom_filter_is_never_used() {
    let (batch, key) = (rows(400), key(24));
    let file = written(&batch, &key, WriterVersion::PARQUET_1_0);
    let reader = Reader::open(Stored::new(file.clone()), &key).await.unwrap();
    let column = reader.metadata().row_group(1).column(0).clone();
    let start = u64::try_from(column.bloom_filter_offset().unwrap()).unwrap();
    let range = start..start + u64::try_from(column.bloom_filter_length().unwrap()).unwrap();
    let read = async |file: Bytes| Reader::open(Stored::new(file), &key).await.unwrap().get_bytes(range.clone()).await;

    let plain = [&vec![0; usize::try_from(start).unwrap()][..], &read(file.clone()).await.unwrap()].concat();
    let filter = Sbbf::read_from_column_chunk(&column, &Bytes::from(plain)).unwrap().unwrap();
    assert!((0..400_i64).all(|at| filter.check(&(at * 7))));
    assert!((0..400_i64).filter(|at| filter.check(&(at * 7 + 1))).count() < 60);

    for at in range.clone().step_by(5) {
        let mut altered = file.to_vec();
        altered[usize::try_from(at).unwrap()] ^= 4;
        let error = Error::behind(read(altered.into()).await.unwrap_err()).unwrap();
        assert!(matches!(error.kind(), ErrorKind::Authentication | ErrorKind::InvalidData), "{error}");
        assert!(error.to_string().contains("bloom filter of column 0 in row group 1"), "{error}");
    }
}
