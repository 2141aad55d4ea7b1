//! Bytes and strings that cross the border as views.

use std::slice;

use crate::error::Failure;

/// A view of bytes, which whoever made it keeps in place.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LakelockBytes {
    /// The first byte; null for none at all.
    pub data: *const u8,
    /// How many there are.
    pub length: usize,
}

impl LakelockBytes {
    pub(crate) const NONE: Self = Self { data: std::ptr::null(), length: 0 };

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), length: bytes.len() }
    }

    /// # Safety
    ///
    /// The view is valid.
    pub(crate) unsafe fn as_str<'a>(self) -> Result<&'a str, Failure> {
        // SAFETY: the view is valid.
        let bytes = unsafe { slice_of(self.data, self.length) };
        std::str::from_utf8(bytes).map_err(|_| Failure::internal("a string is not UTF-8"))
    }
}

/// The elements that a pointer and their number name; an empty slice may have any pointer.
///
/// # Safety
///
/// Both are valid for as long as the slice lives.
pub(crate) unsafe fn slice_of<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the caller says so.
    unsafe { slice::from_raw_parts(data, count) }
}
