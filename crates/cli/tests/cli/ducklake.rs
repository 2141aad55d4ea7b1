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

#[test]
fn a_location_may_be_written_as_duckdb_attaches_it() {
    let folder = Folder::new();
    folder.ok(&["ducklake", "init", "ducklake:lakelock:lake"]);
    for location in ["lake", "lakelock:lake", "DuckLake:Lakelock:lake"] {
        let error = folder.fails(1, &["ducklake", "tables", location]);
        assert!(error.contains("DuckLake has not been set up here"), "{location}: {error}");
    }
    for location in ["sqlite:lake.sqlite", "ducklake:postgres:dbname=lake password=h1dden"] {
        let error = folder.fails(2, &["ducklake", "tables", location]);
        assert!(error.contains("sql --ducklake"), "{location}: {error}");
    }
}
