//! Locations as Iceberg writes them: absolute paths and URIs, taken character by character.
//!
//! A path in a location is not percent-encoded, whatever it looks like: Java gives the text to the file system as it is, so
//! `file:/a%20b` is a file whose name has a percent sign.
//!
//! Locations come from metadata that anybody may have written. They name a store, and the properties of the catalog say how
//! to reach it: nothing in a location leads to a host that was not configured, or to one without TLS.

use std::fmt;

use object_store::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// A location, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Which store it is in.
    pub(crate) place: Place,
    /// Where in the store.
    pub(crate) path: Path,
    /// What stands before the path, so that other paths of this store can be written in the same way.
    pub(crate) root: String,
}

/// Which store a location is in. Displayed, it is the root of the store's locations, in one form for all ways to write it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// The local file system.
    File,
    /// The memory of this process.
    Memory,
    /// A bucket of S3.
    S3 {
        /// Its name.
        bucket: String,
    },
    /// A bucket of Google Cloud Storage.
    Gcs {
        /// Its name.
        bucket: String,
    },
    /// A container of Azure Blob Storage.
    Azure {
        /// The host of the account in the form of `account.dfs.core.windows.net`.
        host: String,
        /// Its name.
        container: String,
    },
}

impl Location {
    pub(crate) fn parse(location: &str) -> Result<Self> {
        let invalid = |message: &'static str| Error::new(ErrorKind::InvalidInput, location, message);
        let (place, path) = match location.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) {
            None => {
                let path = location.strip_prefix('/');
                (Place::File, path.ok_or_else(|| invalid("a relative path, expected an absolute path or a URI"))?)
            }
            Some(("file", rest)) => {
                let path = match rest.strip_prefix("//") {
                    Some(rest) => rest.strip_prefix('/').ok_or_else(|| invalid("a file on another host"))?,
                    None => {
                        rest.strip_prefix('/').ok_or_else(|| invalid("a relative path, expected an absolute one"))?
                    }
                };
                (Place::File, path)
            }
            Some(("memory", rest)) => (Place::Memory, rest.trim_start_matches('/')),
            Some((scheme, rest)) => return Self::parse_remote(location, scheme, rest),
        };
        let root = location[..location.len() - path.len()].to_owned();
        Ok(Self { place, path: parse_path(location, path)?, root })
    }

    fn parse_remote(location: &str, scheme: &str, rest: &str) -> Result<Self> {
        let invalid = |message: &'static str| Error::new(ErrorKind::InvalidInput, location, message);
        let place: fn(&str) -> Option<Place> = match scheme {
            "s3" | "s3a" | "s3n" => |name| Some(Place::S3 { bucket: bucket(name)? }),
            "gs" => |name| Some(Place::Gcs { bucket: bucket(name)? }),
            "abfs" | "abfss" | "wasb" | "wasbs" => azure,
            _ => {
                let message = format!("no storage for the scheme \"{scheme}\", expected one of {SCHEMES}");
                return Err(Error::new(ErrorKind::Unsupported, location, message));
            }
        };
        let authority = rest.strip_prefix("//").ok_or_else(|| invalid("expected // after the scheme"))?;
        let (authority, path) = authority.split_once('/').unwrap_or((authority, ""));
        let place = place(authority).ok_or_else(|| match scheme {
            "s3" | "s3a" | "s3n" | "gs" => invalid("not the name of a bucket"),
            _ => invalid("expected CONTAINER@ACCOUNT.dfs.core.windows.net after the scheme"),
        })?;
        // Java takes these for the end of the path.
        if path.contains(['?', '#']) {
            return Err(invalid("a ? or # in a path, which other programs cut off there"));
        }
        // Unlike in a file system, such names are names of their own, of objects that could not be reached.
        if path.starts_with('/') || path.contains("//") {
            return Err(invalid("an empty part in the path"));
        }
        let root = match path {
            "" => format!("{}/", location.trim_end_matches('/')),
            path => location[..location.len() - path.len()].to_owned(),
        };
        Ok(Self { place, path: parse_path(location, path)?, root })
    }

    /// Another path of the same store, written like this one.
    pub(crate) fn sibling(&self, path: &Path) -> String {
        format!("{}{path}", self.root)
    }

    /// The location in one form for all ways to write it.
    pub(crate) fn canonical(&self) -> String {
        format!("{}{}", self.place, self.path)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("/"),
            Self::Memory => f.write_str("memory://"),
            Self::S3 { bucket } => write!(f, "s3://{bucket}/"),
            Self::Gcs { bucket } => write!(f, "gs://{bucket}/"),
            Self::Azure { host, container } => write!(f, "abfss://{container}@{host}/"),
        }
    }
}

fn is_scheme(scheme: &str) -> bool {
    let mut bytes = scheme.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// A name that can stand in the host or the path of an URL without being anything else there: no port, no user, no way up.
fn bucket(name: &str) -> Option<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'$');
    let is_name = (1..=255).contains(&name.len())
        && name.bytes().all(allowed)
        && !name.starts_with('.')
        && !name.ends_with('.')
        && !name.contains("..");
    is_name.then(|| name.to_owned())
}

