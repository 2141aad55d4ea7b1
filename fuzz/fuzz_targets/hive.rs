//! Whatever a metastore answers: an answer or an error, never a panic, and no more memory than it has sent.
#![no_main]

use lakelock_catalog::is_answer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, Vec<u8>)| {
    let (kind, bytes) = input;
    let _ = is_answer(&bytes);
    // Up to the fields of the answer all is well: a version, a kind, an empty name and a number.
    let head = [0x80, 1, 0, kind % 4, 0, 0, 0, 0, 0, 0, 0, 0];
    let _ = is_answer(&[&head[..], &bytes].concat());
});
