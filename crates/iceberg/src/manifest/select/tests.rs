//! What is selected against what the other decoder reads, over manifests that all kinds of writers may have made.

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select as one_of;
use serde_json::{Value, json};

use super::*;
use crate::manifest::container::{put_bytes, put_long};
use crate::manifest::tests::{CODECS, SNAPSHOT, data_file, manifest, options};
use crate::manifest::{Codec, FileFormat};

const SPEC: i32 = 4;

/// Keeps some columns, and entries by numbers that are as good as random.
#[derive(Debug)]
struct Picked {
    columns: Vec<i32>,
    deleted: bool,
    rows: u64,
}

impl EntryFilter for Picked {
    fn columns(&self) -> &[i32] {
        &self.columns
    }

    fn considers(&self, status: ManifestStatus, _: Option<i64>) -> bool {
        self.deleted || status != ManifestStatus::Deleted
    }

    fn may_match_partition(&self, spec_id: i32, partition: &Struct) -> bool {
        assert_eq!(spec_id, SPEC);
        format!("{partition:?}").len() % 5 != 0
    }

    fn may_match_file(&self, record_count: u64, statistics: FileStatistics<'_>) -> bool {
        let known = |id: &i32| statistics.of(*id).lower.is_some_and(|bound| bound.len() % 7 == 3);
        record_count % self.rows != 1 && !self.columns.iter().any(known)
    }
}

fn filter() -> impl Strategy<Value = Picked> {
    let column = prop_oneof![4 => 0..6_i32, 1 => any::<i32>()];
    (btree_set(column, 0..5), any::<bool>(), 2..9_u64).prop_map(|(columns, deleted, rows)| Picked {
        columns: columns.into_iter().collect(),
        deleted,
        rows,
    })
}

fn metadata(version: u8, next_row_id: u64) -> TableMetadata {
    let metadata = json!({
        "format-version": version, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "memory://t",
        "last-sequence-number": 9, "last-updated-ms": 1, "last-column-id": 1, "next-row-id": next_row_id,
        "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "k", "required": false, "type": "long"}]}],
        "default-spec-id": 0, "last-partition-id": 1001, "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}],
    });
    serde_json::from_value(metadata).unwrap()
}

/// All of the entries, their keys, and how many were left out. Floats show their sign and NaN.
fn show(selected: &Selected<ManifestEntry>) -> Vec<String> {
    let keys = |e: &ManifestEntry| e.data_file.key_metadata.as_ref().map(|k| k.expose_secret().to_vec());
    let entries = selected.found.iter().map(|entry| format!("{entry:?} {:?}", keys(entry)));
    entries.chain([selected.pruned.to_string()]).collect()
}

/// What the other decoder makes of it.
fn expected(bytes: &[u8], metadata: &TableMetadata, file: &ManifestFile, filter: &Picked) -> Result<Vec<String>> {
    select_from(Manifest::of_table(bytes, metadata, file)?, filter, Ok).map(|selected| show(&selected))
}

/// Whether the quick decoder is sure, once it is made sure that it is right then.
fn check(bytes: &[u8], metadata: &TableMetadata, file: &ManifestFile, filter: &Picked) -> Result<bool, TestCaseError> {
    let expected = expected(bytes, metadata, file, filter);
    let sure = match decode(bytes, metadata, file, filter, Ok) {
        Ok(selected) => {
            prop_assert_eq!(&show(&selected), expected.as_ref().unwrap());
            true
        }
        Err(Stop::Failed(e)) => {
            prop_assert!(expected.is_err(), "{e}");
            true
        }
        Err(Stop::Unsure) => false,
    };
    let selected = select_entries(bytes, metadata, file, filter, Ok).map(|selected| show(&selected));
    prop_assert_eq!(selected.map_err(|e| e.kind()), expected.map_err(|e| e.kind()));
    Ok(sure)
}

