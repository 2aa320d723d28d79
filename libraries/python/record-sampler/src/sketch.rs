//! Sketches.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::failure::raised;
use crate::sampler::byte_strings;

/// The sample of a part, which can be merged with those of the other parts.
#[pyclass(module = "record_sampler", frozen)]
pub(crate) struct Sketch(pub(crate) record_sampler::Sketch);

#[pymethods]
impl Sketch {
    /// The sketch of the bytes of another one.
    #[new]
    fn new(bytes: &[u8]) -> PyResult<Sketch> {
        record_sampler::Sketch::from_bytes(bytes).map(Sketch).map_err(raised)
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Sketch> {
        Sketch::new(bytes)
    }

    /// The same bytes for the same sample of the same records, however they were divided.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    /// The sketch of both.
    fn merge(&self, py: Python<'_>, other: &Sketch) -> PyResult<Sketch> {
        py.detach(|| self.0.clone().merge(other.0.clone())).map(Sketch).map_err(raised)
    }

    /// The chosen records, in the order of the files.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        Ok(byte_strings(py, &self.0.records().map_err(raised)?))
    }

    /// The header and the chosen records, as they are written.
    fn text<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let mut out = Vec::new();
        self.0.write(&mut out).map_err(raised)?;
        Ok(PyBytes::new(py, &out))
    }

    /// The header of the first file that has one.
    #[getter]
    fn header<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.header())
    }

    /// The seed by which it was drawn.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// The number of records of the parts.
    #[getter]
    fn seen(&self) -> u64 {
        self.0.seen()
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Sketch>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        let module = slf.py().import("record_sampler")?;
        Ok((module.getattr("Sketch")?, (slf.get().to_bytes(slf.py()),)))
    }

    fn __repr__(&self) -> String {
        format!("Sketch(seen={})", self.0.seen())
    }
}
