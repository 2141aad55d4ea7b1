//! What time it is, passed in so that a test can say so.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells how old a KEK is and how long one is kept unwrapped.
pub trait Clock: Debug + Send + Sync {
    /// Milliseconds since 1970-01-01 00:00 UTC.
    fn now_ms(&self) -> i64;
}

/// The clock of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
pub(super) mod test {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::Clock;

    /// A clock that a test sets.
    #[derive(Debug, Default)]
    pub(in crate::encryption) struct ManualClock(AtomicI64);

    impl ManualClock {
        pub(in crate::encryption) fn set(&self, now_ms: i64) {
            self.0.store(now_ms, Ordering::SeqCst);
        }
    }

    impl Clock for ManualClock {
        fn now_ms(&self) -> i64 {
            self.0.load(Ordering::SeqCst)
        }
    }
}
