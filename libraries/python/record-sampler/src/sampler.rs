//! Samplers.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use record_sampler::{Column, ErrorKind};

use crate::failure::{raised, refused};
use crate::part::{Part, choice, opened};
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
        n = None, *, seed = 0, probability = None, at_most = false, weight = None, per = None,
        with_replacement = false, systematic = false, invert = false, shuffle = false,
        mergeable = false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    #[expect(clippy::fn_params_excessive_bools, reason = "they are keywords in Python")]
    fn new(
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
    ) -> PyResult<Sampler> {
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

    /// The chosen records of these files.
    #[pyo3(signature = (paths, *, format = None, header = None, delimiter = None, max_record = None))]
    #[expect(clippy::needless_pass_by_value, reason = "it is made of a Python list")]
    fn records<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<PathBuf>,
        format: Option<&str>,
        header: Option<bool>,
        delimiter: Option<char>,
        max_record: Option<u64>,
    ) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let choice = choice(format, header, delimiter)?;
        let (mut population, _) = opened(py, &paths, &choice, max_record)?;
        let records = self.run(py, None, |sampler| sampler.records(&mut population))?;
        Ok(records.iter().map(|record| PyBytes::new(py, record)).collect())
    }

    /// The header and the chosen records of these files, as they are written.
    #[pyo3(signature = (paths, *, format = None, header = None, delimiter = None, max_record = None))]
    #[expect(clippy::needless_pass_by_value, reason = "it is made of a Python list")]
    fn text<'py>(
        &self,
        py: Python<'py>,
        paths: Vec<PathBuf>,
        format: Option<&str>,
        header: Option<bool>,
        delimiter: Option<char>,
        max_record: Option<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let choice = choice(format, header, delimiter)?;
        let (mut population, _) = opened(py, &paths, &choice, max_record)?;
        let mut out = Vec::new();
        self.run(py, None, |sampler| sampler.write(&mut population, &mut out))?;
        Ok(PyBytes::new(py, &out))
    }

    /// The sketch of a part. `progress` is called with the number of further bytes now and then.
    #[pyo3(signature = (part, progress = None))]
    fn sketch(&self, py: Python<'_>, part: &Part, progress: Option<Py<PyAny>>) -> PyResult<Sketch> {
        self.run(py, progress, |sampler| sampler.sketch(&part.part)).map(Sketch)
    }

    /// The ranks to fetch from each part, by the numbers of their records.
    #[expect(clippy::needless_pass_by_value, reason = "it is made of a Python list")]
    fn ranks(&self, py: Python<'_>, counts: Vec<u64>) -> PyResult<Vec<Vec<u64>>> {
        py.detach(|| self.sampler.ranks(&counts)).map_err(raised)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Sampler>) -> PyResult<(Bound<'py, PyAny>, (Arguments,))> {
        let module = slf.py().import("record_sampler")?;
        Ok((module.getattr("_sampler")?, (slf.get().arguments.clone(),)))
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
    /// Works without the global lock. A signal, such as that of Ctrl-C, and an exception of the
    /// callback end the work.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        progress: Option<Py<PyAny>>,
        work: impl FnOnce(&record_sampler::Sampler) -> record_sampler::Result<T> + Send,
    ) -> PyResult<T> {
        let raised_by: Arc<Mutex<Option<PyErr>>> = Arc::default();
        let stopped = Arc::clone(&raised_by);
        let sampler = self.sampler.clone().watched(move |bytes| {
            let called = Python::attach(|py| {
                py.check_signals()?;
                progress.as_ref().map(|progress| progress.call1(py, (bytes,))).transpose()
            });
            let is_fine = called.is_ok();
            if let Err(error) = called {
                *stopped.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
            is_fine
        });
        py.detach(|| work(&sampler)).map_err(|error| {
            let own = raised_by.lock().unwrap_or_else(PoisonError::into_inner).take();
            own.filter(|_| error.kind() == ErrorKind::Stopped).unwrap_or_else(|| raised(error))
        })
    }
}
