//! The catalogs of Lakelock: where tables are found, and what must not be believed of a metadata file.
//!
//! | to do this | use |
//! |---|---|
//! | open a catalog from its properties | [`catalog_from_properties`] |
//! | list, make, load and drop tables and namespaces | [`Catalog`] |
//! | change a table, with retries | [`commit`] |
//! | a catalog in a Hive metastore, shared with Spark, Flink and Trino | [`HiveCatalog`] |
//! | a catalog in an SQLite file, shared with Java and `PyIceberg` | [`SqlCatalog`] |
//! | a catalog that lives as long as the process | [`MemoryCatalog`] |
//!
//! # Pins
//!
//! metadata.json is the one plaintext file of an encrypted table, and says by which key the table is encrypted: whoever
//! can write to the bucket could take the key id out, and writers would go on in plaintext. So a catalog keeps a *pin* of
//! each table where such a person cannot write, next to the pointer to its metadata: the key id, the data key length and
//! the SHA-256 of the metadata file. The pin is set when a table is created, registered or changed, in the same
//! transaction as the pointer, and checked at every load.
//!
//! - A metadata file with another hash was changed outside the catalog: [`ErrorKind::InvalidData`].
//! - A table whose key id or data key length is not the pinned one: [`ErrorKind::InvalidData`].
//! - A pointer that something else moved in the catalog's own database (Java's `JdbcCatalog`, `PyIceberg`) is believed, as
//!   whoever writes there is trusted; key id and data key length must still be the pinned ones, and the new file's hash
//!   is pinned at its first load.
//! - A table that something else put in, without a pin, is pinned as it is at its first load, with a warning if it has a
//!   key id. To pin a key id that is known to be right instead, give it to [`Catalog::register_table`].
//!
//! A Hive metastore keeps the pins that Java keeps there, as parameters of each table, and the hash is of the text that Java
//! prints for the metadata. There is no first load: what the metastore has is the pin, and a table without a key id in it
//! is not encrypted, whatever its metadata says.
//!
//! Who may know what: `pointers` and its implementations know locations and pins but no metadata, unless they show it to
//! others; `tables` knows metadata but no database.

mod catalog;
mod commit;
mod config;
#[cfg(test)]
mod conformance;
mod document_cache;
mod error;
mod hive;
mod loaded;
mod memory;
mod names;
mod operations;
mod pointers;
mod purge;
mod sql;
mod tables;

pub use catalog::{Catalog, TableCreation};
pub use commit::commit;
pub use config::{catalog_from_properties, catalog_from_properties_with_registry};
pub use error::{Error, ErrorKind, Result};
pub use hive::HiveCatalog;
#[cfg(fuzzing)]
pub use hive::is_answer;
pub use memory::MemoryCatalog;
pub use sql::SqlCatalog;
