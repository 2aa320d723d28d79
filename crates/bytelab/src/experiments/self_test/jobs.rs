//! How much the methods do, and what they are made of.

use std::hint::black_box;

use anyhow::Result;
use lab::experiment::{Build, How, Method, Task, Work};
use lab::run::Role;

pub(crate) const TOUCHED_BYTES: usize = 64 << 20;
pub(crate) const COLD_BYTES: usize = 1 << 20;
pub(crate) const SWITCHES: u32 = 1000;
pub(crate) const CALLS: u32 = 1_000_000;
pub(crate) const THREADS: u32 = 3;
pub(crate) const CALLS_PER_THREAD: u32 = 10_000;
/// About one millisecond.
pub(super) const ITERATIONS: u64 = 600_000;

pub(super) fn method(name: &str, about: &str, build: Build) -> Method {
    Method {
        name: name.to_owned(),
        about: about.to_owned(),
        reads: Vec::new(),
        how: How::BuiltIn(build),
        role: Role::Contender,
        bypasses_cache: false,
        default: true,
        job: None,
    }
}

/// A job done once per sample, however many operations are asked for.
pub(super) struct Once<F>(pub(super) F);

impl<F: FnMut() -> Result<()>> Task for Once<F> {
    fn run(&mut self, _: u64) -> Result<Work> {
        (self.0)()?;
        Ok(Work { ops: 1, bytes: 0, answer: Some(1) })
    }
}

pub(super) fn task(mut job: impl FnMut() + 'static) -> Box<dyn Task> {
    Box::new(Once(move || {
        job();
        Ok(())
    }))
}

/// Steps of xorshift64, each of which needs the one before.
pub(super) fn burn(iterations: u64) -> Box<dyn Task> {
    task(move || burn_for(iterations))
}

pub(super) fn burn_for(iterations: u64) {
    let mut x: u64 = black_box(0x9e37_79b9_7f4a_7c15);
    for _ in 0..black_box(iterations) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}
