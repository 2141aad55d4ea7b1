//! Which delete files apply to which data file: <https://iceberg.apache.org/spec/#scan-planning>.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::FileScanTask;
use crate::manifest::{DataFile, EntryFilter, FileContent, FileFormat, FileStatistics, ManifestEntry};
use crate::spec::{Literal, PartitionSpecRef, PrimitiveLiteral, Struct};
use crate::{Error, ErrorKind, Result, Table};

/// The field of a position delete file that names the data file.
const FILE_PATH_ID: i32 = 2_147_483_546;

/// All live files of delete manifests. Of their statistics, only the bounds of a position delete file's paths matter.
pub(super) struct DeleteFiles;

impl EntryFilter for DeleteFiles {
    fn columns(&self) -> &[i32] {
        &[FILE_PATH_ID]
    }

    fn may_match_partition(&self, _: i32, _: &Struct) -> bool {
        true
    }

    fn may_match_file(&self, _: u64, _: FileStatistics<'_>) -> bool {
        true
    }
}

/// A partition spec and values of its fields.
type Partition = (i32, Struct);

/// The live delete files of a snapshot, found by what they may apply to.
pub(super) struct DeleteIndex<'a> {
    table: &'a Table,
    deletes: Vec<Delete>,
    /// Deletion vectors by their data file.
    vectors: HashMap<String, usize>,
    /// Position delete files about one data file.
    of_file: HashMap<String, Vec<usize>>,
    /// Other position delete files, and equality delete files.
    of_partition: HashMap<Partition, OfPartition>,
    /// Equality delete files of specs without partitions, which apply to all partitions of all specs.
    global_equality: Vec<usize>,
}

#[derive(Default)]
struct OfPartition {
    positions: Vec<usize>,
    equality: Vec<usize>,
}

struct Delete {
    file: Arc<DataFile>,
    spec: PartitionSpecRef,
    sequence_number: i64,
    /// Made once a data file needs it: keys of others are not looked at.
    task: Option<Arc<FileScanTask>>,
}

impl<'a> DeleteIndex<'a> {
    /// # Errors
    /// [`ErrorKind::InvalidData`] naming the file for an incomplete entry, and for two deletion vectors of one data file.
    pub(super) fn new(table: &'a Table, entries: Vec<ManifestEntry>) -> Result<Self> {
        let mut index = Self {
            table,
            deletes: Vec::with_capacity(entries.len()),
            vectors: HashMap::new(),
            of_file: HashMap::new(),
            of_partition: HashMap::new(),
            global_equality: Vec::new(),
        };
        for entry in entries {
            index.add(entry)?;
        }
        Ok(index)
    }

    fn add(&mut self, entry: ManifestEntry) -> Result<()> {
        let file = entry.data_file;
        let invalid = |what: String| Error::new(ErrorKind::InvalidData, format!("{} {what}", describe(&file)));
        let sequence_number = entry.sequence_number.ok_or_else(|| invalid("has no data sequence number".to_owned()))?;
        let spec = self.table.metadata().partition_spec_by_id(file.spec_id).cloned();
        let spec = spec.ok_or_else(|| invalid(format!("has unknown partition spec {}", file.spec_id)))?;
        let at = self.deletes.len();
        let partition = || partition_of(&file);
        match (file.content, file.file_format) {
            (FileContent::Data, _) => return Err(invalid("is no delete file".to_owned())),
            (FileContent::EqualityDeletes, _) => {
                if file.equality_ids.as_ref().is_none_or(Vec::is_empty) {
                    return Err(invalid("names no columns to compare".to_owned()));
                }
                if spec.is_unpartitioned() {
                    self.global_equality.push(at);
                } else {
                    self.of_partition.entry(partition()).or_default().equality.push(at);
                }
            }
            (FileContent::PositionDeletes, FileFormat::Puffin) => {
                let data_file = file.referenced_data_file.clone();
                let data_file = data_file.ok_or_else(|| invalid("does not name its data file".to_owned()))?;
                if let Some(other) = self.vectors.insert(data_file, at) {
                    return Err(invalid(format!(
                        "is the second for its data file, after {}",
                        self.deletes[other].file.file_path
                    )));
                }
            }
            (FileContent::PositionDeletes, _) => match only_data_file(&file) {
                Some(data_file) => self.of_file.entry(data_file).or_default().push(at),
                None => self.of_partition.entry(partition()).or_default().positions.push(at),
            },
        }
        self.deletes.push(Delete { file: Arc::new(file), spec, sequence_number, task: None });
        Ok(())
    }

