//! A cache in which all who wait for one value wait for one call.
//!
//! - Whoever asks first starts the call; whoever asks meanwhile joins it and gets the same outcome.
//! - A value is kept for a time, a failure is not: the next to ask after it starts anew.
//! - All who wait drive the call. If the one who started it goes away, another drives it on; if all do, it is dropped.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, FutureExt as _, WeakShared};

use super::Clock;

type Call<V, E> = BoxFuture<'static, Result<V, Arc<E>>>;

/// Cloning is cheap; clones share the values.
pub(super) struct SingleFlight<K, V, E> {
    slots: Arc<Mutex<HashMap<K, Slot<V, E>>>>,
    keep_ms: i64,
    clock: Arc<dyn Clock>,
}

enum Slot<V, E> {
    Loading(WeakShared<Call<V, E>>),
    Ready { value: V, since_ms: i64 },
}

impl<K, V, E> SingleFlight<K, V, E>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + Sync + 'static,
    E: Send + Sync + 'static,
{
    /// A cache that keeps values for `keep_ms`.
    pub(super) fn new(keep_ms: i64, clock: Arc<dyn Clock>) -> Self {
        Self { slots: Arc::default(), keep_ms, clock }
    }

    /// The value of `key`: kept, being loaded for someone else, or loaded by `load`, which does not run otherwise.
    pub(super) async fn get_or_load<L>(&self, key: K, load: L) -> Result<V, Arc<E>>
    where
        L: Future<Output = Result<V, E>> + Send + 'static,
    {
        let flight = {
            let mut slots = self.lock();
            self.drop_stale(&mut slots);
            let loading = match slots.get(&key) {
                Some(Slot::Ready { value, .. }) => return Ok(value.clone()),
                Some(Slot::Loading(flight)) => flight.upgrade(),
                None => None,
            };
            loading.unwrap_or_else(|| {
                let flight = self.clone().load(key.clone(), load).boxed().shared();
                // Weak, so that a call that nobody waits for any more is not kept half done.
                if let Some(weak) = flight.downgrade() {
                    slots.insert(key, Slot::Loading(weak));
                }
                flight
            })
        };
        flight.await
    }

    /// Keeps a value that was come by in another way.
    pub(super) fn insert(&self, key: K, value: V) {
        let since_ms = self.clock.now_ms();
        self.lock().insert(key, Slot::Ready { value, since_ms });
    }

    /// One call. While it runs, the slot is its own: another starts only if this was dropped.
    async fn load(self, key: K, load: impl Future<Output = Result<V, E>> + Send) -> Result<V, Arc<E>> {
        match load.await {
            Ok(value) => {
                self.insert(key, value.clone());
                Ok(value)
            }
            Err(error) => {
                self.lock().remove(&key);
                Err(Arc::new(error))
            }
        }
    }

    fn drop_stale(&self, slots: &mut HashMap<K, Slot<V, E>>) {
        let now_ms = self.clock.now_ms();
        slots.retain(|_, slot| match slot {
            Slot::Loading(flight) => flight.upgrade().is_some(),
            Slot::Ready { since_ms, .. } => now_ms.saturating_sub(*since_ms) < self.keep_ms,
        });
    }
}

impl<K, V, E> SingleFlight<K, V, E> {
    /// No code panics while it holds the lock, so a poisoned one still guards consistent data.
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Slot<V, E>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V, E> Clone for SingleFlight<K, V, E> {
    fn clone(&self) -> Self {
        Self { slots: Arc::clone(&self.slots), keep_ms: self.keep_ms, clock: Arc::clone(&self.clock) }
    }
}

/// Shows how many values there are, and none of them.
impl<K, V, E> fmt::Debug for SingleFlight<K, V, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleFlight").field("len", &self.lock().len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::sync::Semaphore;
    use tokio::task;

    use super::*;
    use crate::encryption::clock::test::ManualClock;

    /// A call that counts itself and lasts until the gate opens.
    #[derive(Clone)]
    struct Calls {
        count: Arc<AtomicUsize>,
        gate: Arc<Semaphore>,
    }

