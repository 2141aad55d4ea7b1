//! Paths as people type them, made absolute: what is kept, or handed to a store, must mean the same everywhere.

use std::path::{Component, Path, PathBuf};

/// A path from `folder` on, unless it is absolute itself; without `.` and `..`, which no store takes.
pub(crate) fn absolute(folder: &Path, path: impl AsRef<Path>) -> PathBuf {
    let mut absolute = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // Up from a link is up from where it leads.
                absolute = absolute.canonicalize().unwrap_or(absolute);
                absolute.pop();
            }
            part => absolute.push(part),
        }
    }
    absolute
}

/// A location of a file: a path is made absolute, a URI like `s3://...` or `file:/...` stays as it is.
pub(crate) fn location(folder: &Path, text: &str) -> String {
    if is_uri(text) { text.to_owned() } else { absolute(folder, text).display().to_string() }
}

fn is_uri(text: &str) -> bool {
    text.contains("://") || text.starts_with("file:") || text.starts_with("memory:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_absolute_and_uris_stay() {
        for (text, expected) in [
            ("a/b", "/none/here/a/b"),
            ("./a//b/.", "/none/here/a/b"),
            ("../x/a b?#%20", "/none/x/a b?#%20"),
            ("../../../../x", "/x"),
            ("/abs/../x", "/x"),
            ("a:b", "/none/here/a:b"),
            ("s3://bucket/../x", "s3://bucket/../x"),
            ("file:/a", "file:/a"),
            ("memory:/a", "memory:/a"),
        ] {
            assert_eq!(location(Path::new("/none/here"), text), expected, "{text}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn up_from_a_link_is_up_from_where_it_leads() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/inner")).unwrap();
        std::os::unix::fs::symlink(root.join("real/inner"), root.join("link")).unwrap();
        assert_eq!(absolute(&root, "link/../x"), root.join("real/x"));
        assert_eq!(
            absolute(&root, "link/x"),
            root.join("link/x"),
            "a link that is followed down stays as it was typed"
        );
    }
}
