//! With short blocks where many of them are wanted; the public format has blocks of 1 MiB alone.

#![expect(clippy::cast_possible_truncation, reason = "the streams are short")]

use proptest::{collection::vec, prelude::*, sample::Index};

use super::{encrypt::BlockEncryptor, *};
use crate::{ErrorKind, SecretKey};

/// Long enough for the gaps of 30 blocks, so that runs of blocks are decrypted side by side.
const BLOCK: u32 = 1024;
/// So short that they cannot be.
const SHORT_BLOCK: u32 = 32;

fn key() -> SecretKey {
    SecretKey::new(&[7; 24]).unwrap()
}

fn encrypted(plain: &[u8], block: u32, threads: usize) -> Vec<u8> {
    BlockEncryptor::with_block_length(&key(), b"prefix", block).unwrap().encrypt(plain, threads).unwrap()
}

fn layout(plain: &[u8], block: u32) -> Layout {
    Layout::from_plain_length_for(plain.len() as u64, block).unwrap()
}

fn decryptor(layout: Layout) -> Decryptor {
    Decryptor::new(&key(), b"prefix", layout).unwrap()
}

fn error_of(stored: &[u8], layout: Layout) -> ErrorKind {
    decryptor(layout).decrypt(stored.to_vec(), 1).unwrap_err().kind()
}

fn blocks() -> impl Strategy<Value = u32> {
    prop_oneof![Just(BLOCK), Just(SHORT_BLOCK)]
}

fn plaintext() -> impl Strategy<Value = Vec<u8>> {
    // Half of them end where a block does.
    prop_oneof![vec(any::<u8>(), 0..20_000), (0..20_usize, any::<u8>()).prop_map(|(n, byte)| vec![byte; n * 1024])]
}

proptest! {
    #[test]
    fn any_plaintext_comes_back(plain in plaintext(), block in blocks(), (one, other) in (0..5_usize, 0..5_usize)) {
        let stored = encrypted(&plain, block, one);
        let layout = Layout::from_stored_length_for(stored.len() as u64, block).unwrap();
        prop_assert_eq!(layout, self::layout(&plain, block));
        prop_assert_eq!(layout.stored_length(), stored.len() as u64);
        prop_assert_eq!(decryptor(layout).decrypt(stored, other).unwrap(), plain);
    }

    #[test]
    fn a_stream_made_in_pieces_is_the_same_stream(
        plain in plaintext(),
        block in blocks(),
        pieces in vec(any::<Index>(), 0..10),
        chunk_blocks in 0..7_usize,
        threads in 0..4_usize,
    ) {
        let encryptor = Encryptor::with_block_length(&key(), b"prefix", block).unwrap();
        let mut encryptor = encryptor.with_chunk_blocks(chunk_blocks).with_threads(threads);
        let mut ends: Vec<_> = pieces.iter().map(|end| end.index(plain.len() + 1)).chain([plain.len()]).collect();
        ends.sort_unstable();
        let (mut stored, mut start) = (Vec::new(), 0);
        for end in ends {
            let mut piece = &plain[start..end];
            while let Some(chunk) = encryptor.push(&mut piece).unwrap() {
                prop_assert!(chunk.len() <= HEADER_LENGTH + chunk_blocks.max(1) * (block as usize + 28));
                stored.extend(chunk);
            }
            start = end;
        }
        let Finished { chunk, layout } = encryptor.finish().unwrap();
        stored.extend(chunk);
        prop_assert_eq!(layout, self::layout(&plain, block));
        prop_assert_eq!(layout.stored_length(), stored.len() as u64);
        prop_assert_eq!(decryptor(layout).decrypt(stored, 1).unwrap(), plain);
    }

    #[test]
    fn any_range_needs_only_its_blocks(
        plain in plaintext(),
        block in blocks(),
        (a, b) in (0..25_000_u64, 0..25_000_u64),
        threads in 0..4_usize,
    ) {
        let stored = encrypted(&plain, block, 1);
        let layout = layout(&plain, block);
        let range = a.min(b)..a.max(b);
        let within = |position: u64| plain.len().min(position as usize);
        let wanted = &plain[within(range.start)..within(range.end)];

        let blocks = layout.blocks_of(range.clone());
        let held = layout.plain_range(blocks.clone());
        let place = layout.stored_range(blocks.clone());
        let mut memory = stored[place.start as usize..place.end as usize].to_vec();
        prop_assert_eq!(blocks.is_empty(), wanted.is_empty());
        if !wanted.is_empty() {
            // No block too many.
            prop_assert!(held.start <= range.start && range.start - held.start < u64::from(block));
            prop_assert!(held.end >= range.end.min(plain.len() as u64));
            prop_assert!(held.end - range.end.min(held.end) < u64::from(block));

            let mut scattered = memory.clone();
            decryptor(layout).decrypt_blocks_in_place(blocks.start, &mut scattered, threads).unwrap();
            let pieces = scattered.chunks(block as usize + 28).map(|piece| &piece[12..piece.len() - 16]);
            let together = decryptor(layout).decrypt_blocks(blocks.start, &mut memory, threads).unwrap();
            prop_assert_eq!(pieces.collect::<Vec<_>>().concat(), &*together);
            let skip = (range.start - held.start) as usize;
            prop_assert_eq!(&together[skip..skip + wanted.len()], wanted);
        }
    }

    #[test]
    fn any_flipped_bit_is_noticed(plain in vec(any::<u8>(), 0..200), at: Index, bit in 0..8, threads in 0..4_usize) {
        let mut stored = encrypted(&plain, SHORT_BLOCK, 1);
        let at = at.index(stored.len());
        stored[at] ^= 1_u8 << bit;
        let error = decryptor(layout(&plain, SHORT_BLOCK)).decrypt(stored, threads).unwrap_err();
        let expected = if at < HEADER_LENGTH { ErrorKind::InvalidData } else { ErrorKind::Authentication };
        prop_assert_eq!(error.kind(), expected);
    }

    #[test]
    fn arbitrary_bytes_are_an_error(stored in vec(any::<u8>(), 0..300), header: bool, length in 0..400_u64) {
        let stored = if header { [&layout::header(SHORT_BLOCK)[..], &stored].concat() } else { stored };
        if let Ok(layout) = Layout::from_stored_length_for(length, SHORT_BLOCK) {
            prop_assert!(decryptor(layout).decrypt(stored, 1).is_err());
        }
    }
}

