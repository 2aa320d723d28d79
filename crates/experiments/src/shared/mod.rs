//! Parts that several experiments share: buffers, commands, CPUs, windows, folds, the file that is
//! read, made files and locked folders. It depends on none of the experiments.

pub(super) mod fold;
pub(super) mod input;
pub(super) mod locked_folder;
pub(super) mod made_file;

use std::ops::{Deref, DerefMut};
use std::os::fd::OwnedFd;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use measure::clock::{Cpu, now_ns};
use measure::experiment::{Task, Work, skip};
use measure::launch::{RunError, filter};
use model::param::{Point, bytes};

pub(crate) const PAGE: usize = 4096;

/// A buffer that starts at a page. Where an allocator places a buffer is a matter of chance, and
/// copying from the page cache takes up to half as long again into a buffer that starts 16 bytes
/// behind a page start, as large `Vec`s do.
pub(crate) struct Buffer {
    /// One page longer than the buffer, and never resized.
    allocation: Vec<u8>,
    start: usize,
}

impl Buffer {
    /// `buffer` bytes, or fewer if the file is smaller.
    pub(crate) fn from_point(point: &Point) -> Result<Buffer> {
        let whole_file = point.number("size")?.checked_next_multiple_of(PAGE as u64);
        let len = point.number("buffer")?.min(whole_file.unwrap_or(u64::MAX));
        Buffer::new(usize::try_from(len.max(1))?)
    }

    pub(crate) fn new(len: usize) -> Result<Buffer> {
        let mut allocation = Vec::new();
        let size = len.saturating_add(PAGE);
        let for_what = || format!("memory for a buffer of {} bytes", bytes(len as u64));
        allocation.try_reserve_exact(size).with_context(for_what)?;
        allocation.resize(size, 0);
        let start = allocation.as_ptr().align_offset(PAGE);
        Ok(Buffer { allocation, start })
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.allocation[self.start..][..self.allocation.len() - PAGE]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        let len = self.len();
        &mut self.allocation[self.start..][..len]
    }
}

/// Fails before the timing if a program does not exist. The name may be absolute.
pub(crate) fn must_be_installed(program: &str) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = std::env::split_paths(&path).any(|dir| dir.join(program).is_file());
    if is_there { Ok(()) } else { Err(skip(format!("{program} is not installed"))) }
}

/// Runs a plain command to its end, with these variables in its environment, between two
/// descriptors of its own: a built-in method starts it again for each operation. Returns the CPU
/// time used, including its start.
pub(crate) fn run_command(
    argv: &[String],
    variables: &[(&str, String)],
    input: OwnedFd,
    output: OwnedFd,
) -> Result<Cpu> {
    filter(argv, variables, input, output).map_err(|ended| match ended {
        RunError::Skipped(reason) => skip(reason),
        RunError::Failed(reason) => anyhow!(reason),
        RunError::Stopped => anyhow!("stopped"),
    })
}

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
pub(crate) fn allowed_cpus() -> Result<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let set = sched_getaffinity(None).context("asking for the CPUs that may be used")?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

/// The number of CPUs, without their identities.
#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed_cpus() -> Result<Vec<usize>> {
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

/// A tenth of a scheduler's time slice, so that most samples are not interrupted.
const WINDOW_NS: u64 = 300_000;
const OPS_MAX: u64 = 1 << 20;

/// A task that repeats a short operation, that of `task`, in each sample until a window is filled.
/// Samples are then long enough that the lab's effect on the CPU's caches and predictors has little
/// influence: 20 µs are enough for the clock, but not for these.
pub(crate) fn window(mut task: Box<dyn Task>) -> Result<Box<dyn Task>> {
    let mut ops = 1;
    while ops < OPS_MAX {
        let start_ns = now_ns();
        task.run(ops)?;
        if now_ns() - start_ns >= WINDOW_NS {
            break;
        }
        ops *= 2;
    }
    Ok(Box::new(TimedWindow { task, ops }))
}

struct TimedWindow {
    task: Box<dyn Task>,
    ops: u64,
}

impl Task for TimedWindow {
    fn run(&mut self, ops: u64) -> Result<Work> {
        self.task.run(ops.max(self.ops))
    }

    fn digest(&mut self) -> Result<Option<u64>> {
        self.task.digest()
    }

    fn between(&mut self) -> Result<()> {
        self.task.between()
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        self.task.metrics()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_as_long_as_requested_and_starts_at_a_page() {
        for len in [1, 4095, 4096, 100_000] {
            let mut buffer = Buffer::new(len).unwrap();
            assert_eq!((buffer.len(), buffer.as_ptr() as usize % PAGE), (len, 0));
            buffer[len - 1] = 1;
        }
    }

    #[test]
    fn a_buffer_is_not_longer_than_the_file_and_never_empty() {
        let len = |size: u64, buffer: u64| {
            let mut point = Point::default();
            point.set("size", size);
            point.set("buffer", buffer);
            Buffer::from_point(&point).unwrap().len()
        };
        assert_eq!(len(1 << 20, 5000), 5000);
        assert_eq!(len(5000, 1 << 30), 8192);
        assert_eq!(len(5000, 0), 1);
    }

    #[test]
    fn too_large_a_buffer_is_an_error() {
        let error = Buffer::new(usize::MAX).err().expect("an error");
        assert!(format!("{error:#}").starts_with("memory for a buffer of "), "{error:#}");
    }
}

/// The default values of an experiment, replaced by these.
#[cfg(test)]
pub(crate) fn default_point(
    experiment: &measure::experiment::Experiment,
    values: &[(&str, model::param::ParamValue)],
) -> Point {
    let mut point = Point::default();
    for param in experiment.params.iter().filter(|param| !param.default.is_empty()) {
        point.set(param.name, param.parse(param.default).unwrap().remove(0));
    }
    for (name, value) in values {
        point.set(*name, value.clone());
    }
    point
}

#[cfg(test)]
mod cpus_tests {
    use measure::experiment::Skip;

    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_cpu_that_does_not_exist_is_a_skip() {
        let error = pin(rustix::thread::CpuSet::MAX_CPU - 1).unwrap_err();
        assert!(error.is::<Skip>(), "{error:#}");
    }
}

#[cfg(test)]
mod window_tests {
    use super::*;

    /// Takes no measurable time, and records the number of operations.
    struct Count;

    impl Task for Count {
        fn run(&mut self, ops: u64) -> Result<Work> {
            Ok(Work { ops, bytes: 3 * ops, answer: Some(7) })
        }

        fn digest(&mut self) -> Result<Option<u64>> {
            Ok(Some(5))
        }
    }

    #[test]
    fn a_window_does_no_less_than_requested_and_hands_the_rest_on() {
        let mut task = window(Box::new(Count)).unwrap();
        let work = task.run(1).unwrap();
        assert!(work.ops > 1);
        assert_eq!((work.bytes, work.answer), (3 * work.ops, Some(7)));
        assert_eq!(task.run(1 << 40).unwrap().ops, 1 << 40);
        assert_eq!(task.digest().unwrap(), Some(5));
    }

    #[test]
    fn what_fails_at_once_fails_when_it_is_set_up() {
        struct Fails;
        impl Task for Fails {
            fn run(&mut self, _: u64) -> Result<Work> {
                anyhow::bail!("no")
            }
        }
        assert_eq!(window(Box::new(Fails)).err().unwrap().to_string(), "no");
    }
}
