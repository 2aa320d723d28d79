//! Errors as exceptions.

use byte_stream::{Error, ErrorKind};
use pyo3::exceptions::{PyConnectionError, PyOSError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    byte_stream,
    StreamError,
    PyOSError,
    "The bytes are not what was announced or expected, or a server refused.\n\n\
     As all errors of this package it has `kind`, `offset`, `status` and `retryable`."
);

/// The exception of an error: an `OSError` with the number of the system, if it has one.
pub(crate) fn raised(py: Python<'_>, error: &Error, filename: Option<&str>) -> PyErr {
    let number = error.io_error().and_then(std::io::Error::raw_os_error);
    let text = error.to_string();
    let raised = match (error.kind(), number) {
        (ErrorKind::InvalidUse | ErrorKind::SameFile, _) => PyValueError::new_err(text),
        (ErrorKind::TimedOut, _) => PyTimeoutError::new_err(text),
        // Python makes the subclass that fits the number.
        (_, Some(number)) => PyOSError::new_err((number, error.message().to_owned())),
        (ErrorKind::Connect, None) => PyConnectionError::new_err(text),
        _ => StreamError::new_err(text),
    };
    let value = raised.value(py);
    let set = value
        .setattr("filename", filename)
        .and_then(|()| value.setattr("kind", format!("{:?}", error.kind())))
        .and_then(|()| value.setattr("offset", error.offset()))
        .and_then(|()| value.setattr("status", error.status()))
        .and_then(|()| value.setattr("retryable", error.is_retryable()));
    // Only a lack of memory makes this fail.
    set.err().unwrap_or(raised)
}
