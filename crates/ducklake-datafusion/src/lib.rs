//! Tables of [DuckLake](https://ducklake.select) in SQL, without `DuckDB`: read-only, encrypted ones included.
//!
//! | to do this | use |
//! |---|---|
//! | say where a catalog is | [`CatalogLocation`] |
//! | open a lake | [`DuckLake`], with [`LakeOptions`] |
//! | query its tables | [`session_context`], [`sql`] |
//! | put it into a session of your own | [`DuckLakeCatalog`], [`DuckLakeTable`] |
//! | hand a catalog of Lakelock over to `SQLite` | [`export_sqlite`] |
//!
//! A catalog is read where it is: in a folder of Lakelock, an `SQLite` file, a `PostgreSQL` database or a `DuckDB` file
//! (`metadata`). What its tables say of a snapshot (`lake`, `files`) becomes a scan of Parquet files, each with its own key
//! (`reader`), of which deleted and later rows are not read (`deletes`), and of the rows that the catalog itself has (`values`).
//! What is not understood is an error that names it.
//!
//! <https://ducklake.select/docs/stable/specification/introduction>

mod adapter;
mod catalog;
mod columns;
mod deletes;
mod error;
mod export;
mod files;
mod lake;
mod location;
mod mapping;
mod metadata;
mod prune;
mod reader;
mod stored;
mod table;
mod text;
mod values;

pub use catalog::{DuckLakeCatalog, session_context, sql};
pub use error::{Error, ErrorKind, Result};
pub use export::{Exported, export_sqlite};
pub use lake::{DuckLake, LakeOptions};
pub use location::CatalogLocation;
pub use table::DuckLakeTable;
