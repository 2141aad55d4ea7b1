use lakelock_crypto::{
    KeyLength, SecretKey, StandardKeyMetadata,
    ags1::{CIPHER_BLOCK_LENGTH, HEADER_LENGTH, PLAIN_BLOCK_LENGTH},
};
use lakelock_storage::{EncryptedReader, EncryptingWriter, ErrorKind, Storage, Written, write_encrypted};
use proptest::prelude::*;

use crate::Place;

const BLOCK: usize = PLAIN_BLOCK_LENGTH as usize;
const STORED_BLOCK: usize = CIPHER_BLOCK_LENGTH as usize;
const HEADER: usize = HEADER_LENGTH;

type Damage = Box<dyn Fn(&mut Vec<u8>)>;

fn text(length: usize) -> Vec<u8> {
    (0..251).cycle().take(length).collect()
}

fn key() -> StandardKeyMetadata {
    StandardKeyMetadata::generate(KeyLength::Aes128).unwrap()
}

async fn written(storage: &Storage, file: &str, plain: &[u8]) -> StandardKeyMetadata {
    let key = key();
    let Written { stored_length, .. } = write_encrypted(storage, file, &key, plain).await.unwrap();
    key.with_file_length(stored_length)
}

#[tokio::test]
async fn what_is_written_in_pieces_is_read_back() {
    for place in Place::all() {
        // Files of one chunk and of several, of which some end where a chunk does.
        for (length, piece) in [(0, 1), (5, 2), (BLOCK, BLOCK), (8 * BLOCK, 3 * BLOCK), (33 * BLOCK + 9, 5 * BLOCK + 1)]
        {
            for threads in [1, 2] {
                let file = place.at(&format!("{length}-{threads}"));
                let (key, plain) = (key(), text(length));
                let mut writer = EncryptingWriter::create(&place.storage, &file, &key).unwrap().with_threads(threads);
                for piece in plain.chunks(piece) {
                    writer.write(piece).await.unwrap();
                }
                assert!(!place.storage.exists(&file).await.unwrap(), "it is there before it is closed");
                let written = writer.close().await.unwrap();
                assert_eq!(written.plain_length, length as u64);
                assert_eq!(place.storage.length(&file).await.unwrap(), written.stored_length);

                let key = key.with_file_length(written.stored_length);
                let reader = EncryptedReader::open(&place.storage, &file, &key).unwrap().with_threads(threads);
                assert!(reader.read_all().await.unwrap() == plain, "{length} bytes");
            }
        }
    }
}

#[tokio::test]
async fn a_writer_that_is_not_closed_leaves_no_file() {
    for place in Place::all() {
        for length in [10, 20 * BLOCK] {
            let mut writer = EncryptingWriter::create(&place.storage, &place.at("f"), &key()).unwrap();
            writer.write(&text(length)).await.unwrap();
            drop(writer);
            // The clean-up is a task of its own.
            while place.file_count().await > 0 {
                tokio::task::yield_now().await;
            }
        }
    }
}

