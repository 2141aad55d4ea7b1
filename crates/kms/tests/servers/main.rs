//! The clients against real servers, which `interop/servers` runs, and against servers that fail.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

#[cfg(feature = "aws")]
mod aws;
#[cfg(feature = "aws")]
mod aws_faults;
#[cfg(all(feature = "azure", feature = "gcp"))]
mod cloud_faults;
#[cfg(all(feature = "azure", feature = "gcp"))]
mod clouds;
mod command;
mod faults;
#[cfg(all(feature = "aws", feature = "vault"))]
mod no_proxy;
#[cfg(feature = "pkcs11")]
mod pkcs11;
#[cfg(feature = "vault")]
mod vault;
#[cfg(feature = "vault")]
mod vault_faults;
