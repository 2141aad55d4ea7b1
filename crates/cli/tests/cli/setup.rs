//! `init`, `keystore`, configuration, `table`, `namespace`.

use crate::support::Folder;

#[test]
fn init_makes_a_place_and_overwrites_nothing() {
    let folder = Folder::new();
    folder.ok(&["init", "lake"]);
    for name in ["lakelock.toml", "keystore.json", "keystore.key", "catalog.db", "warehouse"] {
        assert!(folder.path("lake").join(name).exists(), "{name}");
    }
    let before = std::fs::read(folder.path("lake/keystore.key")).unwrap();
    let error = folder.fails(1, &["init", "lake"]);
    assert!(error.contains("lakelock.toml exists already") && error.contains("hint: "), "{error}");
    assert_eq!(std::fs::read(folder.path("lake/keystore.key")).unwrap(), before);

    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for name in ["keystore.json", "keystore.key"] {
            let mode = std::fs::metadata(folder.path("lake").join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }
}

/// Whatever a folder is called, a lake works in it, or nothing is made.
#[test]
fn a_lake_is_found_again_whatever_its_folder_is_called() {
    let folder = Folder::new();
    folder.write("a.csv", "id\n1\n");
    for name in ["a#b", "50%", "%20 x", "a:b", "é", "inner/../up"] {
        folder.ok(&["init", name]);
        let config = format!("{name}/lakelock.toml");
        let config = ["--config", config.as_str()];
        folder.ok(&[&config[..], &["keystore", "create-key", "k"]].concat());
        folder.ok(&[&config[..], &["load", "t.a", "a.csv", "--create", "--key", "k"]].concat());
        let rows = folder.ok(&[&config[..], &["sql", "select id from t.a", "-o", "csv"]].concat());
        assert_eq!(rows, "id\n1\n", "{name}");
        std::fs::remove_file(folder.path("lakelock.toml")).unwrap_or_default();
    }
    for command in ["init", "demo"] {
        let error = folder.fails(2, &[command, "who?"]);
        assert!(error.contains("who?") && error.contains("parameters"), "{error}");
        assert!(!folder.path("who?").exists());
    }
}

#[test]
fn keys_are_made_imported_and_listed_but_never_shown() {
    let folder = Folder::new();
    folder.ok(&["init"]);
    let hex = "30313233343536373839303132333435";
    folder.write("key.hex", format!("{hex}\n"));
    let runs = [
        folder.run(&["keystore", "create-key", "orders", "--length", "24"]),
        folder.run(&["keystore", "import-key", "java", "--hex-file", "key.hex"]),
        folder.run(&["keystore", "list", "-o", "csv", "-vv"]),
    ];
    assert_eq!(runs[2].stdout, "key_id,bits\njava,128\norders,192\n");
    for run in &runs {
        assert_eq!(run.code, 0, "{run:?}");
        assert!(!run.stdout.contains(hex) && !run.stderr.contains(hex), "{run:?}");
        assert!(!run.stderr.contains("0123456789012345"), "{run:?}");
    }
    let error = folder.fails(1, &["keystore", "create-key", "orders"]);
    assert!(error.contains("orders") && error.contains("already"), "{error}");
    folder.write("bad.hex", "3031-not-a-key");
    let error = folder.fails(1, &["keystore", "import-key", "bad", "--hex-file", "bad.hex"]);
    assert!(error.contains("bad.hex") && !error.contains("3031"), "{error}");
    let error = folder.fails(1, &["keystore", "import-key", "bad", "--hex-file", "-"]);
    assert!(error.starts_with("error: standard input: expected a key"), "{error}");
    // Without the files, the way is back to the properties that name them.
    for name in ["keystore.key", "keystore.json"] {
        std::fs::remove_file(folder.path(name)).unwrap();
        let error = folder.fails(1, &["keystore", "list"]);
        for part in [name, "does not exist", "hint: keystore.path of the catalog", "keystore.key-file", "lakelock init"]
        {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}

#[test]
fn a_passphrase_opens_the_keystore_and_a_wrong_one_does_not() {
    let folder = Folder::new();
    let with = |passphrase: &str, arguments: &[&str]| {
        crate::support::outcome(folder.command(arguments).env("LAKELOCK_KEYSTORE_PASSPHRASE", passphrase))
    };
    // Without a passphrase nothing is made that would be in the way of the next try.
    assert!(folder.fails(1, &["init", "--passphrase"]).contains("no terminal to ask on"));
    assert!(crate::support::files_below(&folder.path("")).is_empty() && !folder.path("warehouse").exists());
    assert_eq!(with("right", &["init", "--passphrase"]).code, 0);
    assert!(!folder.path("keystore.key").exists());
    assert_eq!(with("right", &["keystore", "create-key", "k"]).code, 0);
    let wrong = with("wrong", &["keystore", "list"]);
    assert_eq!(wrong.code, 1);
    assert!(wrong.stderr.contains("passphrase") && wrong.stderr.contains("hint: "), "{}", wrong.stderr);
    let error = folder.fails(1, &["keystore", "list"]);
    assert!(error.contains("LAKELOCK_KEYSTORE_PASSPHRASE"), "{error}");
}

#[test]
fn file_then_environment_then_flags() {
    let folder = Folder::new();
    folder.ok(&["init", "lake"]);
    assert!(folder.fails(2, &["table", "list"]).contains("`lakelock init`"));
    // Relative paths of the file start at its folder, wherever the program runs.
    folder.ok(&["--config", "lake/lakelock.toml", "keystore", "create-key", "k"]);
    let with_env = |name: &str, value: &str| {
        crate::support::outcome(
            folder.command(&["table", "list"]).env("LAKELOCK_CONFIG", "lake/lakelock.toml").env(name, value),
        )
    };
    assert_eq!(with_env("X", "").code, 0);
    assert_eq!(with_env("LAKELOCK_CATALOG__MAIN__TYPE", "nonsense").code, 1);
    let flag = folder.run(&["--config", "lake/lakelock.toml", "--set", "type=memory", "table", "list"]);
    assert_eq!(flag.code, 0, "{}", flag.stderr);
    assert!(
        folder.fails(2, &["--config", "lake/lakelock.toml", "--catalog", "other", "table", "list"]).contains("main")
    );
    assert!(folder.fails(1, &["--config", "none.toml", "table", "list"]).contains("none.toml"));
}

#[test]
fn the_life_of_a_table() {
    let folder = Folder::with_lake();
    // Whether a table is encrypted must be said.
    assert_eq!(folder.run(&["table", "create", "shop.orders", "--schema", "id long"]).code, 2);
    folder.ok(&[
        "table",
        "create",
        "shop.orders",
        "--key",
        "k",
        "--schema",
        "id long not null, day date, total decimal(9, 2)",
        "--partition-by",
        "month(day)",
        "--property",
        "write.parquet.compression-level=5",
    ]);
    assert_eq!(folder.ok(&["table", "list", "-o", "csv"]), "table\nshop.orders\n");
    assert_eq!(folder.ok(&["namespace", "list", "-o", "csv"]), "namespace\nshop\n");

    let text = folder.ok(&["table", "describe", "shop.orders"]);
    for part in
        ["shop.orders", "id     long not null", "month of day", "master key id       k", "compression-level = 5"]
    {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&folder.ok(&["table", "describe", "shop.orders", "-o", "json"])).unwrap();
    assert_eq!(json["encryption"]["master_key_id"], "k");
    assert_eq!(json["encryption"]["manifest_list_keys"], 0);
    assert_eq!(json["columns"][2]["type"], "decimal(9, 2)");
    assert_eq!(json["snapshots"], 0);

    folder.write("o.csv", "id,day,total\n1,2024-02-29,1.50\n2,2024-03-01,\n");
    folder.ok(&["load", "shop.orders", "o.csv"]);
    folder.ok(&["load", "shop.orders", "o.csv"]);
    let history = folder.json(&["table", "history", "shop.orders"]);
    assert_eq!(history.len(), 2);
    let text = folder.ok(&["table", "describe", "shop.orders"]);
    assert!(text.contains("4 in 4 data files"), "{text}");
    assert_eq!(
        (&history[0]["operation"], &history[0]["added"], &history[0]["rows"]),
        (&"append".into(), &2.into(), &4.into())
    );
    assert_eq!((&history[0]["current"], &history[1]["current"]), (&true.into(), &false.into()));
    let files = folder.json(&["table", "files", "shop.orders"]);
    assert_eq!(files.len(), 4);
    assert!(files.iter().all(|file| file["encrypted"] == true && file["rows"] == 1), "{files:?}");
    let first = history[1]["snapshot_id"].as_str().unwrap();
    assert_eq!(folder.json(&["table", "files", "shop.orders", "--snapshot", first]).len(), 2);
    let json: serde_json::Value =
        serde_json::from_str(&folder.ok(&["table", "describe", "shop.orders", "-o", "json"])).unwrap();
    assert_eq!(json["encryption"]["manifest_list_keys"], 2);
    assert_eq!(json["current_snapshot"]["id"], history[0]["snapshot_id"]);
    assert_eq!(json["encryption"]["key_encryption_keys"].as_array().unwrap().len(), 1);
    assert_eq!(json["encryption"]["key_encryption_keys"][0]["age_days"], 0);

    // A table goes, and comes back by its metadata.
    let location = json["metadata_location"].as_str().unwrap();
    folder.ok(&["table", "drop", "shop.orders"]);
    for (protection, expected) in [(&["--key", "other"][..], "key id other"), (&["--plaintext"], "no key id")] {
        let arguments = [&["table", "register", "shop.again", location], protection].concat();
        let error = folder.fails(1, &arguments);
        assert!(error.contains("has key id k") && error.contains(expected), "{error}");
    }
    assert!(folder.fails(1, &["table", "register", "shop.again", "/none.json", "--key", "k"]).contains("/none.json"));
    let error = folder.fails(1, &["table", "register", "shop.again", "o.csv", "--key", "k"]);
    assert!(error.contains("o.csv") && error.contains("hint: name the table's metadata.json"), "{error}");
    // A relative path is one from here.
    let relative = location.split_once("warehouse/").map(|(_, rest)| format!("warehouse/{rest}")).unwrap();
    folder.ok(&["table", "register", "shop.again", &relative, "--key", "k"]);
    assert_eq!(folder.json(&["sql", "select count(*) as n from shop.again"])[0]["n"], 4);

    folder.ok(&["namespace", "create", "shop.inner"]);
    for namespace in ["shop", "shop.inner.most"] {
        let error = folder.fails(1, &["namespace", "drop", namespace]);
        assert!(error.contains("`lakelock namespace list`"), "{error}");
    }
    folder.ok(&["namespace", "drop", "shop.inner"]);
    assert!(folder.fails(2, &["table", "drop", "shop.again", "--purge"]).contains("--yes"));
    folder.ok(&["table", "drop", "shop.again", "--purge", "--yes"]);
    assert!(folder.files(".parquet").is_empty());
    folder.ok(&["namespace", "drop", "shop"]);
    assert_eq!(folder.ok(&["namespace", "list", "-o", "json"]), "");
}
