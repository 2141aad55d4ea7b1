//! What a person at a terminal sees: the program run on real folders.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a panic is how a test fails")]

mod buckets;
mod canary;
mod demo;
mod ducklake;
mod errors;
mod inspect;
mod kms;
mod load;
mod query;
mod setup;
mod support;
