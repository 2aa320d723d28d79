//! The life of a thread that does nothing: created, begun, ended, joined. And work given to a
//! thread that is there already, which saves the creating.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow};
use lab::clock::now_ns;
use lab::experiment::{Build, Method, Task, Work};
use lab::param::Point;
use tokio::runtime::{Builder, Runtime};

use super::awake::KeepAwake;
use super::placement::CpuPlacement;
use super::signal;
use crate::experiments::shared::cpus::{pin, start_on};

/// A sample holds no fewer lives, so that its medians are of more than one.
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
    signal::method("life", name, about, &["job", "placement"], build)
}

/// When the thread or job said that it runs, and when that it is done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inside {
    pub(super) first_ns: u64,
    pub(super) last_ns: u64,
}

impl Inside {
    /// All that such a thread does.
    pub(super) fn now() -> Inside {
        let first_ns = now_ns();
        Inside { first_ns, last_ns: now_ns() }
    }
}

/// A way to have something done in another thread.
pub(super) trait Life {
    type Started;
    fn create(&mut self) -> Result<Self::Started>;
    fn join(&mut self, started: Self::Started) -> Result<Inside>;
}

/// Sets up lives where the point wants them.
pub(super) fn lives<L: Life + 'static>(
    point: &Point,
    new: impl FnOnce(CpuPlacement) -> Result<L>,
) -> Result<Box<dyn Task>> {
    let place = CpuPlacement::take(point)?;
    // Whether the other CPU is allowed is found out before anything is timed.
    let _ = place.partner(|| ())?.join();
    let awake = place.keep_awake()?;
    Ok(Box::new(Lives { life: new(place)?, awake, phases: Default::default() }))
}

struct Lives<L> {
    life: L,
    awake: Option<KeepAwake>,
    /// Of each life of the last sample.
    phases: [Vec<u64>; PHASES.len()],
}

/// The call that creates; until the first statement of the thread; from its last one until it is
/// joined; the call that joins.
const PHASES: [&str; 4] = ["create_ns", "start_ns", "end_ns", "join_ns"];

impl<L: Life> Lives<L> {
    fn live(&mut self) -> Result<()> {
        let begun_ns = now_ns();
        let started = self.life.create()?;
        let created_ns = now_ns();
        let Inside { first_ns, last_ns } = self.life.join(started)?;
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

/// By nearest rank; 0 of nothing.
pub(super) fn median(values: &mut [u64]) -> f64 {
    values.sort_unstable();
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default() as f64
}

struct StdThread(CpuPlacement);

impl Life for StdThread {
    type Started = JoinHandle<Result<Inside>>;

    fn create(&mut self) -> Result<Self::Started> {
        // A new thread is where its creator is. To be elsewhere it has to move, as std cannot place
        // it.
        let elsewhere = self.0.cpus.filter(|(own, other)| own != other);
        let body = move || {
            if let Some((_, cpu)) = elsewhere {
                pin(cpu)?;
            }
            Ok(Inside::now())
        };
        thread::Builder::new().spawn(body).context("starting a thread")
    }

    fn join(&mut self, started: Self::Started) -> Result<Inside> {
        started.join().map_err(|_| anyhow!("the thread panicked"))?
    }
}

type Job = Box<dyn FnOnce() -> Inside + Send>;

struct Pool {
    jobs: Sender<Job>,
    results: Receiver<Inside>,
}

impl Pool {
    /// Its thread ends when there can be no more jobs.
    fn new(place: CpuPlacement) -> Result<Pool> {
        let (jobs, its_jobs) = channel::<Job>();
        let (its_results, results) = channel();
        let work = move || its_jobs.iter().try_for_each(|job| its_results.send(job()));
        start_on(place.cpus.map(|(_, other)| other), work)?;
        Ok(Pool { jobs, results })
    }
}

impl Life for Pool {
    type Started = ();

    fn create(&mut self) -> Result<()> {
        self.jobs.send(Box::new(Inside::now)).map_err(|_| anyhow!("the pool's thread has ended"))
    }

    fn join(&mut self, (): ()) -> Result<Inside> {
        self.results.recv().context("the pool's thread has ended")
    }
}

struct Blocking(Runtime);

impl Blocking {
    fn new(place: CpuPlacement) -> Result<Blocking> {
        let mut builder = Builder::new_current_thread();
        if let Some((_, cpu)) = place.cpus {
            // That it is allowed has been seen.
            builder.on_thread_start(move || drop(pin(cpu)));
        }
        Ok(Blocking(builder.build().context("starting tokio")?))
    }
}

impl Life for Blocking {
    type Started = tokio::task::JoinHandle<Inside>;

    fn create(&mut self) -> Result<Self::Started> {
        Ok(self.0.spawn_blocking(Inside::now))
    }

    fn join(&mut self, started: Self::Started) -> Result<Inside> {
        self.0.block_on(started).context("the blocking task")
    }
}
