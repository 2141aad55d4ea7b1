//! AES in counter mode ([NIST SP 800-38A]), for decryption alone: it keeps a secret and authenticates nothing, so nothing
//! is written in it.
//!
//! [NIST SP 800-38A]: https://doi.org/10.6028/NIST.SP.800-38A

use std::fmt;

use aws_lc_rs::cipher::{AES_128, AES_192, AES_256, DecryptingKey, DecryptionContext, UnboundCipherKey};

use crate::{
    error::{Detail, Result},
    key::{KeyLength, SecretKey},
};

/// The initial counter block, in bytes.
pub const COUNTER_LENGTH: usize = 16;

/// A key made ready once for many values.
pub struct Cipher {
    key: DecryptingKey,
    length: KeyLength,
}

impl Cipher {
    /// Makes `key` ready.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the cryptographic library fails.
    pub fn new(key: &SecretKey) -> Result<Self> {
        let algorithm = match key.length() {
            KeyLength::Aes128 => &AES_128,
            KeyLength::Aes192 => &AES_192,
            KeyLength::Aes256 => &AES_256,
        };
        let unbound = UnboundCipherKey::new(algorithm, key.expose_secret()).map_err(|_| Detail::Cipher)?;
        Ok(Self { key: DecryptingKey::ctr(unbound).map_err(|_| Detail::Cipher)?, length: key.length() })
    }

    /// Decrypts `text` where it lies, with this first counter block. Any bytes decrypt to something: that it is what was
    /// encrypted must be known from elsewhere.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the cryptographic library fails.
    pub fn decrypt_in_place(&self, counter: [u8; COUNTER_LENGTH], text: &mut [u8]) -> Result<()> {
        self.key.decrypt(text, DecryptionContext::Iv128(counter.into())).map_err(|_| Detail::Cipher)?;
        Ok(())
    }
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cipher").field("length", &self.length).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SP 800-38A, F.5: the same four blocks under keys of each length.
    #[test]
    fn gives_the_published_results() {
        let cases = [
            (
                "2b7e151628aed2a6abf7158809cf4f3c",
                "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff5ae4df3edbd5d35e5b4f09020db03eab\
                 1e031dda2fbe03d1792170a0f3009cee",
            ),
            (
                "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
                "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e941e36b26bd1ebc670d1bd1d665620abf7\
                 4f78a7f6d29809585a97daec58c6b050",
            ),
            (
                "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
                "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c52b0930daa23de94ce87017ba2d84988d\
                 dfc9c58db67aada613c2dd08457941a6",
            ),
        ];
        let plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e5130c81c46a35ce411e5fbc1191a0a52ef\
                     f69f2445df4f9b17ad2b417be66c3710";
        let counter = hex::decode("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff").unwrap();
        for (key, ciphertext) in cases {
            let cipher = Cipher::new(&SecretKey::new(&hex::decode(key).unwrap()).unwrap()).unwrap();
            let mut text = hex::decode(ciphertext).unwrap();
            cipher.decrypt_in_place(counter[..].try_into().unwrap(), &mut text).unwrap();
            assert_eq!(hex::encode(text), plain);
        }
    }
}