#[test]
fn a_stream_of_real_blocks_comes_back() {
    let key = SecretKey::new(&[7; 16]).unwrap();
    let mib = PLAIN_BLOCK_LENGTH as usize;
    for length in [0, 1, mib - 1, mib, mib + 1, 7 * mib + 5] {
        let plain: Vec<u8> = (0..251).cycle().take(length).collect();
        for threads in [1, 3] {
            let stream = encrypt(&key, b"prefix", &plain, threads).unwrap();
            let layout = Layout::from_stored_length(stream.len() as u64).unwrap();
            assert_eq!(layout.plain_length(), length as u64);
            check_header(&stream).unwrap();
            let decryptor = Decryptor::new(&key, b"prefix", layout).unwrap();
            assert!(decryptor.decrypt(stream, threads).unwrap() == plain, "{length} bytes on {threads} threads");
        }
    }
}

#[test]
fn a_stored_length_is_valid_if_some_plaintext_has_it() {
    let stored = |plain| Layout::from_plain_length_for(plain, SHORT_BLOCK).unwrap().stored_length();
    let lengths: std::collections::BTreeMap<_, _> = (0..400).map(|plain| (stored(plain), plain)).collect();
    assert_eq!(lengths.len(), 400);
    for length in 0..stored(399) {
        match Layout::from_stored_length_for(length, SHORT_BLOCK) {
            Ok(layout) => assert_eq!(lengths.get(&length), Some(&layout.plain_length()), "{length}"),
            Err(error) => {
                assert_eq!((lengths.get(&length), error.kind()), (None, ErrorKind::InvalidData), "{length}");
            }
        }
    }
}

