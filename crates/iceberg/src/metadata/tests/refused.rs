//! What is not read, and what is not written.

use super::*;

#[test]
fn rules_of_encrypted_tables_hold_in_every_change() {
    let key_id = "encryption.key-id";
    let remove_key = |key_id: &str| TableUpdate::RemoveEncryptionKey { key_id: key_id.into() };
    let encrypted = read(&document());
    let mut plain = document();
    plain["properties"] = json!({});
    let plain = read(&plain);
    let cases = [
        ("change", &encrypted, vec![properties(&[(key_id, "keyB")])]),
        ("remove", &encrypted, vec![TableUpdate::RemoveProperties { removals: vec![key_id.into()] }]),
        ("add", &plain, vec![properties(&[(key_id, "keyA")])]),
        ("length", &encrypted, vec![properties(&[("encryption.data-key-length", "17")])]),
        ("no key id", &encrypted, vec![TableUpdate::AddSnapshot { snapshot: snapshot(13, 3, 20, None) }]),
        ("unknown key", &encrypted, vec![TableUpdate::AddSnapshot { snapshot: snapshot(13, 3, 20, Some("none")) }]),
        ("lost key", &encrypted, vec![remove_key("m1")]),
        ("lost KEK", &encrypted, vec![remove_key("kek")]),
        ("uuid", &plain, vec![TableUpdate::AssignUuid { uuid: uuid::Uuid::nil() }]),
    ];
    for (name, document, updates) in cases {
        let error = document.apply(&updates, LOCATION).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}");
    }
    // The key of a snapshot that goes may go with it.
    let updates = [TableUpdate::RemoveSnapshots { snapshot_ids: vec![11] }, remove_key("m1")];
    encrypted.apply(&updates, LOCATION).unwrap();
}

#[test]
fn what_cannot_be_read_is_an_error_of_the_right_kind() {
    let with = |pointer: &str, value: Value| {
        let mut document = document();
        *document.pointer_mut(pointer).unwrap() = value;
        document.to_string().into_bytes()
    };
    let decimal = |value: &str, default: &str| json!({"id": 2, "name": "d", "required": false, "type": "decimal(38, 0)", default: value});
    let gzip = MetadataCompression::Gzip.compress(document().to_string().into_bytes()).unwrap();
    let twice = document().to_string().replacen('{', r#"{"location":"elsewhere","#, 1).into_bytes();
    let cases = [
        ("an interval", with("/schemas/0/fields/1/type", json!("interval")), ErrorKind::Unsupported, "column name"),
        (
            "nested",
            with(
                "/schemas/0/fields/1/type",
                json!({"type": "list", "element-id": 5, "element": "interval(srid:1)", "element-required": true}),
            ),
            ErrorKind::Unsupported,
            "column name.element of",
        ),
        ("version 4", with("/format-version", json!(4)), ErrorKind::Unsupported, "version 4"),
        ("default", with("/schemas/0/fields/1/initial-default", json!(5)), ErrorKind::Unsupported, "initial-default"),
        (
            "decimal",
            with("/schemas/0/fields/1", json!({"id": 2, "name": "d", "required": false, "type": "decimal(99, 2)"})),
            ErrorKind::InvalidData,
            "decimal(99, 2)",
        ),
        ("version -1", with("/format-version", json!(-1)), ErrorKind::InvalidData, "format-version"),
        (
            "a decimal of 39 digits",
            with("/schemas/0/fields/1", decimal("-170141183460469231731687303715884105728", "initial-default")),
            ErrorKind::InvalidData,
            "initial-default of column d",
        ),
        (
            "a row id not given out",
            with("/snapshots/1/first-row-id", json!(11)),
            ErrorKind::InvalidData,
            "snapshot 12 has 10 rows from first-row-id 11 on",
        ),
        ("no snapshot", with("/current-snapshot-id", json!(99)), ErrorKind::InvalidData, LOCATION),
        ("not an object", b"[]".to_vec(), ErrorKind::InvalidData, LOCATION),
        ("empty", vec![], ErrorKind::InvalidData, LOCATION),
        ("junk after", [document().to_string().as_bytes(), b"x"].concat(), ErrorKind::InvalidData, LOCATION),
        ("a field twice", twice, ErrorKind::InvalidData, LOCATION),
        ("cut gzip", gzip[..gzip.len() - 9].to_vec(), ErrorKind::InvalidData, LOCATION),
        ("deep", format!("{{\"x\":{}", "[".repeat(100_000)).into_bytes(), ErrorKind::InvalidData, LOCATION),
    ];
    for (name, bytes, kind, message) in cases {
        let error = TableDocument::read(&bytes, LOCATION).unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(message), "{name}: {error}");
        assert!(error.to_string().contains(LOCATION), "{name}: {error}");
    }
    let error = TableDocument::read(document().to_string().as_bytes(), "t/v1.gz.metadata.json").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData);
}

