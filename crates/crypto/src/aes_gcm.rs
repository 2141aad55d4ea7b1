//! AES-GCM ([NIST SP 800-38D]) for values that fit in memory: a random 12-byte nonce, the ciphertext, a 16-byte tag.
//!
//! ```text
//! nonce[12] | ciphertext | tag[16]
//! ```
//!
//! One key may seal 2^32 values, after which random nonces are likely enough to collide.
//!
//! [NIST SP 800-38D]: https://doi.org/10.6028/NIST.SP.800-38D

use std::fmt;

use zeroize::Zeroizing;

use crate::{
    error::{Detail, Error, Result},
    key::{KeyLength, SecretKey},
    provider::{self, PreparedKey, Unauthentic},
    random,
};

/// The nonce before the ciphertext, in bytes.
pub const NONCE_LENGTH: usize = provider::NONCE_LENGTH;
/// The tag after the ciphertext, in bytes.
pub const TAG_LENGTH: usize = provider::TAG_LENGTH;
/// How much longer the sealed bytes are than the plaintext.
pub const OVERHEAD: usize = NONCE_LENGTH + TAG_LENGTH;

/// Encrypts `plaintext` under a fresh random nonce and binds it to `aad`.
///
/// # Errors
///
/// [`ErrorKind::System`](crate::ErrorKind::System) if the operating system gives no random bytes.
pub fn seal(key: &SecretKey, plaintext: &[u8], aad: &[u8]) -> Result<Vec<u8>> {
    Cipher::new(key)?.seal(plaintext, aad)
}

/// Decrypts what [`seal`] made, if key and `aad` are the same.
///
/// # Errors
///
/// [`ErrorKind::Authentication`](crate::ErrorKind::Authentication) if they are not, or the bytes were altered;
/// [`ErrorKind::InvalidData`](crate::ErrorKind::InvalidData) for fewer bytes than a nonce and a tag.
pub fn open(key: &SecretKey, sealed: &[u8], aad: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
    Cipher::new(key)?.open(sealed, aad)
}

/// A key made ready once for many values.
pub struct Cipher {
    key: PreparedKey,
    length: KeyLength,
}

impl Cipher {
    /// Makes `key` ready.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the cryptographic library fails.
    pub fn new(key: &SecretKey) -> Result<Self> {
        Ok(Self { key: PreparedKey::new(key)?, length: key.length() })
    }

    /// See [`seal`].
    ///
    /// # Errors
    ///
    /// Those of [`seal`].
    pub fn seal(&self, plaintext: &[u8], aad: &[u8]) -> Result<Vec<u8>> {
        let mut sealed = Vec::with_capacity(plaintext.len() + OVERHEAD);
        sealed.extend_from_slice(&[0; NONCE_LENGTH]);
        sealed.extend_from_slice(plaintext);
        sealed.extend_from_slice(&[0; TAG_LENGTH]);
        self.seal_in_place(&mut sealed, aad)?;
        Ok(sealed)
    }

    /// See [`open`].
    ///
    /// # Errors
    ///
    /// Those of [`open`].
    pub fn open(&self, sealed: &[u8], aad: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        let mut plain = Zeroizing::new(sealed.to_vec());
        let length = self.open_in_place(&mut plain, aad)?.len();
        plain.truncate(length);
        Ok(plain)
    }

    /// Encrypts the middle of `sealed` where it lies. The first 12 bytes receive a fresh nonce, the last 16 the tag.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`](crate::ErrorKind::InvalidData) for fewer than 28 bytes, and those of [`seal`].
    pub fn seal_in_place(&self, sealed: &mut [u8], aad: &[u8]) -> Result<()> {
        let length = sealed.len();
        let too_short = || Error::from(Detail::SealedTooShort { length });
        let (nonce, rest) = sealed.split_first_chunk_mut().ok_or_else(too_short)?;
        let (text, tag) = rest.split_last_chunk_mut().ok_or_else(too_short)?;
        random::fill(nonce)?;
        *tag = self.key.seal(*nonce, aad, text)?;
        Ok(())
    }

