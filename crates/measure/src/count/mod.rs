//! Counts what costs time to count: system calls by perf tracepoint or by ptrace, allocations by
//! the program's allocator or a preloaded library, and the events of the processor's own counters.
//! None of this is active while times are taken.

mod allocations;
pub mod event;
mod process_events;
#[cfg(target_os = "linux")]
mod profile_event;
#[cfg(target_os = "linux")]
mod ptrace;
#[cfg_attr(not(target_os = "linux"), path = "fallback.rs")]
mod tracer;
pub mod tree;

use std::collections::BTreeMap;
use std::str::FromStr;

use model::metric::SYSCALLS;
use syscalls::Sysno;

pub use self::allocations::{Allocations, CountingAllocator};
pub(crate) use self::allocations::{METRICS as ALLOCATION_METRICS, Shim};
use self::event::{CountedEvent, EventCounter};
pub(crate) use self::event::{EventTarget, NEEDS_RIGHTS, PerfEvent, open_on_cpu};
pub use self::process_events::JobMark;
pub use self::process_events::mark;
pub(crate) use self::process_events::{OwnCounts, ProcessCounters};
#[cfg(target_os = "linux")]
pub(crate) use self::profile_event::{
    PROFILE_PERIOD_NS, ProfileEvent, explain_profile, open_profile, profile_registers,
};
pub(crate) use self::tracer::{TraceScope, Tracer};
pub use self::tree::settle;

/// The metrics that perf events can count on this machine, and why the others cannot be counted.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    kinds: Vec<CountedEvent>,
    missing: BTreeMap<&'static str, String>,
}

/// System calls by number, and how many further calls belonged to the line protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub(crate) by_number: BTreeMap<u64, u64>,
    pub(crate) of_protocol: u64,
    /// How long those of each number took that have ended, as the tracer saw it.
    pub(crate) ns_by_number: BTreeMap<u64, u64>,
    /// What those of them returned that transfer bytes.
    pub(crate) transferred_bytes: u64,
    /// The peak memory of the largest process, where that was recorded instead.
    pub peak_rss_bytes: Option<u64>,
}

impl Sources {
    /// Tries to open each event on this process.
    pub fn look() -> Sources {
        let mut sources = Sources::default();
        match event::tracepoint_id() {
            Ok(id) => sources.try_out(CountedEvent::tracepoint(id)),
            Err(why) => drop(sources.missing.insert(SYSCALLS, why)),
        }
        for kind in CountedEvent::hardware() {
            sources.try_out(kind);
        }
        sources
    }

    fn try_out(&mut self, kind: CountedEvent) {
        match EventCounter::open(kind, EventTarget::Own).or_else(|error| {
            // Without rights, what the program does in user mode may still be countable.
            EventCounter::open(kind.without_kernel().ok_or(error)?, EventTarget::Own)
        }) {
            Ok(event) => self.kinds.push(event.kind()),
            Err(error) => drop(self.missing.insert(kind.metric, event::explain(kind, &error))),
        }
    }

    /// Why a metric cannot be counted with perf events, by its name.
    pub fn missing(&self) -> &BTreeMap<&'static str, String> {
        &self.missing
    }

    /// The available metrics.
    pub fn metrics(&self) -> impl Iterator<Item = &'static str> {
        self.kinds.iter().map(|kind| kind.metric)
    }

    /// Whether the kernel counts system calls, at about 0.1 µs each; otherwise only ptrace is
    /// available.
    pub fn counts_syscalls(&self) -> bool {
        !self.missing.contains_key(SYSCALLS)
    }

    /// The hardware counters that exclude what the kernel does for the method.
    pub(crate) fn without_kernel(&self) -> Vec<&'static str> {
        self.kinds.iter().filter(|kind| kind.user_only).map(|kind| kind.metric).collect()
    }

    /// The value of [`crate::protocol::COUNTING_VARIABLE`].
    pub(crate) fn to_variable(&self) -> String {
        let words: Vec<String> = self.kinds.iter().map(CountedEvent::word).collect();
        words.join(" ")
    }
}

/// Set in the number of a call of a 32-bit program on a 64-bit system: such calls have numbers of
/// their own.
const OF_32_BITS: u64 = 1 << 32;
const OF_32_BITS_NAME: &str = "_of_32_bits";

/// `read`, or `syscall_9999` for a call without a known name; `syscall_3_of_32_bits` for one of a
/// 32-bit program.
pub fn name(number: u64) -> String {
    let number_of_32_bits = number ^ OF_32_BITS;
    if number_of_32_bits < OF_32_BITS {
        return format!("syscall_{number_of_32_bits}{OF_32_BITS_NAME}");
    }
    match usize::try_from(number).ok().and_then(Sysno::new) {
        Some(known) => known.name().to_owned(),
        None => format!("syscall_{number}"),
    }
}

/// Whether a system call is named so, here or by its number alone.
pub fn is_system_call(name: &str) -> bool {
    let number = name.strip_suffix(OF_32_BITS_NAME).unwrap_or(name).strip_prefix("syscall_");
    let number = number.map(str::parse::<u64>);
    Sysno::from_str(name).is_ok() || matches!(number, Some(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_is_there_or_explained() {
        let sources = Sources::look();
        for metric in
            std::iter::once(SYSCALLS).chain(CountedEvent::hardware().map(|kind| kind.metric))
        {
            let there = sources.kinds.iter().any(|kind| kind.metric == metric);
            assert_ne!(there, sources.missing.contains_key(metric), "{metric}: {sources:?}");
        }
        assert_eq!(sources.counts_syscalls(), sources.kinds.iter().any(|k| k.metric == SYSCALLS));
    }

    #[test]
    fn the_metrics_are_those_of_the_events() {
        let hardware = CountedEvent::hardware().next().unwrap();
        let kinds = vec![CountedEvent::tracepoint(443), hardware.without_kernel().unwrap()];
        let sources = Sources { kinds, missing: BTreeMap::new() };
        assert!(sources.metrics().eq([SYSCALLS, hardware.metric]));
        assert_eq!(sources.without_kernel(), [hardware.metric]);
    }

    #[test]
    fn a_child_finds_the_same_sources() {
        let sources = Sources::look();
        let words = sources.to_variable();
        let kinds: Vec<CountedEvent> = words.split(' ').filter_map(CountedEvent::of_word).collect();
        assert_eq!(kinds, sources.kinds, "{words}");
    }
}

#[cfg(test)]
mod names_tests {
    use super::*;

    #[test]
    fn numbers_have_names() {
        assert_eq!(name(libc::SYS_read as u64), "read");
        assert_eq!(name(libc::SYS_getppid as u64), "getppid");
        assert_eq!(name(9999), "syscall_9999");
        assert_eq!(name(u64::MAX), format!("syscall_{}", u64::MAX));
        assert_eq!(name(OF_32_BITS | 3), "syscall_3_of_32_bits");
        for known in ["read", "getppid", "syscall_9999", "syscall_3_of_32_bits"] {
            assert!(is_system_call(known), "{known}");
        }
        for other in ["", "secret", "syscall_", "syscall_x", "secret_of_32_bits"] {
            assert!(!is_system_call(other), "{other}");
        }
    }
}
