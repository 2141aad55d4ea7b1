//! Pages and bloom filters, decrypted where they lie.
//!
//! What is stored as two modules, a header and what it is the header of, becomes what an unencrypted file has in their
//! place, of the same length, so that everything else stays where it is:
//!
//! ```text
//! stored   length | nonce | header | tag | length | nonce | data | tag
//! view     header, with the size of the data as it is now, padded ------| data
//! ```
//!
//! The padding is a field of the header that readers do not know and pass over.

use std::ops::Range;

use crate::dialect::Dialect;
use crate::module::{Aad, Fault, Kind, LENGTH_LENGTH, OVERHEAD, Opener, Place, Sizes};
use crate::thrift::{Malformed, Reader, StructWriter};

/// The most pages that a column chunk can have: their numbers take 16 bits.
const MAX_PAGES: usize = 1 << 15;

/// The numbers of a page's type in its header.
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
const DATA_PAGE_V2: i32 = 3;

/// Which page of a column chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    Dictionary,
    Data(usize),
}

impl Page {
    /// The page after it.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Dictionary => Self::Data(0),
            Self::Data(number) => Self::Data(number + 1),
        }
    }
}

/// Decrypts the pages and bloom filters of a file, in memory of its own for what is small.
#[derive(Debug)]
pub(crate) struct PageOpener<'a> {
    opener: &'a Opener,
    aad: Aad,
    dialect: Dialect,
    header: Vec<u8>,
}

impl<'a> PageOpener<'a> {
    pub(crate) fn new(opener: &'a Opener, aad: Aad, dialect: Dialect) -> Self {
        Self { opener, aad, dialect, header: Vec::new() }
    }

    /// Turns the page that `bytes` begin with into the view's, and returns its length.
    pub(crate) fn open_page(
        &mut self,
        row_group: i16,
        column: i16,
        page: Page,
        bytes: &mut [u8],
    ) -> Result<usize, Fault> {
        let (kind, header_kind, number) = match page {
            Page::Dictionary => (Kind::DictionaryPage, Kind::DictionaryPageHeader, 0),
            Page::Data(number) => (Kind::DataPage, Kind::DataPageHeader, number),
        };
        let number = i16::try_from(number).map_err(|_| {
            Place { kind, row_group, column, page: 0 }.invalid("is one of more pages than can be encrypted")
        })?;
        let place = Place { kind, row_group, column, page: number };
        let counts_overhead = self.dialect.counts_overhead();
        self.open_pair(Place { kind: header_kind, ..place }, place, bytes, |header, sizes, out| {
            let given = if counts_overhead { sizes.stored } else { sizes.plain };
            rewrite_page_header(header, page, given, sizes.plain, out)
        })
    }

    /// Turns the bloom filter in `bytes` into the view's.
    pub(crate) fn open_bloom_filter(&mut self, row_group: i16, column: i16, bytes: &mut [u8]) -> Result<(), Fault> {
        let place = Place { kind: Kind::BloomFilterBitset, row_group, column, page: 0 };
        let length =
            self.open_pair(Place { kind: Kind::BloomFilterHeader, ..place }, place, bytes, copy_bloom_header)?;
        if length == bytes.len() { Ok(()) } else { Err(place.invalid("is shorter than the footer says")) }
    }

    fn open_pair(
        &mut self,
        header_place: Place,
        place: Place,
        bytes: &mut [u8],
        rewrite: impl for<'b> FnOnce(&[u8], &Sizes, &'b mut Vec<u8>) -> Result<StructWriter<'b>, Malformed>,
    ) -> Result<usize, Fault> {
        let header = self.opener.open(header_place, &mut self.aad, bytes)?;
        let (first, stored) = bytes.split_at_mut_checked(header.end).ok_or(place.invalid("it is cut off"))?;
        let plain = first.get(header.plain).unwrap_or_default();
        let sizes = self.opener.sizes(place, stored)?;
        self.header.clear();
        let writer = rewrite(plain, &sizes, &mut self.header).map_err(|malformed| {
            if levels_in_plaintext(plain, stored) {
                place.unsupported(LEVELS)
            } else {
                header_place.malformed(malformed)
            }
        })?;
        let data = self.opener.open(place, &mut self.aad, stored)?;
        let end = header.end + data.end;
        let begin = end - data.plain.len();
        stored.copy_within(data.plain, begin - header.end);
        writer.end_padded(begin).ok_or_else(|| header_place.invalid("is longer than it can be"))?;
        bytes[..begin].copy_from_slice(&self.header);
        Ok(end)
    }
}

/// Checks the header of an encrypted page, which must give the page one size, and writes it with the one that the page has
/// without encryption.
fn rewrite_page_header<'b>(
    header: &[u8],
    page: Page,
    given: usize,
    plain: usize,
    out: &'b mut Vec<u8>,
) -> Result<StructWriter<'b>, Malformed> {
    let (writer, page_type) = resize(header, given, plain, out)?;
    let fits = match page {
        Page::Dictionary => page_type == DICTIONARY_PAGE,
        Page::Data(_) => matches!(page_type, DATA_PAGE | DATA_PAGE_V2),
    };
    if fits { Ok(writer) } else { Err(Malformed("is not that of such a page")) }
}

/// Writes the header of a page of `length` bytes with the size that the page has when it is encrypted, and returns which
/// page it is; a page with data has this number.
pub(crate) fn seal_page_header(
    header: &[u8],
    length: usize,
    number: usize,
    out: &mut Vec<u8>,
) -> Result<Page, Malformed> {
    let (writer, page_type) = resize(header, length, length + OVERHEAD, out)?;
    writer.end();
    match page_type {
        DICTIONARY_PAGE => Ok(Page::Dictionary),
        DATA_PAGE | DATA_PAGE_V2 => Ok(Page::Data(number)),
        _ => Err(Malformed("is not that of a page")),
    }
}

