//! Samplers.

use std::hash::{BuildHasher, RandomState};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use record_sampler::{Column, DrawnRecords, Format, Layout};

use crate::failure::{PythonFailure, raised, refused};
use crate::inputs::{FileObject, Inputs, LayoutArguments, delimiter_byte, delimiter_of};
use crate::part::Part;
use crate::sketch::Sketch;

/// How many records to draw, and how.
#[pyclass(module = "record_sampler", frozen)]
pub(crate) struct Sampler {
    sampler: record_sampler::Sampler,
    arguments: Arguments,
}

/// The arguments of the constructor, which are pickled.
#[derive(Clone, IntoPyObject)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword in Python")]
struct Arguments {
    n: Option<u64>,
    seed: u64,
    probability: Option<f64>,
    at_most: bool,
    weight: Option<ColumnArgument>,
    per: Option<ColumnArgument>,
    with_replacement: bool,
    systematic: bool,
    invert: bool,
    shuffle: bool,
    mergeable: bool,
}

/// The name of a format, the separator of the fields of CSV, a header, and records.
type DrawnParts<'py> = (String, Option<char>, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

/// The name of a column, or its number, counted from 1.
#[derive(Clone, FromPyObject, IntoPyObject)]
pub(crate) enum ColumnArgument {
    Name(String),
    Number(usize),
}

impl From<ColumnArgument> for Column {
    fn from(column: ColumnArgument) -> Column {
        match column {
            ColumnArgument::Name(name) => Column::Name(name),
            ColumnArgument::Number(number) => Column::Number(number),
        }
    }
}

#[pymethods]
impl Sampler {
    #[new]
    #[pyo3(signature = (
        n = None, *, seed = None, probability = None, at_most = false, weight = None, per = None,
        with_replacement = false, systematic = false, invert = false, shuffle = false,
        mergeable = false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    #[expect(clippy::fn_params_excessive_bools, reason = "they are keywords in Python")]
    fn new(
        n: Option<u64>,
        seed: Option<u64>,
        probability: Option<f64>,
        at_most: bool,
        weight: Option<ColumnArgument>,
        per: Option<ColumnArgument>,
        with_replacement: bool,
        systematic: bool,
        invert: bool,
        shuffle: bool,
        mergeable: bool,
    ) -> PyResult<Sampler> {
        let seed = seed.unwrap_or_else(|| RandomState::new().hash_one(std::process::id()));
        let arguments = Arguments {
            n,
            seed,
            probability,
            at_most,
            weight,
            per,
            with_replacement,
            systematic,
            invert,
            shuffle,
            mergeable,
        };
        Ok(Sampler { sampler: arguments.clone().sampler()?, arguments })
    }

    /// The seed: a new one for each sampler, if none is given.
    #[getter]
    fn seed(&self) -> u64 {
        self.arguments.seed
    }

    /// The chosen records of these files.
    #[pyo3(signature = (
        paths, *, format = None, header = None, delimiter = None, max_record = None,
    ))]
    fn records<'py>(
        &self,
        paths: &Bound<'py, PyAny>,
        format: Option<&str>,
        header: Option<bool>,
        delimiter: Option<char>,
        max_record: Option<u64>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let arguments = LayoutArguments { format, header, delimiter };
        let (_, drawn) = self.drawn(paths, arguments, max_record)?;
        Ok(byte_strings(paths.py(), &drawn.records))
    }

    /// The name of the format of these files, the separator of the fields of CSV, the header, and
    /// the chosen records.
    #[pyo3(signature = (
        paths, *, format = None, header = None, delimiter = None, max_record = None,
    ))]
    fn draw<'py>(
        &self,
        paths: &Bound<'py, PyAny>,
        format: Option<&str>,
        header: Option<bool>,
        delimiter: Option<char>,
        max_record: Option<u64>,
    ) -> PyResult<DrawnParts<'py>> {
        let py = paths.py();
        let arguments = LayoutArguments { format, header, delimiter };
        let (layout, drawn) = self.drawn(paths, arguments, max_record)?;
        let (header, records) = (&drawn.header, byte_strings(py, &drawn.records));
        Ok((layout.name.clone(), delimiter_of(&layout), PyBytes::new(py, header), records))
    }

    /// The header and the chosen records of these files, as they are written.
    #[pyo3(signature = (
        paths, *, format = None, header = None, delimiter = None, max_record = None,
    ))]
    fn text<'py>(
        &self,
        paths: &Bound<'py, PyAny>,
        format: Option<&str>,
        header: Option<bool>,
        delimiter: Option<char>,
        max_record: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let arguments = LayoutArguments { format, header, delimiter };
        let failure = PythonFailure::default();
        let (mut population, _) = Inputs::new(paths)?.open(arguments, max_record, &failure)?;
        let mut out = Vec::new();
        self.run(paths.py(), None, &failure, |sampler| sampler.write(&mut population, &mut out))?;
        Ok(PyBytes::new(paths.py(), &out))
    }

    /// The chosen rows of Parquet files, as a Parquet file.
    fn parquet<'py>(&self, paths: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
        let paths_of_files = Inputs::new(paths)?.parquet_paths()?;
        let (mut out, failure) = (Vec::new(), PythonFailure::default());
        self.run(paths.py(), None, &failure, |sampler| {
            sampler.write_parquet(&paths_of_files, &mut out)
        })?;
        Ok(PyBytes::new(paths.py(), &out))
    }

    /// The sketch of a part. `progress` is called with the number of further bytes now and then.
    #[pyo3(signature = (part, progress = None))]
    fn sketch(&self, py: Python<'_>, part: &Part, progress: Option<Py<PyAny>>) -> PyResult<Sketch> {
        let failure = PythonFailure::default();
        self.run(py, progress, &failure, |sampler| sampler.sketch(&part.part)).map(Sketch)
    }

    /// The sketch of a part whose bytes a file object gives.
    #[pyo3(signature = (part, file, progress = None))]
    fn sketch_stream(
        &self,
        py: Python<'_>,
        part: &Part,
        file: Py<PyAny>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Sketch> {
        let failure = PythonFailure::default();
        let reader = FileObject { object: file, failure: failure.clone() };
        self.run(py, progress, &failure, |sampler| sampler.sketch_stream(&part.part, reader))
            .map(Sketch)
    }

    /// The ranks to fetch from each part, by the numbers of their records.
    #[expect(clippy::needless_pass_by_value, reason = "it is made of a Python list")]
    fn ranks(&self, py: Python<'_>, counts: Vec<u64>) -> PyResult<Vec<Vec<u64>>> {
        py.detach(|| self.sampler.ranks(&counts)).map_err(raised)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Sampler>) -> PyResult<(Bound<'py, PyAny>, (Arguments,))> {
        let module = slf.py().import("record_sampler._api")?;
        Ok((module.getattr("sampler")?, (slf.get().arguments.clone(),)))
    }
}

