//! Manifests, kept decrypted: they never change, and a query mostly reads those that the last one read.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroize as _;

use super::EncodedKeyMetadata;
use crate::Result;
use crate::properties::{LONG_MAX, invalid, number};

/// Catalog property: `false` reads and decrypts manifests anew each time. The default is `true`, unlike Java's.
pub const MANIFEST_CACHE_ENABLED: &str = "io.manifest.cache-enabled";

/// Catalog property: so many bytes of manifests are kept; the default is 100 MiB, as in Java.
pub const MANIFEST_CACHE_MAX_TOTAL_BYTES: &str = "io.manifest.cache.max-total-bytes";

/// Catalog property: longer manifests than this are not kept; the default is 8 MiB, as in Java.
pub const MANIFEST_CACHE_MAX_CONTENT_LENGTH: &str = "io.manifest.cache.max-content-length";

/// The encrypted manifests that were read last, decrypted, up to a number of bytes. Those of plaintext tables are not kept.
///
/// One for each catalog, shared by its tables. What is kept is found by location and key metadata together, so a file is
/// had only by who has its key, and never in place of another that was there before. It was authenticated when it was
/// decrypted. As it holds the keys of data files, it is wiped once it is dropped here and nobody reads it any more.
pub struct ManifestCache {
    max_total_bytes: u64,
    max_content_length: u64,
    kept: Mutex<Kept>,
}

/// A manifest and its key: a hash of its location and its key metadata.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CacheKey([u8; 32]);

#[derive(Default)]
struct Kept {
    manifests: HashMap<CacheKey, Manifest>,
    /// The manifests by when they were used last.
    used: BTreeMap<u64, CacheKey>,
    uses: u64,
    bytes: u64,
}

struct Manifest {
    plain: Bytes,
    used: u64,
}

impl ManifestCache {
    /// By a catalog's properties; `None` if they say that there is to be none.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for a value that one of the properties cannot have.
    pub fn from_properties(properties: &HashMap<String, String>) -> Result<Option<Self>> {
        match properties.get(MANIFEST_CACHE_ENABLED).map(|value| value.to_ascii_lowercase()).as_deref() {
            None | Some("true") => {}
            Some("false") => return Ok(None),
            Some(value) => return Err(invalid(MANIFEST_CACHE_ENABLED, value, "true or false")),
        }
        let total = number(properties, MANIFEST_CACHE_MAX_TOTAL_BYTES, 100 << 20, 1..=LONG_MAX)?;
        let one = number(properties, MANIFEST_CACHE_MAX_CONTENT_LENGTH, 8 << 20, 1..=LONG_MAX)?;
        Ok(Some(Self::new(total, one)))
    }

    /// One that keeps so many bytes, and no manifest longer than `max_content_length`.
    #[must_use]
    pub fn new(max_total_bytes: u64, max_content_length: u64) -> Self {
        Self { max_total_bytes, max_content_length, kept: Mutex::default() }
    }

    pub(super) fn get(&self, key: CacheKey) -> Option<Bytes> {
        let mut kept = self.lock();
        let kept = &mut *kept;
        let manifest = kept.manifests.get_mut(&key)?;
        kept.used.remove(&manifest.used);
        kept.uses += 1;
        manifest.used = kept.uses;
        kept.used.insert(manifest.used, key);
        Some(manifest.plain.clone())
    }

    /// Keeps what was decrypted, and drops what was not used for the longest time instead. Returns it, to be wiped in the
    /// end.
    pub(super) fn insert(&self, key: CacheKey, plain: Bytes) -> Bytes {
        let length = plain.len() as u64;
        if length > self.max_content_length.min(self.max_total_bytes) {
            return plain;
        }
        let plain = Bytes::from_owner(Wiped::from(plain));
        let mut kept = self.lock();
        kept.remove(key);
        while kept.bytes + length > self.max_total_bytes
            && let Some((_, oldest)) = kept.used.first_key_value()
        {
            let oldest = *oldest;
            kept.remove(oldest);
        }
        kept.uses += 1;
        let used = kept.uses;
        kept.used.insert(used, key);
        kept.manifests.insert(key, Manifest { plain: plain.clone(), used });
        kept.bytes += length;
        plain
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ManifestCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManifestCache").field("max_total_bytes", &self.max_total_bytes).finish_non_exhaustive()
    }
}

impl CacheKey {
    pub(super) fn new(location: &str, key_metadata: &EncodedKeyMetadata) -> Self {
        let mut hash = Sha256::new();
        hash.update((location.len() as u64).to_le_bytes());
        hash.update(location);
        hash.update(key_metadata.expose_secret());
        Self(hash.finalize().into())
    }
}

impl Kept {
    fn remove(&mut self, key: CacheKey) {
        if let Some(Manifest { plain, used }) = self.manifests.remove(&key) {
            self.used.remove(&used);
            self.bytes -= plain.len() as u64;
        }
    }
}

/// Memory that is wiped when it is dropped.
struct Wiped(BytesMut);

impl From<Bytes> for Wiped {
    fn from(bytes: Bytes) -> Self {
        Self(bytes.try_into_mut().unwrap_or_else(|shared| BytesMut::from(&shared[..])))
    }
}

impl AsRef<[u8]> for Wiped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    fn key(location: &str, key: u8) -> CacheKey {
        CacheKey::new(location, &EncodedKeyMetadata::new(vec![key; 40]))
    }

    fn plain(byte: u8, length: usize) -> Bytes {
        Bytes::from(vec![byte; length])
    }

    #[test]
    fn a_manifest_is_had_by_its_location_and_its_key() {
        let cache = ManifestCache::new(100, 100);
        cache.insert(key("a", 1), plain(1, 10));
        assert_eq!(cache.get(key("a", 1)).unwrap(), plain(1, 10));
        assert!(cache.get(key("a", 2)).is_none() && cache.get(key("b", 1)).is_none());
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes_first() {
        let cache = ManifestCache::new(100, 60);
        let a = cache.insert(key("a", 1), plain(1, 40));
        cache.insert(key("b", 1), plain(2, 40));
        cache.get(key("a", 1)).unwrap();
        cache.insert(key("c", 1), plain(3, 60));
        assert!(cache.get(key("b", 1)).is_none());
        assert_eq!(cache.get(key("c", 1)).unwrap(), plain(3, 60));
        cache.insert(key("d", 1), plain(4, 41));
        assert!(cache.get(key("a", 1)).is_none(), "40 + 60 bytes leave no room");
        assert_eq!(a, plain(1, 40), "who reads it keeps it");
        assert_eq!(cache.insert(key("e", 1), plain(5, 61)), plain(5, 61));
        assert!(cache.get(key("e", 1)).is_none(), "too long to be kept");
        assert_eq!(cache.lock().bytes, 41);
    }

    #[test]
    fn properties_are_javas() {
        let of = |name: &str, value: &str| {
            ManifestCache::from_properties(&HashMap::from([(name.to_owned(), value.to_owned())]))
        };
        assert!(of(MANIFEST_CACHE_ENABLED, "FALSE").unwrap().is_none());
        let cache = of(MANIFEST_CACHE_MAX_TOTAL_BYTES, "7").unwrap().unwrap();
        assert_eq!((cache.max_total_bytes, cache.max_content_length), (7, 8 << 20));
        for (name, value) in [(MANIFEST_CACHE_ENABLED, "yes"), (MANIFEST_CACHE_MAX_CONTENT_LENGTH, "-1")] {
            assert_eq!(of(name, value).unwrap_err().kind(), ErrorKind::InvalidInput, "{name}");
        }
    }
}
