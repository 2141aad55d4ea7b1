//! How data files are written: what a table's `write.*` properties say, checked once.

use std::collections::HashMap;

use parquet::basic::{Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::schema::types::SchemaDescriptor;

use super::bloom::BloomFilters;
use crate::properties::{INT_MAX, LONG_MAX, invalid, number, unsupported};
use crate::spec::Schema;
use crate::{Error, ErrorKind, Result};

const MIB: usize = 1024 * 1024;
/// `parquet` writes statistics of longer values shortened: they would fill the footer.
const MAX_STATISTICS_LENGTH: usize = 4096;
/// What `zstd` itself, and so Java, takes for its default.
const ZSTD_LEVEL: i32 = 3;
const FORMAT: &str = "write.format.default";
const CODEC: &str = "write.parquet.compression-codec";
const LEVEL: &str = "write.parquet.compression-level";
const CREATED_BY: &str = concat!("lakelock version ", env!("CARGO_PKG_VERSION"));

/// Settings of a table's data files.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// Rolls to a new file at this length.
    pub(super) target_file_size: usize,
    /// Starts a new row group at this length.
    pub(super) row_group_size: usize,
    compression: Compression,
    page_size: usize,
    page_rows: usize,
    dictionary_size: usize,
    bloom_filters: BloomFilters,
    iceberg_schema: String,
}

impl Settings {
    pub(super) fn new(
        properties: &HashMap<String, String>,
        schema: &Schema,
        parquet_schema: &SchemaDescriptor,
    ) -> Result<Self> {
        let iceberg_schema = serde_json::to_string(schema)
            .map_err(|e| Error::new(ErrorKind::Internal, "the schema cannot be written as JSON").with_source(e))?;
        refuse_unsupported(properties)?;
        Ok(Self {
            target_file_size: size(properties, "write.target-file-size-bytes", 512 * MIB, LONG_MAX)?,
            row_group_size: size(properties, "write.parquet.row-group-size-bytes", 128 * MIB, INT_MAX)?,
            compression: compression(properties)?,
            page_size: size(properties, "write.parquet.page-size-bytes", MIB, INT_MAX)?,
            page_rows: size(properties, "write.parquet.page-row-limit", 20_000, INT_MAX)?,
            dictionary_size: size(properties, "write.parquet.dict-size-bytes", 2 * MIB, INT_MAX)?,
            bloom_filters: BloomFilters::new(properties, schema, parquet_schema)?,
            iceberg_schema,
        })
    }

    /// What each file is written with.
    pub(super) fn writer_properties(&self) -> WriterPropertiesBuilder {
        let properties = WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(self.compression)
            .set_data_page_size_limit(self.page_size)
            .set_data_page_row_count_limit(self.page_rows)
            .set_dictionary_page_size_limit(self.dictionary_size)
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_statistics_truncate_length(Some(MAX_STATISTICS_LENGTH))
            .set_key_value_metadata(Some(vec![KeyValue::new(
                "iceberg.schema".to_owned(),
                self.iceberg_schema.clone(),
            )]));
        self.bloom_filters.apply(properties)
    }
}

fn refuse_unsupported(properties: &HashMap<String, String>) -> Result<()> {
    if let Some(format) = properties.get(FORMAT).filter(|format| !format.eq_ignore_ascii_case("parquet")) {
        return Err(unsupported(FORMAT, format, "only parquet can be written"));
    }
    Ok(())
}

fn size(properties: &HashMap<String, String>, name: &str, default: usize, max: u64) -> Result<usize> {
    number(properties, name, default, 1..=usize::try_from(max).unwrap_or(usize::MAX))
}

fn compression(properties: &HashMap<String, String>) -> Result<Compression> {
    let codec = properties.get(CODEC).map_or("zstd", String::as_str);
    Ok(match codec.to_ascii_lowercase().as_str() {
        "uncompressed" => Compression::UNCOMPRESSED,
        "snappy" => Compression::SNAPPY,
        "lz4_raw" => Compression::LZ4_RAW,
        "zstd" => {
            let level = number(properties, LEVEL, ZSTD_LEVEL, 1..=22)?;
            Compression::ZSTD(ZstdLevel::try_new(level).map_err(unknown_level)?)
        }
        "gzip" => {
            let level = number(properties, LEVEL, 6, 0..=9)?;
            Compression::GZIP(GzipLevel::try_new(level).map_err(unknown_level)?)
        }
        // Java has a name for it, but not the library: a table with such files could not be read by it.
        "brotli" => return Err(unsupported(CODEC, codec, "Java cannot read it, so it is only read; zstd is denser")),
        _ => return Err(invalid(CODEC, codec, "one of zstd, snappy, gzip, lz4_raw, uncompressed")),
    })
}

fn unknown_level(error: ParquetError) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("table property {LEVEL} is no level of its codec")).with_source(error)
}
