//! How data files are written: what a table's `write.*` properties say, checked once.

use std::collections::HashMap;
use std::str::FromStr;

use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};

use crate::spec::{Schema, TableMetadata};
use crate::{Error, ErrorKind, Result};

const MIB: usize = 1024 * 1024;
/// `parquet` writes statistics of longer values shortened: they would fill the footer.
const MAX_STATISTICS_LENGTH: usize = 4096;
/// What `zstd` itself, and so Java, takes for its default.
const ZSTD_LEVEL: i32 = 3;
const CODEC: &str = "write.parquet.compression-codec";
const LEVEL: &str = "write.parquet.compression-level";
const BLOOM_FILTER_PREFIX: &str = "write.parquet.bloom-filter-enabled.column.";
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
    iceberg_schema: String,
}

impl Settings {
    pub(super) fn new(metadata: &TableMetadata, schema: &Schema) -> Result<Self> {
        let properties = metadata.properties();
        refuse_unsupported(properties)?;
        let iceberg_schema = serde_json::to_string(schema)
            .map_err(|e| Error::new(ErrorKind::Internal, "the schema cannot be written as JSON").with_source(e))?;
        Ok(Self {
            target_file_size: size(properties, "write.target-file-size-bytes", 512 * MIB)?,
            row_group_size: size(properties, "write.parquet.row-group-size-bytes", 128 * MIB)?,
            compression: compression(properties)?,
            page_size: size(properties, "write.parquet.page-size-bytes", MIB)?,
            page_rows: size(properties, "write.parquet.page-row-limit", 20_000)?,
            dictionary_size: size(properties, "write.parquet.dict-size-bytes", 2 * MIB)?,
            iceberg_schema,
        })
    }

    /// What each file is written with; the key is still to be added.
    pub(super) fn writer_properties(&self) -> WriterPropertiesBuilder {
        WriterProperties::builder()
            .set_created_by(CREATED_BY.to_owned())
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(self.compression)
            .set_data_page_size_limit(self.page_size)
            .set_data_page_row_count_limit(self.page_rows)
            .set_dictionary_page_size_limit(self.dictionary_size)
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_statistics_truncate_length(Some(MAX_STATISTICS_LENGTH))
            // Written in the clear by `parquet`, whatever the encryption.
            .set_bloom_filter_enabled(false)
            .set_key_value_metadata(Some(vec![KeyValue::new("iceberg.schema".to_owned(), self.iceberg_schema.clone())]))
    }
}

fn refuse_unsupported(properties: &HashMap<String, String>) -> Result<()> {
    let is = |property: &str, value: &str| {
        properties.get(property).is_some_and(|found| found.trim().eq_ignore_ascii_case(value))
    };
    let unsupported = |message: String| Err(Error::new(ErrorKind::Unsupported, message));
    if let Some(format) = properties.get("write.format.default").filter(|f| !f.eq_ignore_ascii_case("parquet")) {
        return unsupported(format!("write.format.default is {format}, and only parquet can be written"));
    }
    if let Some(column) = properties
        .keys()
        .filter_map(|property| property.strip_prefix(BLOOM_FILTER_PREFIX))
        .find(|column| is(&format!("{BLOOM_FILTER_PREFIX}{column}"), "true"))
    {
        return unsupported(format!(
            "{BLOOM_FILTER_PREFIX}{column} is true: bloom filters cannot be encrypted yet, so none are written"
        ));
    }
    Ok(())
}

fn size(properties: &HashMap<String, String>, property: &str, default: usize) -> Result<usize> {
    let Some(text) = properties.get(property) else { return Ok(default) };
    parse(property, text, "a positive number").and_then(|size: usize| match size {
        0 => Err(invalid(property, text, "a positive number")),
        size => Ok(size),
    })
}

fn compression(properties: &HashMap<String, String>) -> Result<Compression> {
    let codec = properties.get(CODEC).map_or("zstd", String::as_str);
    let level = properties.get(LEVEL);
    let level = |default: i32| level.map_or(Ok(default), |text| parse(LEVEL, text, "a number"));
    let invalid_level =
        |e| Error::new(ErrorKind::InvalidInput, format!("{LEVEL} does not go with {CODEC} {codec}")).with_source(e);
    Ok(match codec.to_ascii_lowercase().as_str() {
        "uncompressed" => Compression::UNCOMPRESSED,
        "snappy" => Compression::SNAPPY,
        "lz4_raw" => Compression::LZ4_RAW,
        "zstd" => Compression::ZSTD(ZstdLevel::try_new(level(ZSTD_LEVEL)?).map_err(invalid_level)?),
        "gzip" => {
            let level = u32::try_from(level(6)?).unwrap_or(u32::MAX);
            Compression::GZIP(GzipLevel::try_new(level).map_err(invalid_level)?)
        }
        "brotli" => {
            let level = u32::try_from(level(1)?).unwrap_or(u32::MAX);
            Compression::BROTLI(BrotliLevel::try_new(level).map_err(invalid_level)?)
        }
        _ => {
            let message = format!("{CODEC} {codec} is not one of zstd, snappy, gzip, lz4_raw, brotli, uncompressed");
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
    })
}

fn parse<T: FromStr>(property: &str, text: &str, expected: &str) -> Result<T> {
    text.trim().parse().map_err(|_| invalid(property, text, expected))
}

fn invalid(property: &str, text: &str, expected: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{property} is '{text}', not {expected}"))
}
