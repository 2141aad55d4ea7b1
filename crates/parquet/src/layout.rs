//! Which part of a file lies where.

use std::fmt;
use std::ops::Range;

use parquet::errors::Result as ParquetResult;
use parquet::file::column_crypto_metadata::ColumnCryptoMetaData;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

use crate::dialect::Dialect;
use crate::error::{ErrorKind, Result};
use crate::file::FileName;

/// The parts of a file that are encrypted, as its footer tells.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) chunks: Vec<Chunk>,
    /// In the order of the file. No two overlap, and none is empty.
    regions: Vec<Region>,
}

/// A column chunk.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) row_group: i16,
    pub(crate) column: i16,
    /// Of its pages.
    pub(crate) range: Range<u64>,
    pub(crate) has_dictionary: bool,
    pub(crate) offset_index: Option<Range<u64>>,
}

#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) range: Range<u64>,
    pub(crate) part: Part,
}

/// What a region holds, of the column chunk with this place in the list.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    BloomFilter(usize),
    ColumnIndex(usize),
    OffsetIndex(usize),
    Pages(usize),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BloomFilter(_) => "a bloom filter",
            Self::ColumnIndex(_) => "a column index",
            Self::OffsetIndex(_) => "an offset index",
            Self::Pages(_) => "a page",
        })
    }
}

impl Layout {
    /// Takes the places from the metadata of a file whose footer begins at `footer_start`.
    pub(crate) fn new(name: &FileName, metadata: &ParquetMetaData, footer_start: u64) -> Result<Self> {
        let mut layout = Self { chunks: Vec::new(), regions: Vec::new() };
        for (index, row_group) in metadata.row_groups().iter().enumerate() {
            let ordinal = row_group.ordinal().or_else(|| i16::try_from(index).ok()).filter(|ordinal| *ordinal >= 0);
            let ordinal = ordinal.ok_or_else(|| name.invalid("has more row groups than can be encrypted"))?;
            layout.add(name, ordinal, row_group, footer_start)?;
        }
        layout.regions.sort_unstable_by_key(|region| region.range.start);
        let overlap = |pair: &[Region]| matches!(pair, [a, b] if a.range.end > b.range.start);
        if layout.regions.windows(2).any(overlap) {
            return Err(name.invalid("has a footer in which parts of the file overlap"));
        }
        Ok(layout)
    }

    fn add(&mut self, name: &FileName, ordinal: i16, row_group: &RowGroupMetaData, footer_start: u64) -> Result<()> {
        for (index, column) in row_group.columns().iter().enumerate() {
            let at = self.chunks.len();
            let range = |what: &str, offset: Option<i64>, length: Option<i64>| {
                match offset.zip(length) {
                None => Ok(None),
                Some((offset, length)) => match range(offset, length, footer_start) {
                    Some(range) => Ok(Some(range)),
                    None => Err(name.invalid(&format!(
                        "has a footer that places the {what} of column {index} in row group {ordinal} outside of the file"
                    ))),
                },
            }
            };
            let dictionary = column.dictionary_page_offset();
            let start = dictionary.unwrap_or(column.data_page_offset());
            let pages = range("pages", Some(start), Some(column.compressed_size()))?.unwrap_or_default();
            if pages.is_empty() && row_group.num_rows() > 0 {
                return Err(name.invalid(&format!("has no pages of column {index} in row group {ordinal}")));
            }
            let bloom_filter =
                range("bloom filter", column.bloom_filter_offset(), column.bloom_filter_length().map(i64::from))?;
            let column_index =
                range("column index", column.column_index_offset(), column.column_index_length().map(i64::from))?;
            let offset_index =
                range("offset index", column.offset_index_offset(), column.offset_index_length().map(i64::from))?;
            self.region(Some(pages.clone()), Part::Pages(at));
            self.region(bloom_filter, Part::BloomFilter(at));
            self.region(column_index, Part::ColumnIndex(at));
            self.region(offset_index.clone(), Part::OffsetIndex(at));
            self.chunks.push(Chunk {
                row_group: ordinal,
                column: i16::try_from(index).map_err(|_| name.invalid("has more columns than can be encrypted"))?,
                range: pages,
                has_dictionary: dictionary.is_some(),
                offset_index,
            });
        }
        Ok(())
    }

    fn region(&mut self, range: Option<Range<u64>>, part: Part) {
        if let Some(range) = range.filter(|range| !range.is_empty()) {
            self.regions.push(Region { range, part });
        }
    }

    /// The regions that have bytes in `range`.
    pub(crate) fn regions_in(&self, range: &Range<u64>) -> &[Region] {
        let start = self.regions.partition_point(|region| region.range.end <= range.start);
        let regions = self.regions.get(start..).unwrap_or_default();
        let end = regions.partition_point(|region| region.range.start < range.end);
        regions.get(..end).unwrap_or_default()
    }

    pub(crate) fn memory_size(&self) -> usize {
        self.chunks.capacity() * size_of::<Chunk>() + self.regions.capacity() * size_of::<Region>()
    }
}

fn range(offset: i64, length: i64, footer_start: u64) -> Option<Range<u64>> {
    let (offset, length) = (u64::try_from(offset).ok()?, u64::try_from(length).ok()?);
    let end = offset.checked_add(length)?;
    (end <= footer_start).then_some(offset..end)
}

impl FileName {
    /// The metadata as that of a file that is not encrypted: readers would otherwise ask for keys.
    pub(crate) fn as_unencrypted(&self, metadata: ParquetMetaData, dialect: Dialect) -> ParquetResult<ParquetMetaData> {
        let mut builder = metadata.into_builder();
        let mut row_groups = Vec::new();
        for row_group in builder.take_row_groups() {
            let mut row_group = row_group.into_builder();
            let columns =
                row_group.take_columns().into_iter().map(|column| self.column_as_unencrypted(column, dialect));
            let columns = columns.collect::<ParquetResult<_>>()?;
            row_groups.push(row_group.set_column_metadata(columns).build()?);
        }
        Ok(builder.set_row_groups(row_groups).build())
    }

    fn column_as_unencrypted(
        &self,
        column: ColumnChunkMetaData,
        dialect: Dialect,
    ) -> ParquetResult<ColumnChunkMetaData> {
        let path = column.column_path().string();
        if column.file_path().is_some() {
            return Err(self.error(ErrorKind::Unsupported, &format!("has column {path} in another file")).into());
        }
        match column.crypto_metadata() {
            Some(ColumnCryptoMetaData::ENCRYPTION_WITH_FOOTER_KEY) => {}
            Some(ColumnCryptoMetaData::ENCRYPTION_WITH_COLUMN_KEY(_)) => {
                let what = format!("has a key of its own for column {path}; only files with one key can be read");
                return Err(self.error(ErrorKind::Unsupported, &what).into());
            }
            // Whether it is shows when it is read: what was not encrypted does not decrypt.
            None if !dialect.marks_columns() => {}
            None => return Err(self.invalid(&format!("has column {path} in plaintext")).into()),
        }
        let without_length = column.bloom_filter_length().is_none();
        let mut builder = column.into_builder().set_column_crypto_metadata(None);
        if without_length {
            // Readers would guess where it ends, which in an encrypted file is elsewhere. Writers that encrypt bloom filters
            // have always said.
            builder = builder.set_bloom_filter_offset(None);
        }
        builder.build()
    }
}
