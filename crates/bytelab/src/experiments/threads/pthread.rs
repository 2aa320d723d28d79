//! A thread created by the C library, pinned before it starts.
#![expect(unsafe_code, reason = "pthread_create and its attributes have no safe form")]

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::{io, ptr};

use anyhow::{Context, Result};
use lab::experiment::Method;

use super::life::{Life, ThreadTimes, lives, method};
use super::placement::CpuPlacement;

pub(super) fn method_of_life() -> Method {
    method("pthread", "pthread_create and pthread_join", |point| lives(point, Pthread::new))
}

struct Pthread {
    attributes: Box<MaybeUninit<libc::pthread_attr_t>>,
    /// Where the thread records its times; boxed, so that the address is stable.
    inside: Box<ThreadTimes>,
}

impl Pthread {
    fn new(place: CpuPlacement) -> Result<Pthread> {
        let mut pthread =
            Pthread { attributes: Box::new(MaybeUninit::uninit()), inside: Box::default() };
        // SAFETY: the memory is valid for attributes.
        check(unsafe { libc::pthread_attr_init(pthread.attributes.as_mut_ptr()) })
            .context("pthread_attr_init")?;
        // A new thread starts on the CPU of its creator, and an affinity costs time: glibc delays
        // the thread until its affinity is set.
        if let Some((_, cpu)) = place.cpus.filter(|(own, other)| own != other) {
            pthread.place(cpu).context("pthread_attr_setaffinity_np")?;
        }
        Ok(pthread)
    }

    #[cfg(target_os = "linux")]
    fn place(&mut self, cpu: usize) -> io::Result<()> {
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
    fn place(&mut self, _cpu: usize) -> io::Result<()> {
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
