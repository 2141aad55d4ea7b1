//! Entries of a manifest that somebody is looking for.
//!
//! Most entries of a large table match no filter, and of those that do few of the statistics are needed. So entries are
//! decoded into values that lie in the manifest's own bytes, and only an entry that is asked for becomes one of
//! its own. What the quick decoder does not know for certain (unusual schemas, anything malformed) it leaves to
//! [`Manifest`], whose word is final: both come to the same entries and to the same errors.

mod entry;
mod fields;
#[cfg(test)]
mod tests;

use self::entry::{EntryReader, Values};
use self::fields::EntryFields;
use super::avro_schema::{self, FixedForm};
use super::container::Container;
use super::reader::{self, Header, Inheritance, Inherited, Manifest};
use super::{
    ColumnStatistics, DataFile, FileContent, FileStatistics, ManifestContent, ManifestEntry, ManifestFile,
    ManifestStatus,
};
use crate::avro::{Malformed, Node};
use crate::spec::{FormatVersion, Struct, TableMetadata};
use crate::{Error, Result};

/// Which entries are looked for.
pub(crate) trait EntryFilter {
    /// The columns whose statistics it looks at, or that found entries are to have: field ids in their order.
    fn columns(&self) -> &[i32];

    /// Whether entries like this are looked at at all.
    fn considers(&self, status: ManifestStatus, _snapshot_id: Option<i64>) -> bool {
        status != ManifestStatus::Deleted
    }

    /// Whether files of a partition may be among them.
    fn may_match_partition(&self, spec_id: i32, partition: &Struct) -> bool;

