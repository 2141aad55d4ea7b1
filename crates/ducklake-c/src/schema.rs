//! Schemas, and the names of what there is.

use crate::{
    bytes::LakelockBytes,
    error::{LakelockError, answer},
    runtime::block_on,
    transaction::LakelockTransaction,
};

/// Some names.
pub struct LakelockNames(Vec<String>);

/// The names of the schemas.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_schemas(
    transaction: *mut LakelockTransaction,
    names: *mut *mut LakelockNames,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle and the place of the result.
        let (transaction, names) = unsafe { (&*transaction, &mut *names) };
        let found = block_on(async { Ok(transaction.0.read().await.schemas()) })?;
        *names = Box::into_raw(Box::new(LakelockNames(found)));
        Ok(())
    })
}

/// The names of the tables of a schema.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_table_names(
    transaction: *mut LakelockTransaction,
    schema: LakelockBytes,
    names: *mut *mut LakelockNames,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle, a string and the place of the result.
        let (transaction, schema, names) = unsafe { (&*transaction, schema.as_str()?, &mut *names) };
        let tables = block_on(async { transaction.0.read().await.tables(schema) })?;
        let found = tables.iter().map(|table| table.name().to_owned()).collect();
        *names = Box::into_raw(Box::new(LakelockNames(found)));
        Ok(())
    })
}

/// Makes a schema.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_create_schema(
    transaction: *mut LakelockTransaction,
    name: LakelockBytes,
    if_not_exists: bool,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle and a string.
        let (transaction, name) = unsafe { (&*transaction, name.as_str()?) };
        block_on(async { transaction.0.write().await.create_schema(name, if_not_exists) })?;
        Ok(())
    })
}

/// Drops an empty schema.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_drop_schema(
    transaction: *mut LakelockTransaction,
    name: LakelockBytes,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: a handle and a string.
        let (transaction, name) = unsafe { (&*transaction, name.as_str()?) };
        block_on(async { transaction.0.write().await.drop_schema(name, false) })?;
        Ok(())
    })
}

/// How many names there are.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_names_count(names: *const LakelockNames) -> usize {
    // SAFETY: it is a handle.
    unsafe { &*names }.0.len()
}

/// One of the names; nothing beyond the last.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_names_at(names: *const LakelockNames, index: usize) -> LakelockBytes {
    // SAFETY: it is a handle.
    let names = unsafe { &*names };
    names.0.get(index).map_or(LakelockBytes::NONE, |name| LakelockBytes::of(name.as_bytes()))
}

/// Gives the handle back.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_names_free(names: *mut LakelockNames) {
    // SAFETY: it is a handle, given back once.
    drop(unsafe { Box::from_raw(names) });
}