impl Arguments {
    fn sampler(self) -> PyResult<record_sampler::Sampler> {
        type Choice = fn(record_sampler::Sampler) -> record_sampler::Sampler;
        let mut sampler = match (self.n, self.probability) {
            (Some(n), None) if self.at_most => record_sampler::Sampler::at_most(n),
            (Some(n), None) => record_sampler::Sampler::exactly(n),
            (None, Some(p)) => record_sampler::Sampler::probability(p),
            _ => return Err(refused("give either a number of records or a probability")),
        };
        if let Some(column) = self.weight {
            sampler = sampler.weighted_by(column);
        }
        if let Some(column) = self.per {
            sampler = sampler.per(column);
        }
        let choices: [(bool, Choice); 5] = [
            (self.with_replacement, record_sampler::Sampler::with_replacement),
            (self.systematic, record_sampler::Sampler::systematic),
            (self.invert, record_sampler::Sampler::inverted),
            (self.shuffle, record_sampler::Sampler::shuffled),
            (self.mergeable, record_sampler::Sampler::mergeable),
        ];
        let chosen = choices.into_iter().filter(|(is_chosen, _)| *is_chosen);
        Ok(chosen.fold(sampler.seed(self.seed), |sampler, (_, choose)| choose(sampler)))
    }
}

impl Sampler {
    /// The layout, and the sample.
    fn drawn(
        &self,
        paths: &Bound<'_, PyAny>,
        arguments: LayoutArguments<'_>,
        max_record: Option<u64>,
    ) -> PyResult<(Layout, DrawnRecords)> {
        let failure = PythonFailure::default();
        let (mut population, layout) = Inputs::new(paths)?.open(arguments, max_record, &failure)?;
        let drawn =
            self.run(paths.py(), None, &failure, |sampler| sampler.draw(&mut population))?;
        Ok((layout, drawn))
    }

    /// Works without the global lock. A signal, such as that of Ctrl-C, and an exception of the
    /// callback or of a file object end the work.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        failure: &PythonFailure,
        work: impl FnOnce(&record_sampler::Sampler) -> record_sampler::Result<T> + Send,
    ) -> PyResult<T> {
        let stopped = failure.clone();
        let sampler = self.sampler.clone().watched(move |bytes| {
            let called = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map(|progress| progress.call1(py, (bytes,))).transpose()
            });
            let is_fine = called.is_ok();
            if let Err(error) = called {
                stopped.set(error);
            }
            is_fine
        });
        py.detach(|| work(&sampler)).map_err(|error| failure.raised(error))
    }
}

pub(crate) fn byte_strings<'py>(
    py: Python<'py>,
    records: &[impl AsRef<[u8]>],
) -> Vec<Bound<'py, PyBytes>> {
    records.iter().map(|record| PyBytes::new(py, record.as_ref())).collect()
}

/// The fields of records: of CSV with this delimiter, or without one the line alone.
#[pyfunction]
#[pyo3(signature = (records, delimiter))]
pub(crate) fn fields<'py>(
    py: Python<'py>,
    records: Vec<PyBackedBytes>,
    delimiter: Option<char>,
) -> PyResult<Vec<Vec<Bound<'py, PyBytes>>>> {
    let format = match delimiter {
        Some(delimiter) => Format::Csv { delimiter: delimiter_byte(delimiter)? },
        None => Format::Lines,
    };
    let fields = |record: &PyBackedBytes| -> Vec<Bound<'py, PyBytes>> {
        format.fields(record).iter().map(|field| PyBytes::new(py, field)).collect()
    };
    Ok(records.iter().map(fields).collect())
}
