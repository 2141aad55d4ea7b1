//! Whatever the bytes: an error, or a value that is the same after encoding and decoding, never a panic.
#![no_main]

use lakelock_crypto::StandardKeyMetadata;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(metadata) = StandardKeyMetadata::decode(bytes) {
        assert!(StandardKeyMetadata::decode(&metadata.encode()).unwrap() == metadata);
    }
});
