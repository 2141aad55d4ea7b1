//! `kms check`: what it says when all is well, and what to fix when not.

use lakelock_interop::servers::Moto;
use serde_json::Value;

use crate::support::{Folder, Outcome, outcome};

#[test]
fn the_local_keystore_is_tried() {
    let folder = Folder::with_lake();
    let screen = folder.ok(&["kms", "check", "--key", "k"]);
    let lines: Vec<&str> = screen.lines().collect();
    assert_eq!(lines[0], "The KMS local wraps and unwraps with k.");
    assert!(lines[1].contains("wrapped a random key of 256 bits") && lines[1].ends_with("60 bytes"), "{screen}");
    assert!(lines[2].contains("it is the same key") && lines[2].ends_with(" ms"), "{screen}");
    let found: Value = serde_json::from_str(&folder.ok(&["kms", "check", "--key", "k", "-o", "json"])).unwrap();
    assert_eq!((&found["kms"], &found["key_id"], &found["wrapped_bytes"]), (&"local".into(), &"k".into(), &60.into()));
    assert!(found["wrap_ms"].is_number() && found["unwrap_ms"].is_number(), "{found}");
    let csv = folder.ok(&["kms", "check", "--key", "k", "-o", "csv"]);
    assert!(csv.starts_with("catalog,kms,key_id,wrapped_bytes,wrap_ms,unwrap_ms\nmain,local,k,60,"), "{csv}");

    let error = folder.fails(1, &["kms", "check", "--key", "nobody's"]);
    assert!(error.contains("\"nobody's\"") && error.contains("hint: `lakelock keystore list`"), "{error}");
    folder.write("lakelock.toml", "[catalog.bare]\ntype = \"memory\"\n");
    let error = folder.fails(2, &["kms", "check", "--key", "k"]);
    assert!(error.contains("the catalog bare has no KMS") && error.contains("encryption.kms-type"), "{error}");
}

#[test]
fn aws_is_tried_with_the_credentials_of_the_environment_or_a_role() {
    let folder = Folder::new();
    folder.write("lakelock.toml", "[catalog.main]\ntype = \"memory\"\nencryption.kms-type = \"aws\"\n");
    let moto = Moto::start(&folder.path("moto"));
    let key = moto.create_key("alias/orders");
    let run = |environment: &[(&str, &str)], more: &[&str]| -> Outcome {
        let arguments = [&["kms", "check", "--output", "json", "--key"], more].concat();
        let nowhere = [("AWS_EC2_METADATA_DISABLED", "true"), ("AWS_ENDPOINT_URL", moto.url())];
        outcome(folder.command(&arguments).envs(nowhere).envs(environment.iter().copied()))
    };
    let identity =
        [("AWS_ACCESS_KEY_ID", "testing"), ("AWS_SECRET_ACCESS_KEY", "testing"), ("AWS_REGION", Moto::REGION)];

    let role = ["--set", "client.assume-role.arn=arn:aws:iam::123456789012:role/reader"];
    for more in [vec![key.as_str()], vec!["alias/orders"], [&["alias/orders"][..], &role].concat()] {
        let run = run(&identity, &more);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{more:?}");
        let found: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((&found["kms"], &found["key_id"]), (&"aws".into(), &more[0].into()));
    }

    let elsewhere = [&identity[..2], &[("AWS_REGION", "eu-north-1")]].concat();
    for (environment, key, expected) in [
        (&identity[..], "alias/nobody's", vec!["has no such key", "eu-west-1", "NotFoundException"]),
        (&elsewhere, "alias/orders", vec!["has no such key", "eu-north-1"]),
        (&identity[..2], "alias/orders", vec!["no AWS region", "client.region", "AWS_REGION"]),
        (&identity[2..], "alias/orders", vec!["no AWS credentials", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"]),
    ] {
        let run = run(environment, &[key]);
        assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{expected:?}");
        for part in expected {
            assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
        }
        assert!(run.stderr.starts_with("error: "), "nothing is said before: {}", run.stderr);
    }
}
