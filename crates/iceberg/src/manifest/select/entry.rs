//! One entry after the other, as values that lie in the bytes of the manifest.

use std::collections::BTreeMap;

use super::super::record::{self, PartitionLayout};
use super::super::value::RawValue;
use super::fields::{EntryField, EntryFields, Field, FileField, Scalar, items, text};
use crate::avro::{Cursor, Decoded, Malformed};
use crate::encryption::EncodedKeyMetadata;
use crate::manifest::{
    ColumnStatistics, DataFile, FileContent, FileFormat, FileStatistics, ManifestEntry, ManifestStatus,
};
use crate::spec::Struct;

/// Reads the entries of a block.
pub(super) struct EntryReader<'m, 'a> {
    fields: &'m [Field<EntryField>],
    layout: &'m PartitionLayout<'m>,
    columns: &'m [i32],
    from: Cursor<'a>,
    lists: Lists<'a>,
    /// That of the entry read last: neighbours mostly share it.
    partition: Option<Partition<'a>>,
}

/// The values of an entry, but for its [`Lists`].
pub(super) struct Values<'a> {
    pub(super) status: ManifestStatus,
    pub(super) snapshot_id: Option<i64>,
    pub(super) sequence_number: Option<i64>,
    pub(super) file_sequence_number: Option<i64>,
    pub(super) content: FileContent,
    file_path: &'a str,
    file_format: FileFormat,
    pub(super) record_count: u64,
    file_size_in_bytes: u64,
    key_metadata: Option<&'a [u8]>,
    sort_order_id: Option<i32>,
    pub(super) first_row_id: Option<i64>,
    referenced_data_file: Option<&'a str>,
    content_offset: Option<i64>,
    content_size_in_bytes: Option<i64>,
}

/// What the entry read last has several of.
#[derive(Default)]
struct Lists<'a> {
    /// Of the columns that are wanted.
    statistics: Vec<ColumnStatistics<'a>>,
    has: Present,
    split_offsets: Vec<i64>,
    equality_ids: Vec<i32>,
}

/// Which lists there are, be they empty or not.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each list")]
struct Present {
    column_sizes: bool,
    value_counts: bool,
    null_value_counts: bool,
    nan_value_counts: bool,
    lower_bounds: bool,
    upper_bounds: bool,
    split_offsets: bool,
    equality_ids: bool,
}

struct Partition<'a> {
    bytes: &'a [u8],
    value: Struct,
    /// Whether its files may match, once that was asked.
    may_match: Option<bool>,
}

impl<'m, 'a> EntryReader<'m, 'a> {
    /// `columns` are those whose statistics are wanted, in their order.
    pub(super) fn new(
        fields: &'m EntryFields,
        layout: &'m PartitionLayout<'m>,
        columns: &'m [i32],
        block: &'a [u8],
    ) -> Self {
        let statistics = vec![ColumnStatistics::default(); columns.len()];
        let lists = Lists { statistics, ..Lists::default() };
        Self { fields: &fields.0, layout, columns, from: Cursor::new(block), lists, partition: None }
    }

