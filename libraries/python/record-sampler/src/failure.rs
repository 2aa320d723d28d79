//! Errors as exceptions.

use std::sync::{Arc, Mutex, PoisonError};

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

/// The exception of a callback, or of a file object, that ended the work.
#[derive(Clone, Default)]
pub(crate) struct PythonFailure(Arc<Mutex<Option<PyErr>>>);

impl PythonFailure {
    pub(crate) fn set(&self, error: PyErr) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// That exception, if there is one, instead of the error of the library that it led to.
    pub(crate) fn raised(&self, error: Error) -> PyErr {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        own.unwrap_or_else(|| raised(error))
    }
}
