//! Who we are to a cloud platform: the platforms' own credential chains, shared by the KMS clients and the object stores.
//!
//! Nothing here connects to anything before credentials are first asked for, and nothing shows them.
//!
//! Features: `aws`, `azure` and `gcp`, one for each platform.

#[cfg(feature = "aws")]
pub mod aws;
mod error;

pub use error::{Error, ErrorKind, Result};
