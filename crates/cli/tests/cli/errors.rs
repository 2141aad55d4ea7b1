//! What is said when something is wrong.

use crate::support::Folder;

fn lake() -> Folder {
    let folder = Folder::with_lake();
    folder.write("a.csv", "id\n1\n");
    folder.ok(&["load", "t.a", "a.csv", "--create", "--key", "k"]);
    folder
}

/// Without a KMS a table can be described, and neither be read nor written; no file is written in trying.
#[test]
fn without_a_kms() {
    let folder = lake();
    let config = std::fs::read_to_string(folder.path("lakelock.toml")).unwrap();
    folder.write("lakelock.toml", config.replace("encryption.kms-impl", "# encryption.kms-impl"));
    let before = folder.warehouse();
    assert!(folder.ok(&["table", "describe", "t.a"]).contains("master key id       k"));
    assert_eq!(folder.json(&["table", "history", "t.a"]).len(), 1);
    for arguments in [&["sql", "select * from t.a"][..], &["load", "t.a", "a.csv"], &["table", "files", "t.a"]] {
        let error = folder.fails(1, arguments);
        assert!(error.contains("encryption.kms-"), "{error}");
    }
    assert_eq!(folder.warehouse(), before);
}

#[test]
fn with_another_key_of_the_same_name() {
    let folder = lake();
    std::fs::remove_file(folder.path("keystore.json")).unwrap();
    folder.ok(&["keystore", "create-key", "k"]);
    let error = folder.fails(1, &["sql", "select * from t.a"]);
    assert!(error.contains("\"k\"") && error.contains("hint: "), "{error}");
    let error = folder.fails(1, &["load", "t.a", "a.csv"]);
    assert!(error.contains("\"k\""), "{error}");
}

#[test]
fn without_the_key() {
    let folder = lake();
    std::fs::remove_file(folder.path("keystore.json")).unwrap();
    folder.ok(&["keystore", "create-key", "other"]);
    let error = folder.fails(1, &["sql", "select * from t.a"]);
    assert!(error.contains("\"k\"") && error.contains("keystore list"), "{error}");
    // What could not be written is not made.
    for arguments in [
        &["load", "t.b", "a.csv", "--create", "--key", "k"][..],
        &["table", "create", "t.b", "--schema", "id long", "--key", "k"],
    ] {
        let run = folder.run(arguments);
        assert!(run.code == 1 && run.stderr.starts_with("error: the master key k cannot be used"), "{run:?}");
    }
    assert_eq!(folder.ok(&["table", "list", "-o", "csv"]), "table\nt.a\n");
}

#[test]
fn of_what_is_not_there() {
    let folder = lake();
    assert!(folder.fails(1, &["table", "describe", "t.none"]).contains("t.none"));
    assert!(folder.fails(2, &["table", "describe", "none"]).contains("NAMESPACE.TABLE"));
    assert!(folder.fails(2, &["sql", "select * from t.none"]).contains("none"));
    assert!(folder.fails(2, &["sql", "select nothing from t.a"]).contains("nothing"));
    let error = folder.fails(2, &["sql", "select sum('x')"]);
    assert!(error.starts_with("error: No function matches") && !error.contains("bug"), "{error}");
    assert!(folder.fails(2, &["sql", "selec 1"]).starts_with("error: "));
    assert!(folder.fails(1, &["table", "files", "t.a", "--snapshot", "1"]).contains("no snapshot 1"));
    assert!(folder.fails(1, &["inspect", "none.parquet"]).contains("none.parquet"));
    assert!(folder.fails(1, &["inspect", "."]).starts_with("error: . is a folder"));
    assert!(folder.ok(&["table", "describe", "t.a"]).contains("1 in 1 data file\n"));
}

/// The catalog leads to a file that is gone: the table is not.
#[test]
fn of_missing_metadata() {
    let folder = lake();
    let file = folder.files("00001-").into_iter().find(|f| f.to_string_lossy().ends_with(".metadata.json")).unwrap();
    std::fs::remove_file(&file).unwrap();
    for arguments in [&["sql", "select * from t.a"][..], &["sql", "insert into t.a values (1)"]] {
        let error = folder.fails(1, arguments);
        assert!(error.contains(&*file.file_name().unwrap().to_string_lossy()), "{error}");
    }
}

/// One changed byte in any file of the table is noticed, and the file named.
#[test]
fn a_changed_byte_names_its_file() {
    let folder = lake();
    for part in [".parquet", "snap-", "-m0.avro"] {
        let file = folder.files(part).into_iter().next().expect(part);
        let bytes = std::fs::read(&file).unwrap();
        let mut changed = bytes.clone();
        changed[40] ^= 1;
        std::fs::write(&file, changed).unwrap();
        let error = folder.fails(1, &["sql", "select * from t.a"]);
        assert!(error.contains(&*file.file_name().unwrap().to_string_lossy()), "{error}");
        std::fs::write(&file, bytes).unwrap();
    }
    folder.ok(&["sql", "select * from t.a"]);

    let file = folder.files("00001-").into_iter().find(|f| f.to_string_lossy().ends_with(".metadata.json")).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("encryption.key-id", "encryption.key-ix")).unwrap();
    let error = folder.fails(1, &["table", "describe", "t.a"]);
    assert!(error.contains(&*file.file_name().unwrap().to_string_lossy()), "{error}");

    // The table is there: only its metadata is not.
    std::fs::remove_file(&file).unwrap();
    for arguments in [&["table", "describe", "t.a"][..], &["sql", "select * from t.a"]] {
        let error = folder.fails(1, arguments);
        assert!(error.contains(&*file.file_name().unwrap().to_string_lossy()), "{error}");
        assert!(!error.contains("table list"), "{error}");
    }
}
