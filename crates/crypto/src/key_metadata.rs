//! `StandardKeyMetadata`: what a reader must know to decrypt one file.

use std::fmt;

use zeroize::Zeroizing;

use crate::{
    error::{Detail, Result},
    key::{KeyLength, SecretKey},
    random,
};

/// The key of one file, the AAD prefix that binds its bytes to it, and its length.
///
/// The bytes are those of Iceberg's Java implementation: the version byte 1, then an Avro record in binary encoding,
///
/// ```text
/// encryption_key: bytes | aad_prefix: union { null, bytes } | file_length: union { null, long }
/// ```
///
/// `file_length` is the *stored* length, ciphertext with everything around it. An AGS1 file cannot be read without it,
/// because it is what shows that blocks are missing at the end.
#[derive(Clone, PartialEq, Eq)]
pub struct StandardKeyMetadata {
    encryption_key: SecretKey,
    aad_prefix: Option<Vec<u8>>,
    file_length: Option<u64>,
}

impl StandardKeyMetadata {
    /// Joins a key and an AAD prefix; the length of the file is not known yet.
    #[must_use]
    pub fn new(encryption_key: SecretKey, aad_prefix: Option<Vec<u8>>) -> Self {
        Self { encryption_key, aad_prefix, file_length: None }
    }

    /// Draws a new key and a new AAD prefix. Each file must have its own.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::System`](crate::ErrorKind::System) if the operating system gives no random bytes.
    pub fn generate(length: KeyLength) -> Result<Self> {
        Ok(Self::new(SecretKey::generate(length)?, Some(random::random_aad_prefix()?.to_vec())))
    }

    /// The same with the stored length of the file.
    #[must_use]
    pub fn with_file_length(self, stored_length: u64) -> Self {
        Self { file_length: Some(stored_length), ..self }
    }

    /// The key of the file (its DEK).
    #[must_use]
    pub fn encryption_key(&self) -> &SecretKey {
        &self.encryption_key
    }

    /// The AAD prefix, empty if there is none. It is not a secret.
    #[must_use]
    pub fn aad_prefix(&self) -> &[u8] {
        self.aad_prefix.as_deref().unwrap_or_default()
    }

    /// The stored length of the file.
    #[must_use]
    pub fn file_length(&self) -> Option<u64> {
        self.file_length
    }

    /// The bytes that Java reads and writes. They hold the key in the clear.
    #[must_use]
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let key = self.encryption_key.expose_secret();
        // Enough for all of it: a growing vector would leave copies of the key behind.
        let capacity = 1 + MAX_VARINT_LENGTH + key.len() + 2 * (1 + MAX_VARINT_LENGTH) + self.aad_prefix().len();
        let mut out = Zeroizing::new(Vec::with_capacity(capacity));
        out.push(VERSION);
        write_bytes(&mut out, key);
        match &self.aad_prefix {
            None => write_long(&mut out, NULL),
            Some(prefix) => {
                write_long(&mut out, VALUE);
                write_bytes(&mut out, prefix);
            }
        }
        match self.file_length {
            None => write_long(&mut out, NULL),
            Some(length) => {
                write_long(&mut out, VALUE);
                write_long(&mut out, length.min(i64::MAX.cast_unsigned()));
            }
        }
        out
    }

    /// Reads what [`encode`](Self::encode) or Java wrote. Bytes after the record are ignored, as Java ignores them.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`](crate::ErrorKind::InvalidData) for another version, bytes cut short, an absurd length
    /// or a key that is not one of AES. (Java's parser lets an empty key pass; nothing can be decrypted with it.)
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_ENCODED_LENGTH {
            return Err(Detail::KeyMetadata("longer than 64 KiB").into());
        }
        let (&version, mut input) = bytes.split_first().ok_or(Detail::KeyMetadata("no bytes"))?;
        if version != VERSION {
            return Err(Detail::KeyMetadata("a version other than 1").into());
        }
        let key = read_bytes(&mut input)?;
        let encryption_key = SecretKey::new(key).map_err(|_| Detail::KeyMetadataKey { length: key.len() })?;
        let aad_prefix = if read_union(&mut input)? { Some(read_bytes(&mut input)?.to_vec()) } else { None };
        let file_length = if read_union(&mut input)? {
            let length = read_long(&mut input)?;
            Some(u64::try_from(length).map_err(|_| Detail::KeyMetadata("a negative file length"))?)
        } else {
            None
        };
        Ok(Self { encryption_key, aad_prefix, file_length })
    }
}

impl fmt::Debug for StandardKeyMetadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StandardKeyMetadata")
            .field("encryption_key", &self.encryption_key)
            .field("file_length", &self.file_length)
            .finish_non_exhaustive()
    }
}

