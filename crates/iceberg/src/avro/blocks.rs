//! The blocks of a file, one after the other.

use std::ops::Range;

use bytes::Bytes;

use super::header::{Header, SYNC_LENGTH};
use super::parts::{PART_LENGTH, Parts};
use crate::manifest::Codec;
use crate::{Error, Result};

/// The head of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block {
    /// Where the sync marker before it starts.
    pub(super) marker: u64,
    /// Where it starts.
    pub(super) start: u64,
    pub(super) rows: u64,
    /// Bytes that its rows are packed into.
    packed: u64,
}

/// The blocks of a part of a file: those that follow a sync marker which starts in it.
#[derive(Debug)]
pub(super) struct Blocks {
    parts: Parts,
    codec: Codec,
    sync: [u8; SYNC_LENGTH],
    /// Whether these are all blocks of the file.
    all: bool,
    end: u64,
    rows: u64,
    record_count: u64,
}

impl Blocks {
    /// `parts` are at the first block of the file.
    pub(super) async fn new(mut parts: Parts, header: &Header, range: Range<u64>, record_count: u64) -> Result<Self> {
        let (first, length) = (header.length, SYNC_LENGTH as u64);
        let all = range.start <= first - length && range.end >= parts.length();
        if range.start > first - length {
            parts.go_to(range.start);
            parts.find(&header.sync).await?;
        }
        Ok(Self { parts, codec: header.codec, sync: header.sync, all, end: range.end, rows: 0, record_count })
    }

    /// The next block, if there is one in the part.
    pub(super) async fn next_head(&mut self) -> Result<Option<Block>> {
        let start = self.parts.position();
        let marker = start.saturating_sub(SYNC_LENGTH as u64);
        if marker >= self.end || self.parts.is_at_end() {
            return Ok(None);
        }
        let number = |number: i64, parts: &Parts| {
            u64::try_from(number).map_err(|_| parts.damaged("a block has a negative length"))
        };
        let rows = number(self.parts.long().await?, &self.parts)?;
        let packed = number(self.parts.long().await?, &self.parts)?;
        self.rows = self.rows.saturating_add(rows);
        if self.rows > self.record_count {
            return Err(self.miscounted("more"));
        }
        Ok(Some(Block { marker, start, rows, packed }))
    }

    /// The rows of the block whose head was read last, unpacked.
    pub(super) async fn read(&mut self, block: &Block) -> Result<Bytes> {
        let packed = self.parts.take(block.packed).await?;
        self.check_marker().await?;
        match self.codec {
            Codec::Null => Ok(packed),
            codec => match codec.decompress(&packed) {
                // The rows live in other memory later on, that nobody wipes either.
                Ok(mut plain) => Ok(Bytes::from(std::mem::take(&mut *plain))),
                Err(e) => {
                    let what = format!("the block that starts at byte {} cannot be unpacked; read", block.start);
                    Err(self.parts.damaged(&what).with_source(e))
                }
            },
        }
    }

    /// Goes on after the block whose head was read last.
    pub(super) async fn skip(&mut self, block: &Block) -> Result<()> {
        self.parts.skip(block.packed)?;
        self.check_marker().await
    }

    /// Refuses a file that has fewer rows than it should, after its last block.
    pub(super) fn check_total(&self) -> Result<()> {
        if self.all && self.rows != self.record_count { Err(self.miscounted("other")) } else { Ok(()) }
    }

    async fn check_marker(&mut self) -> Result<()> {
        let marker = self.parts.take(SYNC_LENGTH as u64).await?;
        if marker[..] == self.sync {
            Ok(())
        } else {
            Err(self.parts.damaged("a block does not end with the sync marker"))
        }
    }

    fn miscounted(&self, what: &str) -> Error {
        let Self { rows, record_count, .. } = self;
        self.parts.damaged(&format!("it has {what} rows than its manifest says ({rows}, expected {record_count})"))
    }
}

/// Where blocks start, and how many rows are before them: one for each stretch of the file, not each block.
#[derive(Debug, Clone, Default)]
pub struct BlockIndex {
    /// Places of sync markers, and the rows before the blocks that follow them.
    entries: Vec<(u64, u64)>,
    rows: u64,
}

impl BlockIndex {
    /// Adds the next block.
    pub(super) fn add(&mut self, block: &Block) {
        if self.entries.last().is_none_or(|(marker, _)| block.marker - marker >= PART_LENGTH) {
            self.entries.push((block.marker, self.rows));
        }
        self.rows = self.rows.saturating_add(block.rows);
    }

    /// The last marker that is known up to a place, and the rows before the block after it.
    pub(super) fn before(&self, place: u64) -> (Option<u64>, u64) {
        let after = self.entries.partition_point(|(marker, _)| *marker <= place);
        match after.checked_sub(1).and_then(|at| self.entries.get(at)) {
            Some((marker, rows)) => (Some(*marker), *rows),
            None => (None, 0),
        }
    }
}
