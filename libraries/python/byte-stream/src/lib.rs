//! The native module of the Python package: streams whose chunks are lent as memoryviews, and
//! copies, and loaded files. Other threads run while bytes are awaited.

mod failure;
mod load;
mod stream;

use std::os::fd::{BorrowedFd, RawFd};

use byte_stream::CopyOptions;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Copies all bytes from a descriptor to another; their number.
#[pyfunction]
fn copy_descriptors(py: Python<'_>, from: RawFd, to: RawFd, sparse: bool) -> PyResult<u64> {
    let (from, to) = (borrowed(from)?, borrowed(to)?);
    let copied = py.detach(|| CopyOptions::new().sparse(sparse).copy(from, to));
    copied.map(|copied| copied.bytes).map_err(|error| failure::raised(py, &error, None))
}

/// The descriptor of an open file of Python, which the caller keeps open.
fn borrowed<'fd>(fd: RawFd) -> PyResult<BorrowedFd<'fd>> {
    if fd < 0 {
        return Err(PyValueError::new_err("a descriptor is negative"));
    }
    // SAFETY: it is not negative. If it is not open, the kernel refuses it.
    Ok(unsafe { BorrowedFd::borrow_raw(fd) })
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<stream::Stream>()?;
    module.add_class::<load::Loaded>()?;
    module.add_class::<load::LoadChoice>()?;
    module.add_function(wrap_pyfunction!(load::load, module)?)?;
    module.add_function(wrap_pyfunction!(copy_descriptors, module)?)?;
    Ok(())
}
