//! Compares the counting pass with known numbers of system calls and of allocations.

use lab::run::{Run, Warning};

use super::bench::{Check, find, median, or_why, show};
use crate::experiments::self_test::{
    ALLOCATED_BYTES, ALLOCATIONS, CALLS, CALLS_PER_THREAD, THREADS,
};

pub(super) const METHODS: &[&str] = &[
    "empty",
    "calls",
    "threads",
    "allocate",
    "allocate-in-threads",
    "idle-threads",
    "foreign",
    "foreign-idle",
    "foreign-in-threads",
    "foreign-idle-threads",
];

/// A million calls must be counted as a million, and none as none.
pub(super) fn calls_check(run: &Run) -> Check {
    let [calls, empty] = ["calls", "empty"].map(|method| median(run, method, "syscalls"));
    let found =
        format!("{CALLS} system calls were counted as {}, none as {}", show(calls), show(empty));
    let passed = calls == Some(f64::from(CALLS)) && empty == Some(0.0);
    Check::new("system calls", passed, or_why_uncounted(found, run, "calls"))
}

/// A thread makes a few calls of its own at its start and at its end.
pub(super) fn threads_check(run: &Run) -> Check {
    const OWN_MAX: u32 = 40;
    let known = THREADS * CALLS_PER_THREAD;
    let total = median(run, "threads", "syscalls");
    let by_name = find(run, "threads").and_then(|cell| cell.syscalls_by_name.as_ref());
    let named = by_name.and_then(|calls| calls.get("getppid").copied());
    let found = format!(
        "{known} system calls of {THREADS} threads were counted as {}, by name as {}",
        show(total),
        show(named)
    );
    let range = f64::from(known)..f64::from(known + THREADS * OWN_MAX);
    let passed =
        total.is_some_and(|total| range.contains(&total)) && named == Some(f64::from(known));
    Check::new("of threads", passed, or_why_uncounted(found, run, "threads"))
}

/// The counts must be exact to the byte, and so must the peak.
pub(super) fn allocations_check(run: &Run) -> Check {
    let known = f64::from(ALLOCATIONS);
    let bytes = known * ALLOCATED_BYTES as f64;
    let [n, allocated, peak] = ["allocations", "allocated_bytes", "peak_live_bytes"]
        .map(|metric| median(run, "allocate", metric));
    let none = median(run, "empty", "allocations");
    let found = format!(
        "{known} of {ALLOCATED_BYTES} bytes were counted as {} with {} bytes, at most {} at once; none \
         as {}",
        show(n),
        show(allocated),
        show(peak),
        show(none)
    );
    let passed = (n, allocated, peak, none) == (Some(known), Some(bytes), Some(bytes), Some(0.0));
    Check::new("allocations", passed, or_why_uncounted(found, run, "allocate"))
}

/// The allocations of idle threads are subtracted, as the start of a thread allocates.
pub(super) fn allocations_of_threads_check(run: &Run) -> Check {
    let more = more(run, "allocate-in-threads", "idle-threads");
    let (passed, found) = judge(THREADS * ALLOCATIONS, more, "of three threads");
    Check::new("allocating threads", passed, or_why_uncounted(found, run, "idle-threads"))
}

/// For a program that is counted by a preloaded library; the allocations of its start are
/// subtracted.
pub(super) fn foreign_allocations_check(run: &Run) -> Check {
    let alone = judge(ALLOCATIONS, more(run, "foreign", "foreign-idle"), "of one thread");
    let threads = more(run, "foreign-in-threads", "foreign-idle-threads");
    let threads = judge(THREADS * ALLOCATIONS, threads, "of three threads");
    let found = format!("{}; {}", alone.1, threads.1);
    let passed = alone.0 && threads.0;
    Check::new("foreign programs", passed, or_why_uncounted(found, run, "foreign"))
}

/// The difference in allocations and bytes between one method and another.
fn more(run: &Run, method: &str, idle: &str) -> [Option<f64>; 2] {
    ["allocations", "allocated_bytes"].map(|metric| {
        let [all, own] = [method, idle].map(|method| median(run, method, metric));
        all.zip(own).map(|(all, own)| all - own)
    })
}

fn judge(known: u32, [n, bytes]: [Option<f64>; 2], whose: &str) -> (bool, String) {
    let known = f64::from(known);
    let passed = n == Some(known) && bytes == Some(known * ALLOCATED_BYTES as f64);
    (passed, format!("{known} {whose} were counted as {} with {} bytes", show(n), show(bytes)))
}

/// Appends the reason why they were not counted.
fn or_why_uncounted(found: String, run: &Run, method: &str) -> String {
    let about = |note: &&Warning| {
        note.missing_metric().is_some_and(|(name, _)| ["syscalls", "allocations"].contains(&name))
            && note.method.as_deref().is_none_or(|name| name == method)
    };
    match run.notes.iter().find(about) {
        Some(note) => format!("{found}: {note}"),
        None => or_why(found, run, method),
    }
}
