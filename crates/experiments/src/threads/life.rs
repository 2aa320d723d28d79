//! The life of a thread that does no work: create, start, end, join. And work given to an existing
//! thread, which avoids the creation.

#![expect(unsafe_code, reason = "pthread_create and its attributes have no safe form")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::{io, ptr};

use anyhow::{Context, Result, anyhow};
use measure::clock::now_ns;
use measure::experiment::{Build, Method, Task, Work};
use model::param::Point;
use tokio::runtime::{Builder, Runtime};

use super::placement::{CpuPlacement, KeepAwake};
use crate::shared::{pin, start_on};

/// The minimum number of lives in a sample, so that its medians are of more than one.
const LIVES_MIN: u64 = 20;

pub(super) fn methods() -> Vec<Method> {
    vec![
        method("std-thread", "std::thread: spawn and join", |point| {
            lives(point, |placement| Ok(StdThread(placement)))
        }),
        method(
            "pool",
            "a job sent to a waiting thread and its result back, by channels",
            |point| lives(point, OneThreadPool::new),
        ),
        method("tokio-blocking", "tokio spawn_blocking, awaited", |point| {
            lives(point, Blocking::new)
        }),
    ]
}

fn method(name: &str, about: &str, build: Build) -> Method {
    Method::built_in(name, about, build).job("life").reads(&["job", "placement"])
}

/// When the thread or job reported its start and its end.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadTimes {
    first_ns: u64,
    last_ns: u64,
}

impl ThreadTimes {
    /// The whole work of such a thread.
    fn now() -> ThreadTimes {
        let first_ns = now_ns();
        ThreadTimes { first_ns, last_ns: now_ns() }
    }
}

/// A way to run a job in another thread.
trait Life {
    type Handle;
    fn create(&mut self) -> Result<Self::Handle>;
    fn join(&mut self, handle: Self::Handle) -> Result<ThreadTimes>;
}

/// Prepares lives on the CPUs of the point.
fn lives<L: Life + 'static>(
    point: &Point,
    new: impl FnOnce(CpuPlacement) -> Result<L>,
) -> Result<Box<dyn Task>> {
    let placement = CpuPlacement::from_point(point)?;
    // Finds out before the timing whether the other CPU is permitted.
    let _ = placement.partner(|| ())?.join();
    let awake = placement.keep_awake()?;
    Ok(Box::new(Lives { life: new(placement)?, awake, phases: Default::default() }))
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
fn median(values: &mut [u64]) -> f64 {
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

struct OneThreadPool {
    jobs: Sender<PoolJob>,
    results: Receiver<ThreadTimes>,
}

impl OneThreadPool {
    /// Its thread ends when no more jobs can arrive.
    fn new(placement: CpuPlacement) -> Result<OneThreadPool> {
        let (jobs, its_jobs) = channel::<PoolJob>();
        let (its_results, results) = channel();
        let work = move || its_jobs.iter().try_for_each(|job| its_results.send(job()));
        start_on(placement.cpus.map(|(_, other)| other), work)?;
        Ok(OneThreadPool { jobs, results })
    }
}

impl Life for OneThreadPool {
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
    fn new(placement: CpuPlacement) -> Result<Blocking> {
        let mut builder = Builder::new_current_thread();
        if let Some((_, cpu)) = placement.cpus {
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

/// A thread created by the C library, pinned before it starts.
pub(super) fn pthread() -> Method {
    method("pthread", "pthread_create and pthread_join", |point| lives(point, Pthread::new))
}

struct Pthread {
    attributes: Box<MaybeUninit<libc::pthread_attr_t>>,
    /// Where the thread records its times; boxed, so that the address is stable.
    inside: Box<ThreadTimes>,
}

impl Pthread {
    fn new(placement: CpuPlacement) -> Result<Pthread> {
        let mut pthread =
            Pthread { attributes: Box::new(MaybeUninit::uninit()), inside: Box::default() };
        // SAFETY: the memory is valid for attributes.
        check(unsafe { libc::pthread_attr_init(pthread.attributes.as_mut_ptr()) })
            .context("pthread_attr_init")?;
        // A new thread starts on the CPU of its creator, and an affinity costs time: glibc delays
        // the thread until its affinity is set.
        if let Some((_, cpu)) = placement.cpus.filter(|(own, other)| own != other) {
            pthread.set_affinity(cpu).context("pthread_attr_setaffinity_np")?;
        }
        Ok(pthread)
    }

    #[cfg(target_os = "linux")]
    fn set_affinity(&mut self, cpu: usize) -> io::Result<()> {
        // SAFETY: a bit set, for which zeros are valid.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: a CPU that this process may use is below the number of bits.
        unsafe { libc::CPU_SET(cpu, &mut set) };
        let size = size_of::<libc::cpu_set_t>();
        let attributes = self.attributes.as_mut_ptr();
        // SAFETY: the attributes are initialised, and the set has this size.
        check(unsafe { libc::pthread_attr_setaffinity_np(attributes, size, &raw const set) })
    }

    #[cfg(not(target_os = "linux"))]
    fn set_affinity(&mut self, _cpu: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Drop for Pthread {
    fn drop(&mut self) {
        // SAFETY: they were initialised. glibc and musl also accept attributes whose initialisation
        // failed: they free only what was set, which is nothing without an affinity.
        unsafe { libc::pthread_attr_destroy(self.attributes.as_mut_ptr()) };
    }
}

impl Life for Pthread {
    type Handle = libc::pthread_t;

    fn create(&mut self) -> Result<libc::pthread_t> {
        let mut thread = MaybeUninit::uninit();
        let attributes = self.attributes.as_ptr();
        let inside = ptr::from_mut(self.inside.as_mut()).cast();
        // SAFETY: the attributes are initialised, and `inside` lives until the thread is joined.
        let created =
            unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes, body, inside) };
        check(created).context("pthread_create")?;
        // SAFETY: pthread_create has set it.
        Ok(unsafe { thread.assume_init() })
    }

    fn join(&mut self, started: libc::pthread_t) -> Result<ThreadTimes> {
        // SAFETY: the thread was created and not joined before.
        check(unsafe { libc::pthread_join(started, ptr::null_mut()) }).context("pthread_join")?;
        Ok(*self.inside)
    }
}

extern "C" fn body(inside: *mut c_void) -> *mut c_void {
    // SAFETY: `create` passed a pointer to a `ThreadTimes` that no other code uses before the join.
    unsafe { inside.cast::<ThreadTimes>().write(ThreadTimes::now()) };
    ptr::null_mut()
}

/// These functions return their error number.
fn check(error: i32) -> io::Result<()> {
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}
