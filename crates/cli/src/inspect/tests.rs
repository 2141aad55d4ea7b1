use lakelock_crypto::{KeyLength, SecretKey};
use proptest::prelude::*;

use super::*;

fn describe(bytes: Vec<u8>) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let storage = Storage::in_memory();
        storage.write("memory://t/file", bytes).await.unwrap();
        Subject::open(&storage, "memory://t/file").await.unwrap().describe().await.unwrap().into_json()
    })
}

#[test]
fn an_ags1_stream_tells_its_lengths() {
    let key = SecretKey::generate(KeyLength::Aes128).unwrap();
    for (plain, blocks) in [(0_u64, 1), (1, 1), (1 << 20, 1), ((1 << 20) + 1, 2)] {
        let stream = ags1::encrypt(&key, b"aad", &vec![7; usize::try_from(plain).unwrap()], 1).unwrap();
        let report = describe(stream.clone());
        assert_eq!((&report["plaintext_length"], &report["blocks"]), (&plain.into(), &blocks.into()));
        assert_eq!(report["stored_length"], stream.len());
    }
    let report = describe([b"AGS1".as_slice(), &[0; 8]].concat());
    assert!(report["damaged"].is_string(), "{report}");
}

#[test]
fn hex_dumps_show_text_where_there_is_some() {
    let dump = hex_dump(b"PARE\x00\xff0123456789ab");
    assert_eq!(dump[0], "00000000  50 41 52 45 00 ff 30 31  32 33 34 35 36 37 38 39  PARE..0123456789");
    assert_eq!(dump[1], format!("00000010  61 62{:45}ab", ""));
}

proptest! {
    /// Whatever is in a file, looking at it answers.
    #[test]
    fn arbitrary_files_are_described(
        magic in prop::sample::select(vec!["PARE", "PAR1", "AGS1", "Obj\u{1}", "PFA1", "{", "\u{1f}", ""]),
        body in prop::collection::vec(any::<u8>(), 0..200),
        length in any::<u32>(),
    ) {
        for footer in [length, length % 256] {
            let bytes = [magic.as_bytes(), &body, &footer.to_le_bytes(), magic.as_bytes()].concat();
            prop_assert!(describe(bytes)["format"].is_string());
        }
    }
}
