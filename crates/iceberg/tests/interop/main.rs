//! Iceberg's Java implementation as the judge: what it wrote is read here, and what is written here it reads and
//! checks. Needs a JDK and Maven.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod data_files;
mod manifests;
mod metadata_hash;
mod values;

use lakelock_interop::{judge, rows};
