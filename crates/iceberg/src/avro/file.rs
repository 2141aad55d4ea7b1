//! One data or delete file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, stream};

use super::blocks::{Block, Blocks};
use super::cursor::{Cursor, Malformed};
use super::header::Header;
use super::parts::Parts;
use super::schema::Node;
use super::skip::skip;
use super::values::{Growth, Step, Values, arrow_field};
use super::{BlockIndex, Wanted};
use crate::encryption::FileReader;
use crate::name_mapping::NameMapping;
use crate::{Error, ErrorKind, Result};

/// How much is read at first: the header, and the whole of a small file.
const HEAD_LENGTH: u64 = 1 << 20;

/// What the header may take: a schema of any size that is real.
const MAX_HEAD_LENGTH: u64 = 64 << 20;

/// A batch is closed when it was made from so many bytes, or stands for so many, however few rows it has.
const BATCH_BYTES: usize = 32 << 20;

/// What is read of a file.
#[derive(Debug, Clone)]
pub struct AvroRead {
    /// The columns, by their places in [`AvroFile::schema`], without repetition.
    pub columns: Vec<usize>,
    /// The part of the file: blocks that follow a sync marker which starts in it, so that parts that cover the file read
    /// each row once. It may reach beyond the end.
    pub range: Range<u64>,
    /// Rows in a batch, at most.
    pub batch_size: usize,
    /// Rows in the file, as its manifest says: another number is an error.
    pub record_count: u64,
}

/// Rows of a file, in its order.
#[derive(Debug)]
pub struct AvroRows {
    /// How many rows of the part were before.
    pub offset: u64,
    /// The rows.
    pub batch: RecordBatch,
}

/// An Avro file whose header is read and whose blocks are not yet. Cloning is cheap, but for what was read with the header.
#[derive(Clone)]
pub struct AvroFile {
    file: FileReader,
    header: Arc<Header>,
    schema: SchemaRef,
    columns: Arc<[Column]>,
    /// The first bytes of the file.
    head: Bytes,
}

/// A field of the file's records.
#[derive(Debug, Clone)]
struct Column {
    /// Where it stands in the records.
    place: usize,
    /// What it is read into, or why it cannot be.
    values: Result<Values, String>,
}

