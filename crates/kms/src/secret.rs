//! Secret text: a passphrase.

use std::fmt;

use zeroize::Zeroizing;

/// A secret string: wiped when dropped, shown as `[redacted]`, without `Display`.
///
/// ```
/// let passphrase = lakelock_kms::SecretString::from(String::from("correct horse"));
/// assert_eq!(format!("{passphrase:?}"), "[redacted]");
/// ```
/// ```compile_fail
/// let passphrase = lakelock_kms::SecretString::from(String::from("correct horse"));
/// println!("{passphrase}");
/// ```
#[derive(Clone)]
pub struct SecretString(Zeroizing<String>);

impl SecretString {
    /// The text itself. Do not print, log or store it.
    #[must_use]
    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl From<String> for SecretString {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl fmt::Debug for SecretString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}
