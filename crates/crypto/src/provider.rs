//! The choice between `ring` and `aws-lc-rs`, and what both are asked to do.
//!
//! Both are linked in any case. Which one is faster depends on the processor and is known only at run time; AES-192
//! is in `aws-lc-rs` alone. Nothing else in the crate knows that there are two.

use aws_lc_rs::aead as aws;
use ring::aead as ring;

use crate::{
    error::{Detail, Result},
    key::{KeyLength, SecretKey},
};

/// The nonce of AES-GCM, in bytes.
pub(crate) const NONCE_LENGTH: usize = 12;
/// The tag of AES-GCM, in bytes.
pub(crate) const TAG_LENGTH: usize = 16;

/// A nonce, unique for its key.
pub(crate) type Nonce = [u8; NONCE_LENGTH];
/// The tag that authenticates a ciphertext and its associated data.
pub(crate) type Tag = [u8; TAG_LENGTH];

/// The bytes cannot be authenticated. The caller knows which they are.
#[derive(Debug)]
pub(crate) struct Unauthentic;

/// An expanded key of whichever library is faster here.
///
/// `aws-lc-rs` wipes the expanded key when it is dropped, `ring` does not offer to.
pub(crate) enum PreparedKey {
    AwsLc(aws::LessSafeKey),
    Ring(Box<ring::LessSafeKey>),
}

impl PreparedKey {
    /// Expands `key` for the faster library.
    pub(crate) fn new(key: &SecretKey) -> Result<Self> {
        Self::with_library(faster_library(key.length()), key)
    }

    fn with_library(library: Library, key: &SecretKey) -> Result<Self> {
        let bytes = key.expose_secret();
        match (library, key.length()) {
            (Library::Ring, KeyLength::Aes128) => Self::ring(&ring::AES_128_GCM, bytes),
            (Library::Ring, KeyLength::Aes256) => Self::ring(&ring::AES_256_GCM, bytes),
            (Library::AwsLc, KeyLength::Aes128) => Self::aws_lc(&aws::AES_128_GCM, bytes),
            (_, KeyLength::Aes192) => Self::aws_lc(&aws::AES_192_GCM, bytes),
            (Library::AwsLc, KeyLength::Aes256) => Self::aws_lc(&aws::AES_256_GCM, bytes),
        }
    }

    fn ring(algorithm: &'static ring::Algorithm, bytes: &[u8]) -> Result<Self> {
        let key = ring::UnboundKey::new(algorithm, bytes).map_err(|_| Detail::Cipher)?;
        Ok(Self::Ring(Box::new(ring::LessSafeKey::new(key))))
    }

    fn aws_lc(algorithm: &'static aws::Algorithm, bytes: &[u8]) -> Result<Self> {
        let key = aws::UnboundKey::new(algorithm, bytes).map_err(|_| Detail::Cipher)?;
        Ok(Self::AwsLc(aws::LessSafeKey::new(key)))
    }

    /// Encrypts `in_out` where it lies.
    pub(crate) fn seal(&self, nonce: Nonce, aad: &[u8], in_out: &mut [u8]) -> Result<Tag> {
        let mut bytes = [0; TAG_LENGTH];
        match self {
            Self::AwsLc(key) => {
                let nonce = aws::Nonce::assume_unique_for_key(nonce);
                let tag =
                    key.seal_in_place_separate_tag(nonce, aws::Aad::from(aad), in_out).map_err(|_| Detail::Cipher)?;
                bytes.copy_from_slice(tag.as_ref());
            }
            Self::Ring(key) => {
                let nonce = ring::Nonce::assume_unique_for_key(nonce);
                let tag =
                    key.seal_in_place_separate_tag(nonce, ring::Aad::from(aad), in_out).map_err(|_| Detail::Cipher)?;
                bytes.copy_from_slice(tag.as_ref());
            }
        }
        Ok(bytes)
    }

