//! Parts of files.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use record_sampler::Layout;

use crate::failure::{PythonFailure, raised};
use crate::inputs::Inputs;

/// A file, or the records in it whose first bytes lie from one offset to another.
#[pyclass(module = "record_sampler", frozen, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) part: record_sampler::Part,
    /// The name of its format, by which it is pickled.
    format: String,
    /// Whether the header is the first record, instead of what the format says.
    header: bool,
}

#[pymethods]
impl Part {
    #[new]
    #[pyo3(signature = (
        path, *, file = 0, start = 0, stop = u64::MAX, format = "lines", header = false,
        max_record = None,
    ))]
    fn new(
        path: PathBuf,
        file: u64,
        start: u64,
        stop: u64,
        format: &str,
        header: bool,
        max_record: Option<u64>,
    ) -> PyResult<Part> {
        let layout = Layout::named(format, Some(&path)).map_err(raised)?;
        let part = record_sampler::Part::new(file, path, layout.format).range(start, stop);
        let mut part = part.with_header_rule(layout.header);
        if header {
            part = part.with_header();
        }
        if let Some(bytes) = max_record {
            part = part.with_max_record(bytes);
        }
        Ok(Part { part, format: layout.name, header })
    }

    #[getter]
    fn path(&self) -> &PathBuf {
        &self.part.path
    }

    #[getter]
    fn file(&self) -> u64 {
        self.part.file
    }

    #[getter]
    fn start(&self) -> u64 {
        self.part.from
    }

    #[getter]
    fn stop(&self) -> u64 {
        self.part.to
    }

    #[getter]
    fn format(&self) -> String {
        self.format.clone()
    }

    #[getter]
    fn header(&self) -> bool {
        self.header
    }

    #[getter]
    fn max_record(&self) -> u64 {
        self.part.max_record
    }

    /// The number of records.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.part.count()).map_err(raised)
    }

    /// The records with these ranks, which are in ascending order.
    #[expect(clippy::needless_pass_by_value, reason = "it is made of a Python list")]
    fn fetch<'py>(&self, py: Python<'py>, ranks: Vec<u64>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let records = py.detach(|| self.part.fetch(&ranks)).map_err(raised)?;
        Ok(records.iter().map(|record| PyBytes::new(py, record)).collect())
    }

    /// The header of the file with its line end; empty if there is none.
    fn header_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let header = py.detach(|| self.part.header_bytes()).map_err(raised)?;
        Ok(PyBytes::new(py, &header))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Part>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let Part { part, format, header } = slf.get().clone();
        let record_sampler::Part { file, path, from, to, max_record, .. } = part;
        let module = slf.py().import("record_sampler._api")?;
        let state = (path, file, from, to, format, header, max_record);
        Ok((module.getattr("part")?, state))
    }

    fn __repr__(&self) -> String {
        let Part { part, format, .. } = self;
        let record_sampler::Part { file, path, from, to, .. } = part;
        let path = path.display();
        format!("Part({path:?}, file={file}, start={from}, stop={to}, format={format:?})")
    }
}

type Pickled = (PathBuf, u64, u64, u64, String, bool, u64);

/// Divides files into parts of about this size.
#[pyfunction]
#[pyo3(signature = (paths, part_bytes, *, format = "lines", header = false, max_record = None))]
pub(crate) fn parts(
    paths: &Bound<'_, PyAny>,
    part_bytes: u64,
    format: &str,
    header: bool,
    max_record: Option<u64>,
) -> PyResult<Vec<Part>> {
    let inputs = Inputs::new(paths)?;
    let layout = inputs.layout(format)?;
    let format = layout.name.clone();
    let population = inputs.population(layout, header, max_record, &PythonFailure::default())?;
    let parts = population.parts(part_bytes).map_err(raised)?;
    Ok(parts.into_iter().map(|part| Part { part, format: format.clone(), header }).collect())
}
