//! A `DuckLake` catalog on object storage: the catalog's tables as typed rows in `SlateDB`.
//!
//! | to | use |
//! |---|---|
//! | open or make a catalog | [`Lake`], with [`OpenOptions`] |
//! | read and change it | [`Transaction`] |
//! | describe a table | [`NewTable`], [`ColumnDef`]; [`TableDef`] for one that is there |
//! | read fewer rows | [`Filter`] |
//! | read the values of a row | [`RowLayout`] |
//! | know what a lake holds | [`Contents`] |
//!
//! ```
//! use lakelock_ducklake::{Access, ColumnDef, Lake, NewTable, OpenOptions};
//! use lakelock_storage::Storage;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = OpenOptions { access: Access::ReadWrite, create: true, ..OpenOptions::default() };
//! let lake = Lake::open(&Storage::in_memory(), "memory://lake", options).await?;
//!
//! let mut transaction = lake.begin().await?;
//! let columns = vec![ColumnDef::new("key", "VARCHAR"), ColumnDef::new("value", "VARCHAR")];
//! let new = NewTable { schema: "main".to_owned(), name: "t".to_owned(), columns, primary_key: vec![] };
//! transaction.create_table(new, false)?;
//! let table = transaction.table("main", "t").ok_or("it is there now")?.id();
//! transaction.insert(table, vec![b"\x01\x01a\x00".as_slice().into()]).await?;
//! transaction.commit().await?;
//!
//! assert_eq!(lake.begin().await?.scan(table, &[])?.collect().await?.len(), 1);
//! lake.close().await?;
//! # Ok(())
//! # }
//! ```
//!
//! `DuckLake`'s SQL runs elsewhere, over these tables. Of what they mean the store knows only what it needs to find rows fast:
//! primary keys, the column `end_snapshot` that sets rows of the past apart, and which columns rows are asked for by. The
//! encoding is written down in `docs/ducklake-format.md`.

mod bridge;
mod catalog;
mod contents;
mod error;
mod filter;
mod format;
mod garbage;
mod history;
mod keys;
mod lake;
mod layout;
mod maintenance;
mod mark;
mod moment;
mod place;
mod records;
mod registry;
mod row;
mod scan;
mod stage;
mod table;
mod transaction;
mod view;
mod writer;

pub use contents::{AtRest, Contents, LakeFile, LakeTable, Problem, Wrong};
pub use error::{Error, ErrorKind, Result};
pub use filter::Filter;
pub use lake::{Access, Checkpoint, Lake, OpenOptions};
pub use row::{RowLayout, bigint, text};
pub use scan::Scan;
pub use table::{Alteration, ColumnDef, NewTable, RowId, TableDef, TableId};
pub use transaction::Transaction;
