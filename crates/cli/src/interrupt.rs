//! The wish of the user, or of the system, that a command stops.

use std::future::Future;

#[cfg(unix)]
use tokio::signal::unix::{SignalKind, signal};

use crate::failure::{Context as _, Failure, Result};

const INTERRUPTED: &str = "interrupted: nothing was changed";

/// Completes when the process is asked to stop, by Ctrl-C or by SIGTERM, from the moment of this call on. It does not
/// end by itself any more then: whoever calls this ends in order what was begun, for files of a process that just ends
/// would stay.
#[cfg(unix)]
pub(crate) fn interruption() -> Result<impl Future<Output = Failure>> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot watch for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot watch for SIGTERM")?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        Failure::interrupted(INTERRUPTED)
    })
}

/// Completes when Ctrl-C is pressed.
#[cfg(not(unix))]
pub(crate) fn interruption() -> Result<impl Future<Output = Failure>> {
    Ok(async {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Failure::interrupted(INTERRUPTED),
            Err(error) => Failure::from(error),
        }
    })
}