#[test]
fn absurd_lengths_are_refused() {
    let longest = 0x7fff_ffff * u64::from(PLAIN_BLOCK_LENGTH);
    let layout = Layout::from_plain_length(longest).unwrap();
    assert_eq!(Layout::from_stored_length(layout.stored_length()).unwrap(), layout);
    assert_eq!(layout.stored_range(0..u64::MAX), 8..layout.stored_length());
    for length in [layout.stored_length() + 29, u64::MAX] {
        assert_eq!(Layout::from_stored_length(length).unwrap_err().kind(), ErrorKind::InvalidData);
    }
    for length in [longest + 1, u64::MAX] {
        assert_eq!(Layout::from_plain_length(length).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_stream_shorter_than_the_shortest_is_refused() {
    // One peer writes 8 bytes for the empty stream, and reads them without a check.
    let empty = encrypted(b"", SHORT_BLOCK, 1);
    assert_eq!(empty.len(), MIN_STREAM_LENGTH);
    for length in 0..MIN_STREAM_LENGTH {
        assert_eq!(
            Layout::from_stored_length_for(length as u64, SHORT_BLOCK).unwrap_err().kind(),
            ErrorKind::InvalidData
        );
        assert_eq!(error_of(&empty[..length], layout(b"", SHORT_BLOCK)), ErrorKind::InvalidData, "{length}");
    }
}

#[test]
fn a_stream_that_was_cut_or_continued_is_noticed() {
    let block = SHORT_BLOCK as usize;
    for length in [0, 1, block, 2 * block, 2 * block + 3] {
        let plain = vec![1; length];
        let stored = encrypted(&plain, SHORT_BLOCK, 1);
        for cut in 0..stored.len() {
            assert_eq!(
                error_of(&stored[..cut], layout(&plain, SHORT_BLOCK)),
                ErrorKind::InvalidData,
                "{cut} of {length}"
            );
        }
        // What lies beyond the length does not count, whatever it is.
        let longer = [&stored[..], &stored, &[0; 100]].concat();
        assert_eq!(decryptor(layout(&plain, SHORT_BLOCK)).decrypt(longer.clone(), 1).unwrap(), plain);
        // A length that covers it does not make it part of the stream.
        for claimed in [length + 1, length + block] {
            let claimed = Layout::from_plain_length_for(claimed as u64, SHORT_BLOCK).unwrap();
            assert_eq!(error_of(&longer, claimed), ErrorKind::Authentication, "{length}");
        }
    }
}

#[test]
fn a_block_is_bound_to_its_place_and_its_stream() {
    let plain = vec![1; 3 * SHORT_BLOCK as usize];
    let stored = encrypted(&plain, SHORT_BLOCK, 1);
    let layout = layout(&plain, SHORT_BLOCK);
    let block = |index: u64| {
        let place = layout.stored_range(index..index + 1);
        stored[place.start as usize..place.end as usize].to_vec()
    };
    let header = || stored[..HEADER_LENGTH].to_vec();

    let swapped = [header(), block(0), block(2), block(1)].concat();
    assert_eq!(error_of(&swapped, layout), ErrorKind::Authentication);
    let repeated = [header(), block(0), block(0), block(2)].concat();
    assert_eq!(error_of(&repeated, layout), ErrorKind::Authentication);

    let cases = [("key", &[8; 24][..], &b"prefix"[..]), ("key", &[7; 16], b"prefix"), ("prefix", &[7; 24], b"prefiy")];
    for (what, key, prefix) in cases {
        let decryptor = Decryptor::new(&SecretKey::new(key).unwrap(), prefix, layout).unwrap();
        assert_eq!(decryptor.decrypt(stored.clone(), 1).unwrap_err().kind(), ErrorKind::Authentication, "{what}");
    }
}

#[test]
fn no_other_header_is_accepted() {
    let header = layout::header(PLAIN_BLOCK_LENGTH);
    check_header(&header).unwrap();
    for length in 0..header.len() {
        assert_eq!(check_header(&header[..length]).unwrap_err().kind(), ErrorKind::InvalidData);
    }
    for other in
        [*b"AGS2\0\0\x10\0", *b"PARE\0\0\x10\0", layout::header(BLOCK), layout::header(0), layout::header(u32::MAX)]
    {
        assert_eq!(check_header(&other).unwrap_err().kind(), ErrorKind::InvalidData);
    }
}

#[test]
fn memory_that_is_not_some_blocks_is_refused() {
    let plain = vec![1; 100];
    let layout = layout(&plain, SHORT_BLOCK);
    let stored = encrypted(&plain, SHORT_BLOCK, 1);
    for (first, length) in [(0, 59), (0, 61), (3, 33), (4, 60), (5, 0), (u64::MAX, 60)] {
        let mut memory = stored[HEADER_LENGTH..][..length].to_vec();
        let error = decryptor(layout).decrypt_blocks(first, &mut memory, 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{length} bytes of block {first}");
    }
    let encryptor = BlockEncryptor::with_block_length(&key(), b"", SHORT_BLOCK).unwrap();
    for (first, length) in [(0, 27), (0, 60 + 1), (u64::MAX, 60), (0x7fff_ffff, 60)] {
        let error = encryptor.encrypt_blocks(first, &mut vec![0; length], 1).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData),
            "{length} bytes of block {first}"
        );
    }
}

#[test]
fn no_two_blocks_have_the_same_nonce() {
    let stored = encrypted(&vec![1; 20_000], SHORT_BLOCK, 2);
    let nonces: std::collections::BTreeSet<_> = stored[HEADER_LENGTH..].chunks(60).map(|block| &block[..12]).collect();
    assert_eq!(nonces.len(), 625);
}
