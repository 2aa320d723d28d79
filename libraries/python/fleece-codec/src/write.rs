//! From Python objects to documents.

use fleece_codec::Encoder;
use fleece_codec::limits::SERDE_DEPTH;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple,
};

use crate::document::Value;
use crate::failure::raised;

pub(crate) fn document(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut encoder = Encoder::new();
    write(&mut encoder, object, 0)?;
    encoder.finish().map_err(|error| raised(object.py(), &error))
}

fn write(encoder: &mut Encoder, object: &Bound<'_, PyAny>, depth: usize) -> PyResult<()> {
    if depth > SERDE_DEPTH {
        let text = format!("more than {SERDE_DEPTH} collections within each other, or a cycle");
        return Err(PyValueError::new_err(text));
    }
    if object.is_none() {
        encoder.write_null();
    } else if let Ok(value) = object.cast::<PyBool>() {
        encoder.write_bool(value.is_true());
    } else if let Ok(value) = object.cast::<PyInt>() {
        match value.extract::<i64>() {
            Ok(value) => encoder.write_i64(value),
            Err(_) => encoder.write_u64(value.extract()?),
        }
    } else if let Ok(value) = object.cast::<PyFloat>() {
        encoder.write_f64(value.value());
    } else if let Ok(value) = object.cast::<PyString>() {
        encoder.write_str(value.to_str()?);
    } else if let Ok(value) = object.cast::<PyBytes>() {
        encoder.write_data(value.as_bytes());
    } else if let Ok(value) = object.cast::<PyByteArray>() {
        encoder.write_data(&value.to_vec());
    } else if let Ok(value) = object.cast::<Value>() {
        encoder.write_value(value.get().value());
    } else if let Ok(items) = object.cast::<PyList>() {
        write_items(encoder, items.iter(), depth)?;
    } else if let Ok(items) = object.cast::<PyTuple>() {
        write_items(encoder, items.iter(), depth)?;
    } else if let Ok(pairs) = object.cast::<PyDict>() {
        write_pairs(encoder, pairs, depth)?;
    } else {
        let name = object.get_type().name()?;
        return Err(PyTypeError::new_err(format!("Fleece has no value for a {name}")));
    }
    Ok(())
}

fn write_items<'py>(
    encoder: &mut Encoder,
    items: impl Iterator<Item = Bound<'py, PyAny>>,
    depth: usize,
) -> PyResult<()> {
    encoder.begin_array();
    for item in items {
        write(encoder, &item, depth + 1)?;
    }
    encoder.end_array();
    Ok(())
}

fn write_pairs(encoder: &mut Encoder, pairs: &Bound<'_, PyDict>, depth: usize) -> PyResult<()> {
    encoder.begin_dict();
    // A copy, which nothing can change meanwhile.
    for pair in pairs.items() {
        let (key, value) = pair.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let Ok(key) = key.cast::<PyString>() else {
            return Err(PyTypeError::new_err("the keys of a dict must be str"));
        };
        encoder.write_key(key.to_str()?);
        write(encoder, &value, depth + 1)?;
    }
    encoder.end_dict();
    Ok(())
}
