//! Where in an entry's record is what, worked out once for a manifest.

use std::collections::HashSet;

use crate::avro::{Cursor, Decoded, Malformed, Node};

/// The fields of an entry's record, in the order of the file.
#[derive(Debug)]
pub(super) struct EntryFields(pub(super) Vec<Field<EntryField>>);

/// A field of a record.
#[derive(Debug)]
pub(super) struct Field<T> {
    pub(super) what: T,
    /// Which branch of a union is null; `None` if the field is no union.
    null: Option<usize>,
}

/// What a field of an entry is.
#[derive(Debug)]
pub(super) enum EntryField {
    Status,
    SnapshotId,
    SequenceNumber,
    FileSequenceNumber,
    DataFile(Vec<Field<FileField>>),
    Other(Passed),
}

/// What a field of an entry's file is.
#[derive(Debug)]
pub(super) enum FileField {
    Content,
    FilePath,
    FileFormat,
    Partition(Vec<Field<Scalar>>),
    RecordCount,
    FileSizeInBytes,
    ColumnSizes,
    ValueCounts,
    NullValueCounts,
    NanValueCounts,
    LowerBounds,
    UpperBounds,
    KeyMetadata,
    SplitOffsets,
    EqualityIds,
    SortOrderId,
    FirstRowId,
    ReferencedDataFile,
    ContentOffset,
    ContentSizeInBytes,
    Other(Passed),
}

/// A type whose values have no parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scalar {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    Fixed(usize),
}

/// The type of values that are passed over.
#[derive(Debug, Clone, Copy)]
pub(super) enum Passed {
    One(Scalar),
    /// Any number of them, each of a byte or more.
    Array(Scalar),
}

impl EntryFields {
    /// The fields of the record that a schema describes; `None` if something is not as writers of Iceberg have it.
    pub(super) fn of(schema: &Node) -> Option<Self> {
        let fields = fields(schema, &["status", "data_file"], |name, node, optional| {
            Some(match (name, scalar(node)) {
                ("status", Some(Scalar::Int)) if !optional => EntryField::Status,
                ("snapshot_id", Some(Scalar::Long)) => EntryField::SnapshotId,
                ("sequence_number", Some(Scalar::Long)) => EntryField::SequenceNumber,
                ("file_sequence_number", Some(Scalar::Long)) => EntryField::FileSequenceNumber,
                ("data_file", None) if !optional => EntryField::DataFile(file_fields(node)?),
                ("status" | "snapshot_id" | "sequence_number" | "file_sequence_number" | "data_file", _) => {
                    return None;
                }
                _ => EntryField::Other(passed(node)?),
            })
        });
        fields.map(Self)
    }
}

fn file_fields(schema: &Node) -> Option<Vec<Field<FileField>>> {
    const REQUIRED: [&str; 5] = ["file_path", "file_format", "partition", "record_count", "file_size_in_bytes"];
    fields(schema, &REQUIRED, |name, node, optional| {
        let is = |expected: Scalar| scalar(node) == Some(expected);
        let has = |expected: bool, what: FileField| expected.then_some(what);
        match name {
            "content" => has(is(Scalar::Int) && !optional, FileField::Content),
            "file_path" => has(is(Scalar::String) && !optional, FileField::FilePath),
            "file_format" => has(is(Scalar::String) && !optional, FileField::FileFormat),
            "partition" if optional => None,
            "partition" => fields(node, &[], |_, node, _| scalar(node)).map(FileField::Partition),
            "record_count" => has(is(Scalar::Long) && !optional, FileField::RecordCount),
            "file_size_in_bytes" => has(is(Scalar::Long) && !optional, FileField::FileSizeInBytes),
            "column_sizes" => has(is_id_map(node, Scalar::Long), FileField::ColumnSizes),
            "value_counts" => has(is_id_map(node, Scalar::Long), FileField::ValueCounts),
            "null_value_counts" => has(is_id_map(node, Scalar::Long), FileField::NullValueCounts),
            "nan_value_counts" => has(is_id_map(node, Scalar::Long), FileField::NanValueCounts),
            "lower_bounds" => has(is_id_map(node, Scalar::Bytes), FileField::LowerBounds),
            "upper_bounds" => has(is_id_map(node, Scalar::Bytes), FileField::UpperBounds),
            "key_metadata" => has(is(Scalar::Bytes), FileField::KeyMetadata),
            "split_offsets" => has(element(node) == Some(Scalar::Long), FileField::SplitOffsets),
            "equality_ids" => has(element(node) == Some(Scalar::Int), FileField::EqualityIds),
            "sort_order_id" => has(is(Scalar::Int), FileField::SortOrderId),
            "first_row_id" => has(is(Scalar::Long), FileField::FirstRowId),
            "referenced_data_file" => has(is(Scalar::String), FileField::ReferencedDataFile),
            "content_offset" => has(is(Scalar::Long), FileField::ContentOffset),
            "content_size_in_bytes" => has(is(Scalar::Long), FileField::ContentSizeInBytes),
            _ => passed(node).map(FileField::Other),
        }
    })
}

