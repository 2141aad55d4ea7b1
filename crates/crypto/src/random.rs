//! The one place where random bytes come from: the operating system.

use ring::rand::{SecureRandom, SystemRandom};

use crate::error::{Detail, Result};

/// A fresh AAD prefix of the length that Java uses. It is not a secret, but each file has its own.
///
/// # Errors
///
/// [`ErrorKind::System`](crate::ErrorKind::System) if the operating system gives no random bytes.
pub fn random_aad_prefix() -> Result<[u8; 16]> {
    let mut prefix = [0; 16];
    fill(&mut prefix)?;
    Ok(prefix)
}

/// Fills `bytes` from the operating system, by one system call if they are few.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<()> {
    SystemRandom::new().fill(bytes).map_err(|_| Detail::Random.into())
}
