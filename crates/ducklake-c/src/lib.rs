//! The C ABI of the `DuckLake` catalog, which the `DuckDB` extension calls.
//!
//! `duckdb/src/lakelock_ducklake.h` declares these functions and says what holds for all of them. There is no logic here: each one
//! turns its arguments into those of `lakelock-ducklake`, blocks until that has answered, and hands the answer out.
//!
//! # Safety
//!
//! Every function relies on its caller for what the header says of its arguments: handles come from the function that makes them
//! and are given back once, views name memory that is there during the call, and results have a place to go to.

pub mod bytes;
pub mod error;
pub mod lake;
pub mod rows;
mod runtime;
pub mod schema;
pub mod table;
pub mod transaction;
