//! The one runtime of the process, which does the store's work while callers block.

use std::{future::Future, sync::OnceLock};

use tokio::runtime::{Builder, Runtime};

use crate::error::Failure;

/// Runs a future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, lakelock_ducklake::Error>>) -> Result<T, Failure> {
    Ok(runtime()?.block_on(future)?)
}

fn runtime() -> Result<&'static Runtime, Failure> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = Builder::new_multi_thread().enable_all().thread_name("lakelock").build();
    let runtime = runtime.map_err(|error| Failure::internal(format!("cannot start threads: {error}")))?;
    Ok(RUNTIME.get_or_init(|| runtime))
}
