//! Working on several blocks at a time.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};

/// Calls a worker with each of `items` and its index, on up to `threads` threads of rayon's pool.
///
/// Each thread makes its own worker with `worker` and takes the next item when it is done with one, so a slow thread does not
/// hold up the others. Of several errors the one of the lowest index is returned.
pub(super) fn for_each<I, W, F>(items: I, threads: usize, worker: W) -> Result<()>
where
    I: Iterator + Send,
    I::Item: Send,
    W: Fn() -> F + Sync,
    F: FnMut(u32, I::Item) -> Result<()>,
{
    let threads = items.size_hint().1.map_or(threads, |count| threads.min(count));
    let mut items = (0..).zip(items);
    if threads <= 1 {
        let mut work = worker();
        return items.try_for_each(|(index, item)| work(index, item));
    }

    let queue = Mutex::new(items);
    let failed: Mutex<Option<(u32, Error)>> = Mutex::new(None);
    rayon::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|_| {
                let mut work = worker();
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((index, item)) = next else { break };
                    if let Err(error) = work(index, item) {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        if failed.as_ref().is_none_or(|(lowest, _)| index < *lowest) {
                            *failed = Some((index, error));
                        }
                        break;
                    }
                }
            });
        }
    });
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}