fn azure(authority: &str) -> Option<Place> {
    let (container, host) = authority.split_once('@')?;
    let host = host.to_ascii_lowercase();
    let is_host = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    let (account, domain) = host.split_once('.')?;
    if !is_host || account.is_empty() || domain.is_empty() {
        return None;
    }
    // Both names are of the same account.
    let domain = match domain.strip_prefix("blob.") {
        Some(domain) => format!("dfs.{domain}"),
        None => domain.to_owned(),
    };
    Some(Place::Azure { host: format!("{account}.{domain}"), container: bucket(container)? })
}

/// Repeated slashes are one, as for a file system.
fn parse_path(location: &str, path: &str) -> Result<Path> {
    let joined: String;
    let path = if path.contains("//") {
        joined = path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        &joined
    } else {
        path
    };
    Path::parse(path).map_err(|error| {
        Error::new(ErrorKind::InvalidInput, location, "not a path that a store can have").with_source(error)
    })
}

const SCHEMES: &str = "file, s3, s3a, s3n, gs, abfs, abfss, wasb, wasbs and memory";

#[cfg(test)]
mod tests {
    use super::*;

    fn s3(bucket: &str) -> Place {
        Place::S3 { bucket: bucket.to_owned() }
    }

    fn azure(host: &str) -> Place {
        Place::Azure { host: host.to_owned(), container: "lake".to_owned() }
    }

    #[test]
    fn locations_are_taken_literally() {
        let gcs = || Place::Gcs { bucket: "b_1".to_owned() };
        let cases = [
            ("/a/b.avro", Place::File, "a/b.avro", "/"),
            ("//a//b", Place::File, "a/b", "/"),
            ("file:/a/b", Place::File, "a/b", "file:/"),
            ("file:///a/b", Place::File, "a/b", "file:///"),
            ("file:///a%20b/c=%2F d", Place::File, "a%20b/c=%2F d", "file:///"),
            ("/a:b/c", Place::File, "a:b/c", "/"),
            ("/data/x=é/ü?#.avro", Place::File, "data/x=é/ü?#.avro", "/"),
            ("memory://t/a", Place::Memory, "t/a", "memory://"),
            ("memory:/t/a", Place::Memory, "t/a", "memory:/"),
            ("s3://my.bucket/a%20b/c=d é", s3("my.bucket"), "a%20b/c=d é", "s3://my.bucket/"),
            ("s3a://b/a", s3("b"), "a", "s3a://b/"),
            ("s3n://b/a/", s3("b"), "a", "s3n://b/"),
            ("s3://b", s3("b"), "", "s3://b/"),
            ("s3://b/", s3("b"), "", "s3://b/"),
            ("gs://b_1/a:b", gcs(), "a:b", "gs://b_1/"),
            (
                "abfss://lake@acc.dfs.core.windows.net/a",
                azure("acc.dfs.core.windows.net"),
                "a",
                "abfss://lake@acc.dfs.core.windows.net/",
            ),
            (
                "wasb://lake@Acc.blob.core.windows.net/a",
                azure("acc.dfs.core.windows.net"),
                "a",
                "wasb://lake@Acc.blob.core.windows.net/",
            ),
        ];
        for (location, place, path, root) in cases {
            let parsed = Location::parse(location).unwrap();
            assert_eq!((&parsed.place, parsed.path.as_ref(), parsed.root.as_str()), (&place, path, root), "{location}");
            let canonical = Location::parse(&parsed.canonical()).unwrap();
            assert_eq!((canonical.place, canonical.path), (parsed.place, parsed.path), "{location}");
        }
    }

    #[test]
    fn other_locations_are_refused_by_name() {
        let cases = [
            ("", ErrorKind::InvalidInput),
            ("a/b", ErrorKind::InvalidInput),
            ("file:a", ErrorKind::InvalidInput),
            ("file://host/a", ErrorKind::InvalidInput),
            ("/a/../b", ErrorKind::InvalidInput),
            ("/a/\0", ErrorKind::InvalidInput),
            ("s3:/b/a", ErrorKind::InvalidInput),
            ("s3:///a", ErrorKind::InvalidInput),
            ("s3://b:80/a", ErrorKind::InvalidInput),
            ("s3://user@host/a", ErrorKind::InvalidInput),
            ("s3://../a", ErrorKind::InvalidInput),
            ("s3://b%2f/a", ErrorKind::InvalidInput),
            ("s3://b?/a", ErrorKind::InvalidInput),
            ("s3://b//a", ErrorKind::InvalidInput),
            ("s3://b/a//c", ErrorKind::InvalidInput),
            ("s3://b/a/../c", ErrorKind::InvalidInput),
            ("s3://b/a?c", ErrorKind::InvalidInput),
            ("gs://b/a#c", ErrorKind::InvalidInput),
            ("abfss://lake/a", ErrorKind::InvalidInput),
            ("abfss://lake@host/a", ErrorKind::InvalidInput),
            ("abfss://lake@acc.dfs.core.windows.net:80/a", ErrorKind::InvalidInput),
            ("abfss://la/ke@acc.dfs.core.windows.net/a", ErrorKind::InvalidInput),
            ("http://host/a", ErrorKind::Unsupported),
            ("https://host/a", ErrorKind::Unsupported),
            ("S3://bucket/a", ErrorKind::Unsupported),
            ("hdfs://a/b", ErrorKind::Unsupported),
        ];
        for (location, kind) in cases {
            let error = Location::parse(location).unwrap_err();
            assert_eq!((error.kind(), error.location()), (kind, location), "{location}");
        }
        assert!(Location::parse("hdfs://bucket/a").unwrap_err().to_string().contains("\"hdfs\""));
    }
}
