//! For tests: the Java judge, a Hive metastore, Spark, DuckDB and cloud servers as processes, an HTTP server that fails as told,
//! and rows in the form that the judge prints them in.
#![expect(clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

mod aws;
pub mod faults;
pub mod hive;
pub mod judge;
mod process;
pub mod proxy;
pub mod rows;
pub mod servers;
pub mod statements;
