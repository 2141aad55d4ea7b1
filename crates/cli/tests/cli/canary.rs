//! Nothing readable lies in the warehouse of an encrypted table, and no key anywhere.

use std::collections::HashMap;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use lakelock_catalog::catalog_from_properties;
use lakelock_iceberg::manifest::{Manifest, read_manifest_list};
use lakelock_iceberg::spec::{NamespaceIdent, TableIdent};
use lakelock_kms::KmsRegistry;

use crate::support::{Folder, outcome};

const MASTER_KEY: &[u8] = b"canary-master-32-bytes-long-key!";
const VALUE: &str = "canary-value-6f1d";
const COLUMN: &str = "canary_column";

#[test]
fn no_value_and_no_key_lies_in_the_clear() {
    let folder = Folder::new();
    folder.ok(&["init"]);
    folder.write("key.hex", hex::encode(MASTER_KEY));
    folder.ok(&["keystore", "import-key", "k", "--hex-file", "key.hex"]);
    std::fs::remove_file(folder.path("key.hex")).unwrap();
    let mut csv = format!("id,{COLUMN},bucketed\n");
    for row in 0..500 {
        writeln!(csv, "{row},{VALUE}-{row},{VALUE}").unwrap();
    }
    folder.write("a.csv", csv);
    let partition = ["--partition-by", "bucket(4, id)"];
    for length in ["16", "24", "32"] {
        let property = format!("encryption.data-key-length={length}");
        let name = format!("t.a{length}");
        let load = ["load", &name, "a.csv", "--create", "--key", "k", "--property", &property];
        folder.ok(&[&load[..], &partition].concat());
        folder.ok(&["load", &name, "a.csv"]);
    }

    let mut secrets = vec![("a value", VALUE.as_bytes().to_vec()), ("the master key", MASTER_KEY.to_vec())];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for name in ["a16", "a24", "a32"] {
        let keys = runtime.block_on(keys_of(&folder, name));
        // A KEK; per commit a manifest list, a manifest, four data files.
        assert!(keys.len() >= 13, "{}", keys.len());
        secrets.extend(keys);
    }
    let needles = Needles::new(&secrets);

    let files = folder.warehouse();
    assert!(files.len() > 20);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        assert_eq!(needles.find(&bytes), None, "in {}", file.display());
        if file.to_string_lossy().ends_with(".metadata.json") {
            continue;
        }
        assert!(bytes.starts_with(b"PARE") || bytes.starts_with(b"AGS1"), "{}", file.display());
        for readable in [COLUMN, "bucketed", "lakelock", "manifest_path", "avro.schema", "iceberg"] {
            assert!(!contains(&bytes, readable.as_bytes()), "{readable} lies in {}", file.display());
        }
    }
    // Outside the warehouse too: the catalog, the sealed keystore, the configuration.
    for name in ["catalog.db", "keystore.json", "lakelock.toml"] {
        let bytes = std::fs::read(folder.path(name)).unwrap();
        assert_eq!(needles.find(&bytes), None, "in {name}");
    }
    // And what is logged, at its most talkative: bounds of the column are read, and rows with it.
    let mut query = folder.command(&["-vvv", "sql", &format!("select count({COLUMN}) from t.a16 where id > 250")]);
    let run = outcome(query.env("LAKELOCK_LOG", "trace"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("TRACE") || run.stderr.contains("DEBUG"), "something is logged: {}", run.stderr);
    assert_eq!(needles.find(run.stderr.as_bytes()), None, "in the log");
}

/// The test would notice: the forms are found where they are put.
#[test]
fn forms_are_found_where_they_are() {
    let secret = MASTER_KEY;
    let needles = Needles::new(&[("it", secret.to_vec())]);
    assert_eq!(needles.find(&secret[1..]), None);
    for offset in 0..3 {
        let mut embedded = vec![0x5a; offset];
        embedded.extend(secret);
        embedded.extend([0xa5; 7]);
        for text in [STANDARD.encode(&embedded), URL_SAFE.encode(&embedded), hex::encode(&embedded)] {
            assert_eq!(needles.find(text.as_bytes()), Some("it"), "{text}");
        }
    }
}

