//! The POSIX semaphore of the C library.
#![expect(unsafe_code, reason = "sem_init, sem_post, sem_wait and sem_destroy have no safe form")]

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;
use std::sync::Arc;

use anyhow::{Context, Result};
use lab::experiment::Method;

use super::signal::{Give, Take, between_threads, handover, uncontended, with_oneself};

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

impl Give for Arc<Semaphore> {
    fn give(&mut self) -> Result<()> {
        self.post()
    }
}

impl Take for Arc<Semaphore> {
    fn take(&mut self) -> Result<()> {
        self.wait()
    }
}
