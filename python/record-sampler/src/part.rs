//! Parts of files.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use record_sampler::{Format, Population};

use crate::failure::{raised, refused};

/// A file, or the records in it whose first bytes lie from one offset to another.
#[pyclass(module = "record_sampler", frozen, eq, hash)]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Part(pub(crate) record_sampler::Part);

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
        let mut part = record_sampler::Part::new(file, path, parsed(format)?).range(start, stop);
        if header {
            part = part.with_header();
        }
        if let Some(bytes) = max_record {
            part = part.with_max_record(bytes);
        }
        Ok(Part(part))
    }

    #[getter]
    fn path(&self) -> &PathBuf {
        &self.0.path
    }

    #[getter]
    fn file(&self) -> u64 {
        self.0.file
    }

    #[getter]
    fn start(&self) -> u64 {
        self.0.from
    }

    #[getter]
    fn stop(&self) -> u64 {
        self.0.to
    }

    #[getter]
    fn format(&self) -> String {
        named(self.0.format)
    }

    #[getter]
    fn header(&self) -> bool {
        self.0.header
    }

    #[getter]
    fn max_record(&self) -> u64 {
        self.0.max_record
    }

    /// The number of records.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        py.detach(|| self.0.count()).map_err(raised)
    }

    /// The records with these ranks, which are in ascending order.
    #[expect(clippy::needless_pass_by_value, reason = "it is made of a Python list")]
    fn fetch<'py>(&self, py: Python<'py>, ranks: Vec<u64>) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let records = py.detach(|| self.0.fetch(&ranks)).map_err(raised)?;
        Ok(records.iter().map(|record| PyBytes::new(py, record)).collect())
    }

    /// The header of the file with its line end; empty if there is none.
    fn header_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let header = py.detach(|| self.0.header_bytes()).map_err(raised)?;
        Ok(PyBytes::new(py, &header))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Part>) -> PyResult<(Bound<'py, PyAny>, Pickled)> {
        let part = &slf.get().0;
        let record_sampler::Part { file, path, from, to, header, max_record, .. } = part.clone();
        let module = slf.py().import("record_sampler")?;
        let state = (path, file, from, to, named(part.format), header, max_record);
        Ok((module.getattr("_part")?, state))
    }

    fn __repr__(&self) -> String {
        let record_sampler::Part { file, path, from, to, format, .. } = &self.0;
        let (path, format) = (path.display(), named(*format));
        format!("Part({path:?}, file={file}, start={from}, stop={to}, format={format:?})")
    }
}

type Pickled = (PathBuf, u64, u64, u64, String, bool, u64);

/// Divides files into parts of about this size.
#[pyfunction]
#[pyo3(signature = (paths, part_bytes, *, format = "lines", header = false, max_record = None))]
#[expect(clippy::needless_pass_by_value, reason = "it is made of a Python list")]
pub(crate) fn parts(
    paths: Vec<PathBuf>,
    part_bytes: u64,
    format: &str,
    header: bool,
    max_record: Option<u64>,
) -> PyResult<Vec<Part>> {
    let population = opened(&paths, format, header, max_record)?;
    let parts = population.parts(part_bytes).map_err(raised)?;
    Ok(parts.into_iter().map(Part).collect())
}

pub(crate) fn opened(
    paths: &[PathBuf],
    format: &str,
    header: bool,
    max_record: Option<u64>,
) -> PyResult<Population> {
    let mut population = Population::open(paths, parsed(format)?).map_err(raised)?;
    if header {
        population = population.with_header();
    }
    if let Some(bytes) = max_record {
        population = population.with_max_record(bytes);
    }
    Ok(population)
}

fn parsed(format: &str) -> PyResult<Format> {
    let bytes = format.strip_prefix("fixed:").and_then(|bytes| bytes.parse().ok());
    Ok(match (format, bytes) {
        ("lines", _) => Format::Lines,
        ("csv", _) => Format::Csv { delimiter: b',' },
        ("tsv", _) => Format::Csv { delimiter: b'\t' },
        ("jsonl", _) => Format::JsonLines,
        (_, Some(bytes)) => Format::Fixed(bytes),
        _ => {
            let text = format!(
                "unknown format {format:?}, allowed is lines, csv, tsv, jsonl, fixed:BYTES"
            );
            return Err(refused(text));
        }
    })
}

/// The name of a format that has been parsed.
fn named(format: Format) -> String {
    match format {
        Format::Fixed(bytes) => format!("fixed:{bytes}"),
        Format::Csv { delimiter: b',' } => "csv".to_owned(),
        Format::Csv { .. } => "tsv".to_owned(),
        Format::JsonLines => "jsonl".to_owned(),
        _ => "lines".to_owned(),
    }
}
