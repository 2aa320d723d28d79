//! Streams, and the lending of their chunks.
//!
//! A chunk lies in the buffer of the stream, which the next chunk overwrites. Python keeps what it
//! wants for as long as it wants, so the stream counts who looks at its buffer: each memoryview of
//! the stream, and as long as they live all slices and arrays that are made of it. The next chunk
//! first releases the memoryview of the last one; if somebody still looks, it is a `BufferError`,
//! as it is for a `bytearray` that is to grow. The buffer lives as long as the stream, and whoever
//! looks holds the stream.

use std::collections::BTreeMap;
use std::ffi::{OsString, c_int};
use std::io::BufRead;
use std::os::fd::RawFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use byte_stream::{Address, Cancel, Error, ErrorKind, Options};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyInt, PyMemoryView, PyString};

use crate::borrowed;
use crate::failure::raised;

/// An open input: an iterator of memoryviews, and a context manager.
#[pyclass(module = "byte_stream", frozen)]
pub(crate) struct Stream {
    state: Mutex<StreamState>,
    /// The number of views of the chunk. It grows only under the lock, and shrinks without: Python
    /// may drop a view at any allocation.
    looks: AtomicUsize,
    cancel: Cancel,
    name: String,
    /// The same for exceptions: a path that is not UTF-8 is as it was given.
    filename: OsString,
}

struct StreamState {
    /// None when it is closed.
    stream: Option<byte_stream::Stream>,
    /// The length of the chunk that is lent or was taken.
    len: usize,
    /// The memoryview of the chunk, which is taken away before the next one.
    view: Option<Py<PyAny>>,
}

/// The error of a call that reads without the global lock.
enum ReadError {
    /// Another thread reads.
    Busy,
    /// The stream is closed.
    Closed,
    /// The chunk is in use.
    Lent,
    Failed(std::io::Error),
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (
        address, *, buffer_bytes = None, limit_bytes = None, sha256 = None, decode = false,
        headers = None, connect_limit = None, idle_limit = None, total_limit = None,
        parallel = None, accept_unframed = false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        address: &Bound<'_, PyAny>,
        buffer_bytes: Option<usize>,
        limit_bytes: Option<u64>,
        sha256: Option<PyBackedBytes>,
        decode: bool,
        headers: Option<BTreeMap<String, String>>,
        connect_limit: Option<f64>,
        idle_limit: Option<f64>,
        total_limit: Option<f64>,
        parallel: Option<usize>,
        accept_unframed: bool,
    ) -> PyResult<Stream> {
        let cancel = Cancel::new()?;
        let mut options = byte_stream::Stream::options().decode(decode).cancel(&cancel);
        options = options.accept_unframed(accept_unframed);
        options = set(options, buffer_bytes, Options::buffer_bytes);
        options = set(options, limit_bytes, Options::limit_bytes);
        options = set(options, parallel, Options::parallel);
        options = set(options, duration(connect_limit)?, Options::connect_limit);
        options = set(options, duration(idle_limit)?, Options::idle_limit);
        options = set(options, duration(total_limit)?, Options::total_limit);
        if let Some(digest) = sha256 {
            let digest = <[u8; 32]>::try_from(&digest[..]);
            let digest = digest.map_err(|_| PyValueError::new_err("sha256 has 32 bytes"))?;
            options = options.expect_sha256(digest);
        }
        for (name, value) in headers.unwrap_or_default() {
            options = options.header(&name, &value);
        }
        let address = self::address(address)?;
        let name = address.name();
        let filename = match &address {
            Address::Path(path) => path.clone().into(),
            _ => OsString::from(&name),
        };
        let stream = py.detach(|| options.open(address));
        let stream = stream.map_err(|error| raised(py, &error, Some(&filename)))?;
        let state = Mutex::new(StreamState { stream: Some(stream), len: 0, view: None });
        Ok(Stream { state, looks: AtomicUsize::new(0), cancel, name, filename })
    }

    /// The path, or the URL without user and password.
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    /// The status of the HTTP response, or None.
    #[getter]
    fn status(&self) -> PyResult<Option<u16>> {
        self.look(|stream| stream.response().map(byte_stream::Response::status))
    }

    /// The headers of the HTTP response, with names in small letters.
    #[getter]
    fn headers(&self) -> PyResult<BTreeMap<String, String>> {
        let text = |value: &[u8]| value.iter().map(|byte| char::from(*byte)).collect();
        self.look(|stream| {
            let headers = stream.response().into_iter().flat_map(byte_stream::Response::headers);
            headers.map(|(name, value)| (name.to_lowercase(), text(value))).collect()
        })
    }

    fn __iter__(slf: Py<Stream>) -> Py<Stream> {
        slf
    }