impl AvroFile {
    /// Reads the header. Fields are known by their ids; in a file without any, by the names that `mapping` gives ids.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] for what is no Avro file, [`ErrorKind::Unsupported`] for an unknown codec, and those of
    /// [`FileReader::read`].
    pub async fn open(file: FileReader, mapping: &NameMapping, wanted: &Wanted) -> Result<Self> {
        let mut length = HEAD_LENGTH.min(file.length());
        let (mut header, head) = loop {
            let head = file.read(0..length).await?;
            if let Some(header) = Header::read(&head, file.location())? {
                break (header, head);
            }
            if length == file.length() || length >= MAX_HEAD_LENGTH {
                let message = format!("cannot read {}: its Avro header is cut off", file.location());
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
            length = length.saturating_mul(4).min(file.length());
        };
        if !header.schema.has_ids() {
            header.schema = header.schema.with_ids(mapping.fields());
        }
        let Node::Record(fields) = &header.schema else {
            let message = format!("cannot read {}: its schema is not that of a record", file.location());
            return Err(Error::new(ErrorKind::InvalidData, message));
        };
        let (mut columns, mut arrow) = (Vec::new(), Vec::new());
        for (place, field) in fields.iter().enumerate().filter(|(_, field)| wanted.includes(field)) {
            let values = Values::of(&field.node, wanted);
            arrow.push(arrow_field(&field.name, field.id, values.as_ref().unwrap_or(&Values::Null(0))));
            columns.push(Column { place, values });
        }
        let schema = Arc::new(Schema::new(arrow));
        Ok(Self { file, header: Arc::new(header), schema, columns: columns.into(), head })
    }

    /// The columns that it has of those that were wanted, with their field ids. One that cannot be read is null here, and
    /// an error when it is read.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Forgets the bytes that were read with the header, to be kept for long.
    #[must_use]
    pub fn without_head(self) -> Self {
        Self { head: Bytes::new(), ..self }
    }

    /// Goes through the heads of all blocks, and counts the rows.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] for a damaged file, and for one that has another number of rows than `record_count`.
    pub async fn index(&self, record_count: u64) -> Result<BlockIndex> {
        let mut blocks = self.blocks(0..u64::MAX, record_count).await?;
        let mut index = BlockIndex::default();
        while let Some(block) = blocks.next_head().await? {
            index.add(&block);
            blocks.skip(&block).await?;
        }
        blocks.check_total()?;
        Ok(index)
    }

    /// How many rows are before a part.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] for a damaged file.
    pub async fn rows_before(&self, start: u64, index: &BlockIndex) -> Result<u64> {
        let (place, mut rows) = index.before(start);
        let mut blocks = self.blocks(place.unwrap_or_default()..start, u64::MAX).await?;
        while let Some(block) = blocks.next_head().await? {
            rows = rows.saturating_add(block.rows);
            blocks.skip(&block).await?;
        }
        Ok(rows)
    }

    /// Reads rows. Blocks are read as they are needed, and not kept.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a column that cannot be read; in the stream [`ErrorKind::InvalidData`] for a damaged
    /// file, and for one that has another number of rows than it should have.
    pub async fn rows(&self, read: AvroRead) -> Result<BoxStream<'static, Result<AvroRows>>> {
        let columns = read.columns.iter().map(|at| self.column(*at)).collect::<Result<Vec<_>>>()?;
        let schema = Arc::new(self.schema.project(&read.columns).map_err(|e| self.damaged("its schema", e))?);
        let blocks = self.blocks(read.range, read.record_count).await?;
        let Node::Record(fields) = &self.header.schema else {
            return Err(Error::new(ErrorKind::Internal, "a record is no record"));
        };
        // In the order of the file, whatever the order of the columns.
        let mut steps: Vec<Step> = fields.iter().map(|field| Step::Skip(field.node.clone())).collect();
        let mut places = Vec::with_capacity(columns.len());
        for (place, values) in columns {
            steps[place] = Step::Read(values);
            places.push(place);
        }
        let location = self.file.location().into();
        let reader = RowReader {
            location,
            blocks,
            schema,
            steps,
            places,
            batch_size: read.batch_size.max(1),
            block: None,
            offset: 0,
        };
        let rows =
            stream::try_unfold(reader, |mut reader| async move { Ok(reader.next().await?.map(|rows| (rows, reader))) });
        Ok(rows.boxed())
    }

