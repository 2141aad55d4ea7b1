//! Writes an encrypted file around what the Parquet library encodes.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use lakelock_crypto::{StandardKeyMetadata, random_aad_prefix};
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory};
use parquet::bloom_filter::Sbbf;
use parquet::errors::Result;
use parquet::file::column_crypto_metadata::ColumnCryptoMetaData;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataBuilder, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, TypePtr};

use crate::crypto_metadata::FileCryptoMetaData;
use crate::error::{Error, ErrorKind};
use crate::footer::{END_LENGTH, MAGIC, PLACE};
use crate::module::{Aad, Kind, Place};
use crate::pages::{PageSealers, SealedPages, internal};
use crate::seal::Sealer;

/// Writes a Parquet file in which everything is encrypted with one key, as Iceberg's Java implementation does:
/// `AES_GCM_V1`, the footer too, and the AAD prefix is not stored.
///
/// The Parquet library encodes, and what it makes is encrypted page by page. The caller decides when a row group ends,
/// and may encode its columns on several threads.
pub struct EncryptingWriter<W> {
    out: Tracked<W>,
    sealer: Arc<Sealer>,
    aad: Aad,
    /// What the footer says of the encryption.
    crypto: Vec<u8>,
    /// The library's writer of the same file, to which nothing is ever written: it makes the encoders.
    template: SerializedFileWriter<io::Sink>,
    schema: SchemaDescPtr,
    arrow_schema: SchemaRef,
    /// Of the row group in progress.
    sealers: Option<Arc<PageSealers>>,
    row_groups: Vec<RowGroupMetaData>,
    column_indexes: Vec<Vec<ColumnIndexMetaData>>,
    offset_indexes: Vec<Vec<OffsetIndexMetaData>>,
}

impl<W: Write + Send> EncryptingWriter<W> {
    /// Begins a file. `properties` must not ask for encryption as well.
    ///
    /// # Errors
    /// Those of `out`, and when a cryptographic library fails.
    pub fn new(
        out: W,
        schema: TypePtr,
        arrow_schema: SchemaRef,
        properties: WriterPropertiesPtr,
        key: &StandardKeyMetadata,
    ) -> Result<Self> {
        let random =
            random_aad_prefix().map_err(|e| Error::new(ErrorKind::Internal, "cannot encrypt").with_source(e))?;
        let [unique @ .., _, _, _, _, _, _, _, _] = random;
        let mut out = Tracked { out, written: 0 };
        out.write(MAGIC)?;
        Ok(Self {
            out,
            sealer: Arc::new(Sealer::new(key.encryption_key())?),
            aad: Aad::new([key.aad_prefix(), &unique].concat()),
            crypto: FileCryptoMetaData::authenticated(unique, !key.aad_prefix().is_empty()),
            schema: Arc::new(SchemaDescriptor::new(Arc::clone(&schema))),
            template: SerializedFileWriter::new(io::sink(), schema, properties)?,
            arrow_schema,
            sealers: None,
            row_groups: Vec::new(),
            column_indexes: Vec::new(),
            offset_indexes: Vec::new(),
        })
    }

    /// Begins a row group: the encoders of its columns. It ends with [`end_row_group`](Self::end_row_group).
    ///
    /// # Errors
    /// When a row group is in progress, or there are more than can be encrypted.
    pub fn begin_row_group(&mut self) -> Result<Vec<ArrowColumnWriter>> {
        if self.sealers.is_some() {
            return Err(internal("a row group is in progress already"));
        }
        let index = self.row_groups.len();
        let ordinal = i16::try_from(index).map_err(|_| internal("a file has more row groups than can be encrypted"))?;
        let sealers = Arc::new(PageSealers::new(Arc::clone(&self.sealer), self.aad.clone(), ordinal));
        self.sealers = Some(Arc::clone(&sealers));
        ArrowRowGroupWriterFactory::new(&self.template, Arc::clone(&self.arrow_schema))
            .with_page_store_factory(sealers)
            .create_column_writers(index)
    }

