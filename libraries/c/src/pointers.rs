//! The arguments of C callers: pointers, which may be null, and lengths.

use std::ffi::{CStr, c_char};
use std::{ptr, slice};

use crate::status::Failure;

/// Bytes that are lent. The pointer may be null if there are none.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BytelabBytes {
    pub data: *const u8,
    pub len: usize,
}

impl BytelabBytes {
    pub(crate) const NONE: BytelabBytes = BytelabBytes { data: ptr::null(), len: 0 };

    pub(crate) fn new(bytes: &[u8]) -> BytelabBytes {
        BytelabBytes { data: bytes.as_ptr(), len: bytes.len() }
    }
}

/// The caller's bytes, which must be valid for this length, or null for none.
pub(crate) unsafe fn bytes<'a>(data: *const u8, len: usize) -> Result<&'a [u8], Failure> {
    if len == 0 {
        return Ok(&[]);
    }
    if data.is_null() || isize::try_from(len).is_err() {
        return Err(Failure::invalid("bytes at a null pointer, or of an impossible length"));
    }
    // SAFETY: neither null nor too long; the caller vouches for the rest.
    Ok(unsafe { slice::from_raw_parts(data, len) })
}

/// The caller's text of this length.
pub(crate) unsafe fn text<'a>(data: *const c_char, len: usize) -> Result<&'a str, Failure> {
    // SAFETY: the caller vouches for it.
    let bytes = unsafe { bytes(data.cast(), len) }?;
    str::from_utf8(bytes).map_err(|_| Failure::invalid("a text is not UTF-8"))
}

/// The caller's text, which ends with a zero byte.
pub(crate) unsafe fn string<'a>(text: *const c_char) -> Result<&'a CStr, Failure> {
    if text.is_null() {
        return Err(Failure::invalid("a text is a null pointer"));
    }
    // SAFETY: it is not null; the caller vouches for its end.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// The object that a handle points to.
pub(crate) unsafe fn shared<'a, T>(handle: *const T) -> Result<&'a T, Failure> {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { handle.as_ref() }.ok_or_else(|| Failure::invalid("a handle is a null pointer"))
}

/// The object that a handle or `out` points to, borrowed for this call only.
pub(crate) unsafe fn exclusive<'a, T>(place: *mut T) -> Result<&'a mut T, Failure> {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { place.as_mut() }.ok_or_else(|| Failure::invalid("a place is a null pointer"))
}

/// The place of a result, which is set to what it is after an error. It may be uninitialised.
pub(crate) unsafe fn out<'a, T>(place: *mut T, empty: T) -> Result<&'a mut T, Failure> {
    if place.is_null() {
        return Err(Failure::invalid("the place of the result is a null pointer"));
    }
    // SAFETY: it is not null; the caller vouches for the rest.
    unsafe { place.write(empty) };
    // SAFETY: as above, and it is initialised now.
    unsafe { exclusive(place) }
}

/// Gives a handle to the caller.
pub(crate) fn handle<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

/// Frees the object of a handle, unless it is null.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: it was made by `handle`, and the caller does not use it again.
        drop(unsafe { Box::from_raw(handle) });
    }
}