    /// Decrypts the ciphertext that fills `in_out` from `start` on, and leaves the plaintext at the beginning of `in_out`.
    ///
    /// `ring` decrypts and moves in one pass; `aws-lc-rs` needs a second one if `start` is not 0.
    pub(crate) fn open(
        &self,
        nonce: Nonce,
        aad: &[u8],
        tag: Tag,
        in_out: &mut [u8],
        start: usize,
    ) -> std::result::Result<(), Unauthentic> {
        match self {
            Self::AwsLc(key) => {
                let nonce = aws::Nonce::assume_unique_for_key(nonce);
                let ciphertext = in_out.get_mut(start..).ok_or(Unauthentic)?;
                key.open_in_place_separate_tag(nonce, aws::Aad::from(aad), &tag, ciphertext)
                    .map_err(|_| Unauthentic)?;
                if start > 0 {
                    in_out.copy_within(start.., 0);
                }
            }
            Self::Ring(key) => {
                let nonce = ring::Nonce::assume_unique_for_key(nonce);
                key.open_in_place_separate_tag(nonce, ring::Aad::from(aad), tag.into(), in_out, start..)
                    .map_err(|_| Unauthentic)?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Library {
    AwsLc,
    Ring,
}

/// Measured on 1 MiB blocks: with VAES in 256-bit registers `ring` is about twice as fast as `aws-lc-rs`, with AVX-512
/// `aws-lc-rs` is ahead by a fifth. Without VAES both run the same kernels. On 64-bit ARM `aws-lc-rs` has the newer ones.
fn faster_library(length: KeyLength) -> Library {
    #[cfg(target_arch = "x86_64")]
    let ring_is_faster = !(std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512bw")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("vaes")
        && std::arch::is_x86_feature_detected!("vpclmulqdq"));
    #[cfg(not(target_arch = "x86_64"))]
    let ring_is_faster = false;

    if ring_is_faster && length != KeyLength::Aes192 { Library::Ring } else { Library::AwsLc }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test cases of the paper that defines GCM with nonces of 96 bits, part of what was given to NIST:
    /// key, nonce, plaintext, AAD, ciphertext, tag.
    const VECTORS: [[&str; 6]; 9] = [
        ["00000000000000000000000000000000", ZERO_NONCE, "", "", "", "58e2fccefa7e3061367f1d57a4e7455a"],
        [
            "00000000000000000000000000000000",
            ZERO_NONCE,
            "00000000000000000000000000000000",
            "",
            "0388dace60b6a392f328c2b971b2fe78",
            "ab6e47d42cec13bdf53a67b21257bddf",
        ],
        [
            "feffe9928665731c6d6a8f9467308308",
            NONCE,
            PLAIN,
            AAD,
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac97\
             3d58e091",
            "5bc94fbc3221a5db94fae95ae7121a47",
        ],
        [
            "000000000000000000000000000000000000000000000000",
            ZERO_NONCE,
            "",
            "",
            "",
            "cd33b28ac773f74ba00ed1f312572435",
        ],
        [
            "000000000000000000000000000000000000000000000000",
            ZERO_NONCE,
            "00000000000000000000000000000000",
            "",
            "98e7247c07f0fe411c267e4384b0f600",
            "2ff58d80033927ab8ef4d4587514f0fb",
        ],
        [
            "feffe9928665731c6d6a8f9467308308feffe9928665731c",
            NONCE,
            PLAIN,
            AAD,
            "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9\
             ccda2710",
            "2519498e80f1478f37ba55bd6d27618c",
        ],
        [
            "0000000000000000000000000000000000000000000000000000000000000000",
            ZERO_NONCE,
            "",
            "",
            "",
            "530f8afbc74536b9a963b4f1c4cb738b",
        ],
        [
            "0000000000000000000000000000000000000000000000000000000000000000",
            ZERO_NONCE,
            "00000000000000000000000000000000",
            "",
            "cea7403d4d606b6e074ec5d3baf39d18",
            "d0d1c8a799996bf0265b98b5d48ab919",
        ],
        [
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            NONCE,
            PLAIN,
            AAD,
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0a\
             bcc9f662",
            "76fc6ece0f4e1768cddf8853bb2d551b",
        ],
    ];
    const ZERO_NONCE: &str = "000000000000000000000000";
    const NONCE: &str = "cafebabefacedbaddecaf888";
    const PLAIN: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5\
                         aa0de657ba637b39";
    const AAD: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";

    fn libraries(key: &SecretKey) -> Vec<PreparedKey> {
        // AES-192 is never asked of ring.
        [Library::AwsLc, Library::Ring].map(|library| PreparedKey::with_library(library, key).unwrap()).into()
    }

    #[test]
    fn both_libraries_give_the_published_results() {
        for vector in VECTORS {
            let [key, nonce, plain, aad, ciphertext, tag] = vector.map(|field| hex::decode(field).unwrap());
            let (nonce, tag) = (nonce.try_into().unwrap(), tag.try_into().unwrap());
            for prepared in libraries(&SecretKey::new(&key).unwrap()) {
                let mut text = plain.clone();
                assert_eq!(prepared.seal(nonce, &aad, &mut text).unwrap(), tag);
                assert_eq!(text, ciphertext);
                // Where it lies, and moved to the front.
                for start in [0, 1, 12, 300] {
                    let mut memory = [&vec![9; start][..], &ciphertext].concat();
                    prepared.open(nonce, &aad, tag, &mut memory, start).unwrap();
                    assert_eq!(memory[..plain.len()], plain);
                }
            }
        }
    }

    #[test]
    fn any_change_is_noticed_by_both_libraries() {
        for vector in [VECTORS[2], VECTORS[5], VECTORS[8]] {
            let [key, nonce, _, aad, ciphertext, tag] = vector.map(|field| hex::decode(field).unwrap());
            let parts = [key, nonce, aad, ciphertext, tag];
            for (part, bytes) in parts.iter().enumerate() {
                for at in 0..bytes.len() {
                    let mut changed = parts.clone();
                    changed[part][at] ^= 0x80;
                    let [key, nonce, aad, mut text, tag] = changed;
                    for prepared in libraries(&SecretKey::new(&key).unwrap()) {
                        let (nonce, tag) = (nonce[..].try_into().unwrap(), tag[..].try_into().unwrap());
                        assert!(prepared.open(nonce, &aad, tag, &mut text, 0).is_err(), "byte {at} of part {part}");
                    }
                }
            }
        }
    }
}