    /// Decrypts `sealed` in its own memory and returns the plaintext, at its beginning.
    ///
    /// # Errors
    ///
    /// Those of [`open`]. `sealed` is of no use afterwards.
    pub fn open_in_place<'a>(&self, sealed: &'a mut [u8], aad: &[u8]) -> Result<&'a mut [u8]> {
        let too_short = Detail::SealedTooShort { length: sealed.len() };
        let (Some(nonce), Some(end)) = (sealed.first_chunk().copied(), sealed.len().checked_sub(OVERHEAD)) else {
            return Err(too_short.into());
        };
        let Some((text, tag)) = sealed.split_last_chunk_mut() else {
            return Err(too_short.into());
        };
        self.key.open(nonce, aad, *tag, text, NONCE_LENGTH).map_err(|Unauthentic| Detail::Sealed)?;
        Ok(&mut text[..end])
    }

    /// Decrypts `sealed` where it lies: the plaintext, which is returned, takes the place of the ciphertext, after the
    /// nonce. Nothing is moved, so this is the fastest.
    ///
    /// # Errors
    ///
    /// Those of [`open`]. `sealed` is of no use afterwards.
    pub fn open_where_it_lies<'a>(&self, sealed: &'a mut [u8], aad: &[u8]) -> Result<&'a mut [u8]> {
        let length = sealed.len();
        let too_short = || Error::from(Detail::SealedTooShort { length });
        let (nonce, rest) = sealed.split_first_chunk_mut().ok_or_else(too_short)?;
        let (text, tag) = rest.split_last_chunk_mut().ok_or_else(too_short)?;
        self.key.open(*nonce, aad, *tag, text, 0).map_err(|Unauthentic| Detail::Sealed)?;
        Ok(text)
    }

    /// The expanded key, for formats that place nonce and tag themselves.
    pub(crate) fn prepared(&self) -> &PreparedKey {
        &self.key
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cipher").field("length", &self.length).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::Index};

    use super::*;
    use crate::ErrorKind;

    proptest! {
        #[test]
        fn what_is_sealed_opens_with_the_same_key_and_aad_alone(
            plain in vec(any::<u8>(), 0..100),
            aad in vec(any::<u8>(), 0..20),
            at: Index,
        ) {
            let key = SecretKey::generate(KeyLength::Aes256).unwrap();
            let sealed = seal(&key, &plain, &aad).unwrap();
            prop_assert_eq!(sealed.len(), plain.len() + OVERHEAD);
            prop_assert_eq!(&*open(&key, &sealed, &aad).unwrap(), &plain);
            let cipher = Cipher::new(&key).unwrap();
            let mut in_place = sealed.clone();
            prop_assert_eq!(cipher.open_where_it_lies(&mut in_place, &aad).unwrap(), &plain);

            let mut flipped = sealed.clone();
            flipped[at.index(sealed.len())] ^= 1;
            let other = SecretKey::generate(KeyLength::Aes256).unwrap();
            let longer = [&aad[..], b"x"].concat();
            for result in [open(&key, &flipped, &aad), open(&other, &sealed, &aad), open(&key, &sealed, &longer)] {
                prop_assert_eq!(result.unwrap_err().kind(), ErrorKind::Authentication);
            }
        }
    }

    #[test]
    fn fewer_bytes_than_a_nonce_and_a_tag_are_refused() {
        let key = SecretKey::generate(KeyLength::Aes128).unwrap();
        for length in 0..OVERHEAD {
            assert_eq!(open(&key, &vec![0; length], b"").unwrap_err().kind(), ErrorKind::InvalidData);
        }
    }

    #[test]
    fn the_same_value_is_never_sealed_to_the_same_bytes() {
        let key = SecretKey::generate(KeyLength::Aes128).unwrap();
        assert_ne!(seal(&key, b"value", b"").unwrap(), seal(&key, b"value", b"").unwrap());
    }
}
