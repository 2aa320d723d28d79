//! The CPUs on which the two threads of a job run: unpinned, on one CPU, or on two, which may be
//! kept awake. They are set before the timing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use measure::experiment::skip;
use model::param::{Param, ParamKind, Point};

use crate::shared::{allowed_cpus, pin, start_on};

pub(super) const PARAM: Param = Param::new(
    "placement",
    ParamKind::Word(&["unpinned", "same", "other", "awake"]),
    "unpinned,same,other",
)
.help(
    "where the second thread runs: where the scheduler likes, on the same CPU, on another one, on \
           another one that is kept awake",
);

/// The CPUs of a point's two threads; `None` if the scheduler chooses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CpuPlacement {
    /// The CPU of the measuring thread, and that of its partner.
    pub(super) cpus: Option<(usize, usize)>,
    awake: bool,
}

impl CpuPlacement {
    /// Selects the CPUs and pins the measuring thread; skips a placement that this machine does not
    /// support.
    pub(super) fn from_point(point: &Point) -> Result<CpuPlacement> {
        let word = point.text("placement")?;
        let placement = CpuPlacement::from_word(word, &allowed_cpus()?)?;
        if let Some((own, _)) = placement.cpus {
            pin(own)?;
        }
        Ok(placement)
    }

    /// Uses the last of the permitted CPUs: the first one handles most interrupts.
    fn from_word(word: &str, allowed: &[usize]) -> Result<CpuPlacement> {
        let awake = word == "awake";
        if word == "unpinned" {
            return Ok(CpuPlacement { cpus: None, awake });
        }
        let own = *allowed.last().context("there is no CPU to pin to")?;
        if word == "same" {
            return Ok(CpuPlacement { cpus: Some((own, own)), awake });
        }
        let siblings = siblings(own);
        let mut others = allowed.iter().rev().filter(|cpu| **cpu != own);
        let other = others.clone().find(|cpu| !siblings.contains(cpu)).or_else(|| others.next());
        let other =
            other.ok_or_else(|| skip("needs two CPUs, and this process may use one only"))?;
        Ok(CpuPlacement { cpus: Some((own, *other)), awake })
    }

    /// Starts the measuring thread's partner, and returns when it runs on its CPU.
    pub(super) fn partner<T: Send + 'static>(
        self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<Option<T>>> {
        start_on(self.cpus.map(|(_, partner)| partner), job)
    }

    /// Prevents both CPUs from idling, if the point requests it.
    pub(super) fn keep_awake(self) -> Result<Option<KeepAwake>> {
        match self.cpus.filter(|_| self.awake) {
            Some((own, other)) => KeepAwake::new(&[own, other]).map(Some),
            None => Ok(None),
        }
    }
}

/// The CPUs of the same core; empty if the system does not report them.
fn siblings(cpu: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    std::fs::read_to_string(path).map(|text| cpu_list(text.trim())).unwrap_or_default()
}

/// Parses `0-3,8` as 0, 1, 2, 3, 8.
fn cpu_list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Prevents CPUs from idling while a sample is taken: on each of them spins a thread of the lowest
/// priority.
pub(super) struct KeepAwake {
    gate: Arc<Gate>,
    threads: Vec<JoinHandle<Option<Result<()>>>>,
}

#[derive(Default)]
struct Gate {
    spinning: AtomicBool,
    mode: Mutex<Mode>,
    changed: Condvar,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Mode {
    #[default]
    Rest,
    Spin,
    End,
}

impl KeepAwake {
    pub(super) fn new(cpus: &[usize]) -> Result<KeepAwake> {
        let mut awake = KeepAwake { gate: Arc::default(), threads: Vec::new() };
        for cpu in cpus {
            let gate = Arc::clone(&awake.gate);
            // Without permission for the lowest priority, it would not keep the CPU awake, but
            // busy.
            awake.threads.push(start_on(Some(*cpu), move || give_way().map(|()| gate.spin()))?);
        }
        Ok(awake)
    }

    pub(super) fn start(&self) {
        self.gate.set(Mode::Spin);
    }

    pub(super) fn rest(&self) {
        self.gate.set(Mode::Rest);
    }
}

impl Drop for KeepAwake {
    fn drop(&mut self) {
        self.gate.set(Mode::End);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Mode> {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, mode: Mode) {
        self.spinning.store(mode == Mode::Spin, Ordering::Relaxed);
        *self.lock() = mode;
        self.changed.notify_all();
    }

    fn spin(&self) {
        loop {
            let mut mode = self.lock();
            while *mode == Mode::Rest {
                mode = self.changed.wait(mode).unwrap_or_else(PoisonError::into_inner);
            }
            if *mode == Mode::End {
                return;
            }
            drop(mode);
            while self.spinning.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        }
    }
}

/// `SCHED_IDLE`: every other runnable thread takes precedence.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "sched_setscheduler has no safe form")]
fn give_way() -> Result<()> {
    let none = libc::sched_param { sched_priority: 0 };
    // SAFETY: 0 is the calling thread, and the struct is read only.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const none) } {
        0 => Ok(()),
        _ => Err(skip(format!(
            "the kernel refuses SCHED_IDLE for the thread that keeps a CPU awake: {}",
            std::io::Error::last_os_error()
        ))),
    }
}

#[cfg(not(target_os = "linux"))]
fn give_way() -> Result<()> {
    Err(skip("this system has no scheduling class that gives way to all others"))
}

#[cfg(test)]
mod tests {
    use measure::experiment::Skip;

    use super::*;

    #[test]
    fn a_list_of_cpus_is_read() {
        assert_eq!(cpu_list("0-3,8"), [0, 1, 2, 3, 8]);
        assert_eq!(cpu_list("5"), [5]);
        assert_eq!(cpu_list(""), [0usize; 0]);
        assert_eq!(cpu_list("x-2,1"), [1]);
    }

    #[test]
    fn a_word_chooses_the_cpus() {
        let cpus =
            |word: &str, allowed: &[usize]| CpuPlacement::from_word(word, allowed).unwrap().cpus;
        // No machine has siblings of these CPUs.
        assert_eq!(cpus("unpinned", &[9001]), None);
        assert_eq!(cpus("same", &[9001, 9005]), Some((9005, 9005)));
        assert_eq!(cpus("other", &[9001, 9005]), Some((9005, 9001)));
        assert_eq!(cpus("awake", &[9001, 9005]), Some((9005, 9001)));
    }

    #[test]
    fn another_cpu_needs_two() {
        for word in ["other", "awake"] {
            let error = CpuPlacement::from_word(word, &[3]).unwrap_err();
            assert!(error.is::<Skip>(), "{error:#}");
            assert_eq!(error.to_string(), "needs two CPUs, and this process may use one only");
        }
    }
}
