//! Whatever is changed in an Avro data file, and whatever the bytes: an error or rows, never a panic.
#![no_main]

use std::sync::{Arc, LazyLock};

use futures::TryStreamExt;
use lakelock_iceberg::avro::{AvroFile, AvroRead, Wanted};
use lakelock_iceberg::encryption::{EncryptingFileIO, PlaintextEncryptionManager};
use lakelock_iceberg::name_mapping::NameMapping;
use lakelock_storage::Storage;
use libfuzzer_sys::fuzz_target;
use tokio::runtime::Runtime;

const LOCATION: &str = "memory://t/data/1.avro";
const RECORD_COUNT: u64 = 4;

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());

/// Two blocks of two rows, not compressed.
static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let schema = br#"{"type":"record","name":"r","fields":[{"name":"id","type":"long","field-id":1},
        {"name":"text","type":["null","string"],"field-id":2},{"name":"gone","type":{"type":"map","values":"double"}},
        {"name":"list","type":{"type":"array","items":["null",{"type":"fixed","name":"f","size":3}],"element-id":4},"field-id":3},
        {"name":"map","type":{"type":"array","logicalType":"map","items":{"type":"record","name":"e","fields":[
        {"name":"key","type":"int","field-id":6},{"name":"value","type":["f","null"],"field-id":7}]}},"field-id":5}]}"#;
    let sync = [7; 16];
    // Zigzag, in two bytes.
    let length = |length: usize| [(length << 1) as u8 | 0x80, (length >> 6) as u8];
    let mut bytes = b"Obj\x01\x02\x16avro.schema".to_vec();
    bytes.extend(length(schema.len()));
    bytes.extend_from_slice(schema);
    bytes.push(0);
    bytes.extend(sync);
    let row = b"\x0a\x02\x04ab\0\x04\0\x02xyz\0\x02\x08\0uvw\0";
    for _ in 0..2 {
        bytes.extend([4, u8::try_from(row.len() * 4).unwrap()]);
        bytes.extend([&row[..], row].concat());
        bytes.extend(sync);
    }
    bytes
});

async fn read(bytes: Vec<u8>, cut: u64) {
    let storage = Storage::in_memory();
    let length = bytes.len() as u64;
    storage.write(LOCATION, bytes).await.unwrap();
    let io = EncryptingFileIO::new(storage, Arc::new(PlaintextEncryptionManager::new("t")));
    let wanted = Wanted::default().and(1..8);
    let Ok(file) = io.open(LOCATION, None, length) else { return };
    let Ok(file) = AvroFile::open(file, &NameMapping::default(), &wanted).await else { return };
    let columns: Vec<usize> = (0..file.schema().fields().len()).collect();
    for range in [0..cut, cut..u64::MAX] {
        let read = AvroRead { columns: columns.clone(), range, batch_size: 3, record_count: RECORD_COUNT };
        if let Ok(rows) = file.rows(read).await {
            let _ = rows.try_collect::<Vec<_>>().await;
        }
    }
    if let Ok(index) = file.index(RECORD_COUNT).await {
        let _ = file.rows_before(cut, &index).await;
    }
}

fuzz_target!(|input: (Vec<(u16, u8)>, Vec<u8>, u16)| {
    let (changes, bytes, cut) = input;
    let mut file = FILE.clone();
    for (at, byte) in changes {
        let at = usize::from(at) % file.len();
        file[at] = byte;
    }
    for bytes in [file, bytes] {
        RUNTIME.block_on(read(bytes, u64::from(cut)));
    }
});
