//! An encrypted file, and the unencrypted file of the same layout that readers see in its place.

use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::{Bytes, BytesMut};
use futures::future::BoxFuture;
use lakelock_crypto::StandardKeyMetadata;
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::ParquetMetaData;

use crate::ReadOptions;
use crate::dialect::Dialect;
use crate::error::{Error, ErrorKind, Result};
use crate::footer::{END_LENGTH, Footer, footer_start};
use crate::layout::{Chunk, Layout, Part, Region};
use crate::module::{Aad, Fault, Kind, Opener, Place, Why};
use crate::page::{Page, PageOpener, page_offsets};

/// Where the bytes of a file come from, as they are stored.
pub trait StoredBytes: Send {
    /// Reads ranges of the file, each whole or not at all.
    fn read(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, ParquetResult<Vec<Bytes>>>;
}

/// A Parquet file with an encrypted footer, ready to be read with its key.
///
/// It appears as a plaintext file in which every page, bloom filter and index lies where it is stored: pages keep their
/// offsets and lengths, and what is longer in the encrypted file is padding. A Parquet reader that is given the
/// [metadata](Self::open) and reads ranges through [`read`](Self::read) needs to know nothing of encryption, and only the
/// bytes that it asks for are fetched and decrypted.
///
/// It holds what decrypts the file. It can be kept, and shared by many readers.
pub struct EncryptedFile {
    name: FileName,
    opener: Opener,
    aad: Aad,
    dialect: Dialect,
    layout: Layout,
    /// Where the pages of each column chunk begin, once that is known.
    pages: Vec<OnceLock<Box<[u64]>>>,
}

impl EncryptedFile {
    /// Opens the footer of a file of `length` bytes. `name` is what errors call the file.
    ///
    /// The metadata is that of the plaintext file; it has no page index, which can be loaded through [`read`](Self::read).
    ///
    /// # Errors
    /// Those of `source`, and an [`Error`] if the file is not an encrypted one that is undamaged and opens with this key.
    /// Only files in which everything is encrypted with the one key can be read.
    pub async fn open(
        source: &mut dyn StoredBytes,
        name: &str,
        length: u64,
        key: &StandardKeyMetadata,
        options: &ReadOptions,
    ) -> ParquetResult<(Self, ParquetMetaData)> {
        let name = FileName(name.to_owned());
        let prefetch = options.footer_prefetch.max(END_LENGTH as u64);
        let tail_start = length.saturating_sub(prefetch);
        let tail = read_one(&name, source, tail_start..length).await?;
        let start = footer_start(&name, &tail, length)?;
        let stored = match start.checked_sub(tail_start).and_then(|at| usize::try_from(at).ok()) {
            Some(at) => tail.slice(at..),
            None => read_one(&name, source, start..length).await?,
        };
        let Footer { metadata, opener, aad } = Footer::open(&name, &stored, key, options)?;
        let layout = Layout::new(&name, &metadata, start)?;
        let pages = layout.chunks.iter().map(|_| OnceLock::new()).collect();
        Ok((Self { name, opener, aad, dialect: options.dialect, layout, pages }, metadata))
    }

    /// Reads ranges of the plaintext file. Each holds whole pages, bloom filters and indexes, as those that a reader takes
    /// from the metadata do.
    ///
    /// # Errors
    /// Those of `source`, and an [`Error`] if what was stored is damaged, or a range begins or ends within a page.
    pub async fn read(&self, source: &mut dyn StoredBytes, ranges: Vec<Range<u64>>) -> ParquetResult<Vec<Bytes>> {
        self.find_pages(source, &ranges).await?;
        let stored = read_all(&self.name, source, ranges.clone()).await?;
        let mut pages = PageOpener::new(&self.opener, self.aad.clone(), self.dialect);
        let views = ranges.iter().zip(stored).map(|(range, stored)| self.decrypt(&mut pages, range, stored));
        Ok(views.collect::<Result<_>>()?)
    }

    /// What it occupies, also when the beginnings of all pages are known, roughly.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        let indexes: u64 = self.layout.chunks.iter().filter_map(|chunk| chunk.offset_index.as_ref()).map(length).sum();
        size_of::<Self>()
            + self.name.0.len()
            + self.aad.memory_size()
            + self.layout.memory_size()
            + self.pages.len() * size_of::<OnceLock<Box<[u64]>>>()
            // An entry of an index takes about as much as an offset.
            + usize::try_from(indexes).unwrap_or(usize::MAX)
    }

