//! The native module of the Python package: Python objects to and from Fleece, and documents that
//! are read in place.

mod document;
mod failure;
mod read;
mod write;

use fleece_codec::json::PrintOptions;
use fleece_codec::{Doc, json};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::PyBytes;

use crate::failure::raised;

/// A text, or its bytes.
#[derive(FromPyObject)]
enum Text {
    Str(PyBackedStr),
    Bytes(PyBackedBytes),
}

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        match self {
            Text::Str(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        }
    }
}

/// The Python object of a document, all of which is checked.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "it is a reference to a Python object")]
fn loads(py: Python<'_>, data: PyBackedBytes) -> PyResult<Bound<'_, PyAny>> {
    let bytes: &[u8] = &data;
    let doc = py.detach(|| Doc::check(bytes)).map_err(|error| raised(py, &error))?;
    read::object(py, doc.root())
}

/// The document of a Python object.
#[pyfunction]
fn dumps<'py>(obj: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(obj.py(), &write::document(obj)?))
}

/// The document of a JSON text.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "it is a reference to a Python object")]
fn from_json(py: Python<'_>, text: Text) -> PyResult<Bound<'_, PyBytes>> {
    let bytes = py.detach(|| json::to_fleece(text.as_ref()));
    Ok(PyBytes::new(py, &bytes.map_err(|error| raised(py, &error))?))
}

/// JSON of a value, of at most this many bytes.
fn to_json(
    value: fleece_codec::Value<'_>,
    indent: Option<usize>,
    max_bytes: usize,
) -> fleece_codec::Result<String> {
    let options =
        indent.map_or_else(PrintOptions::new, |indent| PrintOptions::new().pretty(indent));
    options.size_limit_bytes(max_bytes).print(value)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<document::Value>()?;
    module.add_class::<document::Document>()?;
    module.add("FleeceError", module.py().get_type::<failure::FleeceError>())?;
    module.add_function(wrap_pyfunction!(loads, module)?)?;
    module.add_function(wrap_pyfunction!(dumps, module)?)?;
    module.add_function(wrap_pyfunction!(from_json, module)?)?;
    Ok(())
}
