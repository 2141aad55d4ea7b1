//! The tables of a DuckLake instead of a configured catalog's.

use std::path::PathBuf;

use clap::Args;
use lakelock_ducklake_datafusion::{CatalogLocation, DuckLake, LakeOptions};
use lakelock_storage::Storage;

use crate::context::Context;
use crate::failure::{Context as _, Failure, Result};

/// What a lake's catalog is called in SQL.
pub(super) const NAME: &str = "lake";

/// Which lake.
#[derive(Debug, Args)]
pub(super) struct LakeArguments {
    /// Query the DuckLake whose catalog is there, as in DuckDB's ATTACH
    #[arg(long, value_name = "LOCATION")]
    ducklake: Option<String>,
    /// Where the lake's data files are, if they were moved
    #[arg(long, value_name = "FOLDER", requires = "ducklake")]
    data_path: Option<String>,
    /// The schema of the catalog that has the lake's tables
    #[arg(long, value_name = "SCHEMA", requires = "ducklake")]
    metadata_schema: Option<String>,
    /// DuckDB's command-line client, which reads catalogs in DuckDB files
    #[arg(long, value_name = "PROGRAM", env = "DUCKDB_CLI", hide_env_values = true)]
    duckdb: Option<PathBuf>,
}

impl LakeArguments {
    /// Opens the lake, if one is asked for.
    pub(super) async fn open(self, context: &Context) -> Result<Option<DuckLake>> {
        let Self { ducklake, data_path, metadata_schema, duckdb } = self;
        let Some(text) = ducklake else { return Ok(None) };
        let location = match CatalogLocation::parse(&text).map_err(|error| Failure::from(error).into_usage())? {
            CatalogLocation::DuckDb(file) => CatalogLocation::DuckDb(context.absolute(file)),
            CatalogLocation::Sqlite(file) => CatalogLocation::Sqlite(context.absolute(file)),
            CatalogLocation::Lakelock(folder) => CatalogLocation::Lakelock(context.location(&folder)),
            location @ CatalogLocation::Postgres(_) => location,
        };
        let options = LakeOptions { data_path, metadata_schema, duckdb };
        let storage = Storage::from_properties(&context.storage_properties()?)?;
        let lake = DuckLake::open(&location, options, storage).await;
        Ok(Some(lake.with_context(|| format!("cannot open the lake {location}"))?))
    }
}
