//! Statuses and errors, and the border that no panic crosses.

use std::any::Any;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// What became of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum BytelabStatus {
    /// It is done.
    Ok = 0,
    /// There is nothing more.
    End = 1,
    /// There is no such key, item or path.
    Missing = 2,
    /// The value is of another type, or does not fit the number.
    WrongType = 3,
    /// A null pointer, an impossible length, a malformed argument or an impossible request.
    InvalidUse = 4,
    /// The bytes are damaged, cut off or not what was expected.
    BadData = 5,
    /// The system or a server refused.
    Io = 6,
    /// A time limit has passed.
    TimedOut = 7,
    /// There is more than a limit allows.
    TooLarge = 8,
    /// A defect of the library.
    Panic = 9,
    /// A callback of the caller has ended it.
    Cancelled = 10,
}

/// An error with its message.
pub struct BytelabError {
    message: CString,
    offset: Option<u64>,
    http_status: u16,
}

pub(crate) struct Failure {
    pub(crate) status: BytelabStatus,
    message: String,
    offset: Option<u64>,
    http_status: u16,
}

impl Failure {
    pub(crate) fn new(status: BytelabStatus, message: impl Into<String>) -> Failure {
        Failure { status, message: message.into(), offset: None, http_status: 0 }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Failure {
        Failure::new(BytelabStatus::InvalidUse, message)
    }
}

impl From<BytelabStatus> for Failure {
    fn from(status: BytelabStatus) -> Failure {
        Failure::new(status, "")
    }
}

impl From<fleece_codec::Error> for Failure {
    fn from(error: fleece_codec::Error) -> Failure {
        let status = match error.kind() {
            fleece_codec::ErrorKind::TooLarge => BytelabStatus::TooLarge,
            fleece_codec::ErrorKind::BadPath => BytelabStatus::InvalidUse,
            _ => BytelabStatus::BadData,
        };
        let offset = error.offset().map(|offset| offset as u64);
        Failure { offset, ..Failure::new(status, error.to_string()) }
    }
}

impl From<record_sampler::Error> for Failure {
    fn from(error: record_sampler::Error) -> Failure {
        let status = match error.kind() {
            record_sampler::ErrorKind::Io | record_sampler::ErrorKind::Write => BytelabStatus::Io,
            _ => BytelabStatus::BadData,
        };
        Failure::new(status, error.to_string())
    }
}

impl From<byte_stream::Error> for Failure {
    fn from(error: byte_stream::Error) -> Failure {
        use byte_stream::ErrorKind::{
            Cancelled, Connect, InvalidUse, Io, Redirect, SameFile, Status, TimedOut, Tls, TooLarge,
        };
        let status = match error.kind() {
            InvalidUse | SameFile => BytelabStatus::InvalidUse,
            Io | Connect | Tls | Status | Redirect => BytelabStatus::Io,
            TimedOut => BytelabStatus::TimedOut,
            TooLarge => BytelabStatus::TooLarge,
            Cancelled => BytelabStatus::Cancelled,
            _ => BytelabStatus::BadData,
        };
        Failure {
            offset: error.offset(),
            http_status: error.status().unwrap_or(0),
            ..Failure::new(status, error.to_string())
        }
    }
}

/// Does the work of a function. A panic becomes a status.
pub(crate) fn status_of(work: impl FnOnce() -> Result<(), Failure>) -> BytelabStatus {
    outcome(work).err().map_or(BytelabStatus::Ok, |failure| failure.status)
}

/// The same for a function without a status.
pub(crate) fn value_of<T>(empty: T, work: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(empty)
}

/// The same for a function that makes errors. What it writes to `error` must be valid or null.
pub(crate) unsafe fn reported(
    error: *mut *mut BytelabError,
    work: impl FnOnce() -> Result<(), Failure>,
) -> BytelabStatus {
    let Err(failure) = outcome(work) else {
        return BytelabStatus::Ok;
    };
    if !error.is_null() && failure.status != BytelabStatus::End {
        let message = failure.message.replace('\0', "\\0");
        let made = BytelabError {
            message: CString::new(message).unwrap_or_default(),
            offset: failure.offset,
            http_status: failure.http_status,
        };
        // SAFETY: it is not null, so the caller vouches for it.
        unsafe { error.write(Box::into_raw(Box::new(made))) };
    }
    failure.status
}

fn outcome(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    // A panic can only leave a stream half done, and the status tells the caller that it failed.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Failure::new(BytelabStatus::Panic, format!("a defect: {}", words(&*panic))))
    })
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic")
}

/// The message, which is never null and ends with a zero byte; lent by the error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_error_message(error: *const BytelabError) -> *const c_char {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

/// Sets `offset` to the place in the input, in bytes; false if none is to blame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_error_offset(
    error: *const BytelabError,
    offset: *mut u64,
) -> bool {
    // SAFETY: the caller vouches for it, unless it is null.
    let known = unsafe { error.as_ref() }.and_then(|error| error.offset);
    // SAFETY: as above.
    let out = unsafe { offset.as_mut() };
    match (known, out) {
        (Some(known), Some(out)) => *out = known,
        _ => return false,
    }
    true
}

/// The status of the HTTP response that is the cause, or 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_error_http_status(error: *const BytelabError) -> u16 {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { error.as_ref() }.map_or(0, |error| error.http_status)
}

/// Frees an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_error_free(error: *mut BytelabError) {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { crate::pointers::free(error) };
}

/// Sets the error that a function may make to null.
pub(crate) unsafe fn clear(error: *mut *mut BytelabError) {
    if !error.is_null() {
        // SAFETY: it is not null, so the caller vouches for it.
        unsafe { error.write(ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_a_status_with_its_words() {
        let mut error = ptr::null_mut();
        // SAFETY: the place is a variable.
        let status = unsafe { reported(&raw mut error, || panic!("with {}", "words")) };
        assert!(status == BytelabStatus::Panic);
        // SAFETY: it was made above.
        let message = unsafe { bytelab_error_message(error) };
        // SAFETY: a message ends with a zero byte.
        let message = unsafe { std::ffi::CStr::from_ptr(message) };
        assert_eq!(message, c"a defect: with words");
        // SAFETY: it was made above, and is not used again.
        unsafe { bytelab_error_free(error) };
        assert!(status_of(|| panic!("again")) == BytelabStatus::Panic);
        assert_eq!(value_of(7, || panic!("again")), 7);
    }
}
