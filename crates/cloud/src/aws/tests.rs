use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::SystemTime;

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::{self, ProvideCredentials, future};
use aws_smithy_runtime_api::client::result::ConnectorError;

use super::*;

fn properties(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn properties_of_java_are_understood_or_refused() {
    let role = "arn:aws:iam::123456789012:role/reader";
    let settings = Settings::from_properties(&properties(&[
        (CLIENT_REGION, "eu-west-1"),
        (CLIENT_FACTORY, ASSUME_ROLE_FACTORY),
        (ASSUME_ROLE_ARN, role),
        (ASSUME_ROLE_REGION, "eu-north-1"),
        (ASSUME_ROLE_EXTERNAL_ID, "x"),
        (ASSUME_ROLE_TIMEOUT_SEC, "900"),
        ("client.assume-role.tags.team", "a"),
        ("client.assume-role.tags.cost", "b"),
        ("s3.access-key-id", "not ours"),
    ]))
    .unwrap();
    let expected = Role {
        arn: role.to_owned(),
        external_id: Some("x".to_owned()),
        session_name: None,
        duration: Duration::from_mins(15),
        tags: vec![("cost".to_owned(), "b".to_owned()), ("team".to_owned(), "a".to_owned())],
    };
    assert_eq!(settings, Settings { region: Some("eu-north-1".to_owned()), usual_region: None, role: Some(expected) });

    let without_role = [(CLIENT_REGION, "eu-west-1"), (ASSUME_ROLE_REGION, "eu-north-1"), (ASSUME_ROLE_ARN, "")];
    let settings = Settings::from_properties(&properties(&without_role)).unwrap();
    assert_eq!(settings, Settings { region: Some("eu-west-1".to_owned()), usual_region: None, role: None });

    for (pairs, kind) in [
        (vec![(CLIENT_FACTORY, "com.example.Own")], ErrorKind::Unsupported),
        (vec![(CLIENT_FACTORY, ASSUME_ROLE_FACTORY)], ErrorKind::InvalidInput),
        (vec![(CLIENT_CREDENTIALS_PROVIDER, "com.example.Own")], ErrorKind::Unsupported),
        (vec![(REFRESH_CREDENTIALS_ENDPOINT, "https://catalog/credentials")], ErrorKind::Unsupported),
        (vec![(ASSUME_ROLE_ARN, role), (ASSUME_ROLE_TIMEOUT_SEC, "899")], ErrorKind::InvalidInput),
        (vec![(ASSUME_ROLE_ARN, role), (ASSUME_ROLE_TIMEOUT_SEC, "1h")], ErrorKind::InvalidInput),
    ] {
        let error = Settings::from_properties(&properties(&pairs)).unwrap_err();
        assert_eq!(error.kind(), kind, "{pairs:?}");
        assert!(pairs.iter().any(|(name, _)| error.to_string().contains(name)), "{error}");
    }
}

/// The time in seconds of all tests here: only one uses it.
static NOW: AtomicU64 = AtomicU64::new(0);

fn now() -> SystemTime {
    at(NOW.load(Ordering::SeqCst))
}

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Gives out credentials that are good for an hour, or, from a time on, none.
#[derive(Debug, Default)]
struct Source {
    calls: AtomicUsize,
    fails_from: AtomicU64,
}

impl ProvideCredentials for Source {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async move {
            tokio::task::yield_now().await;
            let number = self.calls.fetch_add(1, Ordering::SeqCst);
            if now() >= at(self.fails_from.load(Ordering::SeqCst)) {
                return Err(CredentialsError::provider_error("gone"));
            }
            let end = now() + Duration::from_hours(1);
            Ok(Credentials::new(format!("id{number}"), "hush", Some("hush-hush".to_owned()), Some(end), "test"))
        })
    }
}

#[tokio::test]
async fn credentials_are_kept_renewed_early_and_used_to_their_end() {
    let source = Arc::new(Source::default());
    source.fails_from.store(7_000, Ordering::SeqCst);
    let provider = SharedCredentialsProvider::new(Arc::clone(&source) as Arc<dyn ProvideCredentials>);
    let cached = Arc::new(Cached::with_clock(provider, now));

    let together: Vec<_> = (0..50)
        .map(|_| {
            let cached = Arc::clone(&cached);
            tokio::spawn(async move { cached.get().await })
        })
        .collect();
    for task in together {
        assert_eq!(task.await.unwrap().unwrap().access_key_id(), "id0");
    }
    // They hold until 3600, the second ones until 6900.
    for (time, expected) in
        [(3_299, Some("id0")), (3_300, Some("id1")), (6_599, Some("id1")), (6_600, Some("id2")), (9_900, Some("id2"))]
    {
        NOW.store(time, Ordering::SeqCst);
        assert_eq!(id(&cached.get().await), expected, "at {time}");
    }
    NOW.store(10_199, Ordering::SeqCst);
    assert_eq!(id(&cached.get().await), Some("id2"), "still good, though they cannot be renewed");
    NOW.store(10_200, Ordering::SeqCst);
    assert!(cached.get().await.is_err());
    let shown = format!("{cached:?}");
    assert!(!shown.contains("hush"), "{shown}");
}

fn id(result: &provider::Result) -> Option<&str> {
    result.as_ref().ok().map(Credentials::access_key_id)
}

#[test]
fn what_is_wrong_with_credentials_is_told_by_kind() {
    let refused = ConnectorError::io("connection refused".into());
    for (error, kind, text) in [
        (CredentialsError::not_loaded("nobody has any"), ErrorKind::Credentials, "AWS_PROFILE"),
        (CredentialsError::invalid_configuration("no such profile"), ErrorKind::Credentials, "no such profile"),
        (CredentialsError::provider_timed_out(Duration::from_secs(5)), ErrorKind::Unreachable, "in time"),
        (CredentialsError::provider_error(refused), ErrorKind::Unreachable, "connection refused"),
        (CredentialsError::provider_error("session expired"), ErrorKind::Credentials, "session expired"),
    ] {
        let wrapped = ConnectorError::other(error.into(), None);
        let found = credentials_failure(&wrapped).unwrap();
        assert_eq!(found.kind(), kind, "{found}");
        assert!(found.to_string().contains(text), "{found}");
    }
    assert!(credentials_failure(&ConnectorError::other("something else".into(), None)).is_none());
}