/// The form that a writer gives to manifests.
#[derive(Debug, Clone)]
struct Form {
    version: u8,
    codec: Codec,
    /// Which optional fields are left out, may not be null, or have null as the second of their types.
    fields: Vec<Nullable>,
    /// Fields that Iceberg does not know, or does not know any more.
    others: Vec<Value>,
    partition: Vec<Value>,
    /// Whether blocks of arrays say how long they are.
    lengths: bool,
    /// Whether there may be what no writer writes.
    strange: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Nullable {
    Absent,
    Never,
    First,
    Second,
}

fn form() -> impl Strategy<Value = Form> {
    use Nullable::{Absent, First, Never, Second};
    let others = vec![
        json!("long"),
        json!(["null", "string"]),
        json!("boolean"),
        json!({"type": "array", "items": "int"}),
        json!(["null", {"type": "array", "items": "string"}]),
        json!(["int", "null"]),
        json!({"type": "fixed", "name": "other", "size": 3}),
        // Not for the quick decoder.
        json!({"type": "map", "values": "int"}),
        json!(["null", "int", "string"]),
    ];
    let partition = vec![
        json!("int"),
        json!(["null", "int"]),
        json!(["null", "long"]),
        json!(["string", "null"]),
        json!(["null", "bytes"]),
        json!(["null", "boolean"]),
        json!(["null", "float"]),
        json!(["null", {"type": "fixed", "name": "d", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}]),
    ];
    (
        1..=3_u8,
        one_of(&CODECS[..]),
        vec(prop_oneof![1 => Just(Absent), 1 => Just(Never), 5 => Just(First), 1 => Just(Second)], 32),
        vec(one_of(others), 0..2),
        vec(one_of(partition), 0..3),
        any::<bool>(),
        prop_oneof![3 => Just(false), 1 => Just(true)],
    )
        .prop_map(|(version, codec, fields, others, partition, lengths, strange)| Form {
            version,
            codec,
            fields,
            others,
            partition,
            lengths,
            strange,
        })
}

impl Form {
    fn schema(&self) -> Value {
        let mut nullable = self.fields.iter();
        let mut optional = |name: &str, r#type: Value| {
            let r#type = match nullable.next().unwrap() {
                Nullable::Absent => return None,
                Nullable::Never => r#type,
                Nullable::First => json!(["null", r#type]),
                Nullable::Second => json!([r#type, "null"]),
            };
            Some(json!({"name": name, "type": r#type}))
        };
        let pairs = |name: &str, value: &str| {
            json!({"type": "array", "items": {"type": "record", "name": name, "fields": [
                {"name": "key", "type": "int"}, {"name": "value", "type": value},
            ]}})
        };
        let partition = self
            .partition
            .iter()
            .enumerate()
            .map(|(i, t)| json!({"name": format!("p{i}"), "type": t, "field-id": 1000 + i}));
        let partition = json!({"type": "record", "name": "r102", "fields": partition.collect::<Vec<_>>()});
        let mut file = vec![
            json!({"name": "file_path", "type": "string"}),
            json!({"name": "file_format", "type": "string"}),
            json!({"name": "partition", "type": partition}),
            json!({"name": "record_count", "type": "long"}),
            json!({"name": "file_size_in_bytes", "type": "long"}),
        ];
        if self.version == 1 {
            file.push(json!({"name": "block_size_in_bytes", "type": "long"}));
        } else {
            file.insert(0, json!({"name": "content", "type": "int"}));
        }
        let statistics = [
            ("column_sizes", pairs("a", "long")),
            ("value_counts", pairs("b", "long")),
            ("null_value_counts", pairs("c", "long")),
            ("nan_value_counts", pairs("d", "long")),
            ("lower_bounds", pairs("e", "bytes")),
            ("upper_bounds", pairs("f", "bytes")),
            ("key_metadata", json!("bytes")),
            ("split_offsets", json!({"type": "array", "items": "long"})),
            ("equality_ids", json!({"type": "array", "items": "int"})),
            ("sort_order_id", json!("int")),
            ("first_row_id", json!("long")),
            ("referenced_data_file", json!("string")),
            ("content_offset", json!("long")),
            ("content_size_in_bytes", json!("long")),
        ];
        file.extend(statistics.into_iter().filter_map(|(name, r#type)| optional(name, r#type)));
        file.extend(self.others.iter().enumerate().map(|(i, t)| json!({"name": format!("other{i}"), "type": t})));
        let mut fields = vec![json!({"name": "status", "type": "int"})];
        let numbers = ["snapshot_id", "sequence_number", "file_sequence_number"];
        fields.extend(numbers.into_iter().filter_map(|name| optional(name, json!("long"))));
        fields.push(json!({"name": "data_file", "type": {"type": "record", "name": "r2", "fields": file}}));
        json!({"type": "record", "name": "manifest_entry", "fields": fields})
    }

    /// A manifest of random entries.
    fn manifest(&self, blocks: &[usize], seed: u64) -> Vec<u8> {
        let types = self.partition.iter().enumerate().map(|(i, t)| {
            let r#type = match t.to_string() {
                t if t.contains("decimal") => "decimal(9, 2)".to_owned(),
                t => ["int", "long", "string", "binary", "boolean", "float"]
                    .into_iter()
                    .find(|name| t.contains(&name.replace("binary", "bytes")))
                    .unwrap()
                    .to_owned(),
            };
            json!({"id": i + 1, "name": format!("c{i}"), "required": false, "type": r#type})
        });
        let schema = json!({"type": "struct", "schema-id": 0, "fields": types.collect::<Vec<_>>()});
        let fields = (0..self.partition.len()).map(
            |i| json!({"source-id": i + 1, "field-id": 1000 + i, "name": format!("p{i}"), "transform": "identity"}),
        );
        let avro = self.schema();
        let mut bytes = b"Obj\x01".to_vec();
        let header = [
            ("avro.schema", avro.to_string()),
            ("avro.codec", self.codec.name().to_owned()),
            ("schema", schema.to_string()),
            ("partition-spec", json!(fields.collect::<Vec<_>>()).to_string()),
            ("partition-spec-id", SPEC.to_string()),
            ("format-version", self.version.to_string()),
        ];
        put_long(&mut bytes, header.len() as u64);
        for (key, value) in header {
            put_bytes(&mut bytes, key.as_bytes());
            put_bytes(&mut bytes, value.as_bytes());
        }
        bytes.push(0);
        let sync = [7; 16];
        bytes.extend_from_slice(&sync);
        let mut random = Random { state: seed, form: self };
        for count in blocks {
            let mut plain = Vec::new();
            for _ in 0..*count {
                random.put(&avro, "", &mut plain);
            }
            let mut packed = Vec::new();
            self.codec.compress(&plain, &mut packed).unwrap();
            put_long(&mut bytes, *count as u64);
            put_bytes(&mut bytes, &packed);
            bytes.extend_from_slice(&sync);
        }
        bytes
    }
}

/// Writes random values in Avro's binary form.
struct Random<'a> {
    state: u64,
    form: &'a Form,
}

impl Random<'_> {
    /// A number below `limit`, by `SplitMix64`.
    fn below(&mut self, limit: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn is_strange(&mut self) -> bool {
        self.form.strange && self.below(40) == 0
    }

    fn put(&mut self, schema: &Value, name: &str, out: &mut Vec<u8>) {
        match schema {
            Value::Array(branches) => {
                let branch = usize::try_from(self.below(branches.len() as u64)).unwrap();
                put_signed(out, branch.try_into().unwrap());
                self.put(&branches[branch], name, out);
            }
            Value::String(r#type) => self.put_scalar(r#type, name, out),
            r#type => match r#type["type"].as_str().unwrap() {
                "record" => {
                    for field in r#type["fields"].as_array().unwrap() {
                        self.put(&field["type"], field["name"].as_str().unwrap(), out);
                    }
                }
                "array" => self.put_items(out, |random, out| random.put(&r#type["items"], name, out)),
                "map" => self.put_items(out, |random, out| {
                    put_bytes(out, b"key");
                    random.put(&r#type["values"], name, out);
                }),
                "fixed" => {
                    for _ in 0..r#type["size"].as_u64().unwrap() {
                        out.push(self.below(3).to_le_bytes()[0]);
                    }
                }
                other => self.put_scalar(other, name, out),
            },
        }
    }

    fn put_items(&mut self, out: &mut Vec<u8>, mut item: impl FnMut(&mut Self, &mut Vec<u8>)) {
        for _ in 0..self.below(3) {
            let (count, mut items) = (1 + self.below(4), Vec::new());
            for _ in 0..count {
                item(self, &mut items);
            }
            let count = i64::try_from(count).unwrap();
            if self.form.lengths {
                put_signed(out, -count);
                put_long(out, items.len() as u64);
            } else {
                put_signed(out, count);
            }
            out.extend_from_slice(&items);
        }
        out.push(0);
    }

    fn put_scalar(&mut self, r#type: &str, name: &str, out: &mut Vec<u8>) {
        match (r#type, name) {
            ("null", _) => {}
            ("int", "content") => put_signed(out, i64::from(self.is_strange())),
            ("int", "status") => {
                let kinds = if self.is_strange() { 9 } else { 3 };
                let status = self.below(kinds);
                put_long(out, status);
            }
            ("int", "key") => put_long(out, self.below(8)),
            ("string", "file_format") => {
                let names = ["PARQUET", "parquet", "Avro", "orc", "puffin", "text"];
                let kinds = if self.is_strange() { 6 } else { 5 };
                let at = self.below(kinds);
                put_bytes(out, names[usize::try_from(at).unwrap()].as_bytes());
            }
            ("int" | "long", _) => {
                let size = [3, 100, 1 << 20, 1 << 31][usize::try_from(self.below(4)).unwrap()];
                let number = i64::try_from(self.below(size)).unwrap();
                // Of nulls it may be -1, of which nothing follows.
                let negative = self.is_strange() || name == "value" && self.form.strange && self.below(9) == 0;
                put_signed(out, if negative { -1 - number } else { number });
            }
            ("boolean", _) => out.push(self.below(2).to_le_bytes()[0] + u8::from(self.is_strange())),
            ("float", _) => out.extend_from_slice(&[0, 0, 0, self.below(256).to_le_bytes()[0]]),
            ("bytes" | "string", _) => {
                let length = self.below(12);
                let mut text: Vec<u8> = (0..length).map(|_| b'a' + self.below(3).to_le_bytes()[0]).collect();
                if self.is_strange() {
                    text.push(0xff);
                }
                put_bytes(out, &text);
            }
            other => panic!("{other:?}"),
        }
    }
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    let zigzag = ((number << 1) ^ (number >> 63)).cast_unsigned();
    // An odd number is negative: `put_long` doubles what it is given.
    let mut bytes = Vec::new();
    put_long(&mut bytes, zigzag >> 1);
    bytes[0] |= u8::from(zigzag & 1 == 1);
    out.extend_from_slice(&bytes);
}

fn listed(first_row_id: Option<i64>, sequence_number: i64) -> ManifestFile {
    let (_, listed) = manifest(options(FormatVersion::V3, Codec::DEFAULT), &[]);
    ManifestFile { manifest_path: "m.avro".to_owned(), first_row_id, sequence_number, ..listed }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_is_selected_is_what_is_read(
        form in form(), blocks in vec(1..6_usize, 0..3), seed: u64, filter in filter(),
        first_row_id in one_of(vec![None, Some(0), Some(1 << 40)]), sequence_number in 0..2_i64,
        (version, next_row_id) in one_of(vec![(2, 0), (3, 1 << 50), (3, 1000)]),
        damage in proptest::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>())),
    ) {
        let mut bytes = form.manifest(&blocks, seed);
        if let Some((at, byte)) = damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&bytes, &metadata(version, next_row_id), &listed(first_row_id, sequence_number), &filter)?;
    }

    #[test]
    fn the_quick_decoder_is_sure_of_what_writers_write(
        files in vec(data_file(), 0..6), codec in one_of(&CODECS[..]), v3: bool, filter in filter(),
    ) {
        let version = if v3 { FormatVersion::V3 } else { FormatVersion::V2 };
        let mut options = options(version, codec);
        // Java puts lengths before values of this type, against the schema.
        let fixed = |field: &crate::spec::PartitionField| matches!(field.source_id, 18..=20);
        let fields = options.partition_spec.fields().iter().filter(|field| !fixed(field)).cloned();
        let spec = json!({"spec-id": SPEC, "fields": fields.collect::<Vec<_>>()});
        options.partition_spec = std::sync::Arc::new(serde_json::from_value(spec).unwrap());
        let files: Vec<_> = files.into_iter().map(|mut file| {
            let kept = file.partition.into_iter().enumerate().filter(|(i, _)| !(17..20).contains(i));
            file.partition = kept.map(|(_, value)| value).collect();
            file
        }).collect();
        let (bytes, listed) = manifest(options, &files);
        let listed = ManifestFile { manifest_path: "m.avro".to_owned(), ..listed };
        let metadata = metadata(if v3 { 3 } else { 2 }, 1 << 62);
        prop_assert!(check(&bytes, &metadata, &listed, &filter)?);
    }
}

#[test]
fn columns_of_files_are_those_asked_for() {
    let file = DataFile {
        value_counts: Some([(1, 10), (2, 20)].into()),
        lower_bounds: Some([(2, vec![2]), (3, vec![3])].into()),
        ..DataFile::new(FileContent::Data, "memory://t/f", FileFormat::Parquet, SPEC, Struct::empty(), 4, 1)
    };
    let unpartitioned = json!({"spec-id": SPEC, "fields": []});
    let mut options = options(FormatVersion::V3, Codec::DEFAULT);
    options.partition_spec = std::sync::Arc::new(serde_json::from_value(unpartitioned).unwrap());
    let (bytes, listed) = manifest(options, &[file]);
    let filter = Picked { columns: vec![2, 9], deleted: false, rows: 2 };
    let selected = decode(&bytes, &metadata(3, 100), &listed, &filter, Ok).unwrap_or_else(|_| panic!("it is not sure"));
    let [entry] = &selected.found[..] else { panic!("{selected:?}") };
    assert_eq!(entry.snapshot_id, Some(SNAPSHOT));
    assert_eq!(entry.data_file.value_counts, Some([(2, 20)].into()));
    assert_eq!(entry.data_file.lower_bounds, Some([(2, vec![2])].into()));
    assert_eq!(entry.data_file.upper_bounds, None);
}
