//! Files, and parts of them, in memory, lent by the buffer protocol.
//!
//! Python keeps what it wants for as long as it wants, so a loaded file counts who looks at its
//! bytes. They are freed with the object, which whoever looks holds, or by `release`, which is
//! refused while somebody looks.

use std::ffi::c_int;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use byte_stream::{Cancel, LoadOptions, LoadWay};
use pyo3::exceptions::{PyBufferError, PyIndexError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PySlice};

use crate::failure::raised;

/// The bytes of a file, or of parts of it, for reading.
#[pyclass(module = "byte_stream", frozen)]
pub(crate) struct Loaded {
    /// None when it was released.
    bytes: Mutex<Option<byte_stream::Loaded>>,
    /// The number of views. It grows only under the lock, and shrinks without.
    looks: AtomicUsize,
    choice: byte_stream::LoadChoice,
}

/// The way in which a file was loaded, and the facts behind it.
#[pyclass(module = "byte_stream", frozen, get_all)]
pub(crate) struct LoadChoice {
    way: String,
    reason: String,
    threads: usize,
    size_bytes: u64,
    memory_left_bytes: Option<u64>,
    cached_share: Option<f64>,
    /// The seconds that the medium took for 4 KiB and for 1 MiB.
    read_4k_s: Option<f64>,
    read_1m_s: Option<f64>,
    text: String,
}

#[pymethods]
impl LoadChoice {
    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<LoadChoice {}>", self.text)
    }
}

/// Loads a file, or parts of it, into memory.
#[pyfunction]
#[pyo3(signature = (
    path, *, parts = None, way = "auto", threads = None, allow_map = false, progress = None,
))]
pub(crate) fn load(
    py: Python<'_>,
    path: PathBuf,
    parts: Option<Vec<(u64, u64)>>,
    way: &str,
    threads: Option<usize>,
    allow_map: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Loaded> {
    let mut options = LoadOptions::new().way(way_of(way)?);
    if let Some(parts) = parts {
        options = options.parts(parts.into_iter().map(|(start, end)| start..end));
    }
    if let Some(threads) = threads {
        options = options.threads(threads);
    }
    if allow_map {
        // SAFETY: who sets the option promises that no process changes or truncates the file.
        options = unsafe { options.allow_map() };
    }
    let stopped: Arc<Mutex<Option<PyErr>>> = Arc::default();
    if let Some(progress) = progress {
        let (cancel, stopped) = (Cancel::new()?, stopped.clone());
        options = options.cancel(&cancel).on_progress(move |now| {
            let args = (now.done_bytes, now.total_bytes);
            if let Err(error) = Python::attach(|py| progress.call1(py, args).map(drop)) {
                lock(&stopped).get_or_insert(error);
                cancel.cancel();
            }
        });
    }
    let loaded = py.detach(|| byte_stream::load(&path, &options));
    if let Some(error) = lock(&stopped).take() {
        return Err(error);
    }
    let loaded = loaded.map_err(|error| raised(py, &error, Some(path.as_os_str())))?;
    let choice = loaded.choice();
    Ok(Loaded { bytes: Mutex::new(Some(loaded)), looks: AtomicUsize::new(0), choice })
}

#[pymethods]
impl Loaded {
    fn __len__(&self) -> PyResult<usize> {
        let len = lock(&self.bytes).as_ref().map(|bytes| bytes.len());
        len.ok_or_else(released)
    }

    /// A memoryview of one part.
    fn part<'py>(slf: &Bound<'py, Loaded>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let range = lock(&slf.get().bytes).as_ref().map(|bytes| {
            let part = bytes.part(index)?;
            let start = part.as_ptr().addr() - bytes.as_ptr().addr();
            Some((start, start + part.len()))
        });
        let (start, end) = range
            .ok_or_else(released)?
            .ok_or_else(|| PyIndexError::new_err(format!("there is no part {index}")))?;
        let slice = PySlice::new(slf.py(), start.cast_signed(), end.cast_signed(), 1);
        PyMemoryView::from(slf.as_any())?.get_item(slice)
    }

    #[getter]
    fn choice(&self) -> LoadChoice {
        let choice = &self.choice;
        LoadChoice {
            way: choice.way.to_string(),
            reason: format!("{:?}", choice.why),
            threads: choice.threads,
            size_bytes: choice.size_bytes,
            memory_left_bytes: choice.memory_left_bytes,
            cached_share: choice.cached_share,
            read_4k_s: choice.medium.map(|medium| medium.read_4k.as_secs_f64()),
            read_1m_s: choice.medium.map(|medium| medium.read_1m.as_secs_f64()),
            text: choice.to_string(),
        }
    }

    /// Frees the bytes, unless somebody looks at them.
    fn release(&self) -> PyResult<()> {
        let freed = {
            let mut bytes = lock(&self.bytes);
            let is_free = self.looks.load(Ordering::Acquire) == 0;
            is_free.then(|| bytes.take())
        };
        match freed {
            Some(_) => Ok(()),
            None => Err(PyBufferError::new_err("the loaded file is still in use")),
        }
    }

    fn __enter__(slf: Py<Loaded>) -> Py<Loaded> {
        slf
    }

    fn __exit__(
        &self,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.release()
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Loaded>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let this = slf.get();
        let place = lock(&this.bytes).as_ref().map(|bytes| {
            this.looks.fetch_add(1, Ordering::AcqRel);
            (bytes.as_ptr(), bytes.len())
        });
        let Some((start, len)) = place else {
            return Err(PyBufferError::new_err("the loaded file was released"));
        };
        // SAFETY: Python passes a structure to fill in. The bytes stay where they are until they
        // are released, which is refused while they are looked at. The structure holds the object.
        // It is for reading only.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                start.cast_mut().cast(),
                len.cast_signed(),
                1,
                flags,
            )
        };
        if filled != 0 {
            this.looks.fetch_sub(1, Ordering::AcqRel);
            return Err(PyErr::fetch(slf.py()));
        }
        Ok(())
    }

    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.looks.fetch_sub(1, Ordering::AcqRel);
    }
}

fn way_of(name: &str) -> PyResult<LoadWay> {
    let ways = [LoadWay::Auto, LoadWay::Read, LoadWay::Pread, LoadWay::Map, LoadWay::Direct];
    ways.into_iter().find(|way| way.to_string() == name).ok_or_else(|| {
        let names = ways.map(|way| way.to_string()).join(", ");
        PyValueError::new_err(format!("there is no way {name:?} to load a file; there are {names}"))
    })
}

fn released() -> PyErr {
    PyValueError::new_err("the loaded file was released")
}

/// Only a moment: no code of Python runs while it is locked.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
