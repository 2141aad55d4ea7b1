//! AWS KMS, as moto has it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lakelock_cloud::aws::{Credentials, SdkConfig, with_credentials};
use lakelock_crypto::{KeyLength, SecretKey};
use lakelock_interop::servers::Moto;
use lakelock_kms::conformance::{Subject, check};
use lakelock_kms::{AwsKms, ErrorKind, KMS_ENDPOINT, KeyManagementClient, Remote, RemoteSettings};
use serde_json::json;

/// Two master keys of one test. The server is shared, and ends with this process.
struct Aws {
    moto: &'static Moto,
    key_ids: [String; 2],
}

impl Aws {
    fn with_keys(aliases: [&str; 2]) -> Self {
        static MOTO: OnceLock<Moto> = OnceLock::new();
        let moto = MOTO.get_or_init(|| Moto::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("moto")));
        Self { moto, key_ids: aliases.map(|alias| moto.create_key(alias)) }
    }

    fn client(&self, properties: &[(&str, &str)]) -> Remote<AwsKms> {
        let mut all = HashMap::from([(KMS_ENDPOINT.to_owned(), self.moto.url().to_owned())]);
        all.extend(properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        Remote::new(AwsKms::new(config(), &all).unwrap(), RemoteSettings::default())
    }
}

fn config() -> SdkConfig {
    with_credentials(Moto::REGION, Credentials::new("testing", "testing", None, None, "test"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behaves_as_every_client() {
    let aws = Aws::with_keys(["alias/a", "alias/b"]);
    let [a, b] = &aws.key_ids;
    let client = aws.client(&[]);
    let missing_key_id = "arn:aws:kms:eu-west-1:123456789012:key/00000000-0000-4000-8000-000000000000";
    check(&Subject { client: &client, key_ids: [a, b], missing_key_id }).await;
    check(&Subject { client: &client, key_ids: ["alias/a", "alias/b"], missing_key_id: "alias/c" }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wraps_in_the_bytes_of_aws_under_any_name_of_a_key() {
    let aws = Aws::with_keys(["alias/names", "alias/other"]);
    let client = aws.client(&[]);
    let key = SecretKey::generate(KeyLength::Aes256).unwrap();
    let arn = &aws.key_ids[0];
    let id = arn.rsplit('/').next().unwrap();
    let names = [arn, id, "alias/names", "arn:aws:kms:eu-west-1:123456789012:alias/names"];
    for wrapped_as in names {
        let wrapped = client.wrap_key(&key, wrapped_as).await.unwrap();
        for unwrapped_as in names {
            assert!(client.unwrap_key(&wrapped, unwrapped_as).await.unwrap() == key, "{wrapped_as}, {unwrapped_as}");
        }
        let by_others = aws.moto.kms("Decrypt", &json!({"KeyId": id, "CiphertextBlob": STANDARD.encode(wrapped)}));
        assert_eq!(by_others["Plaintext"], STANDARD.encode(key.expose_secret()));
    }
    let by_others = aws.moto.kms("Encrypt", &json!({"KeyId": id, "Plaintext": STANDARD.encode(key.expose_secret())}));
    let wrapped = STANDARD.decode(by_others["CiphertextBlob"].as_str().unwrap()).unwrap();
    assert!(client.unwrap_key(&wrapped, "alias/names").await.unwrap() == key);

    for length in [KeyLength::Aes128, KeyLength::Aes192, KeyLength::Aes256] {
        let generated = client.generate_key(length, "alias/names").await.unwrap().unwrap();
        assert_eq!(generated.key.length(), length);
        assert!(client.unwrap_key(&generated.wrapped, id).await.unwrap() == generated.key);
    }
    let rsa = aws.client(&[("kms.encryption-algorithm-spec", "RSAES_OAEP_SHA_256")]);
    assert!(rsa.generate_key(KeyLength::Aes128, "alias/names").await.unwrap().is_none(), "wrapping is all RSA does");
    let error = client.wrap_key(&key, "alias/nobody's").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_cannot_be_used_says_why() {
    let aws = Aws::with_keys(["alias/states", "alias/another"]);
    let client = aws.client(&[]);
    let key = SecretKey::generate(KeyLength::Aes128).unwrap();
    let wrapped = client.wrap_key(&key, "alias/states").await.unwrap();
    let signing = aws.moto.kms("CreateKey", &json!({"KeyUsage": "SIGN_VERIFY", "KeySpec": "RSA_2048"}));
    let signing = signing["KeyMetadata"]["Arn"].as_str().unwrap();
    let error = client.wrap_key(&key, signing).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    assert!(error.to_string().contains("of another type"), "{error}");

    // What is disabled comes back; so does what was not deleted after all.
    let id = json!({"KeyId": aws.key_ids[0].rsplit('/').next()});
    for (take, give) in
        [("DisableKey", vec!["EnableKey"]), ("ScheduleKeyDeletion", vec!["CancelKeyDeletion", "EnableKey"])]
    {
        aws.moto.kms(take, &id);
        for error in [
            client.wrap_key(&key, "alias/states").await.unwrap_err(),
            client.unwrap_key(&wrapped, "alias/states").await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Disabled, "{take}: {error}");
        }
        for operation in give {
            aws.moto.kms(operation, &id);
        }
        assert!(client.unwrap_key(&wrapped, "alias/states").await.unwrap() == key);
    }
    // A key that is rotated opens what it wrapped before.
    aws.moto.kms("RotateKeyOnDemand", &id);
    assert!(client.unwrap_key(&wrapped, "alias/states").await.unwrap() == key);
}
