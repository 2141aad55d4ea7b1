//! Data files: from record batches to encrypted Parquet with Iceberg's statistics.
