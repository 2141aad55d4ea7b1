//! In a time that passes at once when nothing else is left to do.

use std::collections::{HashMap, VecDeque};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{BoxFuture, FutureExt as _, join_all};
use tokio::sync::oneshot;
use tokio::task;

use super::*;
use crate::MemoryKms;
use crate::conformance::{Subject, check};

/// A time that stands still while there is work, and chance at its worst.
#[derive(Debug, Default)]
struct Imagined(Mutex<Timers>);

#[derive(Debug, Default)]
struct Timers {
    now: Duration,
    waiting: Vec<(Duration, oneshot::Sender<()>)>,
}

impl TimeAndChance for Imagined {
    fn now(&self) -> Duration {
        self.0.lock().unwrap().now
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let (wake, woken) = oneshot::channel();
        let mut timers = self.0.lock().unwrap();
        let end = timers.now + time;
        timers.waiting.push((end, wake));
        woken.map(|_| ()).boxed()
    }

    fn chance(&self) -> f64 {
        1.0
    }
}

impl Imagined {
    /// Does the work, and lets time pass whenever it stands still.
    async fn run<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                outcome = &mut work => return outcome,
                () = settle() => self.0.lock().unwrap().pass(),
            }
        }
    }
}

impl Timers {
    fn pass(&mut self) {
        self.waiting.retain(|(_, wake)| !wake.is_closed());
        let next = self.waiting.iter().map(|(end, _)| *end).min().expect("something waits for the time");
        self.now = self.now.max(next);
        for (_, wake) in self.waiting.extract_if(.., |(end, _)| *end <= next) {
            wake.send(()).ok();
        }
    }
}

/// Lets all tasks that can go on do so.
async fn settle() {
    for _ in 0..100 {
        task::yield_now().await;
    }
}

/// What a scripted client does with an attempt.
#[derive(Clone, Copy, Debug)]
enum Attempt {
    Fails(ErrorKind),
    Takes(Duration),
}
use Attempt::{Fails, Takes};

/// Follows a script; after its end every attempt takes no time. Knows how many attempts there were, and at once.
#[derive(Debug)]
struct Scripted {
    time: Arc<Imagined>,
    script: Mutex<VecDeque<Attempt>>,
    attempts: AtomicUsize,
    running: AtomicUsize,
    most_at_once: AtomicUsize,
}

impl Scripted {
    async fn attempt(&self) -> Result<()> {
        self.attempts.fetch_add(1, Ordering::SeqCst);
        let attempt = self.script.lock().unwrap().pop_front();
        match attempt {
            None => Ok(()),
            Some(Fails(kind)) => Err(Error::on_key(kind, Operation::Wrap, "k", "as the script says")),
            Some(Takes(time)) => {
                let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
                self.most_at_once.fetch_max(running, Ordering::SeqCst);
                self.time.sleep(time).await;
                self.running.fetch_sub(1, Ordering::SeqCst);
                Ok(())
            }
        }
    }
}

#[async_trait]
impl KeyManagementClient for Scripted {
    async fn wrap_key(&self, _: &SecretKey, _: &str) -> Result<Vec<u8>> {
        self.attempt().await.map(|()| b"wrapped".to_vec())
    }

    async fn unwrap_key(&self, _: &[u8], _: &str) -> Result<SecretKey> {
        self.attempt().await.map(|()| key())
    }

    async fn generate_key(&self, _: KeyLength, _: &str) -> Result<Option<GeneratedKey>> {
        self.attempt().await.map(|()| Some(GeneratedKey { key: key(), wrapped: b"wrapped".to_vec() }))
    }
}

fn key() -> SecretKey {
    SecretKey::new(&[7; 16]).unwrap()
}

fn remote(script: &[Attempt]) -> (Arc<Imagined>, Remote<Scripted>) {
    let time = Arc::new(Imagined::default());
    let script = Mutex::new(script.iter().copied().collect());
    let client = Scripted {
        time: Arc::clone(&time),
        script,
        attempts: AtomicUsize::default(),
        running: AtomicUsize::default(),
        most_at_once: AtomicUsize::default(),
    };
    let settings = RemoteSettings { max_concurrent_calls: 3, ..RemoteSettings::default() };
    (Arc::clone(&time), Remote::with_world(client, settings, time))
}

const fn ms(time: u64) -> Duration {
    Duration::from_millis(time)
}

#[tokio::test]
async fn behaves_as_the_client_it_is_around() {
    let client = MemoryKms::new().with_key("a", key()).with_key("b", SecretKey::new(&[8; 16]).unwrap());
    let remote = Remote::new(client, RemoteSettings::default());
    check(&Subject { client: &remote, key_ids: ["a", "b"], missing_key_id: "c" }).await;
}

