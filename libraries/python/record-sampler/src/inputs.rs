//! The inputs that a caller names: paths, patterns of paths, or file objects; and the arguments
//! about their layout.

use std::io::{self, Read};
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use record_sampler::{Format, HeaderRule, Layout, LayoutChoice, Population};

use crate::failure::{PythonFailure, refused};

/// The arguments about the layout of files.
#[derive(Clone, Copy)]
pub(crate) struct LayoutArguments<'a> {
    pub(crate) format: Option<&'a str>,
    pub(crate) header: Option<bool>,
    pub(crate) delimiter: Option<char>,
}

impl LayoutArguments<'_> {
    pub(crate) fn choice(self) -> PyResult<LayoutChoice> {
        if self.format == Some("parquet") {
            let text = "rows of Parquet are no bytes: `sample` gives them as a table, by \
                        to=\"pandas\", \"polars\" or \"arrow\"";
            return Err(refused(text));
        }
        let mut choice = self.format.map(LayoutChoice::named).unwrap_or_default();
        if let Some(delimiter) = self.delimiter {
            choice = choice.with_delimiter(delimiter_byte(delimiter)?);
        }
        Ok(match self.header {
            Some(true) => choice.with_header_rule(HeaderRule::Record),
            Some(false) => choice.with_header_rule(HeaderRule::None),
            None => choice,
        })
    }
}

pub(crate) fn delimiter_byte(delimiter: char) -> PyResult<u8> {
    let byte = u8::try_from(delimiter).ok().filter(u8::is_ascii);
    byte.ok_or_else(|| refused("a delimiter is one byte"))
}

/// The separator of the fields of CSV.
pub(crate) fn delimiter_of(layout: &Layout) -> Option<char> {
    match layout.format {
        Format::Csv { delimiter } => Some(char::from(delimiter)),
        _ => None,
    }
}

/// Warns of what the content of a file decided.
pub(crate) fn warn(py: Python<'_>, note: Option<&str>) -> PyResult<()> {
    if let Some(note) = note {
        py.import("warnings")?.call_method1("warn", (note,))?;
    }
    Ok(())
}

/// Whether a file is Parquet, by its name, or by its first bytes if the name says nothing.
#[pyfunction]
pub(crate) fn is_parquet(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    let found = Layout::parquet(&path);
    warn(py, found.and_then(|found| found.note(&path, "parquet")).as_deref())?;
    Ok(found.is_some())
}

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

    /// The records of all inputs, and their layout. An exception of a file object is stored in
    /// `failure`.
    pub(crate) fn open(
        self,
        arguments: LayoutArguments<'_>,
        max_record: Option<u64>,
        failure: &PythonFailure,
    ) -> PyResult<(Population, Layout)> {
        let choice = arguments.choice()?;
        let opened = Python::attach(|py| {
            if self.files.is_empty() {
                return choice.open(&self.paths);
            }
            choice.open_streams((1..).zip(self.files).map(|(number, object)| {
                let name = FileObject::name(py, &object, number);
                let file = FileObject { object, failure: failure.clone() };
                (name, Box::new(file) as Box<dyn Read + Send>)
            }))
        });
        let (mut population, layout) = opened.map_err(|error| failure.raised(error))?;
        Python::attach(|py| warn(py, layout.note.as_deref()))?;
        if let Some(bytes) = max_record {
            population = population.with_max_record(bytes);
        }
        Ok((population, layout))
    }
}

/// The name of the format of these file objects, and the separator of the fields of CSV. At most
/// the first bytes are read.
#[pyfunction]
#[pyo3(signature = (files, *, format = None, header = None, delimiter = None))]
pub(crate) fn stream_layout(
    files: Vec<Py<PyAny>>,
    format: Option<&str>,
    header: Option<bool>,
    delimiter: Option<char>,
) -> PyResult<(String, Option<char>)> {
    let arguments = LayoutArguments { format, header, delimiter };
    let inputs = Inputs { paths: Vec::new(), files };
    let (_, layout) = inputs.open(arguments, None, &PythonFailure::default())?;
    Ok((layout.name.clone(), delimiter_of(&layout)))
}

/// A file object of Python, which is read from where it is to its end.
pub(crate) struct FileObject {
    pub(crate) object: Py<PyAny>,
    pub(crate) failure: PythonFailure,
}

impl FileObject {
    /// Its attribute `name`, by whose ending the format is found, if that is a text.
    fn name(py: Python<'_>, object: &Py<PyAny>, number: usize) -> PathBuf {
        let name = object.bind(py).getattr("name").ok();
        let name = name.and_then(|name| name.extract::<String>().ok());
        name.unwrap_or_else(|| format!("file object {number}")).into()
    }

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
