//! Semaphores: the POSIX one of the C library, and one of twenty lines on the kernel's futex.

#![expect(unsafe_code, reason = "sem_init, sem_post, sem_wait and sem_destroy have no safe form")]

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use measure::experiment::Method;
use rustix::io::Errno;
use rustix::thread::futex;

use super::signal::{Signal, Wait, between_threads, handover, uncontended, with_oneself};

pub(super) fn methods() -> Vec<Method> {
    vec![
        handover("semaphore", "sem_post, sem_wait", |point| between_threads(point, pair)),
        uncontended("semaphore-alone", "sem_post, sem_wait", |_| with_oneself(pair()?)),
    ]
}

pub(super) struct Semaphore(Box<UnsafeCell<MaybeUninit<libc::sem_t>>>);

// SAFETY: any threads may call the functions of the C library for one semaphore at the same time.
unsafe impl Send for Semaphore {}
// SAFETY: as above.
unsafe impl Sync for Semaphore {}

impl Semaphore {
    pub(super) fn new() -> Result<Semaphore> {
        let semaphore = Semaphore(Box::new(UnsafeCell::new(MaybeUninit::uninit())));
        // SAFETY: the memory is valid for a semaphore, and is not moved until it is dropped.
        check(unsafe { libc::sem_init(semaphore.raw(), 0, 0) }).context("sem_init")?;
        Ok(semaphore)
    }

    pub(super) fn post(&self) -> Result<()> {
        // SAFETY: it was initialised in `new`.
        check(unsafe { libc::sem_post(self.raw()) }).context("sem_post")
    }

    pub(super) fn wait(&self) -> Result<()> {
        loop {
            // SAFETY: it was initialised in `new`.
            match check(unsafe { libc::sem_wait(self.raw()) }) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.context("sem_wait"),
            }
        }
    }

    fn raw(&self) -> *mut libc::sem_t {
        self.0.get().cast()
    }
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and no other thread uses it. A semaphore whose initialisation
        // failed is refused with EINVAL, which is harmless.
        unsafe { libc::sem_destroy(self.raw()) };
    }
}

fn check(status: i32) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn pair() -> Result<(Arc<Semaphore>, Arc<Semaphore>)> {
    let semaphore = Arc::new(Semaphore::new()?);
    Ok((Arc::clone(&semaphore), semaphore))
}

impl Signal for Arc<Semaphore> {
    fn signal(&mut self) -> Result<()> {
        self.post()
    }
}

impl Wait for Arc<Semaphore> {
    fn wait(&mut self) -> Result<()> {
        Semaphore::wait(self)
    }
}

/// A semaphore of twenty lines: a counter, and the kernel's futex to wait while it is 0.
pub(super) fn futexes() -> Vec<Method> {
    let about = "a counter and the kernel's futex";
    vec![
        handover("futex", about, |point| between_threads(point, || Ok(futex_pair()))),
        uncontended("futex-alone", about, |_| with_oneself(futex_pair())),
    ]
}

#[derive(Default)]
struct FutexCounter {
    signals: AtomicU32,
    sleepers: AtomicU32,
}

fn futex_pair() -> (Arc<FutexCounter>, Arc<FutexCounter>) {
    let counter = Arc::new(FutexCounter::default());
    (Arc::clone(&counter), counter)
}

impl Signal for Arc<FutexCounter> {
    fn signal(&mut self) -> Result<()> {
        self.signals.fetch_add(1, Ordering::SeqCst);
        // Either this thread sees the sleeper, or the sleeper sees the signal: both sides use
        // SeqCst.
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            futex::wake(&self.signals, futex::Flags::PRIVATE, 1).context("waking a thread")?;
        }
        Ok(())
    }
}

impl Wait for Arc<FutexCounter> {
    fn wait(&mut self) -> Result<()> {
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
