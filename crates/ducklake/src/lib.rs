//! A `DuckLake` catalog on object storage: the catalog's tables as typed rows in `SlateDB`.
