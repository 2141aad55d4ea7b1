//! Secret keys as values that cannot leak by accident.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use crate::{
    error::{Detail, Error, Result},
    random,
};

/// The length of an AES key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum KeyLength {
    /// 16 bytes, the default of Iceberg.
    #[default]
    Aes128,
    /// 24 bytes.
    Aes192,
    /// 32 bytes.
    Aes256,
}

impl KeyLength {
    /// The length in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes192 => 24,
            Self::Aes256 => 32,
        }
    }
}

impl TryFrom<usize> for KeyLength {
    type Error = Error;

    fn try_from(bytes: usize) -> Result<Self> {
        match bytes {
            16 => Ok(Self::Aes128),
            24 => Ok(Self::Aes192),
            32 => Ok(Self::Aes256),
            length => Err(Detail::KeyLength { length }.into()),
        }
    }
}

/// An AES key: a DEK, a KEK or a master key.
///
/// It is wiped when dropped, prints as `[redacted]`, compares in constant time and shows its bytes only through
/// [`expose_secret`](Self::expose_secret). The bytes stay in one place of memory when the value moves.
///
/// It cannot be printed, or turned into text by any other road:
///
/// ```compile_fail,E0277
/// let key = lakelock_crypto::SecretKey::new(&[7; 16]).unwrap();
/// println!("{key}"); // SecretKey does not implement Display
/// ```
///
/// ```
/// let key = lakelock_crypto::SecretKey::new(&[7; 16]).unwrap();
/// assert_eq!(format!("{key:?}"), "SecretKey([redacted])");
/// ```
#[derive(Clone)]
pub struct SecretKey {
    bytes: Zeroizing<Box<[u8]>>,
    length: KeyLength,
}

impl SecretKey {
    /// Copies a key. Wiping the original is the caller's part.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) unless it has 16, 24 or 32 bytes.
    pub fn new(bytes: &[u8]) -> Result<Self> {
        let length = KeyLength::try_from(bytes.len())?;
        Ok(Self { bytes: Zeroizing::new(bytes.into()), length })
    }

    /// Draws a new key from the operating system.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the operating system gives no random bytes.
    pub fn generate(length: KeyLength) -> Result<Self> {
        let mut bytes = Zeroizing::new(vec![0; length.bytes()].into_boxed_slice());
        random::fill(&mut bytes)?;
        Ok(Self { bytes, length })
    }

    /// The bytes of the key. Whatever receives them must neither show nor keep them.
    #[must_use]
    pub fn expose_secret(&self) -> &[u8] {
        &self.bytes
    }

    /// How long the key is.
    #[must_use]
    pub fn length(&self) -> KeyLength {
        self.length
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey([redacted])")
    }
}

impl PartialEq for SecretKey {
    fn eq(&self, other: &Self) -> bool {
        self.bytes.ct_eq(&other.bytes).into()
    }
}

impl Eq for SecretKey {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn only_the_lengths_of_aes_are_keys() {
        for length in 0..=64 {
            match SecretKey::new(&vec![1; length]) {
                Ok(key) => assert_eq!(key.length().bytes(), length),
                Err(error) => {
                    assert!(![16, 24, 32].contains(&length), "{length}");
                    assert_eq!(error.kind(), ErrorKind::InvalidInput);
                }
            }
        }
    }

    #[test]
    fn keys_are_equal_by_their_bytes() {
        let key = SecretKey::new(&[1; 16]).unwrap();
        assert_eq!(key, key.clone());
        assert_ne!(key, SecretKey::new(&[1; 24]).unwrap());
        assert_ne!(SecretKey::generate(KeyLength::Aes128).unwrap(), SecretKey::generate(KeyLength::Aes128).unwrap());
    }
}