    /// Whether all bytes have been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.from.left() == 0
    }

    /// Reads the next entry.
    pub(super) fn next(&mut self) -> Decoded<Values<'a>> {
        self.lists.statistics.fill(ColumnStatistics::default());
        self.lists.has = Present::default();
        let mut values = Values {
            status: ManifestStatus::Existing,
            snapshot_id: None,
            sequence_number: None,
            file_sequence_number: None,
            content: FileContent::Data,
            file_path: "",
            file_format: FileFormat::Parquet,
            record_count: 0,
            file_size_in_bytes: 0,
            key_metadata: None,
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        };
        for field in self.fields {
            let from = &mut self.from;
            if !field.is_present(from)? {
                continue;
            }
            match &field.what {
                EntryField::Status => values.status = record::status(from.int()?).map_err(|_| UNKNOWN)?,
                EntryField::SnapshotId => values.snapshot_id = Some(from.long()?),
                EntryField::SequenceNumber => values.sequence_number = Some(not_negative(from)?),
                EntryField::FileSequenceNumber => values.file_sequence_number = Some(not_negative(from)?),
                EntryField::DataFile(fields) => self.file(fields, &mut values)?,
                EntryField::Other(passed) => passed.skip(from)?,
            }
        }
        Ok(values)
    }

    fn file(&mut self, fields: &[Field<FileField>], values: &mut Values<'a>) -> Decoded<()> {
        let Self { layout, columns, from, lists, partition, .. } = self;
        let Lists { statistics, has, split_offsets, equality_ids } = lists;
        for field in fields {
            if !field.is_present(from)? {
                continue;
            }
            match &field.what {
                FileField::Content => values.content = record::file_content(from.int()?).map_err(|_| UNKNOWN)?,
                FileField::FilePath => values.file_path = text(from)?,
                FileField::FileFormat => values.file_format = record::file_format(text(from)?).map_err(|_| UNKNOWN)?,
                FileField::Partition(fields) => next_partition(fields, layout, partition, from)?,
                FileField::RecordCount => values.record_count = not_negative(from)?.unsigned_abs(),
                FileField::FileSizeInBytes => values.file_size_in_bytes = not_negative(from)?.unsigned_abs(),
                FileField::ColumnSizes => {
                    has.column_sizes = true;
                    counts(from, columns, statistics, |statistics, count| statistics.size = Some(count))?;
                }
                FileField::ValueCounts => {
                    has.value_counts = true;
                    counts(from, columns, statistics, |statistics, count| statistics.values = Some(count))?;
                }
                FileField::NullValueCounts => {
                    has.null_value_counts = true;
                    null_counts(from, columns, statistics)?;
                }
                FileField::NanValueCounts => {
                    has.nan_value_counts = true;
                    counts(from, columns, statistics, |statistics, count| statistics.nans = Some(count))?;
                }
                FileField::LowerBounds => {
                    has.lower_bounds = true;
                    bounds(from, columns, statistics, |statistics, bound| statistics.lower = Some(bound))?;
                }
                FileField::UpperBounds => {
                    has.upper_bounds = true;
                    bounds(from, columns, statistics, |statistics, bound| statistics.upper = Some(bound))?;
                }
                FileField::KeyMetadata => values.key_metadata = Some(from.bytes()?),
                FileField::SplitOffsets => {
                    has.split_offsets = true;
                    split_offsets.clear();
                    items(from, |from| from.long().map(|offset| split_offsets.push(offset)))?;
                }
                FileField::EqualityIds => {
                    has.equality_ids = true;
                    equality_ids.clear();
                    items(from, |from| from.int().map(|id| equality_ids.push(id)))?;
                }
                FileField::SortOrderId => values.sort_order_id = Some(from.int()?),
                FileField::FirstRowId => values.first_row_id = Some(not_negative(from)?),
                FileField::ReferencedDataFile => values.referenced_data_file = Some(text(from)?),
                FileField::ContentOffset => values.content_offset = Some(not_negative(from)?),
                FileField::ContentSizeInBytes => values.content_size_in_bytes = Some(not_negative(from)?),
                FileField::Other(passed) => passed.skip(from)?,
            }
        }
        Ok(())
    }

    /// The statistics of the entry that was read last.
    pub(super) fn statistics(&self) -> FileStatistics<'_> {
        FileStatistics { columns: self.columns, statistics: &self.lists.statistics }
    }

    /// Asks whether files of the partition of the entry read last may match, unless that was asked of the one before.
    pub(super) fn partition_may_match(&mut self, ask: impl FnOnce(&Struct) -> bool) -> bool {
        let Some(Partition { value, may_match, .. }) = &mut self.partition else { return true };
        *may_match.get_or_insert_with(|| ask(value))
    }

    /// The entry that was read last, on its own.
    pub(super) fn entry(&self, values: &Values<'_>) -> ManifestEntry {
        let Self { layout, columns, lists: Lists { statistics, has, split_offsets, equality_ids }, .. } = self;
        let counts = |has: bool, of: fn(&ColumnStatistics<'a>) -> Option<i64>| known(has, columns, statistics, of);
        let bounds = |has: bool, of: fn(&ColumnStatistics<'a>) -> Option<&'a [u8]>| {
            known(has, columns, statistics, |column| of(column).map(<[u8]>::to_vec))
        };
        let partition = self.partition.as_ref().map_or_else(Struct::empty, |partition| partition.value.clone());
        let data_file = DataFile {
            content: values.content,
            file_path: values.file_path.to_owned(),
            file_format: values.file_format,
            spec_id: layout.spec_id,
            partition,
            record_count: values.record_count,
            file_size_in_bytes: values.file_size_in_bytes,
            column_sizes: counts(has.column_sizes, |column| column.size),
            value_counts: counts(has.value_counts, |column| column.values),
            null_value_counts: counts(has.null_value_counts, |column| column.nulls),
            nan_value_counts: counts(has.nan_value_counts, |column| column.nans),
            lower_bounds: bounds(has.lower_bounds, |column| column.lower),
            upper_bounds: bounds(has.upper_bounds, |column| column.upper),
            key_metadata: values.key_metadata.map(|bytes| EncodedKeyMetadata::new(bytes.to_vec())),
            split_offsets: has.split_offsets.then(|| split_offsets.clone()),
            equality_ids: has.equality_ids.then(|| equality_ids.clone()),
            sort_order_id: values.sort_order_id,
            first_row_id: values.first_row_id,
            referenced_data_file: values.referenced_data_file.map(str::to_owned),
            content_offset: values.content_offset,
            content_size_in_bytes: values.content_size_in_bytes,
        };
        ManifestEntry {
            status: values.status,
            snapshot_id: values.snapshot_id,
            sequence_number: values.sequence_number,
            file_sequence_number: values.file_sequence_number,
            data_file,
        }
    }
}

/// Reads the partition of the next entry, unless it is that of the one before: the same bytes are the same values.
fn next_partition<'a>(
    fields: &[Field<Scalar>],
    layout: &PartitionLayout<'_>,
    partition: &mut Option<Partition<'a>>,
    from: &mut Cursor<'a>,
) -> Decoded<()> {
    let rest = from.rest();
    if let Some(Partition { bytes, .. }) = partition
        && rest.starts_with(bytes)
    {
        return from.take(bytes.len()).map(drop);
    }
    let mut values = Vec::with_capacity(fields.len());
    for field in fields {
        values.push(if field.is_present(from)? { value(field.what, from)? } else { RawValue::Null });
    }
    let value = layout.partition(values).map_err(|_| UNKNOWN)?;
    *partition = Some(Partition { bytes: &rest[..rest.len() - from.left()], value, may_match: None });
    Ok(())
}

