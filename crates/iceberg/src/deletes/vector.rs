//! Deletion vectors: the Puffin blob `deletion-vector-v1`.
//!
//! ```text
//! length   u32, big-endian   of magic and bitmap
//! magic    D1 D3 39 64
//! bitmap   64-bit roaring bitmap, portable form: a u64 count, then for each group of positions with the same high
//!          half that half as u32, ascending, and a 32-bit roaring bitmap of the low halves; all little-endian
//! CRC-32   u32, big-endian   of magic and bitmap
//! ```
//!
//! A manifest says where in a Puffin file the blob lies, so that the file's footer is not needed.
//! <https://iceberg.apache.org/puffin-spec/#deletion-vector-v1-blob-type>.

use lakelock_crypto::StandardKeyMetadata;
use roaring::{RoaringBitmap, RoaringTreemap};

use super::DeletedRows;
use crate::encryption::EncryptingFileIO;
use crate::manifest::DataFile;
use crate::{Error, ErrorKind, Result};

const MAGIC: [u8; 4] = [0xD1, 0xD3, 0x39, 0x64];
const COUNT_LENGTH: usize = size_of::<u64>();
/// The least that a whole blob takes: its length, its magic, an empty bitmap and its checksum.
const MIN_LENGTH: usize = 4 + MAGIC.len() + COUNT_LENGTH + 4;

/// Reads the deletion vector that `vector` describes, for a data file of so many rows.
///
/// Only its part of the file is read.
///
/// # Errors
/// [`ErrorKind::InvalidData`] naming the file when the vector is damaged or forged, holds another number of rows than
/// its manifest says, or rows that the data file does not have; errors of reading the file.
pub async fn read_deletion_vector(
    io: &EncryptingFileIO,
    vector: &DataFile,
    key: Option<&StandardKeyMetadata>,
    rows: u64,
) -> Result<DeletedRows> {
    let location = vector.file_path.as_str();
    let offset = vector.content_offset.and_then(|offset| u64::try_from(offset).ok());
    let length = vector.content_size_in_bytes.and_then(|length| u64::try_from(length).ok());
    let end = offset.zip(length).and_then(|(offset, length)| offset.checked_add(length));
    let (Some(start), Some(end)) = (offset, end) else {
        let message = format!("the manifest entry of the deletion vector in {location} does not say where it lies");
        return Err(Error::new(ErrorKind::InvalidData, message));
    };
    let invalid = |why: String| {
        let target = vector.referenced_data_file.as_deref().unwrap_or("an unknown file");
        let message = format!("the deletion vector of {target} in {location} (bytes {start}..{end}) {why}");
        Error::new(ErrorKind::InvalidData, message)
    };
    let blob = io.read_range(location, key, start..end).await?;
    let deleted = decode_deletion_vector(&blob).map_err(|e| invalid("is damaged".to_owned()).with_source(e))?;
    if deleted.len() != vector.record_count {
        return Err(invalid(format!("has {} rows, but its manifest says {}", deleted.len(), vector.record_count)));
    }
    match deleted.last() {
        Some(last) if last >= rows => {
            Err(invalid(format!("deletes row {last}, but the file has only {rows} rows (counted from 0)")))
        }
        _ => Ok(deleted),
    }
}

/// Decodes a blob.
///
/// # Errors
/// [`ErrorKind::InvalidData`] for anything but a whole, canonical blob with a right checksum.
pub fn decode_deletion_vector(blob: &[u8]) -> Result<DeletedRows> {
    let damaged = |why: &str| Error::new(ErrorKind::InvalidData, why);
    if blob.len() < MIN_LENGTH {
        return Err(damaged("it is cut off"));
    }
    let number = |at: usize| blob.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes);
    let checked = &blob[4..blob.len() - 4];
    if number(0).map(u64::from) != Some(checked.len() as u64) {
        return Err(damaged("its length is another than it says itself"));
    }
    let Some(bitmap) = checked.strip_prefix(&MAGIC) else {
        return Err(damaged("it does not start as a deletion vector does"));
    };
    if number(blob.len() - 4) != Some(crc32fast::hash(checked)) {
        return Err(damaged("its checksum is wrong"));
    }
    decode_bitmap(bitmap).map(DeletedRows::new)
}

