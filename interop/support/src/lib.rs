//! For tests: the Java judge as a process, and rows in the form that it prints them in.
#![expect(clippy::expect_used, clippy::panic, reason = "a panic is how a test fails")]

pub mod judge;
pub mod rows;