    /// The next chunk. The memoryview of the last one is released.
    fn __next__<'py>(slf: &Bound<'py, Stream>) -> PyResult<Option<Bound<'py, PyMemoryView>>> {
        let (py, this) = (slf.py(), slf.get());
        if !this.read(py, advance)? {
            return Ok(None);
        }
        let view = PyMemoryView::from(slf.as_any())?;
        // The old one, that of another thread, is dropped without the lock.
        let _old = this.state()?.view.replace(view.clone().into_any().unbind());
        Ok(Some(view))
    }

    /// All bytes that are left.
    fn read_all<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let all = self.read(py, |state| {
            let mut all = Vec::new();
            while advance(state)? {
                let stream = state.stream.as_mut().ok_or(ReadError::Closed)?;
                all.extend_from_slice(stream.fill_buf().map_err(ReadError::Failed)?);
            }
            Ok(all)
        })?;
        Ok(PyBytes::new(py, &all))
    }

    /// Writes all bytes that are left to a descriptor; their number.
    fn copy_to(&self, py: Python<'_>, fd: RawFd) -> PyResult<u64> {
        let output = borrowed(fd)?;
        self.read(py, |state| {
            let stream = state.stream.as_mut().ok_or(ReadError::Closed)?;
            stream.consume(std::mem::take(&mut state.len));
            stream.copy_to(output).map_err(|error| ReadError::Failed(error.into()))
        })
    }

    /// Ends what another thread reads, now or later, by an error.
    fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Closes the stream and releases its last chunk.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.state()?.stream.is_none() {
            return Ok(());
        }
        self.read(py, |state| {
            state.stream = None;
            Ok(())
        })
    }

    fn __enter__(slf: Py<Stream>) -> Py<Stream> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.close(py)
    }

    unsafe fn __getbuffer__(
        slf: Bound<'_, Stream>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let Ok(mut state) = slf.get().state.try_lock() else {
            return Err(PyBufferError::new_err("another thread reads the stream"));
        };
        let len = state.len;
        let chunk = match &mut state.stream {
            // What was filled before is there without a read.
            Some(stream) if len > 0 => stream.fill_buf()?,
            _ => return Err(PyBufferError::new_err("the stream has no chunk at hand")),
        };
        // SAFETY: Python passes a structure to fill in. The chunk stays where it is and as it is
        // until the stream is read or closed, which `read` does only when it has no view. The
        // structure holds the stream. It is for reading only.
        let filled = unsafe {
            ffi::PyBuffer_FillInfo(
                view,
                slf.as_ptr(),
                chunk.as_ptr().cast_mut().cast(),
                chunk.len().cast_signed(),
                1,
                flags,
            )
        };
        if filled != 0 {
            return Err(PyErr::fetch(slf.py()));
        }
        slf.get().looks.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    unsafe fn __releasebuffer__(&self, _view: *mut ffi::Py_buffer) {
        self.looks.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Stream {
    /// The state, for a moment in which no code of Python runs.
    fn state(&self) -> PyResult<MutexGuard<'_, StreamState>> {
        self.state.try_lock().map_err(|_| busy())
    }

    fn look<T>(&self, look: impl FnOnce(&byte_stream::Stream) -> T) -> PyResult<T> {
        self.state()?.stream.as_ref().map(look).ok_or_else(closed)
    }

    /// Works without the global lock, when there is no view of the chunk any more.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut StreamState) -> Result<T, ReadError> + Send,
    ) -> PyResult<T> {
        let view = self.state()?.view.take();
        if let Some(view) = view
            && let Err(error) = view.call_method0(py, "release")
        {
            let _old = self.state()?.view.replace(view);
            return Err(error);
        }
        let done = py.detach(|| {
            let mut state = self.state.try_lock().map_err(|_| ReadError::Busy)?;
            if self.looks.load(Ordering::Acquire) > 0 {
                return Err(ReadError::Lent);
            }
            work(&mut state)
        });
        done.map_err(|stopped| match stopped {
            ReadError::Busy => busy(),
            ReadError::Closed => closed(),
            ReadError::Lent => PyBufferError::new_err("the last chunk is still in use"),
            ReadError::Failed(error) => match error.downcast::<Error>() {
                Ok(error) => self.raised(py, &error),
                Err(error) => error.into(),
            },
        })
    }

    fn raised(&self, py: Python<'_>, error: &Error) -> PyErr {
        if error.kind() == ErrorKind::Cancelled {
            return PyRuntimeError::new_err(error.to_string());
        }
        raised(py, error, Some(&self.filename))
    }
}

/// Whether there is a next chunk, which is then in the buffer.
fn advance(state: &mut StreamState) -> Result<bool, ReadError> {
    let stream = state.stream.as_mut().ok_or(ReadError::Closed)?;
    stream.consume(std::mem::take(&mut state.len));
    state.len = stream.fill_buf().map_err(ReadError::Failed)?.len();
    Ok(state.len > 0)
}

fn busy() -> PyErr {
    PyRuntimeError::new_err("another thread reads the stream")
}

fn closed() -> PyErr {
    PyValueError::new_err("the stream is closed")
}

/// A string is parsed, a path is a path, a number is a descriptor, which is duplicated.
fn address(address: &Bound<'_, PyAny>) -> PyResult<Address> {
    if address.is_instance_of::<PyString>() {
        return Ok(Address::from(address.extract::<OsString>()?.as_os_str()));
    }
    if address.is_instance_of::<PyInt>() {
        return Ok(Address::Fd(borrowed(address.extract()?)?.try_clone_to_owned()?));
    }
    Ok(Address::Path(address.extract::<PathBuf>()?))
}

fn set<T>(options: Options, value: Option<T>, set: impl FnOnce(Options, T) -> Options) -> Options {
    match value {
        Some(value) => set(options, value),
        None => options,
    }
}

fn duration(seconds: Option<f64>) -> PyResult<Option<Duration>> {
    let made = seconds.map(Duration::try_from_secs_f64).transpose();
    made.map_err(|error| PyValueError::new_err(error.to_string()))
}
