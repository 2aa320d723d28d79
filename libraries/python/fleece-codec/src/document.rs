//! Documents, and the arrays and dicts in them, which are read in place.

use std::sync::Arc;

use fleece_codec::{Dict, Encoder, Kind, Path};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyList, PyType};

use crate::failure::raised;
use crate::{read, to_json};

type Doc = fleece_codec::Doc<Arc<[u8]>>;

/// An array or a dict in a document, or a document.
#[pyclass(module = "fleece_codec", frozen, subclass)]
pub(crate) struct Value {
    doc: Arc<Doc>,
    offset: usize,
}

/// A document, all of which is checked when it is opened; its root.
#[pyclass(module = "fleece_codec", name = "Doc", frozen, extends = Value)]
pub(crate) struct Document;

/// The items of an array, from one of them on.
#[pyclass(module = "fleece_codec")]
struct Items {
    doc: Arc<Doc>,
    offset: usize,
    next: usize,
}

/// The key of a dict, or the index of an array.
#[derive(FromPyObject)]
enum Place {
    Key(String),
    Index(isize),
}

#[pymethods]
impl Document {
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "it is a reference to a Python object")]
    fn new(py: Python<'_>, data: PyBackedBytes) -> PyResult<PyClassInitializer<Document>> {
        let bytes: &[u8] = &data;
        let doc = py.detach(|| Doc::check(Arc::from(bytes))).map_err(|error| raised(py, &error))?;
        let offset = doc.root().offset();
        let value = PyClassInitializer::from(Value { doc: Arc::new(doc), offset });
        Ok(value.add_subclass(Document))
    }

    /// The bytes that it was made of.
    #[getter]
    fn data<'py>(slf: &Bound<'py, Document>) -> Bound<'py, PyBytes> {
        PyBytes::new(slf.py(), slf.as_super().get().doc.as_bytes())
    }
}

#[pymethods]
impl Value {
    /// "array" or "dict"; of a document also what a root without items is.
    #[getter]
    fn kind(&self) -> String {
        format!("{:?}", self.value().kind()).to_lowercase()
    }

    fn __len__(&self) -> PyResult<usize> {
        let value = self.value();
        match (value.as_array(), value.as_dict()) {
            (Some(array), _) => Ok(array.len()),
            (_, Some(dict)) => Ok(dict.len()),
            _ => Err(self.no_collection()),
        }
    }

    fn __getitem__<'py>(&self, py: Python<'py>, key: Place) -> PyResult<Bound<'py, PyAny>> {
        match key {
            Place::Key(key) => {
                let item = self.dict()?.get(&key).ok_or_else(|| PyKeyError::new_err(key))?;
                object(py, &self.doc, item)
            }
            Place::Index(index) => {
                let array = self.value().as_array().ok_or_else(|| self.wrong("an array"))?;
                let from_end = if index < 0 { array.len() } else { 0 };
                let item = from_end.checked_add_signed(index).and_then(|index| array.get(index));
                let item = item.ok_or_else(|| PyIndexError::new_err("no such item"))?;
                object(py, &self.doc, item)
            }
        }
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.value().as_array().is_none() {
            return Ok(PyList::new(py, self.keys()?)?.try_iter()?.into_any());
        }
        let items = Items { doc: Arc::clone(&self.doc), offset: self.offset, next: 0 };
        Ok(Bound::new(py, items)?.into_any())
    }

    fn __contains__(&self, py: Python<'_>, sought: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Some(array) = self.value().as_array() else {
            let dict = self.dict()?;
            return Ok(sought.extract::<String>().is_ok_and(|key| dict.get(&key).is_some()));
        };
        for item in array {
            if object(py, &self.doc, item)?.eq(sought)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The keys of a dict, in the order of storage.
    fn keys(&self) -> PyResult<Vec<&str>> {
        Ok(self.dict()?.iter().filter_map(|(key, _)| key.as_str()).collect())
    }

    /// The pairs of a dict, in the order of storage.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Vec<(&str, Bound<'py, PyAny>)>> {
        let named = self.dict()?.iter().filter_map(|(key, value)| Some((key.as_str()?, value)));
        named.map(|(key, value)| Ok((key, object(py, &self.doc, value)?))).collect()
    }

    /// What stands at a path such as `people[0].name`, or the default.
    #[pyo3(signature = (path, default = None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        path: &str,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let path = Path::new(path).map_err(|error| raised(py, &error))?;
        match path.find(self.value()) {
            Some(found) => object(py, &self.doc, found),
            None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
        }
    }

    /// JSON text. It is an error if it were longer than `max_bytes`.
    #[pyo3(signature = (indent = None, *, max_bytes = 1 << 30))]
    fn to_json(&self, py: Python<'_>, indent: Option<usize>, max_bytes: usize) -> PyResult<String> {
        let text = py.detach(|| to_json(self.value(), indent, max_bytes));
        text.map_err(|error| raised(py, &error))
    }

    /// Everything within it as Python objects.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        read::object(py, self.value())
    }

    /// A document of its own.
    fn to_fleece<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut encoder = Encoder::new();
        encoder.write_value(self.value());
        Ok(PyBytes::new(py, &encoder.finish().map_err(|error| raised(py, &error))?))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> Option<bool> {
        // Another type has another opinion on what is equal.
        other.cast::<Value>().ok().map(|other| self.value() == other.get().value())
    }

    fn __repr__(slf: &Bound<'_, Value>) -> PyResult<String> {
        let name = slf.get_type().name()?;
        let text = to_json(slf.get().value(), None, 1000);
        Ok(format!("{name}({})", text.unwrap_or_else(|_| slf.get().kind())))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Value>,
    ) -> PyResult<(Bound<'py, PyType>, (Bound<'py, PyBytes>,))> {
        let bytes = match slf.cast::<Document>() {
            Ok(document) => Document::data(document),
            Err(_) => slf.get().to_fleece(slf.py())?,
        };
        Ok((slf.py().get_type::<Document>(), (bytes,)))
    }
}

#[pymethods]
impl Items {
    fn __iter__(slf: Py<Items>) -> Py<Items> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let array = self.doc.value_at(self.offset).and_then(fleece_codec::Value::as_array);
        let item = array.and_then(|array| array.get(self.next));
        self.next += usize::from(item.is_some());
        item.map(|item| object(py, &self.doc, item)).transpose()
    }
}

impl Value {
    pub(crate) fn value(&self) -> fleece_codec::Value<'_> {
        let value = self.doc.value_at(self.offset);
        value.unwrap_or_else(fleece_codec::Value::undefined)
    }

    fn dict(&self) -> PyResult<Dict<'_>> {
        self.value().as_dict().ok_or_else(|| self.wrong("a dict"))
    }

    fn no_collection(&self) -> PyErr {
        self.wrong("an array or a dict")
    }

    #[cold]
    fn wrong(&self, expected: &str) -> PyErr {
        PyTypeError::new_err(format!("the value is of the kind {}, not {expected}", self.kind()))
    }
}

/// Arrays and dicts stay in the document, all else is copied.
fn object<'py>(
    py: Python<'py>,
    doc: &Arc<Doc>,
    value: fleece_codec::Value<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    if !matches!(value.kind(), Kind::Array | Kind::Dict) {
        return read::object(py, value);
    }
    Ok(Bound::new(py, Value { doc: Arc::clone(doc), offset: value.offset() })?.into_any())
}