    /// Ends the row group in progress, with what closing its encoders gave, in their order.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn end_row_group(&mut self, chunks: Vec<ArrowColumnChunk>) -> Result<()> {
        let sealers = self.sealers.take().ok_or_else(|| internal("no row group is in progress"))?;
        let pages = sealers.take();
        if pages.len() != chunks.len() {
            return Err(internal("a row group ends with other columns than it began with"));
        }
        let ordinal = sealers.row_group();
        let file_offset = i64::try_from(self.out.written)?;
        let rows = chunks.first().map_or(0, |chunk| chunk.close().rows_written);
        let (mut columns, mut column_indexes, mut offset_indexes) = (Vec::new(), Vec::new(), Vec::new());
        let mut bloom_filters = Vec::new();
        for (pages, mut chunk) in pages.into_iter().zip(chunks) {
            let close = chunk.close_mut();
            if close.rows_written != rows {
                return Err(internal("the columns of a row group have different numbers of rows"));
            }
            column_indexes.push(close.column_index.take().unwrap_or(ColumnIndexMetaData::NONE));
            bloom_filters.push(close.bloom_filter.take());
            let (column, offset_index) = self.write_pages(&pages, &close.metadata, close.offset_index.take())?;
            columns.push(column);
            offset_indexes.extend(offset_index);
        }
        for (index, filter) in bloom_filters.into_iter().enumerate() {
            if let (Some(filter), Some(column)) = (filter, columns.get_mut(index)) {
                let place = Place { kind: Kind::BloomFilterHeader, ..place(ordinal, index)? };
                self.write_bloom_filter(place, &filter, column)?;
            }
        }
        let total = columns.iter().map(ColumnChunkMetaData::uncompressed_size).sum();
        let row_group = RowGroupMetaData::builder(Arc::clone(&self.schema))
            .set_column_metadata(columns)
            .set_total_byte_size(total)
            .set_num_rows(i64::try_from(rows)?)
            .set_ordinal(ordinal)
            .set_file_offset(file_offset)
            .build()?;
        self.row_groups.push(row_group);
        self.column_indexes.push(column_indexes);
        self.offset_indexes.push(offset_indexes);
        Ok(())
    }

    /// Ends the file. No row group may be in progress.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(&mut self) -> Result<ParquetMetaData> {
        if self.sealers.is_some() {
            return Err(internal("a row group is in progress still"));
        }
        let row_groups = self.write_indexes()?;
        let metadata = self.metadata(row_groups).build();
        let mut footer = self.crypto.clone();
        self.sealer.seal(PLACE, &mut self.aad, plain_footer(&encode(&metadata)?)?, &mut footer)?;
        let length = u32::try_from(footer.len())?;
        self.out.write(&footer)?;
        self.out.write(&length.to_le_bytes())?;
        self.out.write(MAGIC)?;
        Ok(metadata)
    }

    /// How long the file is so far.
    pub fn bytes_written(&self) -> u64 {
        self.out.written
    }

    /// What the file is written to.
    pub fn inner_mut(&mut self) -> &mut W {
        &mut self.out.out
    }

    /// Writes the pages of a column chunk, and says where they are.
    fn write_pages(
        &mut self,
        pages: &SealedPages,
        metadata: &ColumnChunkMetaData,
        mut offset_index: Option<OffsetIndexMetaData>,
    ) -> Result<(ColumnChunkMetaData, Option<OffsetIndexMetaData>)> {
        let start = self.out.position()?;
        if let Some(dictionary) = &pages.dictionary {
            self.out.write(dictionary)?;
        }
        let data_start = self.out.position()?;
        if offset_index.as_ref().is_some_and(|index| index.page_locations.len() != pages.data.len()) {
            return Err(internal("the offset index of a column chunk has other pages than were written"));
        }
        let mut locations = offset_index.iter_mut().flat_map(|index| &mut index.page_locations);
        for page in &pages.data {
            if let Some(location) = locations.next() {
                location.offset = self.out.position()?;
                location.compressed_page_size = i32::try_from(page.len())?;
            }
            self.out.write(page)?;
        }
        let column = metadata.clone().into_builder();
        let column = column
            .set_total_compressed_size(self.out.position()? - start)
            .set_total_uncompressed_size(metadata.uncompressed_size() + i64::try_from(pages.header_growth)?)
            .set_data_page_offset(data_start)
            .set_dictionary_page_offset(pages.dictionary.is_some().then_some(start))
            .set_column_crypto_metadata(Some(ColumnCryptoMetaData::ENCRYPTION_WITH_FOOTER_KEY))
            .build()?;
        Ok((column, offset_index))
    }

    fn write_bloom_filter(&mut self, place: Place, filter: &Sbbf, column: &mut ColumnChunkMetaData) -> Result<()> {
        let (mut header, mut bitset, mut out) = (Vec::new(), Vec::new(), Vec::new());
        filter.write(&mut header)?;
        filter.write_bitset(&mut bitset)?;
        header.truncate(header.len() - bitset.len());
        self.sealer.seal(place, &mut self.aad, &header, &mut out)?;
        self.sealer.seal(Place { kind: Kind::BloomFilterBitset, ..place }, &mut self.aad, &bitset, &mut out)?;
        let (offset, length) = self.out.write_at(&out)?;
        *column = column
            .clone()
            .into_builder()
            .set_bloom_filter_offset(Some(offset))
            .set_bloom_filter_length(Some(length))
            .build()?;
        Ok(())
    }

    /// Writes all column indexes and then all offset indexes, and returns the row groups with their places.
    fn write_indexes(&mut self) -> Result<Vec<RowGroupMetaData>> {
        let row_groups = std::mem::take(&mut self.row_groups);
        let column_indexes = std::mem::take(&mut self.column_indexes);
        let offset_indexes = std::mem::take(&mut self.offset_indexes);
        let complete = row_groups.iter().zip(&offset_indexes).all(|(group, index)| group.num_columns() == index.len());
        let indexed = self
            .metadata(row_groups.clone())
            .set_column_index(Some(column_indexes))
            .set_offset_index(complete.then_some(offset_indexes))
            .build();
        // The library writes indexes before the footer only, and so tells where they are.
        let plain = encode(&indexed)?;
        let located = ParquetMetaDataReader::decode_metadata(plain_footer(&plain)?)?;
        let column_index = |column: &ColumnChunkMetaData| (column.column_index_offset(), column.column_index_length());
        let offset_index = |column: &ColumnChunkMetaData| (column.offset_index_offset(), column.offset_index_length());
        let mut column_indexes = self.write_index(Kind::ColumnIndex, &located, &plain, column_index)?.into_iter();
        let mut offset_indexes = self.write_index(Kind::OffsetIndex, &located, &plain, offset_index)?.into_iter();
        let mut with_places = Vec::with_capacity(row_groups.len());
        for row_group in row_groups {
            let mut row_group = row_group.into_builder();
            let mut columns = Vec::new();
            for column in row_group.take_columns() {
                let (column_index, offset_index) = (column_indexes.next().flatten(), offset_indexes.next().flatten());
                let column = column
                    .into_builder()
                    .set_column_index_offset(column_index.map(|(offset, _)| offset))
                    .set_column_index_length(column_index.map(|(_, length)| length))
                    .set_offset_index_offset(offset_index.map(|(offset, _)| offset))
                    .set_offset_index_length(offset_index.map(|(_, length)| length));
                columns.push(column.build()?);
            }
            with_places.push(row_group.set_column_metadata(columns).build()?);
        }
        Ok(with_places)
    }

    /// Writes the indexes of one kind, column chunk by column chunk, and returns where they are.
    fn write_index(
        &mut self,
        kind: Kind,
        located: &ParquetMetaData,
        plain: &[u8],
        location: impl Fn(&ColumnChunkMetaData) -> (Option<i64>, Option<i32>),
    ) -> Result<Vec<Option<(i64, i32)>>> {
        let mut places = Vec::new();
        for (row_group, ordinal) in located.row_groups().iter().zip(0..) {
            for (index, column) in row_group.columns().iter().enumerate() {
                let (Some(offset), Some(length)) = location(column) else {
                    places.push(None);
                    continue;
                };
                let (start, length) = (usize::try_from(offset)?, usize::try_from(length)?);
                let index_bytes = plain.get(start..start + length);
                let index_bytes = index_bytes.ok_or_else(|| internal("an index is not where it was written"))?;
                let mut out = Vec::new();
                let place = Place { kind, ..place(ordinal, index)? };
                self.sealer.seal(place, &mut self.aad, index_bytes, &mut out)?;
                places.push(Some(self.out.write_at(&out)?));
            }
        }
        Ok(places)
    }

    fn metadata(&self, row_groups: Vec<RowGroupMetaData>) -> ParquetMetaDataBuilder {
        let properties = self.template.properties();
        let file = FileMetaData::new(
            properties.writer_version().as_num(),
            row_groups.iter().map(RowGroupMetaData::num_rows).sum(),
            Some(properties.created_by().to_owned()),
            properties.key_value_metadata().cloned(),
            Arc::clone(&self.schema),
            None,
        );
        ParquetMetaDataBuilder::new(file).set_row_groups(row_groups)
    }
}

