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
    Ring(ring::LessSafeKey),
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
        Ok(Self::Ring(ring::LessSafeKey::new(key)))
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

    match length {
        KeyLength::Aes192 => Library::AwsLc,
        KeyLength::Aes128 | KeyLength::Aes256 if ring_is_faster => Library::Ring,
        KeyLength::Aes128 | KeyLength::Aes256 => Library::AwsLc,
    }
}
