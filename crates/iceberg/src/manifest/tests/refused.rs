//! What is not believed.

use super::*;

#[test]
fn files_of_another_kind_are_refused() {
    let good = plain_entry(ManifestStatus::Added).data_file;
    let cases: [(&str, DataFile); 4] = [
        ("spec", DataFile { spec_id: 9, ..good.clone() }),
        ("content", DataFile { content: FileContent::PositionDeletes, ..good.clone() }),
        ("values", DataFile { partition: [None].into_iter().collect(), ..good.clone() }),
        ("rows", DataFile { record_count: u64::MAX, ..good.clone() }),
    ];
    for (what, file) in cases {
        let error = ManifestWriter::new(unpartitioned()).unwrap().add(&file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{what}");
    }
    let mut typed = ManifestWriter::new(options(FormatVersion::V3, Codec::Null)).unwrap();
    let values = types().into_iter().map(|_| Some(Literal::long(1)));
    let error = typed.add(&DataFile { spec_id: 4, partition: values.collect(), ..good }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn numbers_below_zero_are_not_believed() {
    let good = || plain_entry(ManifestStatus::Existing);
    let with = |change: fn(&mut DataFile)| {
        let mut entry = good();
        change(&mut entry.data_file);
        entry
    };
    let cases = [
        ("value_counts -1 of field 3", with(|f| f.value_counts = Some([(2, 0), (3, -1)].into()))),
        ("nan_value_counts -1", with(|f| f.nan_value_counts = Some([(3, -1)].into()))),
        ("column_sizes -1", with(|f| f.column_sizes = Some([(3, -1)].into()))),
        ("first_row_id -9223372036854775808", with(|f| f.first_row_id = Some(i64::MIN))),
        ("content_offset -1", with(|f| f.content_offset = Some(-1))),
        ("content_size_in_bytes -1", with(|f| f.content_size_in_bytes = Some(-1))),
        ("file_sequence_number -1", ManifestEntry { file_sequence_number: Some(-1), ..good() }),
    ];
    let written = |entry: ManifestEntry| {
        let mut writer = ManifestWriter::new(unpartitioned()).unwrap();
        let numbers = (Some(1), entry.sequence_number.or(Some(1)), entry.file_sequence_number.or(Some(1)));
        let (snapshot_id, sequence_number, file_sequence_number) = numbers;
        writer.existing(&ManifestEntry { snapshot_id, sequence_number, file_sequence_number, ..entry }).unwrap();
        writer.finish().unwrap()
    };
    for (what, entry) in cases {
        let error = Manifest::decode(&written(entry).bytes, "m.avro").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{what}");
        assert!(error.to_string().contains("m.avro") && error.to_string().contains(what), "{what}: {error}");
    }
    // Java's form of a count that is not known.
    let unknown = with(|f| f.null_value_counts = Some([(2, 0), (3, -1)].into()));
    let read = Manifest::decode(&written(unknown).bytes, "m.avro").unwrap();
    assert_eq!(read.entries[0].data_file.null_value_counts, Some([(2, 0)].into()));

    let listed = || written(good()).listed;
    let cases = [
        ("sequence_number -1", ManifestFile { sequence_number: -1, ..listed() }),
        ("min_sequence_number -1", ManifestFile { min_sequence_number: -1, ..listed() }),
        ("first_row_id -1", ManifestFile { first_row_id: Some(-1), ..listed() }),
    ];
    for (what, manifest) in cases {
        let list = encode_manifest_list(header(FormatVersion::V3), &[manifest]).unwrap();
        let error = decode_manifest_list(&list, "l.avro").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData, "{what}");
        assert!(error.to_string().contains("l.avro") && error.to_string().contains(what), "{what}: {error}");
    }
}

#[test]
fn a_block_cannot_unpack_to_more_than_its_limit() {
    // 300 MiB of zeros in 10 KB, behind a header that is fine.
    let (bytes, _) = manifest(ManifestOptions { codec: Codec::Zstandard { level: 1 }, ..unpartitioned() }, &[]);
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    std::io::copy(&mut std::io::Read::take(std::io::repeat(0), 300 << 20), &mut encoder).unwrap();
    let bomb = encoder.finish().unwrap();
    let sync = &bytes[bytes.len() - 16..];
    let mut file = bytes.clone();
    container::put_long(&mut file, 1);
    container::put_bytes(&mut file, &bomb);
    file.extend_from_slice(sync);
    let error = Manifest::decode(&file, "bomb.avro").unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("bomb.avro")), (ErrorKind::InvalidData, true));
}
