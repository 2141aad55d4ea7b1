//! Whatever is changed in an encrypted Parquet file, also by whoever has its key: an error or bytes, never a panic.
#![no_main]

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use arrow::array::{Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use futures::FutureExt;
use futures::executor::block_on;
use futures::future::BoxFuture;
use lakelock_crypto::{SecretKey, StandardKeyMetadata, aes_gcm};
use lakelock_parquet::{EncryptedFile, EncryptingWriter, ReadOptions, StoredBytes};
use libfuzzer_sys::fuzz_target;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::compute_leaves;
use parquet::errors::Result;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::properties::WriterProperties;

static KEY: LazyLock<StandardKeyMetadata> = LazyLock::new(|| {
    StandardKeyMetadata::new(SecretKey::new(&[7; 16]).unwrap(), Some(b"prefix".to_vec()))
});

/// Two row groups of two columns with dictionaries, several pages, bloom filters and indexes.
static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let ids = Int64Array::from_iter_values(0..60);
    let names = StringArray::from_iter_values((0..60).map(|at| format!("name {}", at % 5)));
    let rows = RecordBatch::try_from_iter([("id", Arc::new(ids) as _), ("name", Arc::new(names) as _)]).unwrap();
    let schema = ArrowSchemaConverter::new().convert(&rows.schema()).unwrap().root_schema_ptr();
    let properties = WriterProperties::builder()
        .set_data_page_row_count_limit(20)
        .set_write_batch_size(10)
        .set_bloom_filter_enabled(true)
        .set_bloom_filter_max_ndv(60);
    let properties = Arc::new(properties.build());
    let mut writer = EncryptingWriter::new(Vec::new(), schema, rows.schema(), properties, &KEY).unwrap();
    for _ in 0..2 {
        let mut encoders = writer.begin_row_group().unwrap();
        for ((encoder, field), column) in encoders.iter_mut().zip(rows.schema().fields()).zip(rows.columns()) {
            for leaf in compute_leaves(field, column).unwrap() {
                encoder.write(&leaf).unwrap();
            }
        }
        writer.end_row_group(encoders.into_iter().map(|encoder| encoder.close().unwrap()).collect()).unwrap();
    }
    writer.finish().unwrap();
    std::mem::take(writer.inner_mut())
});

/// A module without the length before it, and what it is bound to.
struct Module {
    range: Range<usize>,
    aad: Vec<u8>,
}

/// All modules of the file; each is found by opening what lies at a known place.
static MODULES: LazyLock<Vec<Module>> = LazyLock::new(|| {
    let file = &FILE;
    let (_, metadata) = open(file).unwrap();
    let footer_length = u32::from_le_bytes(file[file.len() - 8..][..4].try_into().unwrap()) as usize;
    let footer = file.len() - 8 - footer_length;
    // FileCryptoMetaData is `1c 1c 28 08`, eight bytes, `11 00 00 00`.
    let file_aad = [b"prefix", &file[footer + 4..footer + 12]].concat();
    let aad = |kind: u8, places: &[i16]| {
        let places = places.iter().flat_map(|place| place.to_le_bytes());
        file_aad.iter().copied().chain([kind]).chain(places).collect::<Vec<u8>>()
    };
    let module = |at: usize, aad: Vec<u8>| {
        let length = u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let range = at + 4..at + 4 + length;
        aes_gcm::open(KEY.encryption_key(), &file[range.clone()], &aad).unwrap();
        Module { range, aad }
    };
    let mut modules = vec![module(footer + 16, aad(0, &[]))];
    let at = |offset: i64| usize::try_from(offset).unwrap();
    for (row_group, group) in metadata.row_groups().iter().zip(0..) {
        for (chunk, column) in row_group.columns().iter().zip(0..) {
            let place = [group, column];
            modules.push(module(at(chunk.column_index_offset().unwrap()), aad(6, &place)));
            modules.push(module(at(chunk.offset_index_offset().unwrap()), aad(7, &place)));
            let bloom_header = module(at(chunk.bloom_filter_offset().unwrap()), aad(8, &place));
            modules.push(module(bloom_header.range.end, aad(9, &place)));
            modules.push(bloom_header);
            let (start, length) = chunk.byte_range();
            let (mut next, end) = (at(start.cast_signed()), at((start + length).cast_signed()));
            let mut page = if chunk.dictionary_page_offset().is_some() { -1 } else { 0 };
            while next < end {
                let of_page = |dictionary: u8, data: u8| match page {
                    -1 => aad(dictionary, &place),
                    page => aad(data, &[group, column, page]),
                };
                let header = module(next, of_page(5, 4));
                let data = module(header.range.end, of_page(3, 2));
                next = data.range.end;
                page += 1;
                modules.extend([header, data]);
            }
        }
    }
    modules
});

struct Stored<'a>(&'a [u8]);

impl StoredBytes for Stored<'_> {
    fn read(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        let slice = |range: &Range<u64>| Bytes::copy_from_slice(&self.0[range.start as usize..range.end as usize]);
        std::future::ready(Ok(ranges.iter().map(slice).collect())).boxed()
    }
}

fn open(file: &[u8]) -> Result<(EncryptedFile, ParquetMetaData)> {
    let options = ReadOptions::default().danger_accept_ctr();
    block_on(EncryptedFile::open(&mut Stored(file), "a file", file.len() as u64, &KEY, &options))
}

fn read(bytes: &[u8]) {
    let Ok((file, metadata)) = open(bytes) else { return };
    let mut ranges = Vec::new();
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        let mut add = |offset: Option<i64>, length: i64| {
            if let Some((offset, length)) = offset.and_then(|at| u64::try_from(at).ok()).zip(u64::try_from(length).ok()) {
                ranges.push(offset..offset.saturating_add(length));
            }
        };
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        add(Some(column.data_page_offset()), start.saturating_add(column.compressed_size()).saturating_sub(column.data_page_offset()));
        add(Some(start), column.compressed_size());
        add(column.bloom_filter_offset(), column.bloom_filter_length().unwrap_or(0).into());
        add(column.column_index_offset(), column.column_index_length().unwrap_or(0).into());
        add(column.offset_index_offset(), column.offset_index_length().unwrap_or(0).into());
    }
    for range in ranges.into_iter().filter(|range| range.end <= bytes.len() as u64) {
        let _ = block_on(file.read(&mut Stored(bytes), vec![range]));
    }
}

fuzz_target!(|input: (Vec<(u16, u8)>, Vec<(u8, u16, u8)>, Vec<u8>)| {
    let (changes, forgeries, bytes) = input;
    let mut forged = FILE.clone();
    for (module, at, byte) in forgeries {
        let Module { range, aad } = &MODULES[usize::from(module) % MODULES.len()];
        let mut plain = aes_gcm::open(KEY.encryption_key(), &forged[range.clone()], aad).unwrap();
        if plain.is_empty() {
            continue;
        }
        let at = usize::from(at) % plain.len();
        plain[at] = byte;
        forged[range.clone()].copy_from_slice(&aes_gcm::seal(KEY.encryption_key(), &plain, aad).unwrap());
    }
    read(&forged);
    let mut damaged = FILE.clone();
    for (at, byte) in changes {
        let at = usize::from(at) % damaged.len();
        damaged[at] = byte;
    }
    read(&damaged);
    read(&bytes);
});
