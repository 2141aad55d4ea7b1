//! Opened catalogs.

use std::collections::HashMap;

use lakelock_ducklake::{Access, Lake, OpenOptions};
use lakelock_storage::Storage;

use crate::{
    bytes::{LakelockBytes, slice_of},
    error::{Failure, LakelockError, answer},
    runtime::block_on,
};

/// An opened catalog.
pub struct LakelockLake(pub(crate) Lake);

/// A property of the storage.
#[repr(C)]
pub struct LakelockProperty {
    name: LakelockBytes,
    value: LakelockBytes,
}

/// How to open a catalog.
#[repr(C)]
pub struct LakelockOpenOptions {
    read_only: bool,
    create: bool,
    encrypted: i32,
    properties: *const LakelockProperty,
    property_count: usize,
}

/// Opens the catalog at a location.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_open(
    location: LakelockBytes,
    options: *const LakelockOpenOptions,
    lake: *mut *mut LakelockLake,
) -> *mut LakelockError {
    answer(|| {
        // SAFETY: the arguments are valid during the call, and so is the place of the result.
        let (location, options, lake) = unsafe { (location.as_str()?, &*options, &mut *lake) };
        // SAFETY: as above.
        let storage = unsafe { storage(options) }?;
        let options = OpenOptions {
            access: if options.read_only { Access::ReadOnly } else { Access::ReadWrite },
            create: options.create,
            encrypted: (options.encrypted >= 0).then_some(options.encrypted != 0),
            ..OpenOptions::default()
        };
        let opened = block_on(Lake::open(&storage, location, options))?;
        *lake = Box::into_raw(Box::new(LakelockLake(opened)));
        Ok(())
    })
}

/// Closes a catalog.
///
/// # Safety
///
/// See the [crate].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lakelock_lake_free(lake: *mut LakelockLake) {
    // SAFETY: it is a handle, given back once.
    let lake = unsafe { Box::from_raw(lake) };
    let closed = answer(|| block_on(lake.0.close()));
    if !closed.is_null() {
        // Every commit is durable already: there is nothing to tell.
        // SAFETY: it is a handle.
        unsafe { crate::error::lakelock_error_free(closed) };
    }
}

/// # Safety
///
/// What the options name is valid.
unsafe fn storage(options: &LakelockOpenOptions) -> Result<Storage, Failure> {
    // SAFETY: the caller says so.
    let given = unsafe { slice_of(options.properties, options.property_count) };
    let mut properties = HashMap::with_capacity(given.len());
    for property in given {
        // SAFETY: the caller says so.
        let (name, value) = unsafe { (property.name.as_str()?, property.value.as_str()?) };
        properties.insert(name.to_owned(), value.to_owned());
    }
    let storage = Storage::from_properties(&properties).map_err(lakelock_ducklake::Error::from)?;
    Ok(storage)
}
