//! Many concurrent procedures: each in its own thread that waits at its semaphore, or all of them
//! in as many threads as there are CPUs. Does it cost time to have more active threads than CPUs?

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use measure::clock::now_ns;
use measure::experiment::{Build, Method, Task, Work};
use model::param::{Param, ParamKind, Point};

use super::semaphore::Semaphore;
use crate::shared::{allowed_cpus, start_on};

/// The number of threads in the pool; more if more must be busy.
const THREADS: usize = 16;

/// About 20 µs, far below the scheduler's time slice, and about 10 ms, several time slices.
pub(super) const STEPS: Param =
    Param::new("steps", ParamKind::Count(1, 1_000_000_000), "12000,6000000")
        .help("dependent steps of a procedure of the pool; 600000 take about 1 ms");

pub(super) fn methods() -> Vec<Method> {
    let method = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("pool").reads(&["job", "busy", "steps"])
    };
    vec![
        method(
            "per-cpu",
            "as many threads as CPUs do all procedures, the next one each",
            |point| {
                let cpus = allowed_cpus()?.len();
                Ok(Box::new(Pool::new(point, |busy| busy.min(cpus))?))
            },
        ),
        method("per-procedure", "each procedure in a thread of its own", |point| {
            Ok(Box::new(Pool::new(point, |busy| busy)?))
        }),
    ]
}

struct Pool {
    shared: Arc<PoolState>,
    threads: Vec<JoinHandle<Option<Result<()>>>>,
    /// The threads that are woken for a round, and the number of procedures in it.
    woken: usize,
    busy: usize,
    /// The times of the last sample, over all procedures.
    procedure_ns: f64,
    wake_ns: f64,
    share_ns: f64,
}

struct PoolState {
    seats: Vec<Seat>,
    done: Semaphore,
    end: AtomicBool,
    steps: u64,
    /// The next procedure of the round, and their number; used if threads share them.
    next: AtomicUsize,
    busy: usize,
    shares: bool,
    /// The sum of the results of the round.
    answer: AtomicU64,
}

/// The data of one thread of the pool, in its own cache lines.
#[repr(align(128))]
struct Seat {
    go: Semaphore,
    posted_ns: AtomicU64,
    /// Sums since the start of the sample.
    waking_ns: AtomicU64,
    working_ns: AtomicU64,
}

impl Pool {
    fn new(point: &Point, woken: impl FnOnce(usize) -> usize) -> Result<Pool> {
        let busy = usize::try_from(point.number("busy")?)?;
        let seats = (0..busy.max(THREADS)).map(|_| Seat::new()).collect::<Result<_>>()?;
        let woken = woken(busy);
        let shared = PoolState {
            seats,
            done: Semaphore::new()?,
            end: AtomicBool::new(false),
            steps: point.number("steps")?,
            next: AtomicUsize::new(0),
            busy,
            shares: woken < busy,
            answer: AtomicU64::new(0),
        };
        let mut pool = Pool {
            shared: Arc::new(shared),
            threads: Vec::new(),
            woken,
            busy,
            procedure_ns: 0.0,
            wake_ns: 0.0,
            share_ns: 0.0,
        };
        for index in 0..pool.shared.seats.len() {
            let shared = Arc::clone(&pool.shared);
            let thread = start_on(None, move || shared.work(index));
            pool.threads.push(thread.with_context(|| format!("thread {index} of the pool"))?);
        }
        Ok(pool)
    }

    fn round(&self) -> Result<()> {
        self.shared.next.store(0, Ordering::Release);
        self.shared.answer.store(0, Ordering::Release);
        for seat in &self.shared.seats[..self.woken] {
            seat.posted_ns.store(now_ns(), Ordering::Release);
            seat.go.post()?;
        }
        (0..self.woken).try_for_each(|_| self.shared.done.wait())
    }
}

impl Task for Pool {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let seats = &self.shared.seats[..self.woken];
        for seat in seats {
            seat.waking_ns.store(0, Ordering::Relaxed);
            seat.working_ns.store(0, Ordering::Relaxed);
        }
        let start_ns = now_ns();
        (0..ops).try_for_each(|_| self.round())?;
        let rounds_ns = now_ns() - start_ns;
        let sum = |of: fn(&Seat) -> &AtomicU64| {
            seats.iter().map(|seat| of(seat).load(Ordering::Acquire)).fold(0, u64::wrapping_add)
        };
        self.procedure_ns = sum(|seat| &seat.working_ns) as f64 / (ops * self.busy as u64) as f64;
        self.wake_ns = sum(|seat| &seat.waking_ns) as f64 / (ops * self.woken as u64) as f64;
        self.share_ns = rounds_ns as f64 / (ops * self.busy as u64) as f64;
        Ok(Work { ops, bytes: 0, answer: Some(self.shared.answer.load(Ordering::Acquire)) })
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        vec![
            ("procedure_ns", self.procedure_ns),
            ("wake_ns", self.wake_ns),
            ("share_ns", self.share_ns),
        ]
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.end.store(true, Ordering::Release);
        for (seat, thread) in self.shared.seats.iter().zip(self.threads.drain(..)) {
            if seat.go.post().is_ok() {
                let _ = thread.join();
            }
        }
    }
}

impl PoolState {
    /// The main loop of a thread of the pool.
    fn work(&self, index: usize) -> Result<()> {
        let seat = &self.seats[index];
        loop {
            seat.go.wait()?;
            if self.end.load(Ordering::Acquire) {
                return Ok(());
            }
            let woken_ns = now_ns().saturating_sub(seat.posted_ns.load(Ordering::Acquire));
            seat.waking_ns.fetch_add(woken_ns, Ordering::Relaxed);
            if self.shares {
                while self.next.fetch_add(1, Ordering::AcqRel) < self.busy {
                    self.procedure(seat);
                }
            } else {
                self.procedure(seat);
            }
            self.done.post()?;
        }
    }

    fn procedure(&self, seat: &Seat) {
        let start_ns = now_ns();
        let answer = steps(self.steps);
        seat.working_ns.fetch_add(now_ns() - start_ns, Ordering::Relaxed);
        self.answer.fetch_add(answer, Ordering::AcqRel);
    }
}

impl Seat {
    fn new() -> Result<Seat> {
        Ok(Seat {
            go: Semaphore::new()?,
            posted_ns: AtomicU64::new(0),
            waking_ns: AtomicU64::new(0),
            working_ns: AtomicU64::new(0),
        })
    }
}

/// Steps of xorshift64, each of which depends on the previous one.
fn steps(n: u64) -> u64 {
    let mut x: u64 = black_box(0x9e37_79b9_7f4a_7c15);
    for _ in 0..n {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x)
}
