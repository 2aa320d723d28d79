//! A semaphore of twenty lines: a counter, and the kernel's futex to wait while it is 0.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use lab::experiment::Method;
use rustix::io::Errno;
use rustix::thread::futex;

use super::signal::{Give, Take, between_threads, handover, uncontended, with_oneself};

pub(super) fn methods() -> Vec<Method> {
    let about = "a counter and the kernel's futex";
    vec![
        handover("futex", about, |point| between_threads(point, || Ok(pair()))),
        uncontended("futex-alone", about, |_| with_oneself(pair())),
    ]
}

#[derive(Default)]
struct Counter {
    signals: AtomicU32,
    sleepers: AtomicU32,
}

fn pair() -> (Arc<Counter>, Arc<Counter>) {
    let counter = Arc::new(Counter::default());
    (Arc::clone(&counter), counter)
}

impl Give for Arc<Counter> {
    fn give(&mut self) -> Result<()> {
        self.signals.fetch_add(1, Ordering::SeqCst);
        // Either this thread sees the sleeper, or the sleeper sees the signal: both sides use
        // SeqCst.
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            futex::wake(&self.signals, futex::Flags::PRIVATE, 1).context("waking a thread")?;
        }
        Ok(())
    }
}

impl Take for Arc<Counter> {
    fn take(&mut self) -> Result<()> {
        loop {
            let one_less = |signals: u32| signals.checked_sub(1);
            if self.signals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
                return Ok(());
            }
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            let slept = futex::wait(&self.signals, futex::Flags::PRIVATE, 0, None);
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
            match slept {
                // The signal arrived before the sleep, or a signal of the operating system
                // interrupted it.
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error).context("waiting for a futex"),
            }
        }
    }
}
