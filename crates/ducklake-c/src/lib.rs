//! The C ABI of the `DuckLake` catalog, which the `DuckDB` extension calls.
