//! Lakelock against Iceberg's Java implementation, and SQL over what either wrote.
//!
//! One binary for all of it, as one with DataFusion in it is large. The Java judge needs a JDK and Maven; see
//! `interop/java/run.sh`.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod avro;
mod aws;
mod deletes;
mod hive;
mod java_tables;
mod metadata_columns;
mod metadata_tables;
mod object_stores;
mod requests;
mod rows;
mod secrets;
mod shared_catalog;
mod spark_tables;
mod sql;
mod tables;
mod tampering;
mod versions;

use lakelock_interop::judge;