fn value(of: Scalar, from: &mut Cursor<'_>) -> Decoded<RawValue> {
    Ok(match of {
        Scalar::Null => RawValue::Null,
        Scalar::Boolean => RawValue::Boolean(from.boolean()?),
        Scalar::Int => RawValue::Int(from.int()?),
        Scalar::Long => RawValue::Long(from.long()?),
        Scalar::Float => RawValue::Float(f32::from_le_bytes(from.array()?)),
        Scalar::Double => RawValue::Double(f64::from_le_bytes(from.array()?)),
        Scalar::Bytes => RawValue::Bytes(from.bytes()?.to_vec()),
        Scalar::String => RawValue::String(text(from)?.to_owned()),
        Scalar::Fixed(length) => RawValue::Bytes(from.take(length)?.to_vec()),
    })
}

/// A statistic of the columns of which it is known; `None` if the entry does not have it.
fn known<'a, V>(
    has: bool,
    columns: &[i32],
    statistics: &[ColumnStatistics<'a>],
    of: impl Fn(&ColumnStatistics<'a>) -> Option<V>,
) -> Option<BTreeMap<i32, V>> {
    if !has {
        return None;
    }
    // Not collected: that would sort them, even if there are none.
    let mut map = BTreeMap::new();
    for (id, column) in columns.iter().zip(statistics) {
        if let Some(value) = of(column) {
            map.insert(*id, value);
        }
    }
    Some(map)
}

fn counts<'a>(
    from: &mut Cursor<'a>,
    columns: &[i32],
    statistics: &mut [ColumnStatistics<'a>],
    set: impl Fn(&mut ColumnStatistics<'a>, i64),
) -> Decoded<()> {
    items(from, |from| {
        match wanted(from.int()?, columns, statistics) {
            Some(of) => set(of, not_negative(from)?),
            None if from.pass_long()? => return Err(NEGATIVE),
            None => {}
        }
        Ok(())
    })
}

/// A negative one is not known.
fn null_counts<'a>(from: &mut Cursor<'a>, columns: &[i32], statistics: &mut [ColumnStatistics<'a>]) -> Decoded<()> {
    items(from, |from| {
        match wanted(from.int()?, columns, statistics) {
            Some(of) => of.nulls = Some(from.long()?).filter(|count| *count >= 0),
            None => drop(from.pass_long()?),
        }
        Ok(())
    })
}

fn bounds<'a>(
    from: &mut Cursor<'a>,
    columns: &[i32],
    statistics: &mut [ColumnStatistics<'a>],
    set: impl Fn(&mut ColumnStatistics<'a>, &'a [u8]),
) -> Decoded<()> {
    items(from, |from| {
        let (id, bound) = (from.int()?, from.bytes()?);
        if let Some(of) = wanted(id, columns, statistics) {
            set(of, bound);
        }
        Ok(())
    })
}

/// The statistics of a column, if it is among those in `columns`.
#[inline]
fn wanted<'s, 'a>(
    id: i32,
    columns: &[i32],
    statistics: &'s mut [ColumnStatistics<'a>],
) -> Option<&'s mut ColumnStatistics<'a>> {
    columns.binary_search(&id).ok().and_then(|at| statistics.get_mut(at))
}

#[inline]
fn not_negative(from: &mut Cursor<'_>) -> Decoded<i64> {
    let value = from.long()?;
    if value < 0 { Err(NEGATIVE) } else { Ok(value) }
}

const NEGATIVE: Malformed = Malformed("a number is negative");

const UNKNOWN: Malformed = Malformed("a value means nothing");