/// Writes the fields of a page's header with another size of what follows it, and returns the page's type.
///
/// There is no checksum any more: it would be of other bytes, and the cipher checks more than it could.
fn resize<'b>(
    header: &[u8],
    from: usize,
    to: usize,
    out: &'b mut Vec<u8>,
) -> Result<(StructWriter<'b>, i32), Malformed> {
    let mut reader = Reader::new(header);
    let mut writer = StructWriter::new(out);
    let (mut last, mut page_type, mut sized) = (None, None, false);
    while let Some(field) = reader.field(last)? {
        match field.id {
            1 => {
                let number = reader.i32(field)?;
                page_type = Some(number);
                writer.i32(1, number);
            }
            3 => {
                // The overhead of encryption counts, as it is part of what follows the header.
                if usize::try_from(reader.i32(field)?) != Ok(from) {
                    return Err(Malformed("gives another size than its page has"));
                }
                writer.i32(3, i32::try_from(to).map_err(|_| Malformed("gives too large a size"))?);
                sized = true;
            }
            4 => reader.skip(field)?,
            _ => {
                let before = reader.rest();
                reader.skip(field)?;
                writer.copied(field, &before[..before.len() - reader.rest().len()]);
            }
        }
        last = Some(field);
    }
    match page_type {
        // What follows is left of the buffer that Java writes headers in.
        Some(page_type) if sized => Ok((writer, page_type)),
        _ => Err(Malformed("is not that of a page")),
    }
}

const LEVELS: &str = "has its levels in plaintext, as Java writes pages of the format's second version: anyone could change \
                      them; write the file anew with pages of the first version";

/// Whether a page's data begins with levels that are not encrypted, and goes on with a module of the values alone.
fn levels_in_plaintext(header: &[u8], stored: &[u8]) -> bool {
    let lengths = || -> Result<(i32, i32), Malformed> {
        let (mut reader, mut last) = (Reader::new(header), None);
        let (mut size, mut levels) = (0, 0_i32);
        while let Some(field) = reader.field(last)? {
            match field.id {
                3 => size = reader.i32(field)?,
                8 => {
                    field.begin_struct()?;
                    let mut last = None;
                    while let Some(field) = reader.field(last)? {
                        match field.id {
                            5 | 6 => levels = levels.saturating_add(reader.i32(field)?),
                            _ => reader.skip(field)?,
                        }
                        last = Some(field);
                    }
                }
                _ => reader.skip(field)?,
            }
            last = Some(field);
        }
        Ok((size, levels))
    };
    let Ok((size, levels)) = lengths() else { return false };
    let (Ok(size), Ok(levels)) = (usize::try_from(size), usize::try_from(levels)) else { return false };
    let module = stored.get(levels..).and_then(<[u8]>::first_chunk);
    let length = module.and_then(|length| usize::try_from(u32::from_le_bytes(*length)).ok());
    levels > 0 && length.is_some_and(|length| length.checked_add(levels + LENGTH_LENGTH) == Some(size))
}

/// Checks a bloom filter's header, and copies it.
fn copy_bloom_header<'b>(header: &[u8], sizes: &Sizes, out: &'b mut Vec<u8>) -> Result<StructWriter<'b>, Malformed> {
    const BLOCK: usize = 32;
    let mut reader = Reader::new(header);
    let mut writer = StructWriter::new(out);
    let (mut last, mut fits) = (None, false);
    while let Some(field) = reader.field(last)? {
        let before = reader.rest();
        if field.id == 1 {
            fits = true;
            let size = reader.i32(field)?;
            if usize::try_from(size) != Ok(sizes.plain) || sizes.plain == 0 || !sizes.plain.is_multiple_of(BLOCK) {
                return Err(Malformed("gives another size than its bloom filter has"));
            }
        } else {
            reader.skip(field)?;
        }
        writer.copied(field, &before[..before.len() - reader.rest().len()]);
        last = Some(field);
    }
    if fits { Ok(writer) } else { Err(Malformed("is not that of a bloom filter")) }
}

/// Reads where pages begin from an offset index: in ascending order, and within `chunk`.
pub(crate) fn page_offsets(offset_index: &[u8], chunk: &Range<u64>) -> Result<Box<[u64]>, Malformed> {
    let mut reader = Reader::new(offset_index);
    let mut offsets: Vec<u64> = Vec::new();
    let mut last = None;
    while let Some(field) = reader.field(last)? {
        if field.id == 1 {
            let pages = reader.begin_structs(field)?;
            if pages > MAX_PAGES {
                return Err(Malformed("it has more pages than can be encrypted"));
            }
            for _ in 0..pages {
                let offset = page_offset(&mut reader)?;
                if !chunk.contains(&offset) || offsets.last().is_some_and(|before| *before >= offset) {
                    return Err(Malformed("its pages are not in their column chunk, one after the other"));
                }
                offsets.push(offset);
            }
        } else {
            reader.skip(field)?;
        }
        last = Some(field);
    }
    Ok(offsets.into())
}

fn page_offset(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    let (mut last, mut offset) = (None, None);
    while let Some(field) = reader.field(last)? {
        match field.id {
            1 => offset = u64::try_from(reader.i64(field)?).ok(),
            _ => reader.skip(field)?,
        }
        last = Some(field);
    }
    offset.ok_or(Malformed("a page has no offset"))
}
