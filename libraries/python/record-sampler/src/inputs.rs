//! What a caller names as files: paths, patterns of paths, or file objects.

use std::io::{self, Read};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use record_sampler::{Layout, Population};

use crate::failure::{PythonFailure, raised, refused};

/// Paths of files, or file objects, but not both.
pub(crate) struct Inputs {
    paths: Vec<PathBuf>,
    files: Vec<Py<PyAny>>,
}

impl Inputs {
    /// Patterns are expanded. It is an error if there is no file.
    pub(crate) fn new(argument: &Bound<'_, PyAny>) -> PyResult<Inputs> {
        let module = argument.py().import("record_sampler._inputs")?;
        let named = module.getattr("inputs")?.call1((argument,))?;
        let (paths, files): (Vec<PathBuf>, Vec<Py<PyAny>>) = named.extract()?;
        Ok(Inputs { paths, files })
    }

    /// The paths of Parquet files. It is an error if there are file objects.
    pub(crate) fn parquet_paths(self) -> PyResult<Vec<PathBuf>> {
        if self.files.is_empty() {
            return Ok(self.paths);
        }
        Err(refused("Parquet is read from paths, as its footer is at the end: give paths"))
    }

    pub(crate) fn layout(&self, format: &str) -> PyResult<Layout> {
        if format == "parquet" {
            let text = "rows of Parquet are no bytes: `sample` gives them as a table, by \
                        to=\"pandas\", \"polars\" or \"arrow\"";
            return Err(refused(text));
        }
        Layout::named(format, self.paths.first().map(PathBuf::as_path)).map_err(raised)
    }

    /// The records of all inputs. An exception of a file object is stored in `failure`.
    pub(crate) fn population(
        self,
        layout: Layout,
        header: bool,
        max_record: Option<u64>,
        failure: &PythonFailure,
    ) -> PyResult<Population> {
        let mut population = Population::open(&self.paths, layout.format).map_err(raised)?;
        for (number, object) in (1..).zip(self.files) {
            let file = FileObject { object, failure: failure.clone() };
            population.push_stream(format!("file object {number}"), file);
        }
        population = population.with_header_rule(layout.header);
        if header {
            population = population.with_header();
        }
        if let Some(bytes) = max_record {
            population = population.with_max_record(bytes);
        }
        Ok(population)
    }
}

/// A file object of Python, which is read from where it is to its end.
struct FileObject {
    object: Py<PyAny>,
    failure: PythonFailure,
}

impl FileObject {
    fn read_into(&self, py: Python<'_>, buffer: &mut [u8]) -> PyResult<usize> {
        let read = self.object.bind(py).call_method1("read", (buffer.len(),))?;
        let bytes = read.extract::<PyBackedBytes>().map_err(|_| {
            refused("a file object must give bytes: open it in binary mode, as by \"rb\"")
        })?;
        let room = buffer.get_mut(..bytes.len());
        let room = room.ok_or_else(|| refused("a file object gave more bytes than requested"))?;
        room.copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

impl Read for FileObject {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| self.read_into(py, buffer)).map_err(|error| {
            self.failure.set(error);
            io::Error::other("a file object failed")
        })
    }
}
