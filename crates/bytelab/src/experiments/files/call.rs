//! The small costs of file operations: system calls that do almost no work, and mappings.
#![expect(unsafe_code, reason = "mmap and munmap of memory that belongs to this method alone")]

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::{Read, Write};
use std::ptr;

use anyhow::{Context, Result};
use lab::experiment::{Method, Task, skip};
use lab::param::{Point, bytes};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

use super::names::task;
use super::place::cached;

pub(super) fn methods() -> Vec<Method> {
    vec![
        cached("call", "getppid", "the least that a system call does", &[], |_| {
            task(|| {
                black_box(rustix::process::getppid());
                Ok(())
            })
        }),
        cached("call", "read-zero", "1 byte from /dev/zero", &[], |_| {
            let mut zero = OpenOptions::new().read(true).open("/dev/zero")?;
            task(move || zero.read_exact(&mut [0]).context("reading /dev/zero"))
        })
        .as_yardstick(),
        cached("call", "write-null", "1 byte to /dev/null", &[], |_| {
            let mut null = OpenOptions::new().write(true).open("/dev/null")?;
            task(move || null.write_all(&[0]).context("writing /dev/null"))
        })
        .as_yardstick(),
        cached("map", "map", "mmap and munmap of memory, untouched", &["size"], |point| {
            map(point, false)
        }),
        cached("map", "map-touch", "the same, each page written", &["size"], |point| {
            map(point, true)
        })
        .as_yardstick(),
    ]
}

/// Skips a method that would need more than a quarter of the available memory, or of what the
/// control group allows.
fn fits(needed: u64) -> Result<()> {
    let facts = lab::environment::capture(None).facts;
    let limit = facts.get("cgroup_memory_limit_bytes").and_then(serde_json::Value::as_u64);
    let available = limit.into_iter().chain(lab::cache::available_bytes()).min();
    if let Some(available) = available.filter(|available| needed > available / 4) {
        return Err(skip(format!(
            "touches {}, more than a quarter of the {} of memory that there are",
            bytes(needed),
            bytes(available >> 20 << 20)
        )));
    }
    Ok(())
}

fn map(point: &Point, touch: bool) -> Result<Box<dyn Task>> {
    let page = rustix::param::page_size();
    let len = usize::try_from(point.number("size")?.max(1))?;
    if touch {
        fits(len as u64)?;
    }
    task(move || {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: new memory, at an address that the kernel chooses.
        let memory = unsafe { mmap_anonymous(ptr::null_mut(), len, protection, flags) };
        let memory = memory.context("mapping memory")?;
        if touch {
            for offset in (0..len).step_by(page) {
                // SAFETY: the offset is within the mapping.
                let byte = unsafe { memory.cast::<u8>().add(offset) };
                // SAFETY: the mapping is writable, and no other reference to it exists.
                unsafe { byte.write_volatile(1) };
            }
        }
        // SAFETY: the mapping is not used any more.
        unsafe { munmap(black_box(memory), len) }.context("unmapping memory")
    })
}
