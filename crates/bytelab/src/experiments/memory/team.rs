//! Several threads that make passes at the same time, each on its own CPU and over its own set.
//! They sleep between the samples.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use lab::experiment::{Task, Work, skip};

use super::kernel::Kernel;
use super::set::Set;
use crate::experiments::shared::cpus::{allowed, start_on};

/// The minimum in all, so that waking the threads has little influence.
const BYTES_MIN: u64 = 256 << 20;

pub(super) struct Team<K> {
    threads: Vec<JoinHandle<Option<()>>>,
    shared: Arc<TeamState>,
    /// The intended number of threads.
    n: usize,
    size: u64,
    kernel: PhantomData<K>,
}

struct TeamState {
    start: Barrier,
    end: Barrier,
    /// The number of passes of each thread in the next sample; 0 ends the threads.
    passes: AtomicU64,
}

impl<K: Kernel> Team<K> {
    pub(super) fn new(n: usize, size: u64, pages: &str) -> Result<Team<K>> {
        let cpus = allowed()?;
        if n > cpus.len() {
            return Err(skip(format!("{n} threads, and this process may use {} CPUs", cpus.len())));
        }
        let barrier = || Barrier::new(n + 1);
        let shared =
            Arc::new(TeamState { start: barrier(), end: barrier(), passes: AtomicU64::new(0) });
        let mut team = Team { threads: Vec::new(), shared, n, size, kernel: PhantomData };
        let (say, heard) = mpsc::channel();
        for cpu in cpus.into_iter().take(n) {
            let (shared, say, pages) = (Arc::clone(&team.shared), say.clone(), pages.to_owned());
            let body = move || {
                // The thread that uses a set is the one that touches it first.
                let (set, ready) = match Set::new::<K>(size, &pages) {
                    Ok(set) => (Some(set), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                let _ = say.send(ready);
                drop(say);
                work::<K>(&shared, set);
            };
            team.threads.push(start_on(Some(cpu), body)?);
        }
        let all = (0..n).map(|_| heard.recv().context("a thread ended before it began")?);
        all.collect::<Result<Vec<()>>>()?;
        Ok(team)
    }

    fn sample(&self, passes: u64) {
        self.shared.passes.store(passes, Ordering::Release);
        self.shared.start.wait();
        self.shared.end.wait();
    }
}

fn work<K: Kernel>(shared: &TeamState, mut set: Option<Set>) {
    loop {
        shared.start.wait();
        let passes = shared.passes.load(Ordering::Acquire);
        if passes == 0 {
            return;
        }
        if let Some(set) = &mut set {
            (0..passes).for_each(|_| set.pass::<K>());
        }
        shared.end.wait();
    }
}

impl<K: Kernel> Task for Team<K> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let threads = self.threads.len() as u64;
        let ops = ops.max(BYTES_MIN.div_ceil(self.size * threads));
        self.sample(ops);
        Ok(Work { ops, bytes: ops * threads * (self.size / K::ONE_OF), answer: None })
    }
}

impl<K> Drop for Team<K> {
    fn drop(&mut self) {
        // If a thread could not be started, the others wait for it until the process ends.
        if self.threads.len() == self.n {
            self.shared.passes.store(0, Ordering::Release);
            self.shared.start.wait();
            for thread in self.threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}
