//! The catalog through its public API, on memory and on local files.

mod basics;
mod support;