#[tokio::test]
async fn a_new_file_does_not_replace_another() {
    for place in Place::all() {
        let file = place.at("f");
        let first = written(&place.storage, &file, b"first").await;
        let error = write_encrypted(&place.storage, &file, &key(), b"second").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        let mut writer = EncryptingWriter::create(&place.storage, &file, &key()).unwrap();
        writer.write(b"third").await.unwrap();
        assert_eq!(writer.close().await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        let mut writer = EncryptingWriter::create(&place.storage, &file, &key()).unwrap();
        assert_eq!(writer.write(&text(9 * BLOCK)).await.unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(writer.write(b"more").await.unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(writer.close().await.unwrap_err().kind(), ErrorKind::InvalidInput);
        let reader = EncryptedReader::open(&place.storage, &file, &first).unwrap();
        assert_eq!(reader.read_all().await.unwrap(), "first");
    }
}

#[tokio::test]
async fn a_range_is_read_without_the_blocks_around_it() {
    for place in Place::all() {
        let file = place.at("f");
        let plain = text(4 * BLOCK + 100);
        let key = written(&place.storage, &file, &plain).await;

        // Blocks 1 and 2 are whole, everything else is gone.
        let mut stored = place.storage.read(&file).await.unwrap().to_vec();
        stored[..HEADER + STORED_BLOCK].fill(0);
        stored[HEADER + 3 * STORED_BLOCK..].fill(0);
        place.storage.write(&file, stored).await.unwrap();

        let reader = EncryptedReader::open(&place.storage, &file, &key).unwrap();
        for range in [BLOCK..BLOCK + 1, 2 * BLOCK - 1..2 * BLOCK + 1, BLOCK..3 * BLOCK, 3 * BLOCK - 5..3 * BLOCK] {
            let read = reader.read_range(range.start as u64..range.end as u64).await.unwrap();
            assert!(read == plain[range.clone()], "{range:?}");
        }
        for range in [BLOCK - 1..BLOCK + 1, 3 * BLOCK - 1..3 * BLOCK + 1, 0..1] {
            let error = reader.read_range(range.start as u64..range.end as u64).await.unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Authentication | ErrorKind::InvalidData), "{range:?}: {error}");
        }
    }
}

#[tokio::test]
async fn a_damaged_file_is_an_error_that_names_it() {
    let block = HEADER..HEADER + STORED_BLOCK;
    let whole = HEADER + 2 * STORED_BLOCK + 28 + 7;
    let flip = |at: usize| Box::new(move |stored: &mut Vec<u8>| stored[at] ^= 1) as Damage;
    let cut = |length: usize| Box::new(move |stored: &mut Vec<u8>| stored.truncate(length)) as Damage;
    let cases = [
        ("a flipped magic", flip(0), ErrorKind::InvalidData),
        ("a flipped block length", flip(5), ErrorKind::InvalidData),
        ("a flipped nonce", flip(HEADER), ErrorKind::Authentication),
        ("a flipped byte", flip(HEADER + 100), ErrorKind::Authentication),
        ("a flipped tag", flip(block.end - 1), ErrorKind::Authentication),
        ("a flipped last byte", flip(whole - 1), ErrorKind::Authentication),
        ("nothing", cut(0), ErrorKind::InvalidData),
        ("a header", cut(HEADER), ErrorKind::InvalidData),
        ("less than the shortest", cut(35), ErrorKind::InvalidData),
        ("cut in a block", cut(block.end - 3), ErrorKind::InvalidData),
        ("cut after a block", cut(block.end), ErrorKind::InvalidData),
        ("cut after two blocks", cut(block.end + STORED_BLOCK), ErrorKind::InvalidData),
        ("cut by a byte", cut(whole - 1), ErrorKind::InvalidData),
        ("extended by a byte", Box::new(|stored: &mut Vec<u8>| stored.push(0)) as Damage, ErrorKind::InvalidData),
        (
            "extended by a block",
            Box::new(|stored: &mut Vec<u8>| stored.extend_from_within(HEADER..HEADER + STORED_BLOCK)) as Damage,
            ErrorKind::InvalidData,
        ),
        (
            "swapped blocks",
            Box::new(|stored: &mut Vec<u8>| {
                let (first, second) = stored[HEADER..].split_at_mut(STORED_BLOCK);
                first.swap_with_slice(&mut second[..STORED_BLOCK]);
            }) as Damage,
            ErrorKind::Authentication,
        ),
    ];
    for place in Place::all() {
        let original = place.at("original");
        let key = written(&place.storage, &original, &text(2 * BLOCK + 7)).await;
        let stored = place.storage.read(&original).await.unwrap();
        assert_eq!(stored.len(), whole);
        for (what, damage, kind) in &cases {
            let file = place.at("damaged");
            let mut damaged = stored.to_vec();
            damage(&mut damaged);
            place.storage.write(&file, damaged).await.unwrap();
            let reader = EncryptedReader::open(&place.storage, &file, &key).unwrap();
            let error = reader.read_all().await.unwrap_err();
            assert_eq!((error.kind(), error.location()), (*kind, file.as_str()), "{what}: {error}");
            if what.starts_with("extended") {
                let error = reader.read_range(BLOCK as u64..BLOCK as u64 + 1).await.unwrap_err();
                assert_eq!((error.kind(), error.location()), (*kind, file.as_str()), "{what}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn key_metadata_of_another_file_does_not_open_it() {
    let place = Place::memory();
    let (one, other) = (place.at("one"), place.at("other"));
    let key = written(&place.storage, &one, b"some text").await;
    let other_key = written(&place.storage, &other, b"some text").await;
    let length = key.file_length().unwrap();
    let prefix = |prefix: &StandardKeyMetadata| Some(prefix.aad_prefix().to_vec());
    let new = |key: &StandardKeyMetadata, prefix| {
        StandardKeyMetadata::new(key.encryption_key().clone(), prefix).with_file_length(length)
    };
    let cases = [
        ("another key", new(&other_key, prefix(&key))),
        ("another prefix", new(&key, prefix(&other_key))),
        ("no prefix", new(&key, None)),
        ("a longer key", {
            let key32 = SecretKey::generate(KeyLength::Aes256).unwrap();
            StandardKeyMetadata::new(key32, prefix(&key)).with_file_length(length)
        }),
    ];
    for (what, metadata) in cases {
        let reader = EncryptedReader::open(&place.storage, &one, &metadata).unwrap();
        assert_eq!(reader.read_all().await.unwrap_err().kind(), ErrorKind::Authentication, "{what}");
    }
}

#[tokio::test]
async fn a_length_is_needed_and_must_be_possible() {
    let place = Place::local();
    let file = place.at("f");
    let key = written(&place.storage, &file, b"some text").await;
    let without = StandardKeyMetadata::new(key.encryption_key().clone(), Some(key.aad_prefix().to_vec()));
    for metadata in [without.clone(), without.clone().with_file_length(8), without.clone().with_file_length(35)] {
        let error = EncryptedReader::open(&place.storage, &file, &metadata).unwrap_err();
        assert_eq!((error.kind(), error.location()), (ErrorKind::InvalidData, file.as_str()));
    }
    // A forged length takes no memory.
    let forged = without.with_file_length(HEADER_LENGTH as u64 + (1 << 30) * u64::from(CIPHER_BLOCK_LENGTH));
    let reader = EncryptedReader::open(&place.storage, &file, &forged).unwrap();
    assert_eq!(reader.read_all().await.unwrap_err().kind(), ErrorKind::InvalidData);
    assert_eq!(reader.read_range(1 << 40..1 << 45).await.unwrap_err().kind(), ErrorKind::InvalidData);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_range_of_any_file_is_the_same_range_of_the_plaintext(
        length in 0..3 * BLOCK,
        (start, end) in (0..3 * BLOCK, 0..3 * BLOCK),
    ) {
        let (start, end) = (start.min(end).min(length), start.max(end).min(length));
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            let place = Place::memory();
            let plain = text(length);
            let key = written(&place.storage, &place.at("f"), &plain).await;
            let reader = EncryptedReader::open(&place.storage, &place.at("f"), &key).unwrap();
            let read = reader.read_range(start as u64..end as u64).await.unwrap();
            assert!(read == plain[start..end]);
            let beyond = reader.read_range(start as u64..length as u64 + 1).await.unwrap_err();
            assert_eq!(beyond.kind(), ErrorKind::InvalidInput);
        });
    }
}
