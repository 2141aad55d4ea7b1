//! One partition type for the files of all partition specs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields};

use super::cell::Cell;
use crate::arrow_schema::field_to_arrow;
use crate::spec::{Literal, NestedField, PartitionField, PrimitiveLiteral, Struct, TableMetadata, Transform};
use crate::{Error, ErrorKind, Result};

/// All fields of all partition specs whose source column the table still has, in the order of their ids and by their
/// newest names: what Java's `Partitioning.partitionType` gives.
#[derive(Debug)]
pub struct UnifiedPartition {
    fields: Vec<NestedField>,
    /// For each spec and each field of this type, which field of the spec it is.
    places: HashMap<i32, Vec<Option<usize>>>,
}

impl UnifiedPartition {
    /// The type for all specs of a table.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for an unknown transform, [`ErrorKind::InvalidData`] for specs that contradict each other
    /// or the schema.
    pub fn new(metadata: &TableMetadata) -> Result<Self> {
        let mut specs: Vec<_> = metadata.partition_specs_iter().collect();
        specs.sort_by_key(|spec| std::cmp::Reverse(spec.spec_id()));
        let mut chosen: BTreeMap<i32, (&PartitionField, &str)> = BTreeMap::new();
        for field in specs.iter().flat_map(|spec| spec.fields()) {
            if field.transform == Transform::Unknown {
                let message = format!("partition field {:?} has a transform that is not supported", field.name);
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            if metadata.current_schema().field_by_id(field.source_id).is_none() {
                continue;
            }
            match chosen.get_mut(&field.field_id) {
                None => _ = chosen.insert(field.field_id, (field, field.name.as_str())),
                Some((newer, _)) => {
                    let voids = [newer.transform, field.transform].contains(&Transform::Void);
                    if newer.source_id != field.source_id || (newer.transform != field.transform && !voids) {
                        let message = format!("partition fields {:?} and {:?} have one id", newer.name, field.name);
                        return Err(Error::new(ErrorKind::InvalidData, message));
                    }
                    // In version 1 a field that was dropped goes on as void.
                    if newer.transform == Transform::Void {
                        *newer = field;
                    }
                }
            }
        }
        let field = |(id, (field, name)): (i32, (&PartitionField, &str))| {
            let source = metadata.current_schema().field_by_id(field.source_id);
            let source = source.map(|source| field.transform.result_type(&source.field_type));
            let r#type = source.transpose().map_err(|e| {
                let message = format!("the transform of partition field {name:?} does not fit its column");
                Error::new(ErrorKind::InvalidData, message).with_source(e)
            })?;
            Ok(r#type.map(|r#type| NestedField::optional(id, name, r#type)))
        };
        let fields: Vec<_> = chosen.into_iter().filter_map(|entry| field(entry).transpose()).collect::<Result<_>>()?;
        let places = specs.iter().map(|spec| {
            let place = |field: &NestedField| spec.fields().iter().position(|own| own.field_id == field.id);
            (spec.spec_id(), fields.iter().map(place).collect())
        });
        let places = places.collect();
        Ok(Self { fields, places })
    }

    /// The column `partition`, which tables that were never partitioned do not have.
    pub(super) fn field(&self) -> Result<Option<Field>> {
        if self.fields.is_empty() {
            return Ok(None);
        }
        Ok(Some(super::required("partition", DataType::Struct(self.arrow_fields()?))))
    }

    /// Its fields.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a type beyond what Arrow can hold.
    pub fn arrow_fields(&self) -> Result<Fields> {
        self.fields.iter().map(|field| field_to_arrow(field).map(Arc::new)).collect()
    }

    /// The values of a partition of a spec: none for fields that the spec does not have, and for nulls.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidData`] for a spec that the table does not have.
    pub fn values<'a>(
        &'a self,
        spec_id: i32,
        partition: &'a Struct,
    ) -> Result<impl Iterator<Item = Option<&'a PrimitiveLiteral>>> {
        let places = self.places.get(&spec_id).ok_or_else(|| {
            Error::new(ErrorKind::InvalidData, format!("a manifest names partition spec {spec_id}, which is unknown"))
        })?;
        Ok(places.iter().map(|place| match place.and_then(|at| partition.fields().get(at)?.as_ref()) {
            Some(Literal::Primitive(value)) => Some(value),
            _ => None,
        }))
    }

    /// The values of a partition of a spec: null for fields that the spec does not have.
    pub(super) fn cells(&self, spec_id: i32, partition: &Struct) -> Result<Vec<Cell>> {
        Ok(self.values(spec_id, partition)?.map(|value| value.cloned().into()).collect())
    }

    /// How many fields of this type a spec has.
    pub(super) fn fields_of(&self, spec_id: i32) -> usize {
        self.places.get(&spec_id).map_or(0, |places| places.iter().flatten().count())
    }
}
