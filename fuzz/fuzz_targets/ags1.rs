//! Whatever the stored bytes, the length and the range: an error or the plaintext of a real stream, never a panic.
#![no_main]

use lakelock_crypto::{
    SecretKey,
    ags1::{Decryptor, Layout, encrypt},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u64, u64, u64, bool, Vec<u8>)| {
    let (length, start, end, genuine, bytes) = input;
    let key = SecretKey::new(&[7; 16]).unwrap();
    let stored = if genuine { encrypt(&key, b"prefix", &bytes, 1).unwrap() } else { bytes.clone() };
    let length = if genuine { stored.len() as u64 } else { length };
    let Ok(layout) = Layout::from_stored_length(length) else { return };
    assert_eq!(layout.stored_length(), length);
    let blocks = layout.blocks_of(start..end);
    assert!(layout.stored_range(blocks.clone()).end <= length);
    assert!(layout.plain_range(blocks.clone()).end <= layout.plain_length());

    let decryptor = Decryptor::new(&key, b"prefix", layout).unwrap();
    let mut memory = stored.clone();
    assert!(memory.is_empty() || decryptor.decrypt_blocks(blocks.start, &mut memory, 1).is_err());
    let result = decryptor.decrypt(stored, 2);
    assert_eq!(result.is_ok(), genuine);
    assert!(!genuine || result.unwrap() == bytes);
});
