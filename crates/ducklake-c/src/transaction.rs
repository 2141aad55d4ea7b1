//! Transactions.

use lakelock_ducklake::Transaction;
use tokio::sync::RwLock;

use crate::{
    error::{LakelockError, answer},
    lake::LakelockLake,
    runtime::block_on,
};

/// A transaction, which the threads of a query share.
pub struct LakelockTransaction(pub(crate) RwLock<Transaction>);

/// Begins a transaction.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_begin(
    lake: *mut LakelockLake,
    transaction: *mut *mut LakelockTransaction,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle and the place of the result.
        let (lake, transaction) = unsafe { (&*lake, &mut *transaction) };
        let begun = block_on(lake.0.begin())?;
        *transaction = Box::into_raw(Box::new(LakelockTransaction(RwLock::new(begun))));
        Ok(())
    })
}

/// Makes the transaction's changes last.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_commit(transaction: *mut LakelockTransaction) -> *mut LakelockError {
    answer(|| {
        // SAFETY: it is a handle, given back once.
        let transaction = unsafe { Box::from_raw(transaction) };
        block_on(transaction.0.into_inner().commit())
    })
}

/// Drops the transaction's changes.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_rollback(transaction: *mut LakelockTransaction) {
    // SAFETY: it is a handle, given back once.
    drop(unsafe { Box::from_raw(transaction) });
}
