//! Files that the Parquet library encrypts, read through the view that needs nothing of its decryption.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod damage;
mod duckdb;
mod files;
mod java;
mod reading;
mod writing;
