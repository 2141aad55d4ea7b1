//! What a catalog's `uri` means.

use std::path::PathBuf;

use crate::{Error, ErrorKind, Result};

/// The file that an SQLite URI names, in the ways it is written for JDBC (`jdbc:sqlite:FILE`), in URL form
/// (`sqlite:///abs/file`) and for `SQLAlchemy` (`sqlite:////abs/file`).
pub(super) fn sqlite_file(uri: &str) -> Result<PathBuf> {
    let invalid = |problem: &str| {
        let message =
            format!("catalog uri {} {problem}: expected sqlite:///abs/file.db or sqlite:file.db", redact(uri));
        Err(Error::new(ErrorKind::InvalidInput, message))
    };
    let Some(rest) = uri.strip_prefix("jdbc:").unwrap_or(uri).strip_prefix("sqlite:") else {
        return invalid("is not one of SQLite");
    };
    let rest = rest.strip_prefix("file:").unwrap_or(rest);
    let file = match rest.strip_prefix("//") {
        // An absolute path, with or without the slash that some add.
        Some(path) if path.starts_with('/') => format!("/{}", path.trim_start_matches('/')),
        Some(path) => path.to_owned(),
        None => rest.to_owned(),
    };
    if file.is_empty() || file.ends_with('/') {
        return invalid("names no file");
    }
    if file.contains(":memory:") {
        return invalid("is in memory; that is catalog type `memory`");
    }
    if file.contains('?') {
        return invalid("has parameters, or a path with a `?`: neither is supported");
    }
    Ok(file.into())
}

/// A URI of some other kind may hold a password.
fn redact(uri: &str) -> &str {
    if uri.contains('@') { "[redacted]" } else { uri }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_names_a_file_or_is_refused() {
        for (uri, file) in [
            ("sqlite:///abs/file.db", "/abs/file.db"),
            ("sqlite:////abs/file.db", "/abs/file.db"),
            ("sqlite:/abs/file.db", "/abs/file.db"),
            ("sqlite:file.db", "file.db"),
            ("sqlite://dir/file.db", "dir/file.db"),
            ("jdbc:sqlite:/abs/file.db", "/abs/file.db"),
            ("jdbc:sqlite:file:/abs/file.db", "/abs/file.db"),
            // Nothing is decoded, as JDBC does not either.
            ("sqlite:/a b/%20#c/file.db", "/a b/%20#c/file.db"),
        ] {
            assert_eq!(sqlite_file(uri).unwrap(), PathBuf::from(file), "{uri}");
        }
        for bad in [
            "",
            "sqlite:",
            "sqlite:///",
            "file.db",
            "sqlite::memory:",
            "sqlite:a.db?mode=ro",
            "postgresql://u:secret@h/d",
        ] {
            let error = sqlite_file(bad).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{bad}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
