//! A method of this experiment is a `Copying`, which moves all bytes from one descriptor to another. Here it
//! becomes a `Task`, whose CPU time is that of the copying alone.

use std::os::fd::OwnedFd;

use anyhow::Result;
use lab::clock;
use lab::experiment::{Build, How, Method, Task, Work};
use lab::param::Point;
use lab::run::Role;

use super::ends::{Ends, Setup};

/// A way to copy, with what it uses again.
pub(super) trait Copying {
    /// Copies everything and closes both. The CPU time, where it is not that of this thread.
    fn copy(&mut self, input: OwnedFd, output: OwnedFd) -> Result<Option<u64>>;
}

/// All methods copy what `size`, `input`, `output` and `reader` tell of; `reads` names what else is needed.
pub(super) fn contender(name: &str, about: &str, reads: &[&'static str], build: Build) -> Method {
    Method {
        name: name.to_owned(),
        about: about.to_owned(),
        reads: [&["size", "input", "output", "reader"], reads].concat(),
        how: How::BuiltIn(build),
        role: Role::Contender,
        bypasses_cache: false,
        default: true,
        job: None,
    }
}

pub(super) fn task<C: Copying + 'static>(point: &Point, copying: C) -> Result<Box<dyn Task>> {
    Ok(Box::new(Job { setup: Setup::of(point)?, copying, cpu_ns: 0.0 }))
}

struct Job<C> {
    setup: Setup,
    copying: C,
    /// Of the last run, per operation.
    cpu_ns: f64,
}

impl<C: Copying> Job<C> {
    fn once(&mut self, setup: &Setup) -> Result<u64> {
        let (Ends { input, output }, rest) = setup.open()?;
        let before_ns = clock::own_thread_cpu_ns();
        let told_ns = self.copying.copy(input, output)?;
        let own_ns = clock::own_thread_cpu_ns() - before_ns;
        setup.finish(rest)?;
        Ok(told_ns.unwrap_or(own_ns))
    }
}

impl<C: Copying> Task for Job<C> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let setup = self.setup.clone();
        let mut total_ns = 0;
        for _ in 0..ops {
            total_ns += self.once(&setup)?;
        }
        self.cpu_ns = total_ns as f64 / ops.max(1) as f64;
        let bytes = self.setup.size.wrapping_mul(ops);
        Ok(Work { ops, bytes, answer: Some(self.setup.size) })
    }

    /// Fails where another byte arrives than that of the file; so all that do not fail are equal.
    fn digest(&mut self) -> Result<Option<u64>> {
        let Some(setup) = self.setup.checked() else { return Ok(None) };
        self.once(&setup)?;
        Ok(Some(setup.size))
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        vec![("cpu_ns", self.cpu_ns)]
    }
}
