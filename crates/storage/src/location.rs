//! Locations as Iceberg writes them: absolute paths and URIs, taken character by character.
//!
//! A path in a location is not percent-encoded, whatever it looks like: Java gives the text to the file system as it is, so
//! `file:/a%20b` is a file whose name has a percent sign.

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

/// Which store a location is in. One with buckets has their name here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The local file system.
    File,
    /// The memory of this process.
    Memory,
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
            Some((scheme, _)) => {
                let message = format!("no storage for the scheme \"{scheme}\", expected \"file\" or \"memory\"");
                return Err(Error::new(ErrorKind::Unsupported, location, message));
            }
        };
        let root = location[..location.len() - path.len()].to_owned();
        Ok(Self { place, path: parse_path(location, path)?, root })
    }

    /// Another path of the same store, written like this one.
    pub(crate) fn sibling(&self, path: &Path) -> String {
        format!("{}{path}", self.root)
    }
}

fn is_scheme(scheme: &str) -> bool {
    let mut bytes = scheme.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_taken_literally() {
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
        ];
        for (location, place, path, root) in cases {
            let parsed = Location::parse(location).unwrap();
            assert_eq!((&parsed.place, parsed.path.as_ref(), parsed.root.as_str()), (&place, path, root), "{location}");
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
            ("s3://bucket/a", ErrorKind::Unsupported),
            ("hdfs://a/b", ErrorKind::Unsupported),
        ];
        for (location, kind) in cases {
            let error = Location::parse(location).unwrap_err();
            assert_eq!((error.kind(), error.location()), (kind, location));
        }
        assert!(Location::parse("s3://bucket/a").unwrap_err().to_string().contains("\"s3\""));
    }
}
