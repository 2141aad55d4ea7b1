//! A file, read from one place onwards.

use std::fmt;

use bytes::{Bytes, BytesMut};
use tokio::task::JoinSet;

use super::cursor::MAX_VARINT_LENGTH;
use crate::encryption::FileReader;
use crate::{Error, ErrorKind, Result};

/// How much of a file is asked for at a time: whole blocks of an encrypted one, so that none is asked for twice.
pub(super) const PART_LENGTH: u64 = 4 << 20;

/// Reads on from a place, one part ahead.
pub(super) struct Parts {
    file: FileReader,
    /// Where the next byte is.
    at: u64,
    /// What has been read from there on.
    ready: Bytes,
    /// What nothing is read beyond before it is needed.
    end: u64,
    /// The part after what is ready, and where it starts.
    ahead: Option<(u64, JoinSet<Result<Bytes>>)>,
}

impl Parts {
    /// A reader from `at` on, of which what is `ready` is known already; most likely up to `end`.
    pub(super) fn new(file: FileReader, at: u64, ready: Bytes, end: u64) -> Self {
        let end = end.min(file.length());
        Self { file, at, ready, end, ahead: None }
    }

    /// Where the next byte is.
    pub(super) fn position(&self) -> u64 {
        self.at
    }

    /// The length of the file.
    pub(super) fn length(&self) -> u64 {
        self.file.length()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.file.length()
    }

    pub(super) fn damaged(&self, what: &str) -> Error {
        let message = format!("cannot read {}: {what} at byte {}", self.file.location(), self.at);
        Error::new(ErrorKind::InvalidData, message)
    }

    /// Bytes that are read already, at least one unless this is the end.
    pub(super) async fn some(&mut self) -> Result<&Bytes> {
        if self.ready.is_empty() && !self.is_at_end() {
            self.ready = self.part(self.at).await?;
        }
        Ok(&self.ready)
    }

    /// The next bytes.
    pub(super) async fn take(&mut self, length: u64) -> Result<Bytes> {
        if length > self.file.length().saturating_sub(self.at) {
            return Err(self.damaged("a block is cut off"));
        }
        let length = usize::try_from(length).map_err(|_| self.damaged("a block is longer than memory"))?;
        if self.some().await?.len() >= length {
            return Ok(self.advance(length));
        }
        // It grows with what is there.
        let mut whole = BytesMut::new();
        while whole.len() < length {
            let left = length - whole.len();
            let taken = left.min(self.some().await?.len());
            whole.extend_from_slice(&self.advance(taken));
        }
        Ok(whole.freeze())
    }

    /// Goes on after the next bytes, which need not be read.
    pub(super) fn skip(&mut self, length: u64) -> Result<()> {
        if length > self.file.length().saturating_sub(self.at) {
            return Err(self.damaged("a block is cut off"));
        }
        let ready = usize::try_from(length).unwrap_or(usize::MAX).min(self.ready.len());
        self.advance(ready);
        self.at += length - ready as u64;
        Ok(())
    }

    /// Goes on at another place.
    pub(super) fn go_to(&mut self, place: u64) {
        if place < self.at {
            self.ready = Bytes::new();
        }
        let ready = usize::try_from(place.saturating_sub(self.at)).unwrap_or(usize::MAX).min(self.ready.len());
        self.advance(ready);
        self.at = place;
    }

    /// Goes on after the next occurrence of some bytes, or at the end of the file.
    pub(super) async fn find(&mut self, wanted: &[u8]) -> Result<()> {
        // What was read and may be the start of it.
        let mut begun = Vec::new();
        loop {
            let part = self.some().await?.clone();
            if part.is_empty() {
                return Ok(());
            }
            // Across the border of two parts, then in the second.
            let crossing = [&begun[..], &part[..part.len().min(wanted.len())]].concat();
            let after = match position(&crossing, wanted) {
                Some(at) => Some((at + wanted.len()).saturating_sub(begun.len())),
                None => position(&part, wanted).map(|at| at + wanted.len()),
            };
            if let Some(after) = after {
                self.advance(after);
                return Ok(());
            }
            begun = [begun, part[part.len().saturating_sub(wanted.len())..].to_vec()].concat();
            begun.drain(..begun.len().saturating_sub(wanted.len() - 1));
            self.advance(part.len());
        }
    }

    /// A number.
    pub(super) async fn long(&mut self) -> Result<i64> {
        let mut bytes = Vec::with_capacity(MAX_VARINT_LENGTH);
        loop {
            let byte = self.take(1).await?[0];
            bytes.push(byte);
            if byte & 0x80 == 0 || bytes.len() > MAX_VARINT_LENGTH {
                return super::cursor::Cursor::new(&bytes)
                    .long()
                    .map_err(|e| self.damaged("a block has a malformed head").with_source(e));
            }
        }
    }

    fn advance(&mut self, length: usize) -> Bytes {
        self.at += length as u64;
        self.ready.split_to(length)
    }

    /// The part that `at` lies in, from there on; the next is asked for.
    async fn part(&mut self, at: u64) -> Result<Bytes> {
        let end = |at: u64| (at / PART_LENGTH + 1).saturating_mul(PART_LENGTH).min(self.file.length());
        let part_end = end(at);
        let part = match self.ahead.take() {
            Some((start, mut task)) if start <= at && at < end(start) => match task.join_next().await {
                Some(Ok(part)) => part?.slice(usize::try_from(at - start).unwrap_or(usize::MAX)..),
                Some(Err(e)) => {
                    let message = format!("reading {} was interrupted", self.file.location());
                    return Err(Error::new(ErrorKind::Internal, message).with_source(e));
                }
                None => return Err(self.damaged("nothing was read")),
            },
            _ => self.file.read(at..part_end).await?,
        };
        if part_end < self.end {
            let (file, next_end) = (self.file.clone(), end(part_end));
            let mut task = JoinSet::new();
            task.spawn(async move { file.read(part_end..next_end).await });
            self.ahead = Some((part_end, task));
        }
        Ok(part)
    }
}

impl fmt::Debug for Parts {
    /// Without what was read: it is decrypted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("file", &self.file).field("at", &self.at).finish_non_exhaustive()
    }
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == first) {
        at += found;
        if bytes[at..].starts_with(wanted) {
            return Some(at);
        }
        at += 1;
    }
    None
}
