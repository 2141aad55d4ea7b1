//! CRC-32C (Castagnoli, RFC 3720 appendix B.4), for bytes so few that speed does not matter.

pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ (POLYNOMIAL & (sum & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 3720, and the check value of the catalogue of CRCs.
    #[test]
    fn known_answers() {
        let ascending: Vec<u8> = (0..32).collect();
        for (bytes, sum) in [
            (&[][..], 0),
            (b"123456789", 0xE306_9283),
            (&[0; 32], 0x8A91_36AA),
            (&[0xFF; 32], 0x62A8_AB43),
            (&ascending, 0x46DD_794E),
        ] {
            assert_eq!(crc32c(bytes), sum, "{bytes:?}");
        }
    }
}
