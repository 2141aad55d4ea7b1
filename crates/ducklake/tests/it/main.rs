//! The catalog through its public API, on memory and on local files.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod basics;
mod contents;
mod crash;
mod model;
mod support;
mod writers;
