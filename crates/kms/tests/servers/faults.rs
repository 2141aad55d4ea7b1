//! What every client must make of a server that fails.

use std::time::Duration;

use lakelock_crypto::SecretKey;
use lakelock_interop::faults::FaultServer;
use lakelock_kms::{Error, ErrorKind, KeyManagementClient, Remote, RemoteSettings};

/// As often as a call is tried here.
pub(crate) const ATTEMPTS: usize = 3;

pub(crate) const KEY: [u8; 16] = *b"a key for tests!";

/// How long to wait for an answer that comes, however busy the machine is.
pub(crate) const PATIENT: Duration = Duration::from_secs(30);

/// How long to wait for one that does not.
pub(crate) const HASTY: Duration = Duration::from_secs(1);

/// A client around another one that waits for an answer as long as that.
pub(crate) fn waiting<C: KeyManagementClient>(client: C, attempt_timeout: Duration) -> Remote<C> {
    let settings = RemoteSettings { attempt_timeout, max_attempts: 3, ..RemoteSettings::default() };
    Remote::new(client, settings)
}

/// Calls a client whose server fails, and checks the error: its kind, that it names the key and the operation, that it
/// hides the key, and that the server was asked as often as it should have been.
pub(crate) async fn expect<C: KeyManagementClient>(
    client: &Remote<C>,
    server: Option<&FaultServer>,
    key_id: &str,
    expected: ErrorKind,
    what: &str,
) -> Vec<Error> {
    let key = SecretKey::new(&KEY).unwrap();
    let mut errors = Vec::new();
    for operation in ["wrap", "unwrap"] {
        let before = server.map_or(0, |server| server.requests().len());
        let call = async {
            match operation {
                "wrap" => client.wrap_key(&key, key_id).await.map(|_| ()),
                _ => client.unwrap_key(&[1; 64], key_id).await.map(|_| ()),
            }
        };
        let outcome = tokio::time::timeout(Duration::from_mins(1), call).await;
        let Ok(outcome) = outcome else { panic!("{what}: {operation} hangs") };
        let Err(error) = outcome else { panic!("{what}: {operation} succeeds") };
        assert_eq!(error.kind(), expected, "{what}, {operation}: {error:?}");
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(key_id) && error.to_string().contains(operation), "{what}: {shown}");
        for secret in ["a key for tests!", "YSBrZXkgZm9yIHRlc3Rz", &hex::encode(KEY), "97, 32, 107, 101, 121"] {
            assert!(!shown.contains(secret), "{what}: {shown}");
        }
        if let Some(server) = server {
            let asked = server.requests().len() - before;
            let due = if expected.is_retryable() { ATTEMPTS } else { 1 };
            assert_eq!(asked, due, "{what}, {operation}: requests");
        }
        errors.push(error);
    }
    errors
}