fn decode_bitmap(mut bytes: &[u8]) -> Result<RoaringTreemap> {
    let damaged = |why: &str| Error::new(ErrorKind::InvalidData, format!("its bitmap is damaged: {why}"));
    let cut_off = || damaged("it is cut off");
    let count = u64::from_le_bytes(*take(&mut bytes).ok_or_else(cut_off)?);
    // The crate's own decoder would let a later group replace an earlier one of the same key: a dropped delete.
    let (mut groups, mut last) = (Vec::new(), None);
    for _ in 0..count {
        let key = u32::from_le_bytes(*take(&mut bytes).ok_or_else(cut_off)?);
        if last.replace(key).is_some_and(|last| last >= key) {
            return Err(damaged("its groups are not in order"));
        }
        let group = RoaringBitmap::deserialize_from(&mut bytes).map_err(|e| damaged("a group of it").with_source(e))?;
        // Java writes one for each high half up to the greatest, empty or not.
        if !group.is_empty() {
            groups.push((key, group));
        }
    }
    if !bytes.is_empty() {
        return Err(damaged("something follows it"));
    }
    Ok(RoaringTreemap::from_bitmaps(groups))
}

fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (head, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(head)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn blob(bitmap: &[u8]) -> Vec<u8> {
        let checked = [&MAGIC, bitmap].concat();
        let length = u32::try_from(checked.len()).unwrap().to_be_bytes();
        [&length, checked.as_slice(), &crc32fast::hash(&checked).to_be_bytes()].concat()
    }

    fn bitmap(positions: &RoaringTreemap) -> Vec<u8> {
        let mut bytes = Vec::new();
        positions.serialize_into(&mut bytes).unwrap();
        bytes
    }

    fn group(key: u32, positions: &[u32]) -> Vec<u8> {
        let mut bytes = key.to_le_bytes().to_vec();
        positions.iter().collect::<RoaringBitmap>().serialize_into(&mut bytes).unwrap();
        bytes
    }

    /// Single positions, dense runs, and positions beyond 32 bits.
    fn positions() -> impl Strategy<Value = RoaringTreemap> {
        let range = (0_u64..1 << 34, 1_u64..70_000).prop_map(|(start, length)| (start..start + length).collect());
        let single = proptest::collection::vec(0_u64..1 << 34, 0..50).prop_map(|some| some.into_iter().collect());
        proptest::collection::vec(prop_oneof![range, single], 0..4)
            .prop_map(|sets: Vec<RoaringTreemap>| sets.into_iter().fold(RoaringTreemap::new(), |all, set| all | set))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_was_written_is_read(positions in positions()) {
            prop_assert_eq!(decode_deletion_vector(&blob(&bitmap(&positions))).unwrap(), DeletedRows::new(positions));
        }

        #[test]
        fn a_damaged_blob_is_an_error(positions in positions(), at in any::<prop::sample::Index>(), bit in 0_u8..8) {
            let whole = blob(&bitmap(&positions));
            let at = at.index(whole.len());
            let mut flipped = whole.clone();
            flipped[at] ^= 1_u8 << bit;
            prop_assert!(decode_deletion_vector(&flipped).is_err());
            prop_assert!(decode_deletion_vector(&whole[..at]).is_err());
            prop_assert!(decode_deletion_vector(&[whole.as_slice(), &[0]].concat()).is_err());
        }

        #[test]
        fn a_damaged_bitmap_with_a_right_checksum_is_an_error_or_a_set(
            positions in positions(),
            at in any::<prop::sample::Index>(),
            byte: u8,
        ) {
            let mut bytes = bitmap(&positions);
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(deleted) = decode_deletion_vector(&blob(&bytes)) {
                let live: u64 = deleted.live_ranges(1 << 18).iter().map(|range| range.end - range.start).sum();
                prop_assert!(live >= (1_u64 << 18).saturating_sub(deleted.len()));
            }
        }
    }

    #[test]
    fn a_bitmap_that_is_not_canonical_is_an_error() {
        let count = |n: u64| n.to_le_bytes().to_vec();
        let (one, other) = (group(1, &[5]), group(1, &[9]));
        let cases = [
            ("same group twice", [count(2), one.clone(), other].concat()),
            ("groups out of order", [count(2), one.clone(), group(0, &[5])].concat()),
            ("more groups than there are", [count(u64::MAX), one.clone()].concat()),
            ("fewer groups than there are", [count(0), one.clone()].concat()),
            ("nothing", Vec::new()),
        ];
        for (what, bitmap) in cases {
            assert_eq!(decode_deletion_vector(&blob(&bitmap)).unwrap_err().kind(), ErrorKind::InvalidData, "{what}");
        }
        let whole = [count(2), group(0, &[]), one].concat();
        assert_eq!(decode_deletion_vector(&blob(&whole)).unwrap(), [(1 << 32) + 5].into_iter().collect());
    }
}
