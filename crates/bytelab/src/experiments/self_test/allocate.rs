//! Jobs that allocate a known number of times: as built-in methods, and as a separate program whose
//! allocator does not count, so that it can stand for a foreign program.

use std::hint::black_box;
use std::sync::Barrier;

use lab::experiment::{Command, How, Method, Task};

use super::method::{method, task};

pub(crate) const THREADS: u32 = 3;
pub(crate) const ALLOCATIONS: u32 = 1000;
pub(crate) const ALLOCATED_BYTES: usize = 100;

/// The argument that makes the program the foreign one; then the number of threads, and of
/// allocations.
pub(crate) const COMMAND: &str = "__allocate";

/// Each is paired with a method that does the same but does not allocate.
pub(super) fn methods() -> Vec<Method> {
    vec![
        method("allocate", "allocates 100 bytes 1000 times", |_| Ok(once(0, ALLOCATIONS))),
        method("allocate-in-threads", "the same in each of three threads", |_| {
            Ok(once(THREADS, ALLOCATIONS))
        }),
        method("idle-threads", "three threads that do nothing", |_| Ok(once(THREADS, 0))),
        command("foreign", 0, ALLOCATIONS),
        command("foreign-idle", 0, 0),
        command("foreign-in-threads", THREADS, ALLOCATIONS),
        command("foreign-idle-threads", THREADS, 0),
    ]
}

fn command(name: &str, threads: u32, times: u32) -> Method {
    let program = std::env::current_exe().unwrap_or_default();
    // The arguments have the same length for both, as they are allocated, too.
    let numbers = [format!("{threads:04}"), format!("{times:04}")];
    let words = [program.to_string_lossy().into_owned(), COMMAND.to_owned()];
    let how = How::Command(Command::plain(words.into_iter().chain(numbers)));
    Method::contender(name, "a program that allocates, or does not", how).as_yardstick()
}

fn once(threads: u32, times: u32) -> Box<dyn Task> {
    let mut kept = Vec::with_capacity(times as usize);
    task(move || match threads {
        0 => allocate(times, &mut kept),
        _ => in_threads(threads, times),
    })
}

/// Allocates in threads that all exist at the same time, or in the only thread.
pub(crate) fn run(threads: u32, times: u32) {
    match threads {
        0 => allocate(times, &mut Vec::with_capacity(ALLOCATIONS as usize)),
        _ => in_threads(threads, times),
    }
}

fn in_threads(threads: u32, times: u32) {
    let together = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut kept = Vec::with_capacity(ALLOCATIONS as usize);
                together.wait();
                allocate(times, &mut kept);
            });
        }
    });
}

/// All allocations exist at the same time, then none.
fn allocate(times: u32, kept: &mut Vec<Vec<u8>>) {
    for _ in 0..times {
        kept.push(Vec::with_capacity(ALLOCATED_BYTES));
    }
    black_box(&kept);
    kept.clear();
}
