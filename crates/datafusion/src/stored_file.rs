//! The bytes of a data file as they are stored.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use datafusion::datasource::physical_plan::parquet::ParquetFileMetrics;
use futures::FutureExt;
use futures::future::BoxFuture;
use lakelock_iceberg::ErrorKind;
use lakelock_iceberg::scan::FileScanTask;
use lakelock_parquet::StoredBytes;
use object_store::GetOptions;
use parquet::errors::{ParquetError, Result};

use crate::reader::{FileToRead, error};

/// Reads a file, and no byte of its end twice: what was read with the footer is at hand for the page index and the last
/// pages, which a small file has little besides.
pub(crate) struct StoredFile {
    file: FileToRead,
    metrics: ParquetFileMetrics,
    end: Option<Arc<End>>,
}

/// The last bytes of a file.
struct End {
    start: u64,
    bytes: Bytes,
}

impl StoredFile {
    pub(crate) fn new(file: FileToRead, metrics: ParquetFileMetrics) -> Self {
        Self { end: file.shared.end(), file, metrics }
    }

    pub(crate) fn file(&self) -> &FileToRead {
        &self.file
    }

    fn length(&self) -> u64 {
        self.file.task.data_file().file_size_in_bytes
    }

    /// Where the part of a range ends that is not at hand.
    fn missing_end(&self, range: &Range<u64>) -> u64 {
        self.end.as_ref().map_or(range.end, |end| range.end.min(end.start)).max(range.start)
    }

    async fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.metrics.bytes_scanned.add(ranges.iter().map(length).sum());
        if let [range] = ranges {
            return Ok(vec![self.fetch_one(range.clone()).await?]);
        }
        let FileToRead { store, path, .. } = &self.file;
        store.get_ranges(path, ranges).await.map_err(|e| ParquetError::External(Box::new(e)))
    }

    /// Fetches one range, and checks the length of the file along with it.
    async fn fetch_one(&self, range: Range<u64>) -> Result<Bytes> {
        let FileToRead { store, path, task, .. } = &self.file;
        let failed = |e| ParquetError::External(Box::new(e));
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let answer = store.get_opts(path, options).await.map_err(failed)?;
        check_length(task, answer.meta.size)?;
        answer.bytes().await.map_err(failed)
    }

    /// A range of which all up to the end that is at hand was `fetched`.
    fn join(&self, range: &Range<u64>, fetched: Option<Bytes>) -> Bytes {
        let at_hand = self.end.as_ref().filter(|end| end.start < range.end).map(|end| {
            let inside = |at: u64| usize::try_from(at.saturating_sub(end.start)).unwrap_or(usize::MAX);
            // What is not there shows as a range that is too short.
            let last = inside(range.end).min(end.bytes.len());
            end.bytes.slice(inside(range.start).min(last)..last)
        });
        match (fetched, at_hand) {
            (Some(fetched), Some(at_hand)) => [fetched, at_hand].concat().into(),
            (fetched, at_hand) => fetched.or(at_hand).unwrap_or_default(),
        }
    }
}

impl StoredBytes for StoredFile {
    fn read(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, Result<Vec<Bytes>>> {
        async move {
            if self.end.is_none() {
                self.end = self.file.shared.end();
            }
            let missing: Vec<_> = ranges.iter().map(|range| range.start..self.missing_end(range)).collect();
            let asked: Vec<_> = missing.iter().filter(|range| !range.is_empty()).cloned().collect();
            let fetched = if asked.is_empty() { Vec::new() } else { self.fetch(&asked).await? };
            let mut fetched = fetched.into_iter();
            let parts = missing.iter().map(|range| if range.is_empty() { None } else { fetched.next() });
            let read: Vec<_> = ranges.iter().zip(parts).map(|(range, part)| self.join(range, part)).collect();
            if let ([range], [bytes]) = (ranges.as_slice(), read.as_slice())
                && range.end == self.length()
            {
                let end = Arc::new(End { start: range.start, bytes: bytes.clone() });
                self.file.shared.set_end(&end);
                self.end = Some(end);
            }
            Ok(read)
        }
        .boxed()
    }
}

/// What the readers of a file share: an engine replaces them while it opens a file, and gives parts of it to several.
#[derive(Clone, Default)]
pub(crate) struct Shared(Arc<State>);

#[derive(Default)]
struct State {
    /// For as long as one of the readers has it.
    end: Mutex<Weak<End>>,
    footer: tokio::sync::Mutex<()>,
}

impl Shared {
    /// Waits until no other reader is about to read the footer.
    pub(crate) async fn footer_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.footer.lock().await
    }

    fn end(&self) -> Option<Arc<End>> {
        self.0.end.lock().unwrap_or_else(PoisonError::into_inner).upgrade()
    }

    fn set_end(&self, end: &Arc<End>) {
        *self.0.end.lock().unwrap_or_else(PoisonError::into_inner) = Arc::downgrade(end);
    }
}

fn length(range: &Range<u64>) -> usize {
    usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX)
}

/// Refuses a file that was cut or extended. The store says how long it is with every range; the footer is always read
/// this way, and before anything else.
fn check_length(task: &FileScanTask, length: u64) -> Result<()> {
    let expected = task.data_file().file_size_in_bytes;
    if length == expected {
        return Ok(());
    }
    let what = format!("has {length} bytes, but its manifest says {expected}: it was cut or extended");
    Err(error(ErrorKind::InvalidData, task, &what))
}