/// Appends an Avro `long` that is not negative: doubled (zigzag), then seven bits a byte, the lowest first.
fn write_long(out: &mut Vec<u8>, value: u64) {
    let mut rest = value << 1;
    while rest >= 0x80 {
        out.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    out.push(rest.to_le_bytes()[0]);
}

fn write_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_long(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn read_long(input: &mut &[u8]) -> Result<i64> {
    let mut value = 0_u64;
    for index in 0..MAX_VARINT_LENGTH {
        let (&byte, rest) = input.split_first().ok_or(Detail::KeyMetadata("cut off"))?;
        *input = rest;
        let bits = u64::from(byte & 0x7f);
        if index == MAX_VARINT_LENGTH - 1 && bits > 1 {
            break;
        }
        value |= bits << (7 * index);
        if byte & 0x80 == 0 {
            return Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed());
        }
    }
    Err(Detail::KeyMetadata("a number longer than 64 bits").into())
}

fn read_bytes<'a>(input: &mut &'a [u8]) -> Result<&'a [u8]> {
    let length = usize::try_from(read_long(input)?).map_err(|_| Detail::KeyMetadata("a negative length"))?;
    let (bytes, rest) = input.split_at_checked(length).ok_or(Detail::KeyMetadata("cut off"))?;
    *input = rest;
    Ok(bytes)
}

/// Whether the union that follows holds a value.
fn read_union(input: &mut &[u8]) -> Result<bool> {
    match u64::try_from(read_long(input)?) {
        Ok(NULL) => Ok(false),
        Ok(VALUE) => Ok(true),
        _ => Err(Detail::KeyMetadata("a union index other than 0 and 1").into()),
    }
}

const VERSION: u8 = 1;
/// The union index of `null`.
const NULL: u64 = 0;
/// The union index of the value.
const VALUE: u64 = 1;
/// The longest Avro `long`.
const MAX_VARINT_LENGTH: usize = 10;
/// Far more than a key, an AAD prefix and a length take.
const MAX_ENCODED_LENGTH: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ErrorKind;

    fn metadata() -> impl Strategy<Value = StandardKeyMetadata> {
        let key = prop_oneof![Just(16), Just(24), Just(32)]
            .prop_flat_map(|length| proptest::collection::vec(any::<u8>(), length))
            .prop_map(|bytes| SecretKey::new(&bytes).unwrap());
        let prefix = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..100));
        let length = proptest::option::of(0..=i64::MAX.cast_unsigned());
        (key, prefix, length).prop_map(|(encryption_key, aad_prefix, file_length)| StandardKeyMetadata {
            encryption_key,
            aad_prefix,
            file_length,
        })
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_and_no_cut_of_it(metadata in metadata(), junk in any::<[u8; 3]>()) {
            let bytes = metadata.encode();
            prop_assert!(StandardKeyMetadata::decode(&bytes).unwrap() == metadata);
            for end in 0..bytes.len() {
                let error = StandardKeyMetadata::decode(&bytes[..end]).unwrap_err();
                prop_assert_eq!(error.kind(), ErrorKind::InvalidData);
            }
            let longer = [&bytes[..], &junk].concat();
            prop_assert!(StandardKeyMetadata::decode(&longer).unwrap() == metadata);
        }

        #[test]
        fn arbitrary_bytes_are_an_error_or_a_value(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(metadata) = StandardKeyMetadata::decode(&bytes) {
                prop_assert!(StandardKeyMetadata::decode(&metadata.encode()).unwrap() == metadata);
            }
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let key = SecretKey::new(b"0123456789012345").unwrap();
        let cases = [
            (StandardKeyMetadata::new(key.clone(), None), "0120303132333435363738393031323334350000"),
            (
                StandardKeyMetadata::new(key.clone(), Some(b"ab".to_vec())),
                "012030313233343536373839303132333435020461 6200",
            ),
            (
                StandardKeyMetadata::new(key, None).with_file_length(1000),
                "01203031323334353637383930313233343500 02d00f",
            ),
        ];
        for (metadata, expected) in cases {
            assert_eq!(hex::encode(metadata.encode().as_slice()), expected.replace(' ', ""));
        }
    }

    #[test]
    fn damaged_bytes_are_refused() {
        let key = hex::encode(b"0123456789012345");
        let cases = [
            ("", "no bytes"),
            (&format!("0220{key}0000"), "version"),
            ("010000", "an empty key"),
            (&format!("0122{key}000000"), "a key of 17 bytes"),
            (&format!("0120{key}0400"), "union index 2"),
            (&format!("0120{key}0100"), "union index -1"),
            (&format!("0120{key}0201"), "a negative prefix length"),
            (&format!("0120{key}02feffffffffffffffff01"), "a huge prefix length"),
            (&format!("0120{key}000201"), "a negative file length"),
            (&format!("0120{key}0002ffffffffffffffffff02"), "a file length of 65 bits"),
            (&format!("0120{key}0002ffffffffffffffffffff01"), "an endless number"),
        ];
        for (bytes, what) in cases {
            let error = StandardKeyMetadata::decode(&hex::decode(bytes).unwrap()).expect_err(what);
            assert_eq!(error.kind(), ErrorKind::InvalidData, "{what}");
        }
        assert!(StandardKeyMetadata::decode(&vec![1; MAX_ENCODED_LENGTH + 1]).is_err());
    }

    #[test]
    fn neither_key_nor_prefix_prints() {
        let metadata = StandardKeyMetadata::new(SecretKey::new(&[0xab; 16]).unwrap(), Some(vec![0xcd; 16]));
        assert_eq!(
            format!("{metadata:?}"),
            "StandardKeyMetadata { encryption_key: SecretKey([redacted]), file_length: None, .. }"
        );
    }
}
