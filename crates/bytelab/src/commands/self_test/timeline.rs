//! Compares the timeline with a known number of threads.

use lab::timeline::{Category, Timeline};

use super::bench::Check;
use crate::experiments::self_test::THREADS;

/// The timeline must contain the scheduling of each of the three threads that a sample starts. If
/// threads are only polled, those that live for less than a polling interval may be missing.
pub(super) fn threads_check(timeline: Option<&Timeline>) -> Check {
    let name = "timeline";
    let process = timeline.and_then(|timeline| timeline.processes.first());
    let (Some(timeline), Some(process)) = (timeline, process) else {
        return Check::new(name, false, "nothing was recorded".to_owned());
    };
    let scheduled = |tid: u32| {
        let thread = process.threads.iter().find(|thread| thread.tid == tid);
        thread.is_some_and(|t| t.spans.iter().any(|s| s.category == Category::Scheduling))
    };
    let others = process.threads.iter().filter(|t| t.tid != process.pid && scheduled(t.tid));
    // The warm-up and the sample each have their own threads.
    let (known, found) = (2 * THREADS as usize, others.count());
    let scheduling = timeline.facts.get("scheduling").and_then(|fact| fact.as_str());
    let sampled = scheduling.is_some_and(|source| source.starts_with("sampled"));
    let passed = scheduled(process.pid) && (found == known || (sampled && found < known));
    let how = if sampled { "looked at" } else { "reported by the kernel" };
    let found = format!("{found} of {known} threads are in it, their scheduling {how}");
    Check::new(name, passed, found)
}