    fn column(&self, at: usize) -> Result<(usize, Values)> {
        let column = self
            .columns
            .get(at)
            .ok_or_else(|| Error::new(ErrorKind::Internal, format!("{} has no column {at}", self.file.location())))?;
        match &column.values {
            Ok(values) => Ok((column.place, values.clone())),
            Err(what) => {
                let (file, name) = (self.file.location(), self.schema.field(at).name());
                let message = format!("column {name} of {file} cannot be read: it has {what}");
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }

    async fn blocks(&self, range: Range<u64>, record_count: u64) -> Result<Blocks> {
        let first = self.header.length;
        let ready = self.head.get(usize::try_from(first).unwrap_or(usize::MAX)..).map(|rest| self.head.slice_ref(rest));
        let parts = Parts::new(self.file.clone(), first, ready.unwrap_or_default(), range.end);
        Blocks::new(parts, &self.header, range, record_count).await
    }

    fn damaged(&self, what: &str, error: ArrowError) -> Error {
        let message = format!("cannot read {}: {what} makes no sense", self.file.location());
        Error::new(ErrorKind::InvalidData, message).with_source(error)
    }
}

impl fmt::Debug for AvroFile {
    /// Without what was read: it is decrypted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AvroFile").field("file", &self.file).field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Turns blocks into batches.
struct RowReader {
    location: Arc<str>,
    blocks: Blocks,
    schema: SchemaRef,
    /// What to do with each field of a record.
    steps: Vec<Step>,
    /// The fields that are read, in the order of the columns.
    places: Vec<usize>,
    batch_size: usize,
    block: Option<Rest>,
    offset: u64,
}

/// What is left of a block.
struct Rest {
    plain: Bytes,
    taken: usize,
    rows: u64,
    at: u64,
}

impl RowReader {
    async fn next(&mut self) -> Result<Option<AvroRows>> {
        let (mut rows, mut bytes, mut growth) = (0_usize, 0_usize, Growth::default());
        while rows < self.batch_size && bytes.saturating_add(growth.bytes()) < BATCH_BYTES {
            let mut block = match self.block.take() {
                Some(block) => block,
                None => match self.next_block().await? {
                    Some(block) => block,
                    None => break,
                },
            };
            let wanted = u64::try_from(self.batch_size - rows).unwrap_or(u64::MAX).min(block.rows);
            let before = block.taken;
            let read = if self.places.is_empty() {
                // Nothing is asked for but how many there are.
                Ok(wanted)
            } else {
                self.read(&mut block, wanted, bytes, &mut growth)
            };
            let read = read.map_err(|e| self.damaged(&block, e))?;
            rows += usize::try_from(read).unwrap_or(usize::MAX);
            bytes += block.taken - before;
            block.rows -= read;
            if block.rows > 0 {
                self.block = Some(block);
            } else if !self.places.is_empty() && block.taken < block.plain.len() {
                return Err(self.damaged(&block, Malformed("there is more than its rows")));
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        let columns = self.places.iter().map(|place| match &mut self.steps[*place] {
            Step::Read(values) => values.finish(),
            Step::Skip(_) => Err(ArrowError::ComputeError("a column that is read was skipped".to_owned())),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = columns
            .collect::<Result<Vec<_>, _>>()
            .and_then(|columns| RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options))
            .map_err(|e| {
                let message = format!("cannot read {}: its values are not of their types", self.location);
                Error::new(ErrorKind::InvalidData, message).with_source(e)
            })?;
        let offset = self.offset;
        self.offset += rows as u64;
        Ok(Some(AvroRows { offset, batch }))
    }

    /// Reads up to so many rows, fewer if they are large.
    fn read(&mut self, block: &mut Rest, wanted: u64, bytes: usize, growth: &mut Growth) -> Result<u64, Malformed> {
        let mut from = Cursor::new(&block.plain[block.taken..]);
        let whole = from.left();
        let mut read = 0;
        while read < wanted && bytes + (whole - from.left()) + growth.bytes() < BATCH_BYTES {
            for step in &mut self.steps {
                match step {
                    Step::Skip(node) => skip(node, &mut from)?,
                    Step::Read(values) => values.read(&mut from, growth)?,
                }
            }
            read += 1;
        }
        block.taken += whole - from.left();
        Ok(read)
    }

    async fn next_block(&mut self) -> Result<Option<Rest>> {
        let Some(block) = self.blocks.next_head().await? else {
            self.blocks.check_total()?;
            return Ok(None);
        };
        let Block { rows, start, .. } = block;
        let plain = if self.places.is_empty() {
            self.blocks.skip(&block).await?;
            Bytes::new()
        } else {
            self.blocks.read(&block).await?
        };
        Ok(Some(Rest { plain, taken: 0, rows, at: start }))
    }

    fn damaged(&self, block: &Rest, error: Malformed) -> Error {
        let message = format!("cannot read {}: the block at byte {} is malformed", self.location, block.at);
        Error::new(ErrorKind::InvalidData, message).with_source(error)
    }
}
