//! Where a catalog is, said as `ATTACH` of DuckDB says it.

use std::{fmt, path::PathBuf};

use crate::error::{Error, ErrorKind, Result};

/// Where the catalog of a lake is. `Debug` leaves out how to connect, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub enum CatalogLocation {
    /// A `DuckDB` file.
    DuckDb(PathBuf),
    /// A catalog of Lakelock: a folder, local or in a bucket.
    Lakelock(String),
    /// A `PostgreSQL` database: `key=value` pairs as libpq takes them, or a URL.
    Postgres(String),
    /// An `SQLite` file.
    Sqlite(PathBuf),
}

impl CatalogLocation {
    /// Parses what stands in `ATTACH 'ducklake:...'`, with or without `ducklake:`.
    ///
    /// | text | is |
    /// |---|---|
    /// | `lakelock:FOLDER`, `s3://BUCKET/FOLDER`, a folder | a catalog of Lakelock |
    /// | `sqlite:FILE` | an `SQLite` file |
    /// | `postgres:KEY=VALUE ...`, `postgres://...` | a `PostgreSQL` database |
    /// | `duckdb:FILE`, a file | a `DuckDB` file |
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for an empty text, or a kind of catalog that is not known here.
    pub fn parse(text: &str) -> Result<Self> {
        let rest = text.trim();
        let rest = strip_prefix(rest, "ducklake:").unwrap_or(rest);
        let invalid = |message: &str| Error::new(ErrorKind::InvalidInput, message);
        if rest.is_empty() {
            return Err(invalid("the location of the catalog is empty"));
        }
        if strip_prefix(rest, "postgres://").or(strip_prefix(rest, "postgresql://")).is_some() {
            return Ok(Self::Postgres(rest.to_owned()));
        }
        if let Some((kind, of_kind)) = rest.split_once(':') {
            let of_kind = of_kind.trim();
            let found = match kind.to_ascii_lowercase().as_str() {
                "lakelock" => Some(Self::Lakelock(of_kind.to_owned())),
                "sqlite" => Some(Self::Sqlite(of_kind.into())),
                "postgres" | "postgresql" => Some(Self::Postgres(of_kind.to_owned())),
                "duckdb" => Some(Self::DuckDb(of_kind.into())),
                _ => None,
            };
            match found {
                Some(_) if of_kind.is_empty() => return Err(invalid("the location of the catalog is empty")),
                Some(location) => return Ok(location),
                None => {}
            }
        }
        if strip_prefix(rest, "mysql:").is_some() {
            return Err(Error::new(ErrorKind::Unsupported, "catalogs in MySQL cannot be read here"));
        }
        if rest.contains("://") || strip_prefix(rest, "file:").is_some() || PathBuf::from(rest).is_dir() {
            return Ok(Self::Lakelock(rest.to_owned()));
        }
        Ok(Self::DuckDb(rest.into()))
    }
}

fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

impl fmt::Display for CatalogLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuckDb(file) => write!(f, "duckdb:{}", file.display()),
            Self::Lakelock(folder) => write!(f, "lakelock:{folder}"),
            Self::Postgres(_) => f.write_str("postgres"),
            Self::Sqlite(file) => write!(f, "sqlite:{}", file.display()),
        }
    }
}

impl fmt::Debug for CatalogLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CatalogLocation({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_said_as_duckdb_says_them() {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().to_str().unwrap();
        let lakelock = |text: &str| CatalogLocation::Lakelock(text.to_owned());
        let postgres = |text: &str| CatalogLocation::Postgres(text.to_owned());
        for (text, expected) in [
            ("s3://bucket/lake", lakelock("s3://bucket/lake")),
            ("ducklake:lakelock:s3://bucket/lake", lakelock("s3://bucket/lake")),
            ("lakelock:a/b", lakelock("a/b")),
            (here, lakelock(here)),
            ("sqlite:meta.sqlite", CatalogLocation::Sqlite("meta.sqlite".into())),
            ("DuckLake:SQLite:meta.sqlite", CatalogLocation::Sqlite("meta.sqlite".into())),
            ("ducklake:postgres:dbname=a host=b", postgres("dbname=a host=b")),
            ("postgresql://h/d", postgres("postgresql://h/d")),
            ("ducklake:meta.ducklake", CatalogLocation::DuckDb("meta.ducklake".into())),
            ("duckdb:meta.db", CatalogLocation::DuckDb("meta.db".into())),
        ] {
            assert_eq!(CatalogLocation::parse(text).unwrap(), expected, "{text}");
        }
        for text in ["", "ducklake:", "sqlite:", "mysql:db=x"] {
            assert!(CatalogLocation::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn passwords_are_not_shown() {
        let location = CatalogLocation::parse("postgres:host=h password=secret").unwrap();
        assert!(!format!("{location:?} {location}").contains("secret"));
    }
}