    /// Whether a file of such a partition may be.
    fn may_match_file(&self, record_count: u64, statistics: FileStatistics<'_>) -> bool;
}

/// What was found in a manifest.
#[derive(Debug)]
pub(crate) struct Selected<T> {
    /// What was made of the entries that may match, in their order.
    pub(crate) found: Vec<T>,
    /// Entries that were considered and do not match.
    pub(crate) pruned: usize,
}

/// Finds entries in the bytes of a manifest that a table's manifest list has, completed as by [`Manifest::read`]; of
/// statistics they have those of the filter's columns. `make` makes of them what is needed.
///
/// # Errors
/// As [`Manifest::read`]; those of `make`.
pub(crate) fn select_entries<T>(
    bytes: &[u8],
    metadata: &TableMetadata,
    file: &ManifestFile,
    filter: &impl EntryFilter,
    make: impl Fn(ManifestEntry) -> Result<T>,
) -> Result<Selected<T>> {
    match decode(bytes, metadata, file, filter, &make) {
        Ok(selected) => Ok(selected),
        Err(Stop::Failed(e)) => Err(e),
        Err(Stop::Unsure) => select_from(Manifest::of_table(bytes, metadata, file)?, filter, make),
    }
}

/// Why the quick decoder stops.
enum Stop {
    Failed(Error),
    /// It leaves the manifest to the other one.
    Unsure,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<Malformed> for Stop {
    fn from(_: Malformed) -> Self {
        Self::Unsure
    }
}

fn decode<T>(
    bytes: &[u8],
    metadata: &TableMetadata,
    file: &ManifestFile,
    filter: &impl EntryFilter,
    make: impl Fn(ManifestEntry) -> Result<T>,
) -> Result<Selected<T>, Stop> {
    let location = file.manifest_path.as_str();
    let container = Container::open(bytes, location)?;
    let header = Header::read(&container, location)?;
    let (spec_id, content) = (header.partition_spec.spec_id(), header.content);
    reader::check_listed(spec_id, content, file)?;
    let partition_type =
        reader::current_partition_type(metadata, file).map_or_else(|| header.partition_type(location), Ok)?;
    let schema = avro_schema::parse(container.required_text("avro.schema")?).map_err(|_| Stop::Unsure)?;
    let (ids, has_fixed) = avro_schema::partition_fields(&schema).ok_or(Stop::Unsure)?;
    if has_fixed {
        return Err(Stop::Unsure);
    }
    let layout = reader::layout(location, spec_id, &partition_type, &ids)?;
    let fields = entry_fields(&schema).ok_or(Stop::Unsure)?;
    let next_row_id = (metadata.format_version() >= FormatVersion::V3).then(|| metadata.next_row_id());

    let mut inheritance = Inheritance::new(content, file);
    let mut selected = Selected { found: Vec::new(), pruned: 0 };
    container.for_each_block(|count, plain| {
        let mut entries = EntryReader::new(&fields, &layout, filter.columns(), plain);
        for _ in 0..count {
            let mut values = entries.next()?;
            if (values.content == FileContent::Data) != (content == ManifestContent::Data) {
                return Err(Stop::Unsure);
            }
            let Values { status, record_count, .. } = values;
            inheritance.complete(status, record_count, inherited(&mut values))?;
            let unknown_rows = |(first, next)| !reader::are_given_out(first, record_count, next);
            if values.first_row_id.zip(next_row_id).is_some_and(unknown_rows) {
                return Err(Stop::Unsure);
            }
            if !filter.considers(status, values.snapshot_id) {
                continue;
            }
            let in_partition = entries.partition_may_match(|partition| filter.may_match_partition(spec_id, partition));
            if in_partition && filter.may_match_file(record_count, entries.statistics()) {
                selected.found.push(make(entries.entry(&values))?);
            } else {
                selected.pruned += 1;
            }
        }
        if entries.is_at_end() { Ok(()) } else { Err(Stop::Unsure) }
    })?;
    Ok(selected)
}

/// Where in a record is what, if the schema is one that the other decoder takes too.
fn entry_fields(schema: &serde_json::Value) -> Option<EntryFields> {
    let reduced = avro_schema::reduce(schema, FixedForm::Fixed).ok()?;
    avro_schema::compile(&reduced).ok()?;
    EntryFields::of(&Node::from_json(&reduced).ok()?)
}

fn inherited<'a>(values: &'a mut Values<'_>) -> Inherited<'a> {
    Inherited {
        snapshot_id: &mut values.snapshot_id,
        sequence_number: &mut values.sequence_number,
        file_sequence_number: &mut values.file_sequence_number,
        first_row_id: &mut values.first_row_id,
    }
}

/// The same from a manifest that is decoded already.
fn select_from<T>(
    manifest: Manifest,
    filter: &impl EntryFilter,
    make: impl Fn(ManifestEntry) -> Result<T>,
) -> Result<Selected<T>> {
    let columns = filter.columns();
    let mut selected = Selected { found: Vec::new(), pruned: 0 };
    for mut entry in manifest.entries {
        if !filter.considers(entry.status, entry.snapshot_id) {
            continue;
        }
        let file = &entry.data_file;
        let statistics: Vec<_> = columns.iter().map(|id| ColumnStatistics::of(file, *id)).collect();
        let statistics = FileStatistics { columns, statistics: &statistics };
        if filter.may_match_partition(file.spec_id, &file.partition)
            && filter.may_match_file(file.record_count, statistics)
        {
            keep_columns(&mut entry.data_file, columns);
            selected.found.push(make(entry)?);
        } else {
            selected.pruned += 1;
        }
    }
    Ok(selected)
}

/// Drops the statistics of all other columns.
fn keep_columns(file: &mut DataFile, columns: &[i32]) {
    let kept = |id: &i32| columns.binary_search(id).is_ok();
    let counts =
        [&mut file.column_sizes, &mut file.value_counts, &mut file.null_value_counts, &mut file.nan_value_counts];
    for counts in counts.into_iter().flatten() {
        counts.retain(|id, _| kept(id));
    }
    for bounds in [&mut file.lower_bounds, &mut file.upper_bounds].into_iter().flatten() {
        bounds.retain(|id, _| kept(id));
    }
}
