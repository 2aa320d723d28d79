//! A method of this experiment is a `Copying`, which copies all bytes from one descriptor to
//! another. Here it becomes a `Task`, whose CPU time is that of the copying alone.

use std::os::fd::OwnedFd;

use anyhow::Result;
use lab::clock;
pub(super) use lab::clock::Cpu;
use lab::experiment::{Build, Method, Task, Work};
use lab::param::Point;

use super::ends::{Ends, Setup};

/// A way to copy, with its reusable resources.
pub(super) trait Copying {
    /// Copies everything and closes both descriptors. Returns the CPU time if it is not that of
    /// this thread.
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<Cpu>>;
}

/// All methods read `size`, `input`, `output` and `reader`; `reads` names further params.
pub(super) fn contender(name: &str, about: &str, reads: &[&'static str], build: Build) -> Method {
    let of_all = ["size", "input", "output", "reader"];
    Method::built_in(name, about, build).reads(&of_all).reads(reads)
}

pub(super) fn task<C: Copying + 'static>(point: &Point, copying: C) -> Result<Box<dyn Task>> {
    Ok(Box::new(CopyTask {
        setup: Setup::from_point(point)?,
        copying,
        cpu: Cpu::default(),
        ops: 1,
    }))
}

struct CopyTask<C> {
    setup: Setup,
    copying: C,
    /// The CPU time of the last run.
    cpu: Cpu,
    ops: u64,
}

impl<C: Copying> CopyTask<C> {
    fn once(&mut self, setup: &Setup) -> Result<Cpu> {
        let (Ends { input, output }, rest) = setup.open()?;
        let before = clock::own_thread_cpu();
        let reported = self.copying.copy(input, output)?;
        let own = clock::own_thread_cpu() - before;
        setup.finish(rest)?;
        Ok(reported.unwrap_or(own))
    }
}

impl<C: Copying> Task for CopyTask<C> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let setup = self.setup.clone();
        self.ops = ops.max(1);
        self.cpu = Cpu::default();
        for _ in 0..ops {
            self.cpu = self.cpu + self.once(&setup)?;
        }
        let bytes = self.setup.size.wrapping_mul(ops);
        Ok(Work { ops, bytes, answer: Some(self.setup.size) })
    }

    /// Fails if a byte arrives that differs from the file's; so the results of all methods that
    /// succeed are equal.
    fn digest(&mut self) -> Result<Option<u64>> {
        let Some(setup) = self.setup.checked() else { return Ok(None) };
        self.once(&setup)?;
        Ok(Some(setup.size))
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        let Cpu { all_ns, user_ns } = self.cpu;
        let per_op = |ns: u64| ns as f64 / self.ops as f64;
        let system_ns = all_ns.saturating_sub(user_ns);
        vec![
            ("cpu_ns", per_op(all_ns)),
            ("user_ns", per_op(user_ns)),
            ("system_ns", per_op(system_ns)),
        ]
    }
}
