//! When a request is made again that the store's client does not repeat by itself.

use std::time::{Duration, Instant};

use object_store::RetryConfig;
use uuid::Uuid;

/// The repetitions of one request.
pub(crate) struct Repeats<'a> {
    settings: &'a RetryConfig,
    began: Instant,
    made: usize,
    wait: Duration,
}

impl<'a> Repeats<'a> {
    pub(crate) fn new(settings: &'a RetryConfig) -> Self {
        Self { settings, began: Instant::now(), made: 0, wait: settings.backoff.init_backoff }
    }

    /// Waits until the next one is due; false, if there is to be none.
    pub(crate) async fn next(&mut self) -> bool {
        let RetryConfig { backoff, max_retries, retry_timeout } = self.settings;
        if self.made >= *max_retries || self.began.elapsed() >= *retry_timeout {
            return false;
        }
        self.made += 1;
        // Between half of it and all, so that writers that failed together do not come back together.
        let [random, ..] = *Uuid::new_v4().as_bytes();
        tokio::time::sleep(self.wait.mul_f64(0.5 + f64::from(random) / 512.0)).await;
        self.wait = self.wait.mul_f64(backoff.base).min(backoff.max_backoff);
        true
    }
}
