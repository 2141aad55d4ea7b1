//! Files made by hand: what Java does not write, and what nobody should.

use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Int64Type};
use futures::TryStreamExt;
use lakelock_storage::Storage;

use super::{AvroFile, AvroRead, Wanted};
use crate::encryption::{EncryptingFileIO, FileReader, PlaintextEncryptionManager};
use crate::manifest::Codec;
use crate::name_mapping::NameMapping;
use crate::spec::{NestedField, PrimitiveType, Schema, Type};
use crate::{ErrorKind, Result};

const LOCATION: &str = "memory://t/data/1.avro";
const SYNC: [u8; 16] = *b"0123456789abcdef";
const ID: &str = r#"{"type":"record","name":"r","fields":[{"name":"id","type":"long","field-id":1},
    {"name":"text","type":["null","string"],"field-id":2}]}"#;

fn long(value: i64) -> Vec<u8> {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    let mut bytes = Vec::new();
    while rest >= 0x80 {
        bytes.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    bytes.push(rest.to_le_bytes()[0]);
    bytes
}

fn text(text: &[u8]) -> Vec<u8> {
    [long(i64::try_from(text.len()).unwrap()), text.to_vec()].concat()
}

/// A file of blocks, each of so many rows with these bytes.
fn file(schema: &str, codec: &str, blocks: &[(i64, Vec<u8>)]) -> Vec<u8> {
    let header = [&b"Obj\x01"[..], &long(2), &text(b"avro.schema"), &text(schema.as_bytes())].concat();
    let mut bytes = [&header[..], &text(b"avro.codec"), &text(codec.as_bytes()), &long(0), &SYNC].concat();
    for (rows, packed) in blocks {
        bytes.extend([long(*rows), text(packed), SYNC.to_vec()].concat());
    }
    bytes
}

/// Rows of [`ID`]: every third text is null.
fn rows(ids: std::ops::Range<i64>, length: usize) -> (i64, Vec<u8>) {
    let row = |id: i64| match id % 3 {
        0 => [long(id), long(0)].concat(),
        _ => [long(id), long(1), text(&vec![b'x'; length])].concat(),
    };
    (ids.end - ids.start, ids.flat_map(row).collect())
}

fn reader(storage: &Storage, length: usize) -> FileReader {
    let io = EncryptingFileIO::new(storage.clone(), Arc::new(PlaintextEncryptionManager::new("t")));
    io.open(LOCATION, None, length as u64).unwrap()
}

/// All ids that a file of this schema may have here.
fn wanted() -> Wanted {
    Wanted::default().and(1..100)
}

async fn open(bytes: Vec<u8>) -> Result<AvroFile> {
    let storage = Storage::in_memory();
    let length = bytes.len();
    storage.write(LOCATION, bytes).await.unwrap();
    AvroFile::open(reader(&storage, length), &NameMapping::default(), &wanted()).await
}

async fn read(file: &AvroFile, range: std::ops::Range<u64>, record_count: u64) -> Result<Vec<(u64, RecordBatch)>> {
    let columns = (0..file.schema().fields().len()).collect();
    let rows = file.rows(AvroRead { columns, range, batch_size: 100, record_count }).await?;
    rows.map_ok(|rows| (rows.offset, rows.batch)).try_collect().await
}

async fn read_all(bytes: Vec<u8>, record_count: u64) -> Result<Vec<RecordBatch>> {
    let batches = read(&open(bytes).await?, 0..u64::MAX, record_count).await?;
    Ok(batches.into_iter().map(|(_, batch)| batch).collect())
}

fn ids(batches: &[(u64, RecordBatch)]) -> Vec<i64> {
    batches.iter().flat_map(|(_, batch)| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

/// Wherever a file is cut into parts, each row is in one, and what is before a part is known.
#[tokio::test]
async fn parts_cover_the_file() {
    // Beyond one part of what is read at a time; blocks of a byte, of many, of none.
    let sizes = [1, 1, 100, 0, 3, 400, 2, 2500, 7];
    let mut blocks = Vec::new();
    let mut next = 0;
    for size in sizes {
        blocks.push(rows(next..next + size, 3000));
        next += size;
    }
    let bytes = file(ID, "null", &blocks);
    let (length, count) = (bytes.len() as u64, next.unsigned_abs());
    assert!(length > super::parts::PART_LENGTH + (1 << 20));
    let opened = open(bytes.clone()).await.unwrap();
    let index = opened.index(count).await.unwrap();
    let near_markers = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(&SYNC));
    let mut cuts: Vec<u64> = near_markers.flat_map(|at| [at as u64 - 1, at as u64, at as u64 + 1]).collect();
    cuts.extend((0..20).map(|n| n * length / 20));
    for cut in cuts {
        let shared = opened.clone().without_head();
        let first = read(&opened, 0..cut, count).await.unwrap();
        let second = read(&shared, cut..u64::MAX, count).await.unwrap();
        assert_eq!(ids(&read(&opened, cut..u64::MAX, count).await.unwrap()), ids(&second), "cut at {cut}");
        let before = shared.rows_before(cut, &index).await.unwrap();
        assert_eq!(before, ids(&first).len() as u64, "cut at {cut}");
        for (offset, batch) in &second {
            let id = batch.column(0).as_primitive::<Int64Type>().value(0);
            assert_eq!(before + offset, id.unsigned_abs(), "cut at {cut}");
        }
        assert!([ids(&first), ids(&second)].concat().into_iter().eq(0..next), "cut at {cut}");
    }
    for wrong in [count - 1, count + 1] {
        for result in [read(&opened, 0..length, wrong).await.err(), opened.index(wrong).await.err()] {
            assert_eq!(result.map(|e| e.kind()), Some(ErrorKind::InvalidData), "{wrong} rows");
        }
    }
}

/// Java's own codecs are tested with Java's files; here each bit is another one.
#[tokio::test]
async fn altered_bytes_are_an_error_or_rows() {
    let (count, plain) = rows(0..30, 5);
    for codec in [Codec::DEFAULT, Codec::Null, Codec::Snappy, Codec::Zstandard { level: 1 }] {
        let mut packed = Vec::new();
        codec.compress(&plain, &mut packed).unwrap();
        let whole = file(ID, codec.name(), &[(count, packed.clone()), (count, packed)]);
        assert_eq!(read_all(whole.clone(), 60).await.unwrap().iter().map(RecordBatch::num_rows).sum::<usize>(), 60);
        for at in 0..whole.len() {
            for bit in [0, 3, 7] {
                let mut altered = whole.clone();
                altered[at] ^= 1 << bit;
                let _ = read_all(altered, 60).await;
            }
            let cut = read_all(whole[..at].to_vec(), 60).await;
            assert_eq!(cut.unwrap_err().kind(), ErrorKind::InvalidData, "{codec:?}, cut at {at}");
        }
    }
}

#[tokio::test]
async fn few_bytes_cannot_fill_the_memory() {
    let record = |fields: &str| format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#);
    let column = |r#type: &str| record(&format!(r#"{{"name":"c","type":{type},"field-id":1}}"#));
    let items = [long(1 << 40), long(0)].concat();
    // A type that uses the one before it twice, and so on.
    let doubling =
        (1..64).fold(r#"{"name":"a0","type":{"type":"fixed","name":"f0","size":1}}"#.to_owned(), |all, n| {
            let (own, before) = (format!("f{n}"), format!("f{}", n - 1));
            let fields = format!(r#"{{"name":"x","type":"{before}"}},{{"name":"y","type":"{before}"}}"#);
            format!(r#"{all},{{"name":"a{n}","type":{{"type":"record","name":"{own}","fields":[{fields}]}}}}"#)
        });
    let deep = format!("{}\"int\"{}", r#"{"type":"array","items":"#.repeat(60), "}".repeat(60));
    let deeper = format!(r#"{{"type":"array","items":{}}}"#, deep.replace("\"int\"", &format!("[\"null\",{deep}]")));
    let cases: [(&str, String, i64, Vec<u8>); 10] = [
        ("rows without bytes", record(""), 1 << 60, Vec::new()),
        ("nulls without bytes", column("\"null\""), 1 << 60, Vec::new()),
        ("items without bytes", column(r#"{"type":"array","items":"null"}"#), 1, items.clone()),
        (
            "items without bytes, passed over",
            record(r#"{"name":"c","type":{"type":"array","items":"null"}}"#),
            2,
            items,
        ),
        ("items that are not there", column(r#"{"type":"array","items":"long"}"#), 1, long(1 << 30)),
        ("a text that is not there", column("\"string\""), 1, long(1 << 40)),
        (
            "nulls of much",
            column(r#"{"type":"array","items":["null",{"type":"fixed","name":"f","size":2000000000}]}"#),
            1,
            [long(100), vec![0; 100], long(0)].concat(),
        ),
        ("types that double", record(&doubling), 1, vec![0; 100]),
        ("types that nest", column(&deeper), 1, vec![0]),
        ("a type in itself", record(r#"{"name":"c","type":["null","r"],"field-id":1}"#), 1, vec![0]),
    ];
    for (what, schema, count, block) in cases {
        let error = read_all(file(&schema, "null", &[(count, block)]), 1).await.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{what}: {error}");
    }
}

/// What cannot be read is an error only where it is asked for.
#[tokio::test]
async fn unknown_shapes_are_passed_over() {
    let schema = r#"{"type":"record","name":"r","namespace":"n","fields":[
        {"name":"odd","type":["int","string",{"type":"record","name":"o","fields":[{"name":"x","type":"o2"}]}],"field-id":1},
        {"name":"id","type":"long","field-id":2},
        {"name":"no_id","type":{"type":"map","values":{"type":"array","items":"n.e"}}},
        {"name":"letter","type":"e","field-id":3}]}"#;
    let schema = schema.replace("\"o2\"", r#"{"type":"enum","name":"e","symbols":["a","b"]}"#);
    let map = [long(-1), long(5), text(b"k"), long(1), long(1), long(0), long(0)].concat();
    let row = [long(2), long(1), long(7), map, long(1)].concat();
    let opened = open(file(&schema, "null", &[(1, row)])).await.unwrap();
    let names: Vec<_> = opened.schema().fields().iter().map(|field| field.name().as_str()).collect();
    assert_eq!(names, ["odd", "id", "letter"]);
    let read = |columns| AvroRead { columns, range: 0..u64::MAX, batch_size: 10, record_count: 1 };
    let rows: Vec<_> = opened.rows(read(vec![2, 1])).await.unwrap().try_collect().await.unwrap();
    assert_eq!(rows[0].batch.column(0).as_string::<i32>().value(0), "b");
    assert_eq!(rows[0].batch.column(1).as_primitive::<Int64Type>().value(0), 7);
    assert_eq!(opened.rows(read(vec![0])).await.err().map(|e| e.kind()), Some(ErrorKind::Unsupported));
}

/// Without ids names decide, by the table's mapping.
#[tokio::test]
async fn names_give_ids() {
    let schema = r#"{"type":"record","name":"r","fields":[{"name":"old","type":"long"},{"name":"other","type":"int"},
        {"name":"list","type":{"type":"array","items":{"type":"record","name":"i","fields":[{"name":"x","type":"int"}]}}}]}"#;
    let bytes = file(schema, "null", &[(1, [long(5), long(6), long(1), long(9), long(0)].concat())]);
    let storage = Storage::in_memory();
    storage.write(LOCATION, bytes.clone()).await.unwrap();
    let mapping = r#"[{"field-id":1,"names":["new","old"]},{"names":["other"]},
        {"field-id":3,"names":["list"],"fields":[{"field-id":4,"names":["element"],"fields":[{"field-id":5,"names":["x"]}]}]}]"#;
    let mapping = NameMapping::parse(mapping).unwrap();
    let file = AvroFile::open(reader(&storage, bytes.len()), &mapping, &wanted()).await.unwrap();
    let id = crate::arrow_schema::field_id;
    assert_eq!(file.schema().fields().iter().map(|field| id(field)).collect::<Vec<_>>(), [Some(1), Some(3)]);
    let DataType::List(element) = file.schema().field(1).data_type() else { panic!("no list") };
    let DataType::Struct(fields) = element.data_type() else { panic!("no struct") };
    assert_eq!((id(element), id(&fields[0])), (Some(4), Some(5)));

    let own = NestedField::required(7, "old", Type::Primitive(PrimitiveType::Long));
    let schema = Schema::builder().with_fields([Arc::new(own)]).build().unwrap();
    let file =
        AvroFile::open(reader(&storage, bytes.len()), &NameMapping::of_schema(&schema), &wanted()).await.unwrap();
    assert_eq!(file.schema().fields().iter().map(|field| id(field)).collect::<Vec<_>>(), [Some(7)]);
    for wrong in ["", "{}", r#"[{"field-id":1,"names":["a"]},{"field-id":2,"names":["a"]}]"#] {
        assert!(NameMapping::parse(wrong).is_err(), "{wrong}");
    }
}
