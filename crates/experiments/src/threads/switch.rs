//! The context switch: a token is passed between two threads, or two processes, on one CPU, and
//! each reads its working set before it passes the token on. The cost of the pipe and of the
//! reading without a switch is measured after each sample and subtracted.

#![expect(unsafe_code, reason = "fork, waitpid and _exit have no safe form")]

use std::hint::black_box;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use measure::clock::now_ns;
use measure::experiment::{Build, Method, Task, Work};
use model::param::{Param, ParamKind, Point};

use crate::shared::{allowed_cpus, pin, start_on};

pub(super) const SET: Param = Param::new("set", ParamKind::Bytes(0, 1 << 30), "0,16KiB,64KiB")
    .help("what each of the two reads between two switches");

/// The minimum number of round trips in a sample, so that the first one has little influence.
const ROUND_TRIPS_MIN: u64 = 100;

pub(super) fn methods() -> Vec<Method> {
    let method = |name: &str, about: &str, build: Build| {
        Method::built_in(name, about, build).job("switch").reads(&["job", "set"])
    };
    vec![
        method("switch-threads", "to another thread, by a pipe, on one CPU", |point| {
            ring(point, in_thread)
        }),
        method("switch-processes", "to another process, by a pipe, on one CPU", |point| {
            ring(point, in_process)
        }),
    ]
}

struct Ring<P: Partner> {
    set: Vec<u64>,
    /// Closed before the partner is joined.
    to: Option<PipeWriter>,
    from: PipeReader,
    partner: Option<P>,
    to_oneself: (PipeReader, PipeWriter),
    hop_ns: f64,
}

/// Passes the token back, until the other end of the pipe is closed.
trait Partner {
    fn end(self);
}

/// Starts a partner on this CPU, with its own ends of the two pipes, and a set of this many words.
type StartPartner<P> = fn(PipeReader, PipeWriter, usize, usize) -> Result<P>;

fn ring<P: Partner + 'static>(point: &Point, start: StartPartner<P>) -> Result<Box<dyn Task>> {
    let len = usize::try_from(point.number("set")?)? / size_of::<u64>();
    let cpu = *allowed_cpus()?.last().context("there is no CPU to pin to")?;
    pin(cpu)?;
    let (its_from, to) = pipe().context("making a pipe")?;
    let (from, its_to) = pipe().context("making a pipe")?;
    let to_oneself = pipe().context("making a pipe")?;
    let partner = Some(start(its_from, its_to, len, cpu)?);
    let set = vec![1; len];
    Ok(Box::new(Ring { set, to: Some(to), from, partner, to_oneself, hop_ns: 0.0 }))
}

impl<P: Partner> Task for Ring<P> {
    fn run(&mut self, ops: u64) -> Result<Work> {
        let round_trips = ops.div_ceil(2).max(ROUND_TRIPS_MIN);
        let to = self.to.as_mut().context("the ring is closed")?;
        let start_ns = now_ns();
        for _ in 0..round_trips {
            hop(to, &mut self.from, &self.set)?;
        }
        self.hop_ns = (now_ns() - start_ns) as f64 / (2 * round_trips) as f64;
        Ok(Work { ops: 2 * round_trips, bytes: 0, answer: None })
    }

    fn metrics(&mut self) -> Vec<(&'static str, f64)> {
        let (from, to) = (&mut self.to_oneself.0, &mut self.to_oneself.1);
        let start_ns = now_ns();
        for _ in 0..2 * ROUND_TRIPS_MIN {
            if hop(to, from, &self.set).is_err() {
                return Vec::new();
            }
        }
        let overhead_ns = (now_ns() - start_ns) as f64 / (2 * ROUND_TRIPS_MIN) as f64;
        vec![("overhead_ns", overhead_ns), ("switch_ns", self.hop_ns - overhead_ns)]
    }
}

impl<P: Partner> Drop for Ring<P> {
    fn drop(&mut self) {
        self.to = None;
        if let Some(partner) = self.partner.take() {
            partner.end();
        }
    }
}

/// Passes the token on, waits for its return, and reads the set.
fn hop(to: &mut PipeWriter, from: &mut PipeReader, set: &[u64]) -> Result<()> {
    to.write_all(&[1]).context("passing the token")?;
    from.read_exact(&mut [0]).context("waiting for the token")?;
    black_box(black_box(set).iter().sum::<u64>());
    Ok(())
}

/// The partner's side.
fn pass_back(mut from: PipeReader, mut to: PipeWriter, len: usize) {
    let set = vec![1; len];
    while from.read_exact(&mut [0]).is_ok() {
        black_box(black_box(&set).iter().sum::<u64>());
        if to.write_all(&[1]).is_err() {
            return;
        }
    }
}

fn in_thread(
    from: PipeReader,
    to: PipeWriter,
    len: usize,
    cpu: usize,
) -> Result<JoinHandle<Option<()>>> {
    start_on(Some(cpu), move || pass_back(from, to, len))
}

impl Partner for JoinHandle<Option<()>> {
    fn end(self) {
        let _ = self.join();
    }
}

struct Forked(libc::pid_t);

/// A process with its own memory, pinned like the caller.
fn in_process(from: PipeReader, to: PipeWriter, len: usize, _cpu: usize) -> Result<Forked> {
    // SAFETY: a worker has one thread while it prepares, so no other thread holds a lock; if there
    // are more, as in tests, glibc makes its allocator usable in the child.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()).context("forking a process"),
        0 => {
            // The child has inherited the other ends of its pipes, too, and would never see the end
            // of the input.
            #[cfg(target_os = "linux")]
            let _ = rustix::process::set_parent_process_death_signal(Some(
                rustix::process::Signal::KILL,
            ));
            pass_back(from, to, len);
            // SAFETY: ends the process without the exit handlers, which only the parent may run.
            unsafe { libc::_exit(0) }
        }
        pid => Ok(Forked(pid)),
    }
}

impl Partner for Forked {
    fn end(self) {
        // SAFETY: the process is our child and has not been waited for.
        unsafe { libc::kill(self.0, libc::SIGKILL) };
        // SAFETY: no status is requested.
        unsafe { libc::waitpid(self.0, std::ptr::null_mut(), 0) };
    }
}
