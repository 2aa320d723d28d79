//! Parts of files.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use record_sampler::HeaderRule;

use crate::failure::{PythonFailure, raised};
use crate::inputs::{FileObject, Inputs, LayoutArguments, delimiter_of, warn};
use crate::sampler::byte_strings;

/// A file, or the records in it whose first bytes lie from one offset to another.
#[pyclass(module = "record_sampler", frozen, eq, hash, from_py_object)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) part: record_sampler::Part,
    /// The name of its format, by which it is pickled.
    format: String,
    /// Whether the first record is the header, instead of what the format says.
    header: Option<bool>,
    /// The separator of the fields of CSV.
    delimiter: Option<char>,
}

#[pymethods]
impl Part {
    #[new]
    #[pyo3(signature = (
        path, *, file = 0, start = 0, stop = u64::MAX, format = None, header = None,
        delimiter = None, max_record = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        path: PathBuf,
        file: u64,
        start: u64,
        stop: u64,
        format: Option<&str>,
        header: Option<bool>,
        delimiter: Option<char>,
        max_record: Option<u64>,
    ) -> PyResult<Part> {
        let arguments = LayoutArguments { format, header, delimiter };
        let layout = arguments.choice()?.find([&path]).map_err(raised)?;
        warn(py, layout.note.as_deref())?;
        let part = record_sampler::Part::new(file, path, layout.format).range(start, stop);
        let mut part = part.with_header_rule(layout.header.clone());
        if let Some(bytes) = max_record {
            part = part.with_max_record(bytes);
        }
        Ok(Part { part, delimiter: delimiter_of(&layout), format: layout.name, header })
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
        self.part.header == HeaderRule::Record
    }

    #[getter]
    fn delimiter(&self) -> Option<char> {
        self.delimiter
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
        Ok(byte_strings(py, &records))
    }

    /// The number of records of the file object, which is the file.
    fn count_stream(&self, py: Python<'_>, file: Py<PyAny>) -> PyResult<u64> {
        let failure = PythonFailure::default();
        let reader = FileObject { object: file, failure: failure.clone() };
        py.detach(|| self.part.count_stream(reader)).map_err(|error| failure.raised(error))
    }

    /// The records of the file object with these ranks, which are in ascending order.
    #[expect(clippy::needless_pass_by_value, reason = "it is made of a Python list")]
    fn fetch_stream<'py>(
        &self,
        py: Python<'py>,
        ranks: Vec<u64>,
        file: Py<PyAny>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let failure = PythonFailure::default();
        let reader = FileObject { object: file, failure: failure.clone() };
        let records = py.detach(|| self.part.fetch_stream(&ranks, reader));
        let records = records.map_err(|error| failure.raised(error))?;
        Ok(byte_strings(py, &records))
    }

    /// The header of the file with its line end; empty if there is none.
    fn header_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let header = py.detach(|| self.part.header_bytes()).map_err(raised)?;
        Ok(PyBytes::new(py, &header))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Part>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let Part { part, format, header, delimiter } = slf.get().clone();
        let record_sampler::Part { file, path, from, to, max_record, .. } = part;
        let module = slf.py().import("record_sampler._api")?;
        let state = (path, file, from, to, format, header, delimiter, max_record);
        Ok((module.getattr("part")?, state))
    }

    fn __repr__(&self) -> String {
        let Part { part, format, .. } = self;
        let record_sampler::Part { file, path, from, to, .. } = part;
        let path = path.display();
        format!("Part({path:?}, file={file}, start={from}, stop={to}, format={format:?})")
    }
}

type Pickled = (PathBuf, u64, u64, u64, String, Option<bool>, Option<char>, u64);

/// Divides files into parts of about this size.
#[pyfunction]
#[pyo3(signature = (
    paths, part_bytes, *, format = None, header = None, delimiter = None, max_record = None,
))]
pub(crate) fn parts(
    paths: &Bound<'_, PyAny>,
    part_bytes: u64,
    format: Option<&str>,
    header: Option<bool>,
    delimiter: Option<char>,
    max_record: Option<u64>,
) -> PyResult<Vec<Part>> {
    let arguments = LayoutArguments { format, header, delimiter };
    let opened = Inputs::new(paths)?.open(arguments, max_record, &PythonFailure::default());
    let (population, layout) = opened?;
    let (format, delimiter) = (&layout.name, delimiter_of(&layout));
    let parts = population.parts(part_bytes).map_err(raised)?;
    let part = |part| Part { part, format: format.clone(), header, delimiter };
    Ok(parts.into_iter().map(part).collect())
}
