//! The native module of the Python package: samplers, parts and sketches, without the global lock
//! while files are read.

mod failure;
mod inputs;
mod part;
mod sampler;
mod sketch;

use pyo3::prelude::*;

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<part::Part>()?;
    module.add_class::<sampler::Sampler>()?;
    module.add_class::<sketch::Sketch>()?;
    module.add("SampleError", module.py().get_type::<failure::SampleError>())?;
    module.add_function(wrap_pyfunction!(inputs::is_parquet, module)?)?;
    module.add_function(wrap_pyfunction!(inputs::stream_layout, module)?)?;
    module.add_function(wrap_pyfunction!(part::parts, module)?)?;
    module.add_function(wrap_pyfunction!(sampler::fields, module)?)?;
    Ok(())
}