    /// Makes sure of where pages begin, for ranges that do not start with the first page of their column chunk.
    async fn find_pages(&self, source: &mut dyn StoredBytes, ranges: &[Range<u64>]) -> ParquetResult<()> {
        let mut missing: Vec<(usize, Range<u64>)> = Vec::new();
        for range in ranges {
            let Some(Region { part: Part::Pages(at), range: whole }) = self.layout.regions_in(range).first() else {
                continue;
            };
            let known = range.start <= whole.start || self.pages.get(*at).is_some_and(|pages| pages.get().is_some());
            if !known
                && missing.last().is_none_or(|(last, _)| last != at)
                && let Some(Chunk { offset_index: Some(index), .. }) = self.layout.chunks.get(*at)
            {
                missing.push((*at, index.clone()));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let stored = read_all(&self.name, source, missing.iter().map(|(_, range)| range.clone()).collect()).await?;
        for ((at, _), stored) in missing.iter().zip(stored) {
            self.decrypt_index(*at, Kind::OffsetIndex, &mut BytesMut::from(stored))?;
        }
        Ok(())
    }

    /// Turns stored bytes into the view's, where they lie if nobody else holds them.
    fn decrypt(&self, pages: &mut PageOpener<'_>, range: &Range<u64>, stored: Bytes) -> Result<Bytes> {
        let regions = self.layout.regions_in(range);
        if regions.is_empty() {
            return Ok(stored);
        }
        let mut view = BytesMut::from(stored);
        for Region { part, range: whole } in regions {
            let both = whole.start.max(range.start)..whole.end.min(range.end);
            let inside = |at: u64| usize::try_from(at - range.start).ok();
            let bytes = inside(both.start).zip(inside(both.end)).and_then(|(start, end)| view.get_mut(start..end));
            let cut = || self.name.invalid(&format!("was asked for a part of {part}, bytes {both:?} of {whole:?}"));
            let bytes = bytes.ok_or_else(cut)?;
            match part {
                Part::Pages(at) => self.decrypt_pages(pages, *at, both.start, bytes)?,
                _ if both != *whole => return Err(cut()),
                Part::BloomFilter(at) => {
                    let Chunk { row_group, column, .. } = self.chunk(*at)?;
                    pages.open_bloom_filter(*row_group, *column, bytes).map_err(|fault| self.name.fault(fault))?;
                }
                Part::ColumnIndex(at) => self.decrypt_index(*at, Kind::ColumnIndex, bytes)?,
                Part::OffsetIndex(at) => self.decrypt_index(*at, Kind::OffsetIndex, bytes)?,
            }
        }
        Ok(view.freeze())
    }

    /// Decrypts pages one after the other, from the one that begins at `offset` in the file.
    fn decrypt_pages(&self, pages: &mut PageOpener<'_>, at: usize, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let Chunk { row_group, column, range, has_dictionary, .. } = self.chunk(at)?;
        let mut page = if offset == range.start {
            if *has_dictionary { Page::Dictionary } else { Page::Data(0) }
        } else {
            let known = self.pages.get(at).and_then(OnceLock::get);
            let number = known.and_then(|offsets| offsets.binary_search(&offset).ok());
            Page::Data(number.ok_or_else(|| self.name.invalid(&format!("has no page that begins at {offset}")))?)
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let length = pages.open_page(*row_group, *column, page, rest).map_err(|fault| self.name.fault(fault))?;
            rest = rest.get_mut(length..).unwrap_or_default();
            page = page.next();
        }
        Ok(())
    }

    /// Decrypts an index, and leaves it where the module began, followed by zeros.
    fn decrypt_index(&self, at: usize, kind: Kind, bytes: &mut [u8]) -> Result<()> {
        let chunk = self.chunk(at)?;
        let place = Place { kind, row_group: chunk.row_group, column: chunk.column, page: 0 };
        let opened = self.opener.open(place, &mut self.aad.clone(), bytes).map_err(|fault| self.name.fault(fault))?;
        if opened.end != bytes.len() {
            return Err(self.name.fault(place.invalid("is shorter than the footer says")));
        }
        let length = opened.plain.len();
        bytes.copy_within(opened.plain, 0);
        let (plain, rest) = bytes.split_at_mut(length);
        rest.fill(0);
        if kind == Kind::OffsetIndex
            && let Some(pages) = self.pages.get(at)
            && pages.get().is_none()
        {
            let offsets = page_offsets(plain, &chunk.range).map_err(|e| self.name.fault(place.malformed(e)))?;
            // Whoever was faster has read the same.
            _ = pages.set(offsets);
        }
        Ok(())
    }

    fn chunk(&self, at: usize) -> Result<&Chunk> {
        self.layout.chunks.get(at).ok_or_else(|| self.name.error(ErrorKind::Internal, "lost one of its column chunks"))
    }
}

impl fmt::Debug for EncryptedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EncryptedFile").field("name", &self.name.0).finish_non_exhaustive()
    }
}

/// What errors call a file.
#[derive(Debug)]
pub(crate) struct FileName(String);

impl FileName {
    pub(crate) fn error(&self, kind: ErrorKind, what: &str) -> Error {
        Error::new(kind, format!("{} {what}", self.0))
    }

    pub(crate) fn invalid(&self, what: &str) -> Error {
        self.error(ErrorKind::InvalidData, what)
    }

    pub(crate) fn fault(&self, Fault { place, why }: Fault) -> Error {
        let error = |kind, why: &str| Error::new(kind, format!("{}: {place} {why}", self.0));
        match why {
            Why::Cipher(source) => error(ErrorKind::Internal, "cannot be decrypted").with_source(source),
            Why::Invalid(why) => error(ErrorKind::InvalidData, &format!("is damaged: {why}")),
            Why::Unsupported(why) => error(ErrorKind::Unsupported, why),
            Why::Unauthentic => error(ErrorKind::Authentication, "does not decrypt: wrong key or damaged"),
        }
    }
}

async fn read_one(name: &FileName, source: &mut dyn StoredBytes, range: Range<u64>) -> ParquetResult<Bytes> {
    let mut read = read_all(name, source, vec![range]).await?;
    Ok(read.pop().unwrap_or_default())
}

async fn read_all(name: &FileName, source: &mut dyn StoredBytes, ranges: Vec<Range<u64>>) -> ParquetResult<Vec<Bytes>> {
    let read = source.read(ranges.clone()).await?;
    let whole = |(range, bytes): (&Range<u64>, &Bytes)| bytes.len() as u64 == length(range);
    if read.len() != ranges.len() || !ranges.iter().zip(&read).all(whole) {
        return Err(name.invalid("is cut off: its storage gave less than was asked for").into());
    }
    Ok(read)
}

fn length(range: &Range<u64>) -> u64 {
    range.end.saturating_sub(range.start)
}
