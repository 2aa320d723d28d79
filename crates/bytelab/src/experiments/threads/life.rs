//! The life of a thread that does no work: create, start, end, join. And work given to an existing
//! thread, which avoids the creation.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use lab::clock::now_ns;
use lab::experiment::{Build, Method, Task, Work};
use lab::param::Point;
use tokio::runtime::{Builder, Runtime};

use super::awake::KeepAwake;
use super::placement::CpuPlacement;
use crate::experiments::shared::cpus::{pin, start_on};

/// The minimum number of lives in a sample, so that its medians are of more than one.
const LIVES_MIN: u64 = 20;

pub(super) fn methods() -> Vec<Method> {
    vec![
        method("std-thread", "std::thread: spawn and join", |point| {
            lives(point, |place| Ok(StdThread(place)))
        }),
        method(
            "pool",
            "a job sent to a waiting thread and its result back, by channels",
            |point| lives(point, Pool::new),
        ),
        method("tokio-blocking", "tokio spawn_blocking, awaited", |point| {
            lives(point, Blocking::new)
        }),
    ]
}

pub(super) fn method(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build).job("life").reads(&["job", "placement"])
}

/// When the thread or job reported its start and its end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadTimes {
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

impl ThreadTimes {
    /// The whole work of such a thread.
    pub(super) fn now() -> ThreadTimes {
        let first_ns = now_ns();
        ThreadTimes { first_ns, last_ns: now_ns() }
    }
}

/// A way to run a job in another thread.
pub(super) trait Life {
    type Handle;
    fn create(&mut self) -> Result<Self::Handle>;
    fn join(&mut self, handle: Self::Handle) -> Result<ThreadTimes>;
}

/// Prepares lives on the CPUs of the point.
pub(super) fn lives<L: Life + 'static>(
    point: &Point,
    new: impl FnOnce(CpuPlacement) -> Result<L>,
) -> Result<Box<dyn Task>> {
    let place = CpuPlacement::take(point)?;
    // Finds out before the timing whether the other CPU is permitted.
    let _ = place.partner(|| ())?.join();
    let awake = place.keep_awake()?;
    Ok(Box::new(Lives { life: new(place)?, awake, phases: Default::default() }))
}

struct Lives<L> {
    life: L,
    awake: Option<KeepAwake>,
    /// The phases of each life of the last sample.
    phases: [Vec<u64>; PHASES.len()],
}

/// The call that creates; until the first statement of the thread; from its last statement until it
/// is joined; the call that joins.
const PHASES: [&str; 4] = ["create_ns", "start_ns", "end_ns", "join_ns"];

impl<L: Life> Lives<L> {
    fn live(&mut self) -> Result<()> {
        let begun_ns = now_ns();
        let started = self.life.create()?;
        let created_ns = now_ns();
        let ThreadTimes { first_ns, last_ns } = self.life.join(started)?;
        let joined_ns = now_ns();
        let spans = [
            (begun_ns, created_ns),
            (begun_ns, first_ns),
            (last_ns, joined_ns),
            (created_ns, joined_ns),
        ];
        for (phase, (from_ns, to_ns)) in self.phases.iter_mut().zip(spans) {
            phase.push(to_ns.saturating_sub(from_ns));
        }
        Ok(())
    }
}

impl<L: Life> Task for Lives<L> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let ops = ops.max(LIVES_MIN);
        self.phases.iter_mut().for_each(Vec::clear);
        if let Some(awake) = &self.awake {
            awake.start();
        }
        let outcome = (0..ops).try_for_each(|_| self.live());
        if let Some(awake) = &self.awake {
            awake.rest();
        }
        outcome?;
        Ok(Work { ops, bytes: 0, answer: None })
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        PHASES.into_iter().zip(self.phases.iter_mut().map(|phase| median(phase))).collect()
    }
}

/// The median by nearest rank; 0 without values.
pub(super) fn median(values: &mut [u64]) -> f64 {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default() as f64
}

struct StdThread(CpuPlacement);

impl Life for StdThread {
    type Handle = JoinHandle<Result<ThreadTimes>>;

    fn create(&mut self) -> Result<Self::Handle> {
        // A new thread starts on the CPU of its creator. To run on another one it has to migrate,
        // as std cannot set the CPU.
        let elsewhere = self.0.cpus.filter(|(own, other)| own != other);
        let body = move || {
            if let Some((_, cpu)) = elsewhere {
                pin(cpu)?;
            }
            Ok(ThreadTimes::now())
        };
        thread::Builder::new().spawn(body).context("starting a thread")
    }

    fn join(&mut self, handle: Self::Handle) -> Result<ThreadTimes> {
        handle.join().map_err(|_| anyhow!("the thread panicked"))?
    }
}

type PoolJob = Box<dyn FnOnce() -> ThreadTimes + Send>;

struct Pool {
    jobs: Sender<PoolJob>,
    results: Receiver<ThreadTimes>,
}

impl Pool {
    /// Its thread ends when no more jobs can arrive.
    fn new(place: CpuPlacement) -> Result<Pool> {
        let (jobs, its_jobs) = channel::<PoolJob>();
        let (its_results, results) = channel();
        let work = move || its_jobs.iter().try_for_each(|job| its_results.send(job()));
        start_on(place.cpus.map(|(_, other)| other), work)?;
        Ok(Pool { jobs, results })
    }
}

impl Life for Pool {
    type Handle = ();

    fn create(&mut self) -> Result<()> {
        self.jobs
            .send(Box::new(ThreadTimes::now))
            .map_err(|_| anyhow!("the pool's thread has ended"))
    }

    fn join(&mut self, (): ()) -> Result<ThreadTimes> {
        self.results.recv().context("the pool's thread has ended")
    }
}

struct Blocking(Runtime);

impl Blocking {
    fn new(place: CpuPlacement) -> Result<Blocking> {
        let mut builder = Builder::new_current_thread();
        if let Some((_, cpu)) = place.cpus {
            // The permission was checked before.
            builder.on_thread_start(move || drop(pin(cpu)));
        }
        Ok(Blocking(builder.build().context("starting tokio")?))
    }
}

impl Life for Blocking {
    type Handle = tokio::task::JoinHandle<ThreadTimes>;

    fn create(&mut self) -> Result<Self::Handle> {
        Ok(self.0.spawn_blocking(ThreadTimes::now))
    }

    fn join(&mut self, handle: Self::Handle) -> Result<ThreadTimes> {
        self.0.block_on(handle).context("the blocking task")
    }
}
