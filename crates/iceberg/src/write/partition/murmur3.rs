//! The 32-bit hash of the bucket transform: Murmur3, x86 variant, seed 0.
//!
//! <https://iceberg.apache.org/spec/#appendix-b-32-bit-hash-requirements>

const C1: u32 = 0xcc9e_2d51;
const C2: u32 = 0x1b87_3593;

/// Hashes bytes.
pub(crate) fn hash_bytes(bytes: &[u8]) -> i32 {
    let (words, tail) = bytes.as_chunks::<4>();
    let state = words.iter().fold(0, |state, word| {
        ((state ^ mix(u32::from_le_bytes(*word))).rotate_left(13)).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    let tail = tail.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    // The length is mixed in modulo 2^32.
    #[expect(clippy::cast_possible_truncation, reason = "the algorithm is defined on 32-bit lengths")]
    let length = bytes.len() as u32;
    finish(state ^ mix(tail) ^ length).cast_signed()
}

/// Hashes an integer, as do int, date, time and timestamp: by the eight bytes of a long.
pub(crate) fn hash_long(value: i64) -> i32 {
    hash_bytes(&value.to_le_bytes())
}

/// Hashes an unscaled decimal: by the fewest big-endian two's complement bytes that hold it.
pub(crate) fn hash_decimal(unscaled: i128) -> i32 {
    hash_bytes(&unscaled.to_be_bytes()[16 - minimal_length(unscaled)..])
}

/// How many bytes the two's complement form of a number needs.
pub(crate) fn minimal_length(number: i128) -> usize {
    let sign_bits = if number < 0 { number.leading_ones() } else { number.leading_zeros() };
    // One sign bit must stay.
    let bits = 128 - sign_bits + 1;
    bits.div_ceil(8) as usize
}

fn mix(word: u32) -> u32 {
    word.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2)
}

fn finish(mut hash: u32) -> u32 {
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Appendix B of the spec.
    #[test]
    fn the_spec_vectors_hold() {
        assert_eq!(hash_long(34), 2_017_239_379, "int and long 34");
        assert_eq!(hash_decimal(1420), -500_754_589, "decimal 14.20");
        assert_eq!(hash_long(17_486), -653_330_422, "date 2017-11-16");
        assert_eq!(hash_long(81_068_000_000), -662_762_989, "time 22:31:08");
        assert_eq!(hash_long(1_510_871_468_000_000), -2_047_944_441, "timestamp 2017-11-16T22:31:08");
        assert_eq!(hash_long(1_510_871_468_000_001), -1_207_196_810, "timestamp 2017-11-16T22:31:08.000001");
        assert_eq!(hash_bytes(b"iceberg"), 1_210_000_089, "string");
        let uuid = uuid::uuid!("f79c3e09-677c-4bbd-a479-3f349cb785e7");
        assert_eq!(hash_bytes(uuid.as_bytes()), 1_488_055_340, "uuid");
        assert_eq!(hash_bytes(&[0, 1, 2, 3]), -188_683_207, "fixed and binary");
    }

    #[test]
    fn decimals_are_hashed_by_their_fewest_bytes() {
        for (number, length) in
            [(0, 1), (127, 1), (128, 2), (-1, 1), (-128, 1), (-129, 2), (i128::MAX, 16), (i128::MIN, 16)]
        {
            assert_eq!(minimal_length(number), length, "{number}");
        }
    }
}