impl<W> fmt::Debug for EncryptingWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptingWriter").field("written", &self.out.written).finish_non_exhaustive()
    }
}

/// Indexes and footer as they are in an unencrypted file that begins with them.
fn encode(metadata: &ParquetMetaData) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    ParquetMetaDataWriter::new(&mut plain, metadata).finish()?;
    Ok(plain)
}

/// The footer among what [`encode`] gave.
fn plain_footer(encoded: &[u8]) -> Result<&[u8]> {
    let footer = encoded.split_last_chunk::<END_LENGTH>().and_then(|(before, [length @ .., _, _, _, _])| {
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        before.get(before.len().checked_sub(length)?..)
    });
    footer.ok_or_else(|| internal("the library wrote a footer that it could not read"))
}

/// What a column chunk has once, but for its kind.
fn place(row_group: i16, column: usize) -> Result<Place> {
    let column = i16::try_from(column).map_err(|_| internal("a file has more columns than can be encrypted"))?;
    Ok(Place { kind: Kind::ColumnIndex, row_group, column, page: 0 })
}

/// Counts what is written.
struct Tracked<W> {
    out: W,
    written: u64,
}

impl<W: Write> Tracked<W> {
    fn position(&self) -> Result<i64> {
        Ok(i64::try_from(self.written)?)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Writes, and returns where.
    fn write_at(&mut self, bytes: &[u8]) -> Result<(i64, i32)> {
        let place = (self.position()?, i32::try_from(bytes.len())?);
        self.write(bytes)?;
        Ok(place)
    }
}
