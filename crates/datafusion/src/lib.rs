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
//! | read files of another table format by field ids | [`field_ids`] |
//! | query an earlier version, or a table's metadata | [`sql`], [`TableName`], [`MetadataTableProvider`] |
//!
//! Reading, pruning and scheduling are DataFusion's; this crate plans which files to read, gives each its key, its
//! column mapping and its deletes, and names the file in every error.

mod as_of;
mod avro;
mod catalog;
mod columns;
mod conform;
mod deletes;
mod error;
mod filter;
mod footer_cache;
mod insert;
mod interrupt;
mod loaded;
mod metadata_columns;
mod metadata_table;
mod nameless;
mod provider;
mod reader;
mod relations;
mod session;
mod source;
mod star;
mod statistics;
mod stored_file;
mod table_name;

pub use catalog::{LakelockCatalogProvider, LakelockSchemaProvider};
pub use error::table_error;
pub use footer_cache::FooterCache;
pub use interrupt::Interrupt;
pub use metadata_columns::MetadataColumn;
pub use metadata_table::MetadataTableProvider;
pub use provider::LakelockTableProvider;
pub use session::{parse, session_context, sql};
pub use table_name::TableName;

/// What tables of other formats share with these, whose columns have Parquet's field ids as well.
pub mod field_ids {
    pub use crate::columns::InitialDefaults;
    pub use crate::conform::{Child, Conform, ConformExpr};
    pub use crate::nameless::{has_ids, with_ids};
}
