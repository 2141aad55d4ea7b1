//! Who we are to a cloud platform: the platforms' own credential chains, shared by the KMS clients and the object stores.
//!
//! Nothing here connects to anything before credentials are first asked for, and nothing shows them.
//!
//! Features: `aws`, `azure` and `gcp`, one for each platform.

#[cfg(feature = "aws")]
pub mod aws;
#[cfg(feature = "azure")]
pub mod azure;
mod error;
#[cfg(feature = "gcp")]
pub mod google;
#[cfg(any(feature = "azure", feature = "gcp"))]
mod token;

pub use error::{Error, ErrorKind, Result};
#[cfg(any(feature = "azure", feature = "gcp"))]
pub use token::AccessToken;
