//! Errors as exceptions.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyValueError};
use record_sampler::{Error, ErrorKind};

pyo3::create_exception!(
    record_sampler,
    SampleError,
    PyValueError,
    "The sample cannot be drawn: the data or the request does not allow it."
);

pub(crate) fn raised(error: Error) -> PyErr {
    let text = error.to_string();
    match (error.kind(), error.io_kind()) {
        (ErrorKind::Io, Some(std::io::ErrorKind::NotFound)) => PyFileNotFoundError::new_err(text),
        (ErrorKind::Io | ErrorKind::Write, _) => PyOSError::new_err(text),
        _ => SampleError::new_err(text),
    }
}

pub(crate) fn refused(text: impl Into<String>) -> PyErr {
    SampleError::new_err(text.into())
}
