use std::sync::Arc;

use arrow::array::{Int64Array, StringArray, StructArray};

use super::*;
use crate::arrow_schema::schema_to_arrow;
use crate::schema_text::{parse_partition_spec, parse_schema};

/// Partition values and the ids of the rows, in order.
fn split(columns: &str, spec: &str, arrays: Vec<ArrayRef>) -> Vec<(Vec<Option<Literal>>, Vec<i64>)> {
    let schema = Arc::new(parse_schema(columns).unwrap());
    let spec = match spec {
        "" => PartitionSpec::unpartition_spec(),
        text => parse_partition_spec(text, &schema).unwrap().bind(Arc::clone(&schema)).unwrap(),
    };
    let batch = RecordBatch::try_new(schema_to_arrow(&schema).unwrap(), arrays).unwrap();
    let parts = Partitioner::new(&spec, &schema).unwrap().split(batch).unwrap();
    let ids = |part: &Part| part.rows.column(0).as_primitive::<Int64Type>().values().to_vec();
    parts.iter().map(|part| (part.values.iter().map(Option::<&Literal>::cloned).collect(), ids(part))).collect()
}

fn ids(count: i64) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..count))
}

#[test]
fn rows_are_split_by_value_and_keep_their_order() {
    let names = StringArray::from(vec![Some("a"), Some("b"), Some("a"), None, Some("b"), None]);
    let found = split("id long, name string", "name", vec![ids(6), Arc::new(names)]);
    let expected = [
        (vec![Some(Literal::string("a"))], vec![0, 2]),
        (vec![Some(Literal::string("b"))], vec![1, 4]),
        (vec![None], vec![3, 5]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_field_of_a_spec_counts() {
    let names = StringArray::from(vec!["xa", "xb", "ya"]);
    let found = split("id long, name string", "truncate(2, id), truncate(1, name)", vec![ids(3), Arc::new(names)]);
    let expected = [
        (vec![Some(Literal::long(0)), Some(Literal::string("x"))], vec![0, 1]),
        (vec![Some(Literal::long(2)), Some(Literal::string("y"))], vec![2]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_field_under_a_null_struct_is_null() {
    let child: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), Some(7), None]));
    let schema = parse_schema("id long, s struct<x: long>").unwrap();
    let arrow = schema_to_arrow(&schema).unwrap();
    let DataType::Struct(fields) = arrow.field(1).data_type() else { panic!() };
    let nulls = NullBuffer::from(vec![true, false, true]);
    let parent = StructArray::new(fields.clone(), vec![child], Some(nulls));
    let found = split("id long, s struct<x: long>", "s.x", vec![ids(3), Arc::new(parent)]);
    assert_eq!(found, [(vec![Some(Literal::long(7))], vec![0]), (vec![None], vec![1, 2])]);
}

#[test]
fn a_table_without_partitions_is_one() {
    assert_eq!(split("id long", "", vec![ids(3)]), [(vec![], vec![0, 1, 2])]);
    assert_eq!(split("id long", "", vec![ids(0)]), []);
    assert_eq!(split("id long", "void(id)", vec![ids(2)]), [(vec![None], vec![0, 1])]);
}