    /// The delete files that apply to a data file.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] naming the files for a vector older than its data file and for a missing or malformed
    /// key; [`ErrorKind::Unsupported`] for a format that is not read.
    pub(super) fn deletes_of(&mut self, data: &FileScanTask) -> Result<Vec<Arc<FileScanTask>>> {
        if self.deletes.is_empty() {
            return Ok(Vec::new());
        }
        let path = data.location();
        let written = data.data_sequence_number.ok_or_else(|| {
            let message = format!("data file {path} has no data sequence number to compare with those of deletes");
            Error::new(ErrorKind::InvalidData, message)
        })?;
        // Most tables have none of these, and all their data files would be looked up.
        let of_partition = (!self.of_partition.is_empty()).then(|| partition_of(&data.data_file));
        let of_partition = of_partition.and_then(|partition| self.of_partition.get(&partition));
        let (positions, equality) = of_partition.map_or((&[][..], &[][..]), |of| (&of.positions[..], &of.equality[..]));
        let mut found = Vec::new();
        if let Some(at) = self.vectors.get(path) {
            let vector = &self.deletes[*at];
            if vector.sequence_number < written {
                let message = format!(
                    "{} is older (sequence number {}) than its data file {path} ({written})",
                    describe(&vector.file),
                    vector.sequence_number
                );
                return Err(Error::new(ErrorKind::InvalidData, message));
            }
            // It holds what position delete files said before it.
            found.push(*at);
        } else {
            let of_file = self.of_file.get(path).into_iter().flatten();
            let of_partition = positions.iter().filter(|at| may_name(&self.deletes[**at].file, path));
            found.extend(of_file.chain(of_partition).filter(|at| self.deletes[**at].sequence_number >= written));
        }
        let equality = equality.iter().chain(&self.global_equality);
        found.extend(equality.filter(|at| self.deletes[**at].sequence_number > written));
        found.into_iter().map(|at| self.task(at, path)).collect()
    }

    fn task(&mut self, at: usize, data_file: &str) -> Result<Arc<FileScanTask>> {
        let delete = &mut self.deletes[at];
        if let Some(task) = &delete.task {
            return Ok(Arc::clone(task));
        }
        let file = &delete.file;
        let what = format!("{}, which applies to data file {data_file},", describe(file));
        let unsupported = |format: &str| {
            let message = format!("{what} is {format}; reading such delete files is not supported yet");
            Error::new(ErrorKind::Unsupported, message)
        };
        match (file.content, file.file_format) {
            (_, FileFormat::Avro | FileFormat::Parquet) | (FileContent::PositionDeletes, FileFormat::Puffin) => {}
            (_, FileFormat::Orc) => return Err(unsupported("ORC")),
            (_, FileFormat::Puffin) => return Err(unsupported("Puffin")),
        }
        let key = self.table.io().file_key(&file.file_path, file.key_metadata.as_ref()).map_err(|e| {
            let missing = if file.key_metadata.is_none() { "has no key metadata" } else { "cannot be opened" };
            Error::new(e.kind(), format!("{what} {missing}")).with_source(e)
        })?;
        let task = Arc::new(FileScanTask {
            data_file: Arc::clone(file),
            spec: Arc::clone(&delete.spec),
            key,
            data_sequence_number: Some(delete.sequence_number),
            deletes: Vec::new(),
        });
        delete.task = Some(Arc::clone(&task));
        Ok(task)
    }
}

fn describe(file: &DataFile) -> String {
    let kind = match (file.content, file.file_format) {
        (FileContent::Data, _) => "data file",
        (FileContent::EqualityDeletes, _) => "equality delete file",
        (FileContent::PositionDeletes, FileFormat::Puffin) => "deletion vector in",
        (FileContent::PositionDeletes, _) => "position delete file",
    };
    format!("{kind} {}", file.file_path)
}

/// The partition of a file, in a form that is equal for what Java takes for equal.
///
/// Numbers are as wide as they can become, since manifests from before and after a promotion may differ in their types
/// once the column is dropped; floating-point numbers are their bits, since minus zero is a partition of its own.
fn partition_of(file: &DataFile) -> Partition {
    let bits = |value: f64| Literal::long(if value.is_nan() { f64::NAN } else { value }.to_bits().cast_signed());
    let comparable = |value: Option<&Literal>| match value {
        Some(Literal::Primitive(PrimitiveLiteral::Int(v))) => Some(Literal::long(*v)),
        Some(Literal::Primitive(PrimitiveLiteral::Float(v))) => Some(bits(v.into_inner().into())),
        Some(Literal::Primitive(PrimitiveLiteral::Double(v))) => Some(bits(v.into_inner())),
        other => other.cloned(),
    };
    (file.spec_id, file.partition.iter().map(comparable).collect())
}

/// The one data file that a position delete file is about, if its entry says so.
fn only_data_file(file: &DataFile) -> Option<String> {
    if file.referenced_data_file.is_some() {
        return file.referenced_data_file.clone();
    }
    let (lower, upper) = path_bounds(file);
    let path = lower.filter(|_| lower == upper)?;
    String::from_utf8(path.to_vec()).ok()
}

/// Whether the bounds of a position delete file's paths leave room for a data file.
fn may_name(file: &DataFile, path: &str) -> bool {
    let (lower, upper) = path_bounds(file);
    lower.is_none_or(|lower| lower <= path.as_bytes()) && upper.is_none_or(|upper| path.as_bytes() <= upper)
}

fn path_bounds(file: &DataFile) -> (Option<&[u8]>, Option<&[u8]>) {
    fn bound(bounds: Option<&BTreeMap<i32, Vec<u8>>>) -> Option<&[u8]> {
        bounds?.get(&FILE_PATH_ID).map(Vec::as_slice)
    }
    (bound(file.lower_bounds.as_ref()), bound(file.upper_bounds.as_ref()))
}

#[cfg(test)]
mod tests;
