//! Time and chance, passed in so that tests need neither.

use std::fmt::Debug;
use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, sleep};

pub(super) trait TimeAndChance: Debug + Send + Sync {
    /// The time since some moment.
    fn now(&self) -> Duration;

    /// Lets time pass.
    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

    /// Draws a number from 0 to 1.
    fn chance(&self) -> f64;
}

#[derive(Debug)]
pub(super) struct Real {
    start: Instant,
}

impl Real {
    pub(super) fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl TimeAndChance for Real {
    fn now(&self) -> Duration {
        self.start.elapsed()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(sleep(time))
    }

    /// Every `RandomState` has keys of its own: good enough to spread callers out, and no key depends on it.
    fn chance(&self) -> f64 {
        let bits = (RandomState::new().hash_one(()) >> 32) as u32;
        f64::from(bits) / f64::from(u32::MAX)
    }
}
