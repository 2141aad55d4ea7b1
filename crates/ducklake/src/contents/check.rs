//! Whether a lake is what it should be.

use std::{collections::HashSet, fmt};

use futures::{StreamExt, TryStreamExt, stream};
use lakelock_storage::{ServerSideEncryption, Storage};

use super::{Contents, LakeFile};
use crate::error::{Error, ErrorKind, Result};

/// Something that is wrong with a lake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file that it is about, by its location.
    pub location: String,
    /// What is wrong with it.
    pub what: Wrong,
}

/// What can be wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// It is of a table that is not there.
    Orphaned,
    /// The lake is encrypted, and the catalog has no key for the file.
    NoKey,
    /// The lake is encrypted, and the file is not.
    Plaintext,
    /// It is not there.
    Missing,
    /// It has another length than the catalog says.
    Length {
        /// What the catalog says.
        expected: i64,
        /// What it has.
        found: u64,
    },
    /// The store does not encrypt it under the key that it is to be under. If it is a bucket, this is about new objects whose
    /// writers do not ask for a key.
    AtRest {
        /// The key, by its id or ARN.
        expected: String,
        /// What the store encrypts it with, if it says that it does.
        found: Option<ServerSideEncryption>,
    },
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Orphaned => f.write_str("it is of a table that is not there"),
            Self::NoKey => f.write_str("the lake is encrypted, and the catalog has no key for it"),
            Self::Plaintext => f.write_str("the lake is encrypted, and the file is not"),
            Self::Missing => f.write_str("there is no such file"),
            Self::Length { expected, found } => write!(f, "it has {found} bytes, and should have {expected}"),
            Self::AtRest { expected, found: None } => {
                write!(f, "the store itself does not encrypt it, and should under {expected}")
            }
            Self::AtRest { expected, found: Some(found) } => {
                write!(f, "the store itself encrypts it with {found}, and should under {expected}")
            }
        }
    }
}

impl Contents<'_> {
    /// What is wrong with the files of the snapshot: as far as the catalog tells, and, if their storage is given, as far as
    /// their lengths and first bytes tell.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Corrupt`] and [`ErrorKind::Storage`] for what keeps it from being told.
    pub async fn check(&self, storage: Option<&Storage>) -> Result<Vec<Problem>> {
        let tables: HashSet<_> = self.tables().await?.into_iter().map(|table| table.id).collect();
        let files = self.files(None).await?;
        let mut problems = Vec::new();
        for file in &files {
            let mut wrong = |what| problems.push(Problem { location: file.location.clone(), what });
            if !tables.contains(&file.table_id) {
                wrong(Wrong::Orphaned);
            }
            if self.is_encrypted() && !file.has_key {
                wrong(Wrong::NoKey);
            }
        }
        if let Some(storage) = storage {
            let stored = stream::iter(&files).map(|file| self.check_stored(storage, file)).buffered(FILES_AT_ONCE);
            let found: Vec<_> = stored.try_collect().await?;
            problems.extend(
                files
                    .iter()
                    .zip(found)
                    .filter_map(|(file, what)| what.map(|what| Problem { location: file.location.clone(), what })),
            );
        }
        Ok(problems)
    }

    async fn check_stored(&self, storage: &Storage, file: &LakeFile) -> Result<Option<Wrong>> {
        use lakelock_storage::ErrorKind as Storage;
        let failed = cannot_look_at(&file.location);
        let length = match storage.length(&file.location).await {
            Err(error) if error.kind() == Storage::NotFound => return Ok(Some(Wrong::Missing)),
            length => length.map_err(&failed)?,
        };
        if let Some(expected) = file.bytes.filter(|expected| u64::try_from(*expected) != Ok(length)) {
            return Ok(Some(Wrong::Length { expected, found: length }));
        }
        // Of a lake that is encrypted, files of any other format are in the clear, too.
        if !self.is_encrypted() || length < MAGIC.len() as u64 {
            return Ok(None);
        }
        let start = storage.read_range(&file.location, 0..MAGIC.len() as u64).await.map_err(failed)?;
        Ok((start != MAGIC).then_some(Wrong::Plaintext))
    }
}

pub(super) fn cannot_look_at(location: &str) -> impl Fn(lakelock_storage::Error) -> Error {
    let message = format!("cannot look at {location}");
    move |error| Error::new(ErrorKind::Storage, message.clone()).with_source(error)
}

/// How an encrypted Parquet file begins.
const MAGIC: &[u8] = b"PARE";
/// Asked about at the same time.
pub(super) const FILES_AT_ONCE: usize = 16;