/// Those that the parser adds to or subtracts without a look at the range, and those that would count on from there.
#[test]
fn numbers_out_of_range_are_refused_by_name() {
    let max = i64::MAX;
    let cases = [
        ("/last-sequence-number", "last-sequence-number", &[max, max - 1, -1][..]),
        ("/last-updated-ms", "last-updated-ms", &[max, i64::MIN, -1]),
        ("/last-column-id", "last-column-id", &[i32::MAX.into(), i32::MIN.into(), -1, max]),
        ("/last-partition-id", "last-partition-id", &[i32::MAX.into(), i32::MIN.into(), max]),
        ("/next-row-id", "next-row-id", &[max, -1]),
        ("/schemas/0/schema-id", "schemas[0]: schema-id", &[i32::MAX.into(), -1]),
        ("/partition-specs/0/spec-id", "partition-specs[0]: spec-id", &[i32::MAX.into(), -1]),
        ("/sort-orders/0/order-id", "sort-orders[0]: order-id", &[max, -1]),
        ("/snapshots/1/sequence-number", "snapshots[1]: sequence-number", &[max, -1]),
        ("/snapshots/1/timestamp-ms", "snapshots[1]: timestamp-ms", &[max, i64::MIN]),
        ("/snapshots/0/first-row-id", "snapshots[0]: first-row-id", &[max, -1]),
        ("/snapshots/0/added-rows", "snapshots[0]: added-rows", &[max, -1]),
        ("/snapshot-log/0/timestamp-ms", "snapshot-log[0]: timestamp-ms", &[max, i64::MIN]),
        ("/metadata-log/0/timestamp-ms", "metadata-log[0]: timestamp-ms", &[max, i64::MIN]),
    ];
    for (pointer, named, numbers) in cases {
        let numbers = numbers.iter().map(|n| json!(n)).chain([json!(u64::MAX), json!(1e300), json!(0.5)]);
        for number in numbers {
            let mut document = document();
            *document.pointer_mut(pointer).unwrap() = number.clone();
            let error = TableDocument::read(document.to_string().as_bytes(), LOCATION).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{pointer} {number}: {error}");
            let text = error.to_string();
            assert!(text.contains(LOCATION) && text.contains(&format!("{named} is {number}")), "{pointer}: {text}");
        }
    }
    // Nor does a change lead there.
    let mut last = document();
    last["last-sequence-number"] = json!(i64::MAX / 2);
    let error = read(&last).apply(&append(13, i64::MAX / 2 + 1, 20), LOCATION).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
}

#[test]
fn decimal_defaults_of_any_size_are_read_or_refused() {
    for (precision, scale) in [(1, 0), (38, 0), (38, 38)] {
        for default in [
            "9".repeat(38),
            format!("-{}", "9".repeat(38)),
            format!("0.{}", "9".repeat(37)),
            "9".repeat(39),
            "1E1000000".to_owned(),
            "NaN".to_owned(),
            "1.2.3".to_owned(),
            String::new(),
        ] {
            for name in ["initial-default", "initial\\u002ddefault"] {
                let mut document = document();
                document["schemas"][0]["fields"][1] = json!({"id": 2, "name": "d", "required": false, "type": format!("decimal({precision}, {scale})"), "here": default});
                let text = document.to_string().replace("here", name);
                if let Ok(document) = TableDocument::read(text.as_bytes(), LOCATION) {
                    let _ = document.apply(&updates()[5].1, LOCATION);
                }
            }
        }
    }
}