    impl Calls {
        fn new(permits: usize) -> Self {
            Self { count: Arc::default(), gate: Arc::new(Semaphore::new(permits)) }
        }

        fn count(&self) -> usize {
            self.count.load(Ordering::SeqCst)
        }

        async fn load(self, outcome: Result<u8, String>) -> Result<u8, String> {
            self.count.fetch_add(1, Ordering::SeqCst);
            self.gate.acquire().await.unwrap().forget();
            outcome
        }
    }

    fn cache() -> (SingleFlight<&'static str, u8, String>, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        (SingleFlight::new(1000, Arc::clone(&clock) as Arc<dyn Clock>), clock)
    }

    /// Lets all tasks that can go on do so.
    async fn settle() {
        for _ in 0..200 {
            task::yield_now().await;
        }
    }

    fn spawn_hundred(
        cache: &SingleFlight<&'static str, u8, String>,
        calls: &Calls,
        outcome: &Result<u8, String>,
    ) -> Vec<task::JoinHandle<Result<u8, Arc<String>>>> {
        let ask = |_| {
            let (cache, calls, outcome) = (cache.clone(), calls.clone(), outcome.clone());
            tokio::spawn(async move { cache.get_or_load("a", calls.load(outcome)).await })
        };
        (0..100).map(ask).collect()
    }

    #[tokio::test]
    async fn a_hundred_tasks_share_one_call_and_its_outcome() {
        for outcome in [Ok(7), Err("denied".to_owned())] {
            let (cache, _) = cache();
            let calls = Calls::new(0);
            let tasks = spawn_hundred(&cache, &calls, &outcome);
            settle().await;
            calls.gate.add_permits(1);
            for result in join_all(tasks).await {
                assert_eq!(result.unwrap(), outcome.clone().map_err(Arc::new));
            }
            assert_eq!(calls.count(), 1);
        }
    }

    #[tokio::test]
    async fn a_failure_is_not_kept() {
        let (cache, _) = cache();
        let calls = Calls::new(2);
        assert!(cache.get_or_load("a", calls.clone().load(Err("throttled".to_owned()))).await.is_err());
        assert_eq!(cache.get_or_load("a", calls.clone().load(Ok(7))).await, Ok(7));
        assert_eq!(cache.get_or_load("a", calls.clone().load(Ok(8))).await, Ok(7));
        assert_eq!(calls.count(), 2);
    }

    #[tokio::test]
    async fn followers_go_on_without_the_one_who_started() {
        let (cache, _) = cache();
        let calls = Calls::new(0);
        let leader = tokio::spawn({
            let (cache, calls) = (cache.clone(), calls.clone());
            async move { cache.get_or_load("a", calls.load(Ok(7))).await }
        });
        settle().await;
        let followers = spawn_hundred(&cache, &calls, &Ok(8));
        settle().await;
        leader.abort();
        assert!(leader.await.unwrap_err().is_cancelled());
        calls.gate.add_permits(1);
        for result in join_all(followers).await {
            assert_eq!(result.unwrap(), Ok(7));
        }
        assert_eq!(calls.count(), 1);
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_is_given_up() {
        let (cache, _) = cache();
        let calls = Calls::new(0);
        assert!(cache.get_or_load("a", calls.clone().load(Ok(7))).now_or_never().is_none());
        calls.gate.add_permits(1);
        assert_eq!(cache.get_or_load("a", calls.clone().load(Ok(8))).await, Ok(8));
        assert_eq!(calls.count(), 2);
    }

    #[tokio::test]
    async fn a_value_is_kept_for_its_time_and_then_dropped() {
        let (cache, clock) = cache();
        let calls = Calls::new(9);
        let get = || cache.get_or_load("a", calls.clone().load(Ok(7)));
        get().await.unwrap();
        clock.set(999);
        get().await.unwrap();
        assert_eq!(calls.count(), 1);
        clock.set(1000);
        cache.get_or_load("b", calls.clone().load(Ok(7))).await.unwrap();
        assert_eq!(cache.lock().len(), 1, "the stale value is still in memory");
        get().await.unwrap();
        assert_eq!(calls.count(), 3);
    }
}
