//! Whatever the bytes: an error, or a set of rows, never a panic. The checksum is made right for most inputs, as no
//! fuzzer would find it.
#![no_main]

use lakelock_iceberg::deletes::decode_deletion_vector;
use libfuzzer_sys::fuzz_target;

const ROWS: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let _ = decode_deletion_vector(bytes);
    let checked = [&[0xD1, 0xD3, 0x39, 0x64], bytes].concat();
    let length = u32::try_from(checked.len()).unwrap().to_be_bytes();
    let blob = [&length, checked.as_slice(), &crc32fast::hash(&checked).to_be_bytes()].concat();
    if let Ok(deleted) = decode_deletion_vector(&blob) {
        let live: u64 = deleted.live_ranges(ROWS).iter().map(|range| range.end - range.start).sum();
        assert!(live <= ROWS && live >= ROWS.saturating_sub(deleted.len()));
        assert_eq!(deleted.is_empty(), deleted.last().is_none());
    }
});
