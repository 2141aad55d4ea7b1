//! `ducklake`: what can be said of a catalog that DuckDB has not attached yet.

use crate::support::Folder;

#[test]
fn a_catalog_is_made_once_and_waits_for_ducklake() {
    let folder = Folder::new();
    let error = folder.fails(1, &["ducklake", "tables", "lake"]);
    assert!(error.contains("there is no catalog at"), "{error}");
    folder.ok(&["ducklake", "init", "lake", "--encrypted"]);
    let error = folder.fails(1, &["ducklake", "init", "lake"]);
    assert!(error.contains("already"), "{error}");
    for arguments in [["ducklake", "tables", "lake"], ["ducklake", "files", "lake"], ["ducklake", "check", "lake"]] {
        let error = folder.fails(1, &arguments);
        assert!(error.contains("DuckLake has not been set up here"), "{error}");
    }
}
