//! Prevents CPUs from idling while a sample is taken: on each of them spins a thread of the lowest
//! priority.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::Result;
use lab::experiment::skip;

use crate::experiments::shared::cpus::start_on;

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
