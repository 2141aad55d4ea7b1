//! Stopping inserts.

use std::future;
use std::sync::Arc;

use datafusion::prelude::{SessionConfig, SessionContext};
use tokio::sync::Notify;

/// Stops the inserts of a session while they write, and lets a commit that has begun end.
///
/// Dropping the stream of an insert stops it too, but also in the middle of its commit: nobody knows then whether it took
/// place.
#[derive(Debug, Default)]
pub struct Interrupt {
    stop: Notify,
}

impl Interrupt {
    /// That of a session made by [`session_context`](crate::session_context).
    #[must_use]
    pub fn of(context: &SessionContext) -> Option<Arc<Self>> {
        context.copied_config().get_extension()
    }

    /// Stops what is being written now: these statements fail, and remove what they wrote.
    pub fn stop(&self) {
        self.stop.notify_waiters();
    }

    /// Waits until a session is stopped; forever if it cannot be.
    pub(crate) async fn stopped(session: &SessionConfig) {
        match session.get_extension::<Self>() {
            Some(interrupt) => interrupt.stop.notified().await,
            None => future::pending().await,
        }
    }
}
