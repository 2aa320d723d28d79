//! The CPUs that this process may use, and threads that run on a chosen one.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result};
use lab::experiment::skip;

/// Starts a thread, and returns when it runs on its CPU.
pub(crate) fn start_on<T: Send + 'static>(
    cpu: Option<usize>,
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<Option<T>>> {
    let (say, heard) = mpsc::channel();
    let body = move || {
        let placed = cpu.map_or(Ok(()), pin);
        let well = placed.is_ok();
        say.send(placed).ok()?;
        well.then(job)
    };
    let thread = thread::Builder::new().spawn(body).context("starting a thread")?;
    heard.recv().context("the thread ended before it began")??;
    Ok(thread)
}

/// The CPUs that this process may use.
#[cfg(target_os = "linux")]
pub(crate) fn allowed() -> Result<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let set = sched_getaffinity(None).context("asking for the CPUs that may be used")?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// The number of CPUs, without their identities.
#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed() -> Result<Vec<usize>> {
    Ok((0..thread::available_parallelism()?.get()).collect())
}

/// Pins the calling thread to this CPU.
#[cfg(target_os = "linux")]
pub(crate) fn pin(cpu: usize) -> Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
        .map_err(|error| skip(format!("the kernel refuses to pin a thread to CPU {cpu}: {error}")))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(_cpu: usize) -> Result<()> {
    Err(skip("this system does not pin threads to CPUs"))
}

#[cfg(test)]
mod tests {
    use lab::experiment::Skip;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_cpu_that_does_not_exist_is_a_skip() {
        let error = pin(rustix::thread::CpuSet::MAX_CPU - 1).unwrap_err();
        assert!(error.is::<Skip>(), "{error:#}");
    }
}