#[test]
fn properties_that_writes_would_fail_on_are_refused_when_they_are_set() {
    let (invalid, unsupported) = (ErrorKind::InvalidInput, ErrorKind::Unsupported);
    let cases = [
        ("encryption.data-key-length", "20", invalid),
        ("write.format.default", "orc", unsupported),
        ("write.target-file-size-bytes", "0", invalid),
        ("write.target-file-size-bytes", "-1", invalid),
        ("write.target-file-size-bytes", "9223372036854775808", invalid),
        ("write.parquet.row-group-size-bytes", "2147483648", invalid),
        ("write.parquet.page-size-bytes", "1MB", invalid),
        ("write.parquet.page-row-limit", "0", invalid),
        ("write.parquet.dict-size-bytes", "", invalid),
        ("write.parquet.compression-codec", "lzo", invalid),
        ("write.parquet.compression-codec", "brotli", unsupported),
        ("write.parquet.compression-level", "23", invalid),
        ("write.parquet.bloom-filter-enabled.column.other", "true", invalid),
        ("write.parquet.bloom-filter-max-bytes", "-1", invalid),
        ("write.location-provider.impl", "com.example.Locations", unsupported),
        ("write.object-storage.enabled", "true", unsupported),
        ("write.data.path", "gopher://data", invalid),
        ("write.folder-storage.path", "gopher://data", invalid),
        ("write.metadata.path", "gopher://metadata", invalid),
        ("write.metadata.compression-codec", "zstd", invalid),
        ("write.metadata.previous-versions-max", "none", invalid),
        ("write.metadata.metrics.default", "truncate(0)", invalid),
        ("write.metadata.metrics.column.id", "some", invalid),
        ("write.metadata.metrics.column.other", "full", invalid),
        ("write.metadata.metrics.max-inferred-column-defaults", "-1", invalid),
        ("write.manifest.compression-codec", "lz4", invalid),
        ("write.manifest.compression-level", "10", invalid),
        ("write.summary.partition-limit", "few", invalid),
        ("commit.manifest.min-count-to-merge", "-1", invalid),
        ("commit.manifest.target-size-bytes", "8MB", invalid),
        ("commit.retry.num-retries", "many", invalid),
        ("commit.retry.min-wait-ms", "-1", invalid),
        ("commit.retry.max-wait-ms", "1s", invalid),
        ("commit.retry.total-timeout-ms", "2147483648", invalid),
    ];
    let before = read(&document());
    for (name, value, kind) in cases {
        let creation = TableCreation::builder()
            .name("t".into())
            .location("memory://w/t".into())
            .schema(schema(&["id", "name"]))
            .properties([(name.to_owned(), value.to_owned()), ("encryption.key-id".to_owned(), "keyA".to_owned())])
            .format_version(FormatVersion::V3)
            .build();
        let created = TableDocument::create(creation).map(drop);
        let changed = before.apply(&[properties(&[(name, value)])], LOCATION).map(drop);
        for refused in [created, changed] {
            let error = refused.expect_err(name);
            let source = std::error::Error::source(&error).unwrap().to_string();
            assert_eq!(error.kind(), kind, "{name}: {source}");
            assert!(source.contains(name) && source.contains(&format!("{value:?}")), "{name}: {source}");
        }
        // Where another writer set it, other changes are still possible, and what it leaves alone is still checked.
        let mut set = document();
        set["properties"][name] = json!(value);
        if name != "encryption.data-key-length" && name != "write.metadata.compression-codec" {
            let set = read(&set);
            set.apply(&[properties(&[("other", "1")])], LOCATION).unwrap();
            let bad = properties(&[("encryption.data-key-length", "20")]);
            assert_eq!(set.apply(&[bad], LOCATION).unwrap_err().kind(), invalid, "{name}");
        }
    }
}
