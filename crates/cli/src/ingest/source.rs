//! The files to load, and how far reading them has come.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::ValueEnum;

use crate::failure::{Context as _, Failure, Result};

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a file's rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    // Plain comments: documented values would make the help long.
    // Comma-separated values with a header line.
    Csv,
    // One JSON object a line.
    Json,
    // Apache Parquet.
    Parquet,
}

/// A file to load.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// As the user named it.
    pub(crate) path: PathBuf,
    /// How it is written.
    pub(crate) format: FileFormat,
    /// Its length.
    pub(crate) bytes: u64,
    /// Whether it still holds its rows after it was read, as a pipe does not.
    pub(crate) can_be_read_again: bool,
}

impl Source {
    /// Looks at a file; the format comes from its name unless given.
    pub(crate) fn new(path: PathBuf, format: Option<FileFormat>) -> Result<Self> {
        if path.to_str().is_some_and(|path| path.contains("://")) {
            return Err(Failure::usage(format!("files to load are local, and {} is not", path.display()))
                .hint("download it first, or `lakelock load ... /dev/stdin --format csv` from a pipe"));
        }
        let metadata = std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?;
        if metadata.is_dir() {
            return Err(Failure::new(format!("{} is a folder, not a file", path.display())));
        }
        let format = match format {
            Some(format) => format,
            None => Self::format_of(&path).ok_or_else(|| {
                Failure::usage(format!("the name of {} does not tell its format", path.display()))
                    .hint("say --format csv, json or parquet")
            })?,
        };
        Ok(Self { path, format, bytes: metadata.len(), can_be_read_again: metadata.is_file() })
    }

    fn format_of(path: &Path) -> Option<FileFormat> {
        match path.extension()?.to_str()?.to_lowercase().as_str() {
            "csv" | "tsv" => Some(FileFormat::Csv),
            "json" | "jsonl" | "ndjson" => Some(FileFormat::Json),
            "parquet" | "pq" => Some(FileFormat::Parquet),
            _ => None,
        }
    }

    /// Opens it.
    pub(crate) fn open(&self) -> Result<File> {
        File::open(&self.path).with_context(|| format!("cannot open {}", self.path.display()))
    }

    /// Opens a file of text for reading from start to end, after the byte order mark that some programs put there.
    pub(crate) fn text(&self, progress: &Progress) -> Result<BufReader<Counted<File>>> {
        let mut input = BufReader::with_capacity(1 << 20, Counted { inner: self.open()?, progress: progress.clone() });
        let start = input.fill_buf().with_context(|| format!("cannot read {}", self.path.display()))?;
        if start.starts_with(BYTE_ORDER_MARK) {
            input.consume(BYTE_ORDER_MARK.len());
        }
        Ok(input)
    }

    /// An error about a line of it.
    pub(crate) fn at_line(&self, line: u64, message: impl std::fmt::Display) -> Failure {
        Failure::new(format!("{}, line {line}: {message}", self.path.display()))
    }
}

/// Bytes read so far, over all files.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress(Arc<AtomicU64>);

impl Progress {
    /// Counts more of them.
    pub(crate) fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How many there are.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A reader that counts.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    inner: R,
    progress: Progress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.progress.add(read as u64);
        Ok(read)
    }
}
