//! Errors as exceptions.

use std::ffi::OsStr;

use byte_stream::{Error, ErrorKind};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// The exceptions of the package. They are in Python, because they have a text of their own.
const EXCEPTIONS: &str = "byte_stream._errors";

/// The exception of an error: an `OSError` with the number of the system, if it has one, and with
/// the name of the input, if that is to blame.
pub(crate) fn raised(py: Python<'_>, error: &Error, filename: Option<&OsStr>) -> PyErr {
    // Only a lack of memory makes this fail.
    exception(py, error, filename).unwrap_or_else(|failure| failure)
}

fn exception(py: Python<'_>, error: &Error, filename: Option<&OsStr>) -> PyResult<PyErr> {
    let number = error.io_error().and_then(std::io::Error::raw_os_error);
    let filename = filename.filter(|_| !error.is_of_output());
    let raised = match (error.kind(), number) {
        (ErrorKind::InvalidUse | ErrorKind::SameFile, _) => {
            PyValueError::new_err(error.to_string())
        }
        // Python makes the subclass that fits the number, and writes the number itself.
        (_, Some(number)) => {
            let text = error.message().replace(&format!(" (os error {number})"), "");
            let class = py.get_type::<PyOSError>();
            PyErr::from_value(match filename {
                Some(filename) => class.call1((number, text, filename))?,
                None => class.call1((number, text))?,
            })
        }
        (kind, None) => {
            let class = match kind {
                ErrorKind::TimedOut => "StreamTimeoutError",
                ErrorKind::Connect => "StreamConnectionError",
                _ => "StreamError",
            };
            let class = py.import(EXCEPTIONS)?.getattr(class)?;
            PyErr::from_value(class.call1((error.to_string(),))?)
        }
    };
    let value = raised.value(py);
    if number.is_none() {
        value.setattr("filename", filename)?;
    }
    value.setattr("kind", format!("{:?}", error.kind()))?;
    value.setattr("offset", error.offset())?;
    value.setattr("status", error.status())?;
    value.setattr("retryable", error.is_retryable())?;
    Ok(raised)
}