/// Every key of a table below the master key, from its own structures.
async fn keys_of(folder: &Folder, name: &str) -> Vec<(&'static str, Vec<u8>)> {
    let path = |name: &str| folder.path(name).display().to_string();
    let properties = HashMap::from([
        ("type".to_owned(), "sql".to_owned()),
        ("uri".to_owned(), format!("sqlite:{}", path("catalog.db"))),
        ("warehouse".to_owned(), path("warehouse")),
        ("encryption.kms-impl".to_owned(), "local".to_owned()),
        ("keystore.path".to_owned(), path("keystore.json")),
        ("keystore.key-file".to_owned(), path("keystore.key")),
    ]);
    let kms = KmsRegistry::with_builtins().from_catalog_properties(&properties).unwrap().unwrap();
    let catalog = catalog_from_properties("main", &properties).await.unwrap();
    let ident = TableIdent::new(NamespaceIdent::new("t".to_owned()), name.to_owned());
    let table = catalog.load_table(&ident).await.unwrap();
    let (metadata, io) = (table.metadata(), table.io());
    let mut keys = Vec::new();
    for entry in metadata.encryption_keys_iter().filter(|entry| entry.encrypted_by_id() == Some("k")) {
        let kek = kms.unwrap_key(entry.encrypted_key_metadata(), "k").await.unwrap();
        keys.push(("a KEK", kek.expose_secret().to_vec()));
    }
    assert!(!keys.is_empty());
    for snapshot in metadata.snapshots() {
        let key = io.manager().manifest_list_key(metadata, snapshot).await.unwrap().unwrap();
        keys.push(("a manifest list's key", key.encryption_key().expose_secret().to_vec()));
        for file in read_manifest_list(io, metadata, snapshot).await.unwrap() {
            let key = io.file_key(&file.manifest_path, file.key_metadata.as_ref()).unwrap().unwrap();
            keys.push(("a manifest's key", key.encryption_key().expose_secret().to_vec()));
            for entry in Manifest::read(io, metadata, &file).await.unwrap().entries {
                let key = io.file_key(&entry.data_file.file_path, entry.data_file.key_metadata.as_ref());
                keys.push(("a data file's key", key.unwrap().unwrap().encryption_key().expose_secret().to_vec()));
            }
        }
    }
    keys
}

/// A secret raw, in hex, and in base64 wherever it stands in what was encoded.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_vec(), hex::encode(secret).into_bytes(), hex::encode_upper(secret).into_bytes()];
    for engine in [STANDARD, URL_SAFE] {
        for offset in 0..3 {
            let padded = [&[0; 2][..offset], secret].concat();
            let text = engine.encode(&padded);
            // Characters that depend on the secret alone: not on what stands before or after it.
            let first = (offset * 8).div_ceil(6);
            let end = padded.len() * 8 / 6;
            forms.push(text.as_bytes()[first..end].to_vec());
        }
    }
    forms
}

/// All forms of many secrets, found in one pass: by their first bytes.
struct Needles(HashMap<[u8; 8], Vec<(&'static str, Vec<u8>)>>);

impl Needles {
    fn new(secrets: &[(&'static str, Vec<u8>)]) -> Self {
        let mut needles: HashMap<_, Vec<_>> = HashMap::new();
        for (what, secret) in secrets {
            for form in forms(secret) {
                let start = *form.first_chunk().expect("eight bytes");
                needles.entry(start).or_default().push((*what, form));
            }
        }
        Self(needles)
    }

    fn find(&self, bytes: &[u8]) -> Option<&'static str> {
        (0..bytes.len().saturating_sub(7)).find_map(|at| {
            let here = self.0.get(bytes[at..].first_chunk()?)?;
            here.iter().find(|(_, form)| bytes[at..].starts_with(form)).map(|(what, _)| *what)
        })
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}
