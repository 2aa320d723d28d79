//! Jobs of known cost, with which `bytelab self-test` checks the measurement.

mod allocate;
mod method;
mod pairs;

use std::hint::black_box;
use std::io::Read;
use std::time::Duration;

use anyhow::{Context, Result};
use lab::experiment::{Data, Experiment, Task};
use lab::param::Point;

use self::method::{ITERATIONS, Once, burn, method, task};

pub(crate) use self::allocate::{ALLOCATED_BYTES, ALLOCATIONS, COMMAND, THREADS, run as allocate};
pub(crate) use self::pairs::{BURN, OTHERS, more, percents, run as burn_process};

pub(crate) const TOUCHED_BYTES: usize = 64 << 20;
pub(crate) const COLD_BYTES: usize = 1 << 20;
pub(crate) const SWITCHES: u32 = 1000;
pub(crate) const CALLS: u32 = 1_000_000;
pub(crate) const CALLS_PER_THREAD: u32 = 10_000;

pub(crate) const NAME: &str = "self-test";

pub(crate) fn experiment() -> Experiment {
    Experiment {
        name: NAME,
        question: "Does the lab measure what is known beforehand?",
        readme: "",
        params: Vec::new(),
        methods: [
            method("same", "a fixed number of dependent operations", |_| Ok(burn(ITERATIONS))),
            method("same-again", "the same under another name", |_| Ok(burn(ITERATIONS))),
            method("empty", "nothing, once per sample", |_| Ok(task(|| ()))),
            method("touch", "touches 64 MiB of fresh memory", |_| Ok(task(touch))),
            method("switch", "gives the CPU away 1000 times", |_| Ok(task(switch))),
            method("calls", "asks for its parent a million times", |_| Ok(task(|| ask(CALLS)))),
            method("threads", "asks for its parent in three threads", |_| Ok(task(threads))),
            method("cold-read", "reads 1 MiB from a file", cold_read),
        ]
        .into_iter()
        .chain(allocate::methods())
        .chain(pairs::methods())
        .collect(),
        dir: None,
        data: Box::new(|_, dir, _| {
            let path = dir.join("self-test.bin");
            let old = std::fs::metadata(&path).map(|file| file.len());
            if old.ok() != Some(COLD_BYTES as u64) {
                std::fs::write(&path, vec![1u8; COLD_BYTES])
                    .with_context(|| format!("writing {}", path.display()))?;
            }
            let mut arguments = Point::default();
            arguments.set("file", path.clone());
            Ok(Data { arguments, files: vec![path], ..Data::default() })
        }),
    }
}

fn touch() {
    let mut memory = vec![0u8; TOUCHED_BYTES];
    for page in memory.chunks_mut(4096) {
        page[0] = 1;
    }
    black_box(memory);
}

/// Each sleep yields the CPU once.
fn switch() {
    for _ in 0..SWITCHES {
        std::thread::sleep(Duration::from_nanos(1));
    }
}

/// Each call is a system call, as getppid is not cached.
fn ask(times: u32) {
    for _ in 0..times {
        black_box(rustix::process::getppid());
    }
}

fn threads() {
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| ask(CALLS_PER_THREAD));
        }
    });
}

fn cold_read(point: &Point) -> Result<Box<dyn Task>> {
    let path = point.path("file")?;
    let mut buffer = vec![0u8; COLD_BYTES];
    Ok(Box::new(Once(move || {
        let mut file = std::fs::File::open(&path)?;
        file.read_exact(&mut buffer).with_context(|| format!("reading {}", path.display()))
    })))
}
