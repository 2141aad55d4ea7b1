//! Parquet's modular encryption, below the Parquet library: it reads encrypted files without knowing that they are.
//!
//! | to | use |
//! |---|---|
//! | open a file with its key | [`EncryptedFile::open`] |
//! | read it, as if it were not encrypted | [`EncryptedFile::read`] |
//! | say where its bytes come from | [`StoredBytes`] |
//! | read what DuckDB has encrypted | [`Dialect::DuckDb`] |
//! | write a file | [`EncryptingWriter`] |
//!
//! Files have an encrypted footer and one key for everything, as Iceberg writes them: 128, 192 or 256 bits. Pages, their
//! headers, indexes and bloom filters are decrypted when they are asked for, in the memory that they were read into.
//!
//! ```
//! use std::ops::Range;
//! use std::sync::Arc;
//!
//! use arrow::array::{ArrayRef, Int64Array, RecordBatch};
//! use bytes::Bytes;
//! use futures::{FutureExt, future::BoxFuture};
//! use lakelock_crypto::{KeyLength, StandardKeyMetadata};
//! use lakelock_parquet::{EncryptedFile, EncryptingWriter, ReadOptions, StoredBytes};
//! use parquet::arrow::{ArrowSchemaConverter, arrow_writer::compute_leaves};
//!
//! struct InMemory(Bytes);
//!
//! impl StoredBytes for InMemory {
//!     fn read(&mut self, ranges: Vec<Range<u64>>) -> BoxFuture<'_, parquet::errors::Result<Vec<Bytes>>> {
//!         let slice = |range: Range<u64>| self.0.slice(range.start as usize..range.end as usize);
//!         std::future::ready(Ok(ranges.into_iter().map(slice).collect())).boxed()
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let rows = RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef)])?;
//! let key = StandardKeyMetadata::generate(KeyLength::Aes192)?;
//!
//! let schema = ArrowSchemaConverter::new().convert(&rows.schema())?.root_schema_ptr();
//! let mut writer = EncryptingWriter::new(Vec::new(), schema, rows.schema(), Arc::default(), &key)?;
//! let mut encoders = writer.begin_row_group()?;
//! for leaf in compute_leaves(rows.schema().field(0), rows.column(0))? {
//!     encoders[0].write(&leaf)?;
//! }
//! writer.end_row_group(encoders.into_iter().map(|encoder| encoder.close()).collect::<Result<_, _>>()?)?;
//! writer.finish()?;
//! let bytes = Bytes::from(std::mem::take(writer.inner_mut()));
//!
//! let (length, mut stored) = (bytes.len() as u64, InMemory(bytes));
//! let (file, metadata) = EncryptedFile::open(&mut stored, "a file", length, &key, &ReadOptions::default()).await?;
//! let (start, length) = metadata.row_group(0).column(0).byte_range();
//! let pages = file.read(&mut stored, vec![start..start + length]).await?;
//! assert_eq!(pages[0].len() as u64, length);
//! # Ok(())
//! # }
//! ```
//!
//! Nothing here knows tables, or where files are stored. Lengths, offsets and counts from a file are checked before they
//! are used; bytes that fail authentication are an error that names the file and the module.

mod crypto_metadata;
mod dialect;
mod error;
mod file;
mod footer;
mod layout;
mod module;
mod page;
mod pages;
mod seal;
mod thrift;
mod writer;

pub use dialect::Dialect;
pub use error::{Error, ErrorKind, Result};
pub use file::{EncryptedFile, StoredBytes};
pub use writer::EncryptingWriter;

/// How files are read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// How many bytes at the end of the file are read at first. A footer that is longer takes a second request.
    footer_prefetch: u64,
    accept_ctr: bool,
    dialect: Dialect,
}

impl ReadOptions {
    /// Reads so many bytes at the end of the file at first.
    #[must_use]
    pub fn with_footer_prefetch(self, bytes: u64) -> Self {
        Self { footer_prefetch: bytes, ..self }
    }

    /// Reads files of this dialect, and no others.
    #[must_use]
    pub fn with_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    /// Accepts files with `AES_GCM_CTR_V1`, whose pages are not authenticated.
    ///
    /// What a file says of its algorithm is not authenticated either: with this, whoever can write to the storage can turn
    /// off the authentication of any file, and change rows unnoticed.
    #[must_use]
    pub fn danger_accept_ctr(self) -> Self {
        Self { accept_ctr: true, ..self }
    }
}

impl Default for ReadOptions {
    /// Reads 64 KiB at first, and accepts authenticated files of the standard only.
    fn default() -> Self {
        Self { footer_prefetch: 64 << 10, accept_ctr: false, dialect: Dialect::Standard }
    }
}
