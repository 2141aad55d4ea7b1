//! Pages on their way from the encoder to the file: encrypted as soon as they are complete, on the thread that made them.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::arrow::arrow_writer::{PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use parquet::errors::{ParquetError, Result};

use crate::error::{Error, ErrorKind};
use crate::module::{Aad, Kind, OVERHEAD, Place};
use crate::page::{Page, seal_page_header};
use crate::seal::Sealer;
use crate::thrift::Malformed;

/// The pages of one column chunk, header and data of each together, as they go into the file.
#[derive(Debug, Default)]
pub(crate) struct SealedPages {
    pub(crate) dictionary: Option<Bytes>,
    pub(crate) data: Vec<Bytes>,
    /// By how much the headers have become longer.
    pub(crate) header_growth: usize,
}

/// Makes the stores of one row group, into which the encoder puts pages.
#[derive(Debug)]
pub(crate) struct PageSealers {
    sealer: Arc<Sealer>,
    aad: Aad,
    row_group: i16,
    columns: Mutex<Vec<Arc<Mutex<SealedPages>>>>,
}

impl PageSealers {
    pub(crate) fn new(sealer: Arc<Sealer>, aad: Aad, row_group: i16) -> Self {
        Self { sealer, aad, row_group, columns: Mutex::default() }
    }

    pub(crate) fn row_group(&self) -> i16 {
        self.row_group
    }

    /// What was put, column by column. The encoder's stores must be gone.
    pub(crate) fn take(&self) -> Vec<SealedPages> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let take =
            |pages: Arc<Mutex<SealedPages>>| std::mem::take(&mut *pages.lock().unwrap_or_else(PoisonError::into_inner));
        columns.drain(..).map(take).collect()
    }
}

impl PageStoreFactory for PageSealers {
    fn create(&self, args: &PageStoreArgs<'_>) -> Result<Box<dyn PageStore>> {
        let mut columns = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if args.column_index() != columns.len() {
            return Err(internal("the columns of a row group came in another order"));
        }
        let pages = Arc::<Mutex<SealedPages>>::default();
        columns.push(Arc::clone(&pages));
        Ok(Box::new(PageSealer {
            sealer: Arc::clone(&self.sealer),
            aad: self.aad.clone(),
            row_group: self.row_group,
            column: i16::try_from(args.column_index()).map_err(|_| internal("too many columns to be encrypted"))?,
            header: None,
            resident: 0,
            pages,
        }))
    }
}

/// Takes the header and the data of each page by turns.
struct PageSealer {
    sealer: Arc<Sealer>,
    aad: Aad,
    row_group: i16,
    column: i16,
    header: Option<Bytes>,
    resident: usize,
    pages: Arc<Mutex<SealedPages>>,
}

impl PageSealer {
    fn seal(&mut self, header: &[u8], data: &[u8]) -> Result<()> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let invalid = |Malformed(why)| internal(&format!("the header of a page {why}"));
        let mut sealed_header = Vec::with_capacity(header.len() + OVERHEAD);
        let page = seal_page_header(header, data.len(), pages.data.len(), &mut sealed_header).map_err(invalid)?;
        let (kind, header_kind, number) = match page {
            Page::Dictionary => (Kind::DictionaryPage, Kind::DictionaryPageHeader, 0),
            Page::Data(number) => (Kind::DataPage, Kind::DataPageHeader, number),
        };
        let number = i16::try_from(number)
            .map_err(|_| internal("a column chunk has more pages than can be encrypted; larger pages make fewer"))?;
        let place = Place { kind, row_group: self.row_group, column: self.column, page: number };
        let mut out = Vec::with_capacity(sealed_header.len() + data.len() + 2 * OVERHEAD);
        self.sealer.seal(Place { kind: header_kind, ..place }, &mut self.aad, &sealed_header, &mut out)?;
        pages.header_growth += out.len().saturating_sub(header.len());
        self.sealer.seal(place, &mut self.aad, data, &mut out)?;
        self.resident += out.len();
        match page {
            Page::Data(_) => pages.data.push(out.into()),
            Page::Dictionary if pages.dictionary.is_none() => pages.dictionary = Some(out.into()),
            Page::Dictionary => return Err(internal("a column chunk has two dictionaries")),
        }
        Ok(())
    }
}

impl PageStore for PageSealer {
    fn put(&mut self, value: Bytes) -> Result<PageKey> {
        match self.header.take() {
            None => self.header = Some(value),
            Some(header) => self.seal(&header, &value)?,
        }
        // What is put is taken from the column's pages, by their order.
        Ok(PageKey::new(0))
    }

    fn take(&mut self, _: PageKey) -> Result<Bytes> {
        Err(internal("encrypted pages were asked for one by one"))
    }

    fn memory_size(&self) -> usize {
        self.resident
    }
}

pub(crate) fn internal(what: &str) -> ParquetError {
    Error::new(ErrorKind::Internal, what).into()
}
