//! Manifests, as manifest lists describe them.

use arrow::datatypes::{DataType, Field, Fields};

use super::cell::{Cell, Row, count};
use super::{list_of, optional, redacted, required};
use crate::manifest::{FieldSummary, ManifestContent, ManifestFile};
use crate::spec::{Datum, Literal, TableMetadata, Type};
use crate::write::human_string;

pub(super) fn fields() -> Vec<Field> {
    let summary = Fields::from(vec![
        required("contains_null", DataType::Boolean),
        optional("contains_nan", DataType::Boolean),
        optional("lower_bound", DataType::Utf8),
        optional("upper_bound", DataType::Utf8),
    ]);
    vec![
        required("content", DataType::Int32),
        required("path", DataType::Utf8),
        required("length", DataType::Int64),
        required("partition_spec_id", DataType::Int32),
        required("added_snapshot_id", DataType::Int64),
        optional("added_data_files_count", DataType::Int32),
        optional("existing_data_files_count", DataType::Int32),
        optional("deleted_data_files_count", DataType::Int32),
        optional("added_delete_files_count", DataType::Int32),
        optional("existing_delete_files_count", DataType::Int32),
        optional("deleted_delete_files_count", DataType::Int32),
        optional("partition_summaries", list_of(DataType::Struct(summary))),
    ]
}

/// The columns of `all_manifests`.
pub(super) fn all_fields() -> Vec<Field> {
    let mut fields = fields();
    fields.push(required("reference_snapshot_id", DataType::Int64));
    fields.push(optional("key_metadata", DataType::Binary));
    fields
}

pub(super) fn rows(metadata: &TableMetadata, manifests: &[ManifestFile]) -> Vec<Row> {
    manifests.iter().map(|manifest| row(metadata, manifest)).collect()
}

/// The rows of `all_manifests` for one snapshot.
pub(super) fn rows_of_all(metadata: &TableMetadata, manifests: &[ManifestFile], snapshot_id: i64) -> Vec<Row> {
    let rows = manifests.iter().map(|manifest| {
        let mut row = row(metadata, manifest);
        row.push(snapshot_id.into());
        row.push(redacted(manifest.key_metadata.as_ref()));
        row
    });
    rows.collect()
}

fn row(metadata: &TableMetadata, manifest: &ManifestFile) -> Row {
    let counts = [manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count];
    // Each manifest holds files of one kind; the others are none.
    let counts_of = |content| {
        counts.map(|files| {
            if manifest.content != content {
                return Cell::from(0);
            }
            files.map(|files| i32::try_from(files).unwrap_or(i32::MAX)).into()
        })
    };
    let summaries = manifest.partitions.as_ref().map(|summaries| {
        let summaries = summaries.iter().enumerate();
        summaries.map(|(at, summary)| partition_summary(metadata, manifest.partition_spec_id, at, summary)).collect()
    });
    let mut row = vec![
        (manifest.content as i32).into(),
        manifest.manifest_path.as_str().into(),
        count(manifest.manifest_length),
        manifest.partition_spec_id.into(),
        manifest.added_snapshot_id.into(),
    ];
    row.extend(counts_of(ManifestContent::Data));
    row.extend(counts_of(ManifestContent::Deletes));
    row.push(summaries.map_or(Cell::Null, Cell::List));
    row
}

/// Bounds as Java prints partition values: a missing one is the text `null`.
fn partition_summary(metadata: &TableMetadata, spec_id: i32, at: usize, summary: &FieldSummary) -> Cell {
    let field = metadata.partition_spec_by_id(spec_id).and_then(|spec| spec.fields().get(at));
    let source = field.and_then(|field| metadata.current_schema().field_by_id(field.source_id));
    let result = field.zip(source).and_then(|(field, source)| field.transform.result_type(&source.field_type).ok());
    let bound = |bytes: &Option<Vec<u8>>| -> Cell {
        // Of a column that is gone nobody knows the type.
        let (Some(field), Some(result)) = (field, &result) else { return Cell::Null };
        let value = match (result, bytes) {
            (Type::Primitive(result), Some(bytes)) => Datum::try_from_bytes(bytes, result.clone()).ok(),
            _ => None,
        };
        let value = value.map(|value| Literal::Primitive(value.literal().clone()));
        human_string(field.transform, result, value.as_ref()).as_str().into()
    };
    Cell::Struct(vec![
        summary.contains_null.into(),
        summary.contains_nan.into(),
        bound(&summary.lower_bound),
        bound(&summary.upper_bound),
    ])
}
