//! The parts of the methods: a job that is done once, and operations that keep a CPU busy.

use std::hint::black_box;

use anyhow::Result;
use lab::experiment::{Build, Method, Task, Work};

/// The iterations of about one millisecond.
pub(super) const ITERATIONS: u64 = 600_000;

pub(super) fn method(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build)
}

/// A job done once per sample, whatever the number of operations.
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

/// Steps of xorshift64, each of which depends on the previous one.
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