/// The fields of a record, none twice and all of `required` among them. `what` says what one is, by its name, its type
/// without null, and whether it may be null.
fn fields<T>(record: &Node, required: &[&str], what: impl Fn(&str, &Node, bool) -> Option<T>) -> Option<Vec<Field<T>>> {
    let Node::Record(fields) = record else { return None };
    let mut names = HashSet::new();
    let found = fields.iter().map(|field| {
        let (node, null) = match &field.node {
            Node::Union(branches) => match &branches[..] {
                [Node::Null, node] => (node, Some(0)),
                [node, Node::Null] => (node, Some(1)),
                _ => return None,
            },
            node => (node, None),
        };
        let what = what(&field.name, node, null.is_some())?;
        names.insert(field.name.as_str()).then_some(Field { what, null })
    });
    let found = found.collect::<Option<Vec<_>>>()?;
    required.iter().all(|name| names.contains(name)).then_some(found)
}

fn scalar(node: &Node) -> Option<Scalar> {
    Some(match node {
        Node::Null => Scalar::Null,
        Node::Boolean => Scalar::Boolean,
        Node::Int(_) => Scalar::Int,
        Node::Long(_) => Scalar::Long,
        Node::Float => Scalar::Float,
        Node::Double => Scalar::Double,
        Node::Bytes(_) => Scalar::Bytes,
        Node::String => Scalar::String,
        Node::Fixed(length, _) => Scalar::Fixed(*length),
        Node::Enum(_) | Node::Array(_) | Node::Map(_) | Node::Record(_) | Node::Union(_) => return None,
    })
}

fn element(node: &Node) -> Option<Scalar> {
    match node {
        Node::Array(array) => scalar(&array.element.node),
        _ => None,
    }
}

fn passed(node: &Node) -> Option<Passed> {
    let element = element(node).filter(|element| !matches!(element, Scalar::Null | Scalar::Fixed(0)));
    scalar(node).map(Passed::One).or(element.map(Passed::Array))
}

/// Whether it is a map with integer keys, which Avro keeps as an array of pairs.
fn is_id_map(node: &Node, value: Scalar) -> bool {
    let Node::Array(array) = node else { return false };
    let Node::Record(pair) = &array.element.node else { return false };
    let [first, second] = &pair[..] else { return false };
    let is = |field: &crate::avro::Field, name, expected| field.name == name && scalar(&field.node) == Some(expected);
    is(first, "key", Scalar::Int) && is(second, "value", value)
}

impl<T> Field<T> {
    /// Whether there is a value.
    #[inline]
    pub(super) fn is_present(&self, from: &mut Cursor<'_>) -> Decoded<bool> {
        let Some(null) = self.null else { return Ok(true) };
        match from.length()? {
            branch @ (0 | 1) => Ok(branch != null),
            _ => Err(Malformed("a union has no such branch")),
        }
    }
}

impl Scalar {
    /// Takes a value off and forgets it.
    pub(super) fn skip(self, from: &mut Cursor<'_>) -> Decoded<()> {
        match self {
            Self::Null => {}
            Self::Boolean => drop(from.boolean()?),
            Self::Int => drop(from.int()?),
            Self::Long => drop(from.long()?),
            Self::Float => drop(from.take(4)?),
            Self::Double => drop(from.take(8)?),
            Self::Bytes => drop(from.bytes()?),
            Self::String => drop(text(from)?),
            Self::Fixed(length) => drop(from.take(length)?),
        }
        Ok(())
    }
}

impl Passed {
    pub(super) fn skip(self, from: &mut Cursor<'_>) -> Decoded<()> {
        match self {
            Self::One(scalar) => scalar.skip(from),
            Self::Array(scalar) => {
                while let Some((count, length)) = from.items()? {
                    if length.is_some() {
                        // Whether the length counts or the items, should they disagree, depends on the reader.
                        return Err(Malformed("an array has the length of its items before them"));
                    }
                    for _ in 0..count {
                        scalar.skip(from)?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Takes a text off.
pub(super) fn text<'a>(from: &mut Cursor<'a>) -> Decoded<&'a str> {
    std::str::from_utf8(from.bytes()?).map_err(|_| Malformed("a text is not UTF-8"))
}

/// Reads the items of an array, of which each takes a byte or more.
#[inline]
pub(super) fn items<'a>(from: &mut Cursor<'a>, mut item: impl FnMut(&mut Cursor<'a>) -> Decoded<()>) -> Decoded<()> {
    // A copy can stay in registers.
    let mut own = *from;
    while let Some((count, _)) = own.items()? {
        for _ in 0..count {
            item(&mut own)?;
        }
    }
    *from = own;
    Ok(())
}
