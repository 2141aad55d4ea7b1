use super::*;
use crate::{ErrorKind, SecretKey};

#[test]
fn a_stream_of_real_blocks_comes_back() {
    let key = SecretKey::new(&[7; 16]).unwrap();
    let mib = PLAIN_BLOCK_LENGTH as usize;
    for length in [0, 1, mib - 1, mib, mib + 1, 3 * mib + 5] {
        let plain: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        for threads in [1, 3] {
            let stream = encrypt(&key, b"prefix", &plain, threads).unwrap();
            let layout = Layout::from_stored_length(stream.len() as u64).unwrap();
            assert_eq!(layout.plain_length(), length as u64);
            let decryptor = Decryptor::new(&key, b"prefix", layout).unwrap();
            assert!(
                decryptor.decrypt(stream.clone(), threads).unwrap() == plain,
                "{length} bytes on {threads} threads"
            );
            let other = Decryptor::new(&key, b"prefiy", layout).unwrap();
            assert_eq!(other.decrypt(stream, threads).unwrap_err().kind(), ErrorKind::Authentication);
        }
    }
}
