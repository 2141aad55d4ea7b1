//! Whatever the types and the bytes: an error or values that lie in the row one after the other, never a panic.
#![no_main]

use lakelock_ducklake::{RowLayout, bigint, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<String>, Vec<u8>)| {
    let (types, row) = input;
    let Ok(layout) = RowLayout::new(types.iter().map(String::as_str)) else { return };
    let Ok(values) = layout.values(&row) else { return };
    assert_eq!(values.len(), types.len());
    let mut from = row.as_ptr();
    for value in values.into_iter().flatten() {
        assert!(from < value.as_ptr() && value.as_ptr_range().end <= row.as_ptr_range().end);
        from = value.as_ptr_range().end;
        let _ = (bigint(value), text(value));
    }
});
