//! The counting pass held against known numbers of system calls.

use lab::run::{Note, Run};

use super::{Check, find, median, or_why, show};
use crate::experiments::self_test::{CALLS, CALLS_PER_THREAD, THREADS};

/// A million calls are counted as a million, and none as none.
pub(super) fn calls_check(run: &Run) -> Check {
    let [calls, empty] = ["calls", "empty"].map(|method| median(run, method, "syscalls"));
    let found =
        format!("{CALLS} system calls were counted as {}, none as {}", show(calls), show(empty));
    let passed = calls == Some(f64::from(CALLS)) && empty == Some(0.0);
    Check { name: "system calls", passed, found: or_why_uncounted(found, run, "calls") }
}

/// A thread makes some calls of its own at its start and at its end.
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
    Check { name: "of threads", passed, found: or_why_uncounted(found, run, "threads") }
}

/// Adds why system calls were not counted.
fn or_why_uncounted(found: String, run: &Run, method: &str) -> String {
    let about = |note: &&Note| {
        note.text.starts_with("syscalls: ")
            && note.method.as_deref().is_none_or(|name| name == method)
    };
    match run.notes.iter().find(about) {
        Some(note) => format!("{found}: {}", note.text),
        None => or_why(found, run, method),
    }
}
