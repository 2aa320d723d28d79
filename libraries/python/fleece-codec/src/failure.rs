//! Errors as exceptions.

use fleece_codec::Error;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

pyo3::create_exception!(
    fleece_codec,
    FleeceError,
    PyValueError,
    "The bytes are no sound document, the text is no JSON, or the value does not fit.\n\n\
     `kind` is a word, `offset` a number of bytes or None; `line` and `column` are those of a JSON \
     text, counted from 1, or None."
);

pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let (line, column) = error.line_column().unzip();
    let raised = FleeceError::new_err(error.to_string());
    let value = raised.value(py);
    let set = value
        .setattr("kind", format!("{:?}", error.kind()))
        .and_then(|()| value.setattr("offset", error.offset()))
        .and_then(|()| value.setattr("line", line))
        .and_then(|()| value.setattr("column", column));
    // Only a lack of memory makes this fail.
    set.err().unwrap_or(raised)
}
