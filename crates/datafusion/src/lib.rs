//! SQL over Lakelock tables, with DataFusion.
//!
//! | to do this | use |
//! |---|---|
//! | query the tables of catalogs | [`session_context`], [`sql`] |
//! | query one table | [`LakelockTableProvider`] |
//! | put a catalog into a session of your own | [`LakelockCatalogProvider`] |
//! | tell what an error was about | [`table_error`] |
//! | stop an insert | [`Interrupt`] |
//! | see row ids, sequence numbers, files | [`MetadataColumn`] |
//!
//! Reading, pruning and scheduling are DataFusion's; this crate plans which files to read, gives each its key and its
//! column mapping, and names the file in every error.

mod catalog;
mod columns;
mod conform;
mod error;
mod filter;
mod footer_cache;
mod insert;
mod interrupt;
mod metadata_columns;
mod provider;
mod reader;
mod session;
mod source;
mod star;
mod statistics;

pub use catalog::{LakelockCatalogProvider, LakelockSchemaProvider};
pub use error::table_error;
pub use footer_cache::FooterCache;
pub use interrupt::Interrupt;
pub use metadata_columns::MetadataColumn;
pub use provider::LakelockTableProvider;
pub use session::{session_context, sql};
