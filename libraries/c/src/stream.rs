//! Streams of bytes, and copies between descriptors.

use std::ffi::{OsStr, c_char, c_int};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::time::Duration;

use byte_stream::Stream;

use crate::pointers::{self, BytelabBytes};
use crate::status::{self, BytelabError, BytelabStatus, Failure};

/// How to read. All that is zero is the default.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct BytelabStreamOptions {
    /// It is an error if there are more bytes.
    pub limit_bytes: u64,
    /// The longest time without a byte from a server.
    pub idle_limit_ms: u64,
    /// The longest time for all of a URL.
    pub total_limit_ms: u64,
    /// The size of a chunk.
    pub buffer_bytes: usize,
    /// Of a URL: decode gzip, Brotli and zstd.
    pub decode: bool,
    /// Of a URL: accept a body that only the end of the connection ends, so that a truncated one
    /// looks like a whole one.
    pub accept_unframed: bool,
}

/// An open stream.
pub struct BytelabStream(Stream);

/// Opens a path, `-` (standard input) or a URL. `options` may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_stream_open(
    address: *const c_char,
    options: *const BytelabStreamOptions,
    out: *mut *mut BytelabStream,
    error: *mut *mut BytelabError,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { status::clear(error) };
    let work = || {
        // SAFETY: the caller vouches for it.
        let out = unsafe { pointers::out(out, ptr::null_mut()) }?;
        // SAFETY: the caller vouches for its end.
        let address = unsafe { pointers::string(address) }?;
        // SAFETY: the caller vouches for it, unless it is null.
        let options = unsafe { options.as_ref() };
        let options = options.map_or_else(Stream::options, chosen);
        let stream = options.open(OsStr::from_bytes(address.to_bytes()))?;
        *out = pointers::handle(BytelabStream(stream));
        Ok(())
    };
    // SAFETY: the caller vouches for it.
    unsafe { status::reported(error, work) }
}

/// Lends the next bytes, until the next call with this stream; END when there are none. After an
/// error every call is an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_stream_next(
    stream: *mut BytelabStream,
    chunk: *mut BytelabBytes,
    error: *mut *mut BytelabError,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { status::clear(error) };
    let work = || {
        // SAFETY: the caller vouches for it.
        let chunk = unsafe { pointers::out(chunk, BytelabBytes::NONE) }?;
        // SAFETY: the caller vouches for it, and that no other thread uses it.
        let stream = unsafe { pointers::exclusive(stream) }?;
        *chunk = BytelabBytes::new(stream.0.next_chunk()?.ok_or(BytelabStatus::End)?);
        Ok(())
    };
    // SAFETY: the caller vouches for it.
    unsafe { status::reported(error, work) }
}

/// Closes and frees a stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_stream_close(stream: *mut BytelabStream) {
    // SAFETY: the caller vouches for it, unless it is null.
    unsafe { pointers::free(stream) };
}

/// Copies all bytes from a descriptor to another by the cheapest way there is. Both stay open and
/// must be open until the end. `copied` is their number; it may be null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bytelab_copy(
    from: c_int,
    to: c_int,
    copied: *mut u64,
    error: *mut *mut BytelabError,
) -> BytelabStatus {
    // SAFETY: the caller vouches for it.
    unsafe { status::clear(error) };
    let work = || {
        if from < 0 || to < 0 {
            return Err(Failure::invalid("a descriptor is negative"));
        }
        // SAFETY: it is not negative; the caller vouches that it is open.
        let from = unsafe { BorrowedFd::borrow_raw(from) };
        // SAFETY: as above.
        let to = unsafe { BorrowedFd::borrow_raw(to) };
        let bytes = byte_stream::copy(from, to)?.bytes;
        // SAFETY: the caller vouches for it, unless it is null.
        if let Some(copied) = unsafe { copied.as_mut() } {
            *copied = bytes;
        }
        Ok(())
    };
    // SAFETY: the caller vouches for it.
    unsafe { status::reported(error, work) }
}

fn chosen(wanted: &BytelabStreamOptions) -> byte_stream::Options {
    let mut options =
        Stream::options().decode(wanted.decode).accept_unframed(wanted.accept_unframed);
    if wanted.limit_bytes > 0 {
        options = options.limit_bytes(wanted.limit_bytes);
    }
    if wanted.idle_limit_ms > 0 {
        options = options.idle_limit(Duration::from_millis(wanted.idle_limit_ms));
    }
    if wanted.total_limit_ms > 0 {
        options = options.total_limit(Duration::from_millis(wanted.total_limit_ms));
    }
    if wanted.buffer_bytes > 0 {
        options = options.buffer_bytes(wanted.buffer_bytes);
    }
    options
}