#[tokio::test]
async fn what_may_pass_is_tried_again_for_a_while_and_what_will_not_is_not() {
    let throttled = Fails(ErrorKind::Throttled);
    let unreachable = Fails(ErrorKind::Unreachable);
    let hangs = Takes(ms(3_600_000));
    let refused = |kind| (vec![Fails(kind)], 1, ms(0), Some(kind), "as the script says");
    let mut cases = vec![
        (vec![], 1, ms(0), None, ""),
        (vec![throttled], 2, ms(200), None, ""),
        (vec![throttled, unreachable, throttled], 4, ms(200 + 400 + 800), None, ""),
        (
            vec![throttled; 99],
            6,
            ms(200 + 400 + 800 + 1600 + 3200),
            Some(ErrorKind::Throttled),
            "(6 attempts in 6.2 s)",
        ),
        (vec![throttled, Fails(ErrorKind::AccessDenied)], 2, ms(200), Some(ErrorKind::AccessDenied), "(2 attempts"),
        (vec![Takes(ms(9_999))], 1, ms(9_999), None, ""),
        (vec![hangs], 2, ms(10_000 + 200), None, ""),
        // The sixth attempt would begin at 56.2 s and ends at the call's own limit.
        (
            vec![hangs; 99],
            6,
            ms(60_000),
            Some(ErrorKind::Unreachable),
            "did not answer within 3.8 s (6 attempts in 60 s)",
        ),
    ];
    cases.extend(
        [
            ErrorKind::AccessDenied,
            ErrorKind::Credentials,
            ErrorKind::Damaged,
            ErrorKind::Disabled,
            ErrorKind::Internal,
            ErrorKind::InvalidInput,
            ErrorKind::NotFound,
            ErrorKind::Unsupported,
            ErrorKind::WrongKey,
        ]
        .map(refused),
    );
    for (script, attempts, time, expected, text) in cases {
        for operation in [Operation::Wrap, Operation::Unwrap, Operation::Generate] {
            let (world, remote) = remote(&script);
            let key = key();
            let call = async {
                match operation {
                    Operation::Wrap => remote.wrap_key(&key, "k").await.map(|_| ()),
                    Operation::Unwrap => remote.unwrap_key(b"wrapped", "k").await.map(|_| ()),
                    Operation::Generate => remote.generate_key(KeyLength::Aes128, "k").await.map(|_| ()),
                }
            };
            let outcome = world.run(call).await;
            let what = format!("{operation} {:?}..", &script[..script.len().min(4)]);
            assert_eq!(outcome.as_ref().err().map(Error::kind), expected, "{what}");
            assert_eq!(remote.client.attempts.load(Ordering::SeqCst), attempts, "{what}");
            assert_eq!(world.now(), time, "{what}");
            if let Err(error) = outcome {
                let shown = error.to_string();
                assert!(shown.contains(text) && shown.contains("\"k\""), "{what}: {shown}");
            }
        }
    }
}

#[tokio::test]
async fn so_many_calls_run_at_once_and_no_call_waits_for_its_turn_without_an_end() {
    let (world, remote) = remote(&[Takes(ms(5_000)); 10]);
    let key = key();
    let outcomes = world.run(join_all((0..10).map(|_| remote.wrap_key(&key, "k")))).await;
    assert!(outcomes.iter().all(Result::is_ok));
    assert_eq!(remote.client.most_at_once.load(Ordering::SeqCst), 3);
    assert_eq!(world.now(), ms(20_000));

    let (world, remote) = self::remote(&[Takes(ms(3_600_000)); 100]);
    let outcomes = world.run(join_all((0..30).map(|_| remote.wrap_key(&key, "k")))).await;
    assert_eq!(world.now(), ms(60_000));
    let errors: Vec<Error> = outcomes.into_iter().map(Result::unwrap_err).collect();
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::Unreachable));
    assert!(errors.iter().any(|error| error.to_string().contains(KMS_MAX_CONCURRENT_CALLS)));
}

#[tokio::test]
async fn a_call_that_waits_before_its_next_attempt_is_in_nobodys_way() {
    let (world, remote) = remote(&[Fails(ErrorKind::Throttled); 3]);
    let key = key();
    let mut throttled = pin!(join_all((0..3).map(|_| remote.wrap_key(&key, "k"))));
    assert!((&mut throttled).now_or_never().is_none());
    assert_eq!(remote.client.attempts.load(Ordering::SeqCst), 3);
    world.run(remote.wrap_key(&key, "k")).await.unwrap();
    assert_eq!(world.now(), ms(0));
    assert!(world.run(throttled).await.iter().all(Result::is_ok));
    assert_eq!(world.now(), ms(200));
}

#[test]
fn waits_are_spread_and_bounded() {
    let real = Real::new();
    let drawn: Vec<f64> = (0..1000).map(|_| real.chance()).collect();
    assert!(drawn.iter().all(|drawn| (0.0..=1.0).contains(drawn)));
    for quarter in [0.0, 0.25, 0.5, 0.75] {
        let share = drawn.iter().filter(|drawn| (quarter..quarter + 0.25).contains(*drawn)).count();
        assert!((150..350).contains(&share), "{share} of 1000 from {quarter}");
    }
    let longest = [1, 2, 5, 6, 100, u32::MAX].map(longest_wait);
    assert_eq!(longest, [ms(200), ms(400), ms(3200), ms(5000), ms(5000), ms(5000)]);
}

#[test]
fn settings_come_from_properties() {
    let parse = |pairs: &[(&str, &str)]| {
        let properties: HashMap<_, _> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        RemoteSettings::from_properties(&properties)
    };
    assert_eq!(parse(&[("kms.endpoint", "x")]).unwrap(), RemoteSettings::default());
    let given = [
        (KMS_ATTEMPT_TIMEOUT_MS, "250"),
        (KMS_TIMEOUT_MS, "86400000"),
        (KMS_MAX_ATTEMPTS, "1"),
        (KMS_MAX_CONCURRENT_CALLS, "200"),
    ];
    let expected = RemoteSettings {
        attempt_timeout: ms(250),
        timeout: ms(86_400_000),
        max_attempts: 1,
        max_concurrent_calls: 200,
    };
    assert_eq!(parse(&given).unwrap(), expected);
    for (name, _) in given {
        for value in ["", "0", "-1", "1.5", "10s", "86400001", "99999999999999999999"] {
            let error = parse(&[(name, value)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}={value}");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
