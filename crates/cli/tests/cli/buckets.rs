//! A warehouse in a bucket: every command that touches files, from `init` to the last file's end.

use lakelock_interop::servers::SeaweedFs;
use serde_json::{Value, json};

use crate::support::{Folder, Outcome, outcome};

/// The program, with the server of a bucket `lake` in its configuration and its credentials in the environment.
struct Bucket {
    folder: Folder,
    server: SeaweedFs,
}

impl Bucket {
    fn new() -> Self {
        let folder = Folder::new();
        let server = SeaweedFs::start(&folder.path("seaweedfs"));
        let bucket = Self { folder, server };
        bucket.ok(&["init", "--warehouse", "s3://lake/tables"]);
        let config = std::fs::read_to_string(bucket.folder.path("lakelock.toml")).unwrap();
        let server = format!(
            "s3.endpoint = {:?}\ns3.path-style-access = true\nclient.region = \"us-east-1\"\n",
            bucket.server.url()
        );
        bucket.folder.write("lakelock.toml", config + &server);
        bucket.ok(&["keystore", "create-key", "k"]);
        bucket
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        let credentials = [("AWS_ACCESS_KEY_ID", "lakelock"), ("AWS_SECRET_ACCESS_KEY", "lakelock-secret")];
        outcome(self.folder.command(arguments).envs(credentials))
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, 0, "{arguments:?}: {}", outcome.stderr);
        outcome.stdout
    }

    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let arguments = [arguments, &["--output", "json"]].concat();
        self.ok(&arguments).lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

#[test]
fn a_table_lives_in_a_bucket_as_it_does_in_a_folder() {
    let bucket = Bucket::new();
    bucket.folder.write("orders.csv", "id,name\n1,one\n2,two\n3,\n");
    bucket.ok(&["load", "shop.orders", "orders.csv", "--create", "--key", "k"]);
    bucket.ok(&["sql", "insert into shop.orders values (4, 'four')"]);
    let rows = bucket.json(&["sql", "select id, name from shop.orders where id > 2 order by id"]);
    assert_eq!(rows, [json!({"id": 3, "name": null}), json!({"id": 4, "name": "four"})]);

    // What lists files names them so that they can be looked at.
    let mut files: Vec<String> = bucket
        .json(&["table", "files", "shop.orders"])
        .iter()
        .map(|row| row["file_path"].as_str().expect("a location").to_owned())
        .collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let snapshots = bucket.json(&["sql", "select manifest_list from shop.orders.snapshots"]);
    files.extend(snapshots.iter().map(|row| row["manifest_list"].as_str().unwrap().to_owned()));
    for file in &files {
        assert!(file.starts_with("s3://lake/tables/shop/orders/"), "{file}");
        let found: Value = serde_json::from_str(&bucket.ok(&["inspect", file, "--output", "json"])).unwrap();
        assert_eq!(found["encrypted"], json!(true), "{found}");
    }
    let described = bucket.ok(&["inspect", &files[2], "--table", "shop.orders", "--output", "json"]);
    assert!(described.contains("\"kind\": \"manifest list\""), "{described}");

    // A failed load leaves nothing behind.
    let before = bucket.json(&["sql", "select count(*) as n from shop.orders"]);
    bucket.folder.write("bad.csv", "id,name\n5,five\nsix,6\n");
    let failed = bucket.run(&["load", "shop.orders", "bad.csv"]);
    assert_eq!((failed.code, failed.stdout.as_str()), (1, ""), "{}", failed.stderr);
    assert_eq!(bucket.json(&["sql", "select count(*) as n from shop.orders"]), before);

    bucket.ok(&["table", "drop", "shop.orders", "--purge", "--yes"]);
    let gone = bucket.run(&["inspect", &files[0]]);
    assert_eq!(gone.code, 1);
    assert!(gone.stderr.contains(&files[0]), "{}", gone.stderr);
}

#[test]
fn what_is_wrong_with_a_bucket_is_said_with_what_helps() {
    let bucket = Bucket::new();
    let load = ["load", "shop.orders", "orders.csv", "--create", "--key", "k"];
    bucket.folder.write("orders.csv", "id\n1\n");
    for (set, expected) in [
        ("warehouse=s3://no-such-lake/tables", "there is no bucket no-such-lake"),
        ("s3.secret-access-key=wrong", "s3.access-key-id"),
        ("s3.endpoint=http://127.0.0.1:1", "127.0.0.1:1"),
    ] {
        let once = ["storage.retry.num-retries=0", "s3.access-key-id=lakelock", "s3.secret-access-key=lakelock-secret"];
        let once: Vec<_> = once.into_iter().chain([set]).flat_map(|set| ["--set", set]).collect();
        let failed = bucket.run(&[&load[..], &once].concat());
        assert_eq!((failed.code, failed.stdout.as_str()), (1, ""), "{set}: {}", failed.stderr);
        assert!(failed.stderr.contains(expected), "{expected} in {}", failed.stderr);
    }
    let failed = bucket.run(&["load", "shop.orders", "s3://lake/orders.csv"]);
    assert_eq!(failed.code, 2);
    assert!(failed.stderr.contains("files to load are local"), "{}", failed.stderr);
}
